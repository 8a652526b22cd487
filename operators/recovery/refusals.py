"""What the system refuses a run of its job's files, in one line: which one, why, and the cure."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokenring.engine import OperatorError, RecoveryError

_RIGHTS = {errno.EACCES, errno.EPERM}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_TOO_LARGE = {errno.EFBIG}
_NO_FOLDER = {errno.EEXIST, errno.ENOTDIR}
_NO_ROOM_FOR_FILES = {errno.ENOENT}  # of a folder that is there: /proc, say
_NOTHING_LOST = "nothing of the job is lost, so remove nothing of it"


def refusal(error: OSError, place: Path, then: str = _NOTHING_LOST) -> RecoveryError:
    """What to raise for it. place: what is named where the error names no file. then: what comes behind the cure."""
    named, why, cure = error.filename2 or error.filename or place, error.strerror or str(error), "mend that"
    if error.errno in _RIGHTS:
        why += f" to user {os.geteuid()}"
        cure = f"let that user read and write there (chown, chmod); {then}"
    elif error.errno in _FULL:
        cure = f"make room there; {then}"
    elif error.errno in _TOO_LARGE:
        cure = f"allow larger files (ulimit -f); {then}"
    elif error.errno in _NO_FOLDER:
        cure = "name a folder"
    elif error.errno in _NO_ROOM_FOR_FILES and Path(named).is_dir():
        why, cure = "no file or folder can be made in it", "name another folder"
    return RecoveryError(f"{named}: {why}: {cure}")


@contextmanager
def in_one_line(place: Path) -> Iterator[None]:
    """Within the block, what the system refuses is a RecoveryError. place: see `refusal`."""
    try:
        yield
    except OSError as error:
        raise refusal(error, place) from None


@contextmanager
def refused_to(operator: str, worker: int, place: Path, then: str = _NOTHING_LOST) -> Iterator[None]:
    """Within the block, what the system refuses an operator of its files is an OperatorError that names it, as the
    program calls it, and their folder: files are hidden, and some operators have others beside them. then: see
    `refusal`."""
    try:
        yield
    except OSError as error:
        said = os.strerror(error.errno) if error.errno else str(error)  # pyarrow's own tells where in pyarrow it was
        why = refusal(OSError(error.errno, said), place, then)
        raise OperatorError(f"operator {operator!r} on worker {worker}: {type(error).__name__}: {why}") from error
