"""What a worker asks of Linux: to die with its launcher, and to let profilers of the same user look at it."""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_PTRACER = 0x59616D61
_PR_SET_PTRACER_ANY = ctypes.c_ulong(-1)


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
