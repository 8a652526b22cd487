"""Makes every kernel declared so far ready before the group forks: from the cache, or by compiling it, once."""

import sys
from collections.abc import Sequence

from tokenring.shm.kernels import Kernel, kernels_to_make_ready


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
    for at, missing in enumerate(kernels):
        if moving:
            print(f"\r{said}: {100 * at // len(kernels)} %", end="", file=sys.stderr, flush=True)
        missing.make_ready()
    if moving:
        print(f"\r{said}: done ", file=sys.stderr, flush=True)
