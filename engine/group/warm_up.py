"""Makes every kernel declared so far ready before the group forks: from the cache, or by compiling it, once."""

import os
import signal
import sys
from collections.abc import Sequence

from tokenring.shm.kernels import Kernel, kernels_to_make_ready

_MANY = 16
"""So many kernels are compiled by two processes, if there are two cores."""


def warm_up() -> int:
    """Make all declared kernels ready; says on stderr what it is about to compile. Returns how many were compiled."""
    missing = [waiting for waiting in kernels_to_make_ready() if not waiting.make_ready(only_load=True)]
    if missing:
        _compile(missing)
    return len(missing)


def _compile(kernels: Sequence[Kernel]) -> None:
    said = f"compiling {len(kernels)} kernel{'s' * (len(kernels) > 1)}, once"
    moving = sys.stderr.isatty()
    print(said, end=":" if moving else "\n", file=sys.stderr, flush=True)
    helper = _start_helper(kernels[1::2]) if len(kernels) >= _MANY and len(os.sched_getaffinity(0)) > 1 else 0
    try:
        in_turn = [*kernels[::2], *kernels[1::2]] if helper else kernels
        for at, missing in enumerate(in_turn):
            if moving:
                print(f"\r{said}: {100 * at // len(kernels)} %", end="", file=sys.stderr, flush=True)
            if helper and at == len(kernels[::2]):
                os.waitpid(helper, 0)
                helper = 0
            missing.make_ready()
    finally:
        if helper:
            os.kill(helper, signal.SIGKILL)
            os.waitpid(helper, 0)
    if moving:
        print(f"\r{said}: done ", file=sys.stderr, flush=True)


def _start_helper(kernels: Sequence[Kernel]) -> int:
    """A process that compiles these into the cache, from where they are then loaded; its pid. Where nothing can be
    kept, or it fails, they are compiled once more: it is quicker, and nothing depends on it."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 2)
            for missing in kernels:
                missing.make_ready()
        finally:
            os._exit(0)
    return pid
