"""The memory of a worker, and of its whole group, as Linux counts it."""

import os
from collections.abc import Iterator
from pathlib import Path


def _status_mb(field: str, pid: int | str = "self") -> float:
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024 / 1e6
    except OSError:  # it has just ended
        pass
    return 0.0


def peak_rss_mb() -> float:
    """The most memory this process had resident, mapped files and shared segments included, in 10^6 bytes."""
    return _status_mb("VmHWM")


def anonymous_mb(pid: int | str = "self") -> float:
    """The memory of its own that a process has resident now, in 10^6 bytes; 0 if it has just ended."""
    return _status_mb("RssAnon", pid)


def touched_mb() -> float:
    """What this process has touched of shared memory and still has resident, in 10^6 bytes."""
    return _status_mb("RssShmem")


def _family(pid: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            yield from _family(int(child))


def group_mb() -> float:
    """The memory of a worker's launcher and all its descendants now, in 10^6 bytes, called on a worker: what each has
    for itself, and of what several share, shared segments and copies on write included, each its part (PSS).
    """
    total_kb = 0
    for pid in _family(os.getppid()):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue  # it has ended
        total_kb += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total_kb * 1024 / 1e6
