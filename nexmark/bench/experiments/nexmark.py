"""`tokenring bench nexmark`: Q4 and Q7 in an open loop, by rate, workers and mechanism (the paper's 7.4)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tokenring.nexmark.bench.experiments.mechanisms import (
    DNF_SAID,
    EACH_TIME,
    SAID,
    by_mechanism,
    by_source,
    lines,
    marks,
    sourced_points,
    style_order,
    workers_cell,
)
from tokenring.nexmark.bench.parts import (
    Draw,
    Experiment,
    Panels,
    Row,
    Sweep,
    hiccup_row,
    rate_text,
    ticks,
    workers_text,
)
from tokenring.nexmark.events import GeneratorConfig
from tokenring.nexmark.measure import until_decided
from tokenring.nexmark.run import Plan, run_query
from tokenring.nexmark.spark import require_spark
from tokenring.nexmark.staging import StagedEvents, stage_generated
from tokenring.tools.errors import OptionError
from tokenring.tools.system import progress_bar

_FIGURES = ("p50_ms", "p99_ms", "p999_ms", "max_ms", "dnf", "verdict", "slope", "seconds")
_EVENT_RATE = 100_000  # events a second of event time: some windows of Q7 in a few million events, as in the quickstart


def _points(sweep: Sweep) -> list[Row]:
    """Every query, rate, number of workers, mechanism and source, over staged events that last for it."""
    folder = sweep["folder"]
    require_events(folder, StagedEvents.open(folder, check=None).events, max(sweep["rate"]), sweep["duration"])
    swept = {name: sweep[name] for name in ("query", "rate", "workers")}
    return sourced_points(sweep["source"], sweep["mechanism"], **swept)


def _measure(point: Row, sweep: Sweep) -> Row:
    """One run, or longer ones until it is decided whether it holds, as far as there are events."""
    folder, duration_s = str(sweep["folder"]), sweep["duration"]
    events = StagedEvents.open(sweep["folder"], check=None).events
    return until_decided(partial(_run, folder, point), duration_s, events / point["rate"])


def _run(folder: str, point: Row, duration_s: float) -> Row:
    """One run of `tokenring run` with --rate."""
    outcome = run_query(
        Plan(
            point["query"],
            folder,
            workers=point["workers"],
            mechanism=point["mechanism"],
            rate=point["rate"],
            duration_s=duration_s,
            each_time=point["source"] == EACH_TIME,
        )
    )
    latency_ms = {} if outcome["dnf"] else outcome["latency_ms"]  # what was done in time says nothing about the rest
    return {
        **{f"{name}_ms": latency_ms.get(name) for name in ("p50", "p99", "p999", "max")},
        **{name: outcome[name] for name in ("dnf", "verdict", "slope", "seconds", "events")},
        "micro_batch_ns": Plan.micro_batch_ns if point["mechanism"] == "sequential" else None,
        **hiccup_row(outcome["hiccups_ms"]),
    }


@contextmanager
def staged_events(folder: Path | None, rates: tuple[float, ...], duration_s: float) -> Iterator[Path]:
    """The folder given, or a temporary one with just enough generated events, staged by Spark as everybody's are."""
    if folder is not None:
        yield folder
        return
    require_spark("staging events (or give --input)")
    with tempfile.TemporaryDirectory(prefix="tokenring-bench-") as temporary:
        events = int(max(rates) * duration_s) + 1
        staged = Path(temporary) / "events"
        with progress_bar() as progress:  # ended before anything is forked: it draws with a thread
            stage_generated(staged, GeneratorConfig(events, rate=_EVENT_RATE), progress=progress)
        yield staged


def require_events(folder: Path, available: int, rate: float, seconds: float) -> None:
    """Refuse an open loop that the events would not last for."""
    if rate * seconds > available:
        raise OptionError(
            f"{rate:g} events/s for --duration {seconds:g} s takes {rate * seconds:,.0f} events, {folder} gives "
            f"{available:,}; offer less, for a shorter time, or stage more"
        )


def _tables(rows: list[Row], _sweep: Sweep) -> list[str]:
    parts = [f"Open loop: latency in µs from the instant an event is due until the probe passes it. {DNF_SAID}"]
    named = (("rate", lambda row: rate_text(row["rate"])), ("workers", workers_cell))
    for source, of_source in by_source(rows):
        parts.append(SAID[source])
        for query in dict.fromkeys(row["query"] for row in of_source):
            own = [row for row in of_source if row["query"] == query]
            ordered = sorted(own, key=lambda row: (row["rate"], row["workers"]))
            parts += [f"NEXMark {query.upper()}:", by_mechanism(ordered, named, _FIGURES[:4], 1e-3)]
    return parts + marks(rows)


def _panels(rows: list[Row]) -> Iterator[Draw]:
    """Latency over the rate, for each source, query and number of workers."""
    for source, of_source in by_source(rows):
        for query in dict.fromkeys(row["query"] for row in of_source):
            for workers in sorted({row["workers"] for row in of_source}):
                chosen = [row for row in of_source if (row["query"], row["workers"]) == (query, workers)]
                title = f"{query.upper()}, {workers_text(workers)}, {source}"
                yield partial(_over_rates, rows=chosen, title=title)


def _over_rates(ax: Any, rows: list[Row], title: str) -> None:
    lines(ax, rows, "rate", ("p50_ms", "p999_ms"), title, "events a second offered")
    ax.set_xscale("log")
    ticks(ax, [row["rate"] for row in rows], rate_text)


NEXMARK = Experiment(
    "nexmark", _points, _measure, _tables, Panels(_panels, order=style_order), _FIGURES,
    events=lambda sweep: (sweep["rate"], sweep["duration"]),
)  # fmt: skip
