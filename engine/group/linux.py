"""What a worker asks of Linux and its C library: to die with its launcher, to let profilers of the same user look at
it, and to keep little of the memory that was freed.
"""

import ctypes
import os
import signal
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_PTRACER = 0x59616D61
_PR_SET_PTRACER_ANY = ctypes.c_ulong(-1)
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_MAPPED_BYTES = 16 * 2**20
_KEPT_BYTES = 64 * 2**20


def _prctl(option: int, argument: "int | ctypes.c_ulong") -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, argument, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, also if that has just happened."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def allow_tracing() -> None:
    """Let any process of the same user attach (py-spy is a sibling, which Yama's ptrace scope 1 would refuse)."""
    _prctl(_PR_SET_PTRACER, _PR_SET_PTRACER_ANY)


def keep_little() -> None:
    """Have blocks of 16 MiB and more go back to the system as they are freed, and of what is free at the heap's end all
    but 64 MiB; a worker that sleeps gives that back, too (`Garbage.when_asleep`).

    GNU's malloc raises both limits with the blocks that are freed, the first up to 32 MiB. With less kept than the
    rounds of a loop take and free in turn, the system maps and clears those pages in every round: a third of PageRank's
    time at 8 MiB. Nothing is changed where the user's environment says how much is to be kept, nor under other C
    libraries.
    """
    if any(name.startswith("MALLOC_") for name in os.environ) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return
    with suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
