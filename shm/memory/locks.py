"""What is somebody's for as long as he lives: a file or folder that he holds a lock of.

The lock goes with the last process that has its descriptor, however that ends; and processes of another PID namespace
that share the place (a container's), to whom a pid in a name says nothing, see it too.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def hold(descriptor: int) -> None:
    """Hold an open file or folder until its descriptor is closed; not where its file system knows no locks."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH)


def is_held(path: str | os.PathLike[str], unknown: bool = False) -> bool:
    """Whether somebody who lives holds it; `unknown` where its file system knows no locks. Raises OSError if it cannot
    be opened, or is no longer there."""
    with alone(path, not unknown) as is_alone:
        return not is_alone


@contextmanager
def alone(path: str | os.PathLike[str], unknown: bool) -> Iterator[bool]:
    """A context in which nobody else comes to hold it; gives whether nobody does, else it is just what it was. unknown,
    and errors, as of `is_held`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_alone = True
        except BlockingIOError:
            is_alone = False
        except OSError:
            is_alone = unknown
        if is_alone and not os.fstat(descriptor).st_nlink:  # whoever was alone before has removed it
            raise FileNotFoundError(path)
        yield is_alone
    finally:
        os.close(descriptor)
