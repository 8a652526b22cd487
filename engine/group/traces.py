"""The trace of an error in a worker, as its program's author reads it: without frames of ours, where that tells all."""

import os
import traceback

from tokenring.engine.errors import TokenRingError

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep


def trace_of(error: BaseException) -> str:
    """What Python prints of an error and its causes. Of errors that say themselves what is wrong, and of those in a
    program's own code, the lines of that code only; all lines with TOKENRING_TRACEBACK=1, and where all are ours.
    """
    found = traceback.TracebackException.from_exception(error)
    if os.environ.get("TOKENRING_TRACEBACK") != "1":
        _leave_out(found, error)
    return "".join(found.format())


def _leave_out(found: traceback.TracebackException, error: BaseException) -> None:
    theirs = [frame for frame in found.stack if not frame.filename.startswith(_OURS)]
    if theirs or isinstance(error, TokenRingError):
        found.stack = traceback.StackSummary.from_list(theirs)
    for further, cause in ((found.__cause__, error.__cause__), (found.__context__, error.__context__)):
        if further is not None and cause is not None:
            _leave_out(further, cause)
