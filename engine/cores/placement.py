"""Chooses the cores of a group's workers, once, in the launcher, before any is pinned; and whether they spin there.

A worker cannot find out for itself: pinned, it sees one core and no more.
"""

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from tokenring.engine.cores.claims import Claims, taken_among
from tokenring.engine.cores.quota import cpu_quota
from tokenring.engine.cores.topology import Core, read_cores

_ROOT = Path("/")


class Placement(NamedTuple):
    """Where the workers of a group run. `str` of it says so in a line."""

    cores: tuple[int, ...]
    """The core of each worker; none if they are not pinned."""
    spin_us: int
    """How long a worker with nothing to do spins; 0 if it must not."""
    described: str
    """Which cores these are."""
    why_not: str
    """Why workers do not spin; "" if they do."""

    def __str__(self) -> str:
        return f"{self.described}, {f'not spinning: {self.why_not}' if self.why_not else f'spinning {self.spin_us} µs'}"


def place(
    workers: int, pin: bool, spin_us: int, usable: Sequence[int], claims: Claims, root: Path = _ROOT
) -> Placement:
    """Choose cores for so many workers among the usable ones, and claim them if workers are to be pinned there.

    Workers spin for `spin_us` where each has a core to itself: there are as many that are no other group's, and no
    cgroup's quota is smaller (1.5 CPUs are one core: two that spin would be stopped half of the time).
    """
    cores = read_cores(usable, root)
    taken = taken_among({sibling for core in cores for sibling in core.siblings})
    chosen = choose(cores, taken, workers)
    while pin and (lost := {number for number in _numbers(chosen) if number not in taken and not claims.claim(number)}):
        claims.close()  # another group has just got them: look once more
        taken |= lost
        chosen = choose(cores, taken, workers)
    why_not = _why_not(workers, spin_us, cores, taken, cpu_quota(root))
    numbers = _numbers(chosen)
    return Placement(
        tuple([numbers[index % len(numbers)] for index in range(workers)]) if pin else (),
        0 if why_not else spin_us,
        _described(chosen, cores) if pin else f"workers on any of cores {_ranges(_numbers(cores))}",
        why_not,
    )


def choose(cores: Sequence[Core], taken: Set[int], workers: int) -> list[Core]:
    """The cores for so many workers, by node and number; all of them if there are not enough.

    Those of no other group (`taken` has the numbers of theirs) go first: one of each physical core that is free as a
    whole, then the other threads of such, then those beside another group's. Within each kind, those of a node that has
    enough, the least such; else of the largest, so that few nodes take part.
    """
    kinds: tuple[list[Core], ...] = [], [], [], []
    seen: set[int] = set()
    for core in cores:
        kind = 3 if core.number in taken else 2 if core.siblings & taken else 1 if core.siblings & seen else 0
        kinds[kind].append(core)
        seen.add(core.number)
    chosen: list[Core] = []
    for left in kinds:
        while left and len(chosen) < workers:
            needed = workers - len(chosen)
            node = _best_node(left, needed, {core.node for core in chosen})
            chosen += [core for core in left if core.node == node][:needed]
            left = [core for core in left if core.node != node]
    return sorted(chosen, key=lambda core: (core.node, core.number))


def _best_node(cores: Sequence[Core], needed: int, used: Set[int]) -> int:
    """The node to take cores of: one that is used already, one that has as many as are needed, the lowest number."""
    counts = Counter(core.node for core in cores)

    def order(node: int) -> tuple[bool, bool, int, int]:
        suffices = counts[node] >= needed
        return node not in used, not suffices, counts[node] if suffices else -counts[node], node

    return min(counts, key=order)


def _why_not(workers: int, spin_us: int, cores: Sequence[Core], taken: Set[int], quota: float | None) -> str:
    """Why workers must not spin; "" if they may."""
    if spin_us == 0:
        return "spin_us is 0"
    if workers > len(cores):
        return f"{workers} workers, and {_count(len(cores), 'core')}"
    if quota is not None and workers > int(quota):
        return f"{_count(workers, 'worker')}, and a cgroup's quota of {quota:g} CPUs"
    others = [number for number in _numbers(cores) if number in taken]
    if workers > len(cores) - len(others):
        return f"another group has {'core' if len(others) == 1 else 'cores'} {_ranges(others)}"
    return ""


def _described(chosen: Sequence[Core], cores: Sequence[Core]) -> str:
    physical = {core.siblings for core in chosen}
    nodes = {core.node for core in cores}
    notes = [
        f"of {len(cores)}",
        "one a physical core" if len(physical) == len(chosen) else "some share a physical core",
    ]
    if len(nodes) > 1:
        notes.append(f"node {_ranges(sorted({core.node for core in chosen}))}")
    return f"workers on cores {_ranges(_numbers(chosen))} ({'; '.join(notes)})"


def _numbers(cores: Iterable[Core]) -> list[int]:
    return [core.number for core in cores]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _ranges(numbers: Iterable[int]) -> str:
    """0, 1, 2 and 5 as "0-2, 5"; of two in a row, both."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return ", ".join(shown)
