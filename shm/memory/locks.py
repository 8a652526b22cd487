"""What is somebody's for as long as he lives: a file or folder that he holds a lock of.

The lock goes with the last process that has its descriptor, however that ends; and processes of another PID namespace
that share the place (a container's), to whom a pid in a name says nothing, see it too.
"""

import fcntl
import os
from contextlib import suppress


def hold(descriptor: int) -> None:
    """Hold an open file or folder until its descriptor is closed; not where its file system knows no locks."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH)


def is_held(path: str | os.PathLike[str], unknown: bool = False) -> bool:
    """Whether somebody who lives holds it; `unknown` where its file system knows no locks. Raises OSError if it cannot
    be opened."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return unknown
    finally:
        os.close(descriptor)
    return False
