"""Rounds in which everything takes turns, and what is concluded from them: medians, spreads, ratios within rounds."""

from __future__ import annotations

import contextlib
import mmap
import os
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, TypeVar

from tokenring.tools.system import progress_line

_READY_BYTES = 1 << 32
_MADV_POPULATE_WRITE = 23  # Linux 5.14; Python does not name it

Case = TypeVar("Case")
Outcome = TypeVar("Outcome")


def in_turns(cases: Sequence[Case], rounds: int) -> Iterator[Case]:
    """Each case once a round, so that what the machine does meanwhile hits all alike; each round starts at another."""
    for number in range(rounds):
        for step in range(len(cases)):
            yield cases[(step + number) % len(cases)]


def take_turns(
    what: str, cases: Iterable[Case], rounds: int, measure: Callable[[Case], Outcome], warm_up: bool = True
) -> dict[Case, list[Outcome]]:
    """Measure every case once a round, in turns; the outcomes of each. With `warm_up`, a round before the first is not
    counted: it reads pages and loads kernels."""
    _make_memory_ready()
    outcomes: dict[Case, list[Outcome]] = {case: [] for case in cases}
    turns = list(in_turns(list(outcomes), rounds + warm_up))
    with progress_line(what) as progress:
        for done, case in enumerate(turns):
            if progress is not None:
                progress(done, len(turns))
            outcomes[case].append(measure(case))
    return {case: of_case[warm_up:] for case, of_case in outcomes.items()}


@cache
def _make_memory_ready() -> None:
    """Have the system find memory for what is measured, once: in a virtual machine a page that nobody has used yet
    comes from the host, which takes up to a hundred times as long as clearing it, and hits whoever asks first."""
    size = min(_READY_BYTES, os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4)
    memory = mmap.mmap(-1, max(size, mmap.PAGESIZE), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with memory, contextlib.suppress(OSError):  # an older kernel
        memory.madvise(_MADV_POPULATE_WRITE)


def spread(values: Iterable[float]) -> dict[str, float]:
    """Median, least and greatest."""
    kept = sorted(values)
    return {"median": statistics.median(kept), "least": kept[0], "greatest": kept[-1]}


def paired(over: Sequence[float], under: Sequence[float]) -> dict[str, float]:
    """The first over the second, round by round: their spread."""
    return spread(one / other for one, other in zip(over, under, strict=True))


def median_of(values: Iterable[float | None]) -> float | None:
    """The median of those that are there."""
    kept = [value for value in values if value is not None]
    return statistics.median(kept) if kept else None


def worst(meters: Iterable[dict[str, float]]) -> dict[str, float]:
    """Of hiccup meters, one a core, the greatest p999 and max in ms."""
    kept = list(meters)
    return {name: max(meter[name] for meter in kept) for name in ("p999", "max")}


def hiccup_row(meters: Iterable[dict[str, float]]) -> dict[str, Any]:
    """The same as a row has it: hiccup_p999_ms, hiccup_max_ms."""
    return {f"hiccup_{name}_ms": value for name, value in worst(meters).items()}
