"""`tokenring bench nexmark`: Q4 and Q7 in an open loop, by rate, workers and mechanism (the paper's 7.4)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tokenring.nexmark.bench.experiments.tails import hiccup_row
from tokenring.nexmark.bench.sweeps import EACH_TIME, Experiment, Job, Row, sourced_points
from tokenring.nexmark.events import GeneratorConfig
from tokenring.nexmark.measure import LONGEST, until_decided
from tokenring.nexmark.run import Plan, run_query
from tokenring.nexmark.spark import require_spark
from tokenring.nexmark.staging import StagedEvents, stage_generated
from tokenring.tools.errors import OptionError
from tokenring.tools.system import progress_bar

NEXMARK = Experiment("nexmark", ("p50_ms", "p99_ms", "p999_ms", "max_ms", "dnf", "verdict", "slope", "seconds"))
_EVENT_RATE = 100_000  # events a second of event time: some windows of Q7 in a few million events, as in the quickstart


def jobs(
    folder: Path,
    queries: tuple[str, ...],
    rates: tuple[float, ...],
    workers: tuple[int, ...],
    mechanisms: tuple[str, ...],
    sources: tuple[str, ...],
    duration_s: float,
) -> list[Job]:
    """A job for each query, rate, number of workers, mechanism and source, over the events staged in `folder`."""
    events = StagedEvents.open(folder, check=None).events
    require_events(folder, events, max(rates), duration_s)
    measure = partial(_measure, str(folder), events, duration_s)
    sweep = {"query": queries, "rate": rates, "workers": workers}
    return [Job(NEXMARK, point, measure) for point in sourced_points(sources, mechanisms, **sweep)]


def _measure(folder: str, events: int, duration_s: float, point: Row) -> Row:
    """One run, or longer ones until it is decided whether it holds, as far as there are events."""
    most = min(LONGEST * duration_s, events / point["rate"])
    return until_decided(partial(_run, folder, point), duration_s, most)


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
        "dnf": outcome["dnf"],
        "verdict": outcome["verdict"],
        "slope": outcome["slope"],
        "micro_batch_ns": Plan.micro_batch_ns if point["mechanism"] == "sequential" else None,
        "seconds": outcome["seconds"],
        "events": outcome["events"],
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
