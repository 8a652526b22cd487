"""The trace of an error, as a program's author reads it: without frames of ours, where that tells all."""

import os
import traceback
from types import TracebackType

from tokenring.engine.data import text_of
from tokenring.engine.errors import TokenRingError

TRACE = "in worker process:"
"""Begins the note of an error that says where a worker raised it."""
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep


def _is_whole() -> bool:
    """Whether somebody asked for all lines."""
    return os.environ.get("TOKENRING_TRACEBACK") == "1"


class ShortTrace:
    """Around what a program calls: our errors leave the block without the frames that were within it."""

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, TokenRingError) and not _is_whole() and not _theirs(traceback.extract_tb(trace)):
            error.__traceback__ = None


def trace_of(error: BaseException) -> str:
    """What is told of an error in a worker and of its causes besides its text: of one that says itself what is wrong,
    the lines of the program's code that led to it, if there are any. Of others what Python prints, of errors in a
    program's own code with the lines of that code only. All lines with TOKENRING_TRACEBACK=1.
    """
    found = traceback.TracebackException.from_exception(error)
    if not _is_whole():
        if isinstance(error, TokenRingError) and (lines := _lines_alone(error)) is not None:
            return lines
        _leave_out(found, error)
    return "".join(found.format())


def _lines_alone(error: BaseException) -> str | None:
    """The program's lines of an error and its causes, the first of them first; None where a cause says what the error
    does not."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None:
        if text_of(cause) not in text_of(error):
            return None
        chain.append(cause)
    return "".join(["".join(_theirs(traceback.extract_tb(each.__traceback__)).format()) for each in reversed(chain)])


def _theirs(frames: traceback.StackSummary) -> traceback.StackSummary:
    return traceback.StackSummary.from_list([frame for frame in frames if not frame.filename.startswith(_OURS)])


def _leave_out(found: traceback.TracebackException, error: BaseException) -> None:
    theirs = _theirs(found.stack)
    if theirs or isinstance(error, TokenRingError):
        found.stack = theirs
    for further, cause in ((found.__cause__, error.__cause__), (found.__context__, error.__context__)):
        if further is not None and cause is not None:
            _leave_out(further, cause)
