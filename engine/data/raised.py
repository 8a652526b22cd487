"""Where in a user's code an error came from, for messages of one line."""

import sys
from pathlib import Path

_HOUSE = Path(__file__).parents[2]
_NOT_THE_USERS = (sys.prefix, sys.base_prefix, "<frozen", f"{_HOUSE / 'engine'}/", f"{_HOUSE / 'operators'}/")


def raised_at(error: BaseException, call: str = "") -> str:
    """` (at file:line in function)` of the innermost call that is neither of the engine, nor of its library of
    operators, nor of an installed package; "" if there is none. `call` says how a function is called, for one that did
    not even take its arguments.
    """
    found, trace = "", error.__traceback__
    if call and isinstance(error, TypeError) and trace is not None and trace.tb_next is None:
        return f"; {call}"
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(_NOT_THE_USERS):
            found = f" (at {code.co_filename}:{trace.tb_lineno} in {code.co_name})"
        trace = trace.tb_next
    if isinstance(error, ValueError) and "read-only" in str(error):
        found += "; columns are read-only, and so is an array that was sent: write to a copy()"
    return found
