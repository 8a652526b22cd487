"""What an error says, and where in a user's code it came from, for messages of one line."""

import re
import sys
from pathlib import Path

_HOUSE = Path(__file__).parents[2]
_NOT_THE_USERS = (sys.prefix, sys.base_prefix, "<frozen", f"{_HOUSE / 'engine'}/", f"{_HOUSE / 'operators'}/")

_TIME = r"'(datetime\.(datetime|timedelta)|Timestamp|Timedelta)'"
_FIELD = "'(year|month|day|hour|minute|second|weekday|date|time|timestamp|strftime|isoformat)'"
_TIMES = re.compile(
    f"'int' and {_TIME}|{_TIME} and 'int'|'int' object has no attribute {_FIELD}|DateTime64DType.*PyLong"
)
"""What Python and numpy say where an int was taken for a time."""


def text_of(error: BaseException) -> str:
    """What an error says; its `__str__` is the user's, and may raise in its turn."""
    try:
        return str(error)
    except Exception as another:
        return f"(its text cannot be had: {type(another).__name__})"


def in_words(error: BaseException, call: str = "") -> str:
    """`ValueError: no (at file:line in function)`, of the innermost call that is neither of the engine, nor of its
    library of operators, nor of an installed package. `call` says how a function is called, for one that did not even
    take its arguments.
    """
    text = text_of(error)
    return f"{type(error).__name__}: {text}{_raised_at(error, text, call)}"


def _raised_at(error: BaseException, text: str, call: str) -> str:
    found, trace = "", error.__traceback__
    if call and isinstance(error, TypeError) and trace is not None and trace.tb_next is None:
        return f"; {call}"
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(_NOT_THE_USERS):
            found = f" (at {code.co_filename}:{trace.tb_lineno} in {code.co_name})"
        trace = trace.tb_next
    if isinstance(error, ValueError) and "read-only" in text:
        found += "; columns are read-only, and so is an array that was sent: write to a copy()"
    if isinstance(error, UnicodeDecodeError):
        found += "; where a column's text is not in UTF-8, read the column as bytes (schema=), or mend its file"
    if _TIMES.search(text):
        found += (
            "; timestamps of rows are ints of ns since 1970: datetime(1970, 1, 1) + timedelta(microseconds=ns // 1000) "
            "is the time"
        )
    return found
