"""What the benchmarks share: options, rounds that take turns, medians, JSON files."""

from __future__ import annotations

import contextlib
import mmap
import os
import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from tokenring.nexmark.bench.rendering import machine
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.system.files import PathOption, replace
from tokenring.tools.system.progress import progress_line

ROOT = Path(__file__).parents[2]
DOCUMENTS = tuple([ROOT / "docs" / f"{name}.md" for name in ("performance", "experiments", "scale-out")])
RESULTS = ROOT / "docs" / "benchmarks"
_READY_BYTES = 1 << 32
_MADV_POPULATE_WRITE = 23  # Linux 5.14; Python does not name it

Case = TypeVar("Case")
Outcome = TypeVar("Outcome")

input_option = click.option(
    "--input",
    "input_folder",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A folder staged by `tokenring stage`.",
)
rounds_option = click.option(
    "--rounds", type=click.IntRange(1), default=5, show_default=True, help="How often everything is measured."
)
workers_option = click.option(
    "--workers",
    multiple=True,
    type=click.IntRange(1, 512),
    default=(1, 2),
    show_default=True,
    metavar="N...",
    help="Worker processes.",
)
events_option = click.option(
    "--events", type=click.IntRange(1), metavar="N", help="Use only the first N staged events."
)
json_option = click.option(
    "--json",
    "json_file",
    required=True,
    metavar="FILE",
    type=PathOption(),
    help="Where the figures go.",
)
queries_option = click.option(
    "--query",
    "queries",
    multiple=True,
    type=click.Choice(tuple(QUERIES)),
    default=tuple(QUERIES),
    metavar="QUERY...",
    help="[default: all]",
)


def take_turns(
    what: str, cases: Sequence[Case], rounds: int, measure: Callable[[Case], Outcome], warm_up: bool = True
) -> list[list[Outcome]]:
    """Measure every case once a round, so that what the machine does meanwhile hits all alike; returns a list a case.

    Each round starts at another case. With `warm_up`, a round before the first is not counted: it reads pages and
    loads kernels.
    """
    _make_memory_ready()
    outcomes: list[list[Outcome]] = [[] for _ in cases]
    total = len(cases) * (rounds + warm_up)
    with progress_line(what) as progress:
        done = 0
        for number in range(rounds + warm_up):
            for step in range(len(cases)):
                at = (step + number) % len(cases)
                outcome = measure(cases[at])
                if number >= warm_up:
                    outcomes[at].append(outcome)
                done += 1
                if progress is not None:
                    progress(done, total)
    return outcomes


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


def median_of(values: Iterable[float | None]) -> float | None:
    """The median of those that are there."""
    kept = [value for value in values if value is not None]
    return statistics.median(kept) if kept else None


def of_events(staged: StagedEvents, events: int, rounds: int) -> dict[str, Any]:
    """The parameters that say what was measured, and how often."""
    made = {"staged_rate": staged.manifest.get("rate"), "seed": staged.manifest.get("seed")}
    return {"events": events, "rounds": rounds, **made}


def write_json(path: Path, benchmark: str, parameters: dict[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """Write one benchmark's figures, whole or not at all."""
    data = {"benchmark": benchmark, "machine": machine(), "parameters": parameters, **figures}
    replace(path, orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return data
