"""How much memory processes take of their own, as Linux counts it: seen from outside, without asking them.

What counts is anonymous memory. Pages of files (libraries, staged columns, batches in mapped files) the system takes
back by itself when it is short; the group's segment is counted once, by its size. Pages that forked processes still
share are counted once too, a part in each.
"""

import os
from collections.abc import Iterable
from time import monotonic_ns

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_COST = 50  # an exact look is made only if as much as this times its cost has passed since the last


def anonymous_bytes(pid: int) -> int:
    """How much anonymous memory a process has mapped and touched, shared with others or not: some µs to learn, and a
    little late where it changes. 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return _anonymous(file.read())
    except (OSError, ValueError):
        return 0


def _anonymous(statm: bytes) -> int:
    _, resident, of_files = statm.split()[:3]
    return max(0, int(resident) - int(of_files)) * _PAGE_BYTES


def own_bytes(pid: int) -> int:
    """The process's part of its anonymous memory, what is swapped out included: pages that n processes share count an
    n-th in each. The system looks at all its pages for that. -1 if it is gone, or cannot be looked at."""
    total = 0
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return -1
    for line in lines:
        name, _, rest = line.partition(b":")
        if name in (b"Pss_Anon", b"SwapPss"):
            total += 1024 * int(rest.split()[0])
    return total


class OwnAnonymous:
    """This process's anonymous memory, as `anonymous_bytes` counts it, looked at again and again: 2 µs each."""

    def __init__(self) -> None:
        self._file = open("/proc/self/statm", "rb", buffering=0)  # noqa: SIM115 - for as long as this is asked

    def bytes(self) -> int:
        """What it is now."""
        return _anonymous(os.pread(self._file.fileno(), 128, 0))


class Taken:
    """What a group's processes take, looked at again and again: the dear and exact way when that has become cheap
    beside the time that passed, and by what changed since then in between."""

    def __init__(self) -> None:
        self.anonymous: dict[int, int] = {}
        """Anonymous bytes by pid, as they were at the last look."""
        self._exact: dict[int, tuple[int, int]] = {}  # by pid: own bytes, anonymous bytes at that moment
        self._next_ns = 0

    def look(self, pids: Iterable[int], exactly: bool) -> dict[int, int]:
        """Bytes by pid. exactly: whether that is worth a dear look, if it is time for one."""
        pids = list(pids)
        now_ns = monotonic_ns()
        is_exact = exactly and now_ns >= self._next_ns
        found = {}
        for pid in pids:
            self.anonymous[pid] = anonymous = anonymous_bytes(pid)
            if is_exact or pid not in self._exact:
                own = own_bytes(pid)
                self._exact[pid] = (own if own >= 0 else anonymous), anonymous
            own, then = self._exact[pid]
            found[pid] = max(0, own + anonymous - then)
        if is_exact:
            self._next_ns = now_ns + _COST * (monotonic_ns() - now_ns)
        return found
