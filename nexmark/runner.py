"""Runs one query over staged events: plans the pace, executes the workers, merges what they saw into one result."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from engine import Config, Worker, execute
from nexmark.errors import OptionError
from nexmark.hiccups import hiccups_ms
from nexmark.latency import Histogram
from nexmark.memory import anonymous_mb, peak_rss_mb
from nexmark.queries import QUERIES
from nexmark.queries.query import Query
from nexmark.source import Measurements, Pace, nexmark_source
from nexmark.staged import StagedEvents
from operators.mechanisms import mechanism

CLOSED_BLOCK_EVENTS = 16_384
CLOSED_OUTSTANDING = 4
FINE_BLOCK_EVENTS = 256  # where each event is a message of its own, or a micro-batch is to be shared by all workers
OPEN_TURN_S = 1e-3  # event time that a worker takes in turn
OPEN_OUTSTANDING = 3
DISCARD_S = 1.0
HICCUP_S = 1.0
_HEAD_START_NS = 5_000_000


@dataclass(frozen=True)
class Plan:
    """What to run. rate: events a second offered in an open loop, None for a closed loop; duration_s: of an open loop;
    events: at most so many of the staged ones; block: events a worker takes in turn (0: chosen); micro_batch_ns: event
    time that sequential lets in at once; checks: see Config."""

    query: str
    input_folder: str
    workers: int = 0
    mechanism: str = "tokens"
    rate: float | None = None
    duration_s: float | None = None
    events: int | None = None
    block: int = 0
    micro_batch_ns: int = 1_000_000
    queue_bytes: int = 0
    ring_records: int = 1 << 14
    checks: str = ""

    def pace(self, staged_events: int, workers: int) -> Pace:
        """How the source offers events."""
        events = staged_events if self.events is None else min(self.events, staged_events)
        is_fine = self.mechanism in ("notifications", "sequential")
        if self.rate is None:
            block = self.block or (FINE_BLOCK_EVENTS if is_fine else CLOSED_BLOCK_EVENTS)
            return Pace(events, block, CLOSED_OUTSTANDING, micro_batch_ns=self.micro_batch_ns)
        if self.duration_s is not None:
            events = min(events, max(1, int(self.rate * self.duration_s)))
        turn = self.block or max(16, int(self.rate * OPEN_TURN_S / workers))
        if is_fine and not self.block:
            turn = min(turn, FINE_BLOCK_EVENTS)
        discard_s = min(DISCARD_S, events / self.rate / 2)  # of a run of less than two seconds, the first half
        return Pace(events, turn, OPEN_OUTSTANDING, self.rate, int(discard_s * 1e9), self.micro_batch_ns)


def prepare(plan: Plan) -> tuple[Query, StagedEvents, Config, Pace]:
    """What a plan comes to: its query, its events (proven), the group's settings and the pace. Raises what the person
    can put right: StagedError, ConfigError, OptionError."""
    query = QUERIES[plan.query]
    if plan.mechanism not in query.mechanisms:
        raise OptionError(
            f"{plan.query} exchanges rows between workers, which {plan.mechanism} cannot; use "
            f"{', '.join(query.mechanisms[:-1])} or {query.mechanisms[-1]}"
        )
    staged = StagedEvents.open(plan.input_folder, check=query.checked)
    config = Config(
        workers=plan.workers, queue_bytes=plan.queue_bytes, ring_records=plan.ring_records, checks=plan.checks
    )
    pace = plan.pace(staged.events, config.workers)
    if pace.events == 0:
        raise OptionError(f"{plan.input_folder} holds no events; stage some with `tokenring stage`")
    return query, staged, config, pace


def run_query(
    plan: Plan,
    on_progress: Callable[[int, int], None] | None = None,
    on_start: Callable[[list[int]], None] | None = None,
) -> dict[str, Any]:
    """Run the plan; returns the JSON object of `tokenring run` (its `verified` is still None).

    on_progress(offered, events) is called a few times a second; on_start(pids) when the workers are there.
    """
    query, staged, config, pace = prepare(plan)
    hiccups = hiccups_ms(config.workers, HICCUP_S) if plan.rate is not None else None
    offered = [0] * config.workers

    def note(worker: int, value: Any) -> None:
        offered[worker] = value
        if on_progress is not None:
            on_progress(sum(offered), pace.events)

    started_s = time.monotonic()
    program = partial(_work, plan=plan, query=query, staged=staged, pace=pace)
    parts = execute(program, config=config, on_note=note, on_start=on_start)
    return _merge(plan, query, config, pace, parts) | {
        "hiccups_ms": hiccups,
        "wall_seconds": time.monotonic() - started_s,
        "staged_events": staged.events,
    }


def declare(
    worker: Worker, plan: Plan, query: Query, staged: StagedEvents, pace: Pace, measurements: Measurements
) -> Callable[[], dict[str, Any]]:
    """Declare a plan's dataflow on a worker; returns what gives this worker's part of the result."""
    with worker.dataflow(query.name) as scope:
        way = mechanism(plan.mechanism)
        streams, attach = nexmark_source(worker, scope, staged, query.reads, pace, measurements, way)
        probe, result = query.build(*streams, way=way)
        attach(probe)
    return result


def _work(worker: Worker, plan: Plan, query: Query, staged: StagedEvents, pace: Pace) -> dict[str, Any]:
    """One worker's program."""
    measurements = Measurements()
    result = declare(worker, plan, query, staged, pace, measurements)
    measurements.start_ns = worker.barrier() + _HEAD_START_NS
    cpu_ns = time.process_time_ns()
    worker.run()
    end_ns = time.monotonic_ns()
    return {
        "seconds": (end_ns - measurements.start_ns) / 1e9,
        "cpu_seconds": (time.process_time_ns() - cpu_ns) / 1e9,
        "offered": measurements.offered,
        "dnf": measurements.dnf,
        "latency": measurements.histogram.to_json(),
        "steps": worker.steps,
        "peak_rss_mb": peak_rss_mb(),
        "anonymous_mb": anonymous_mb(),
        "result": result(),
    }


def _merge(plan: Plan, query: Query, config: Config, pace: Pace, parts: list[dict[str, Any]]) -> dict[str, Any]:
    seconds = max(part["seconds"] for part in parts)
    events = sum(part["offered"] for part in parts)
    histogram = Histogram()
    for part in parts:
        histogram.merge(part["latency"])
    latency = None
    if pace.rate is not None:
        shares = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
        latency = {name: histogram.quantile_ms(share) for name, share in shares.items()} | {"max": histogram.max_ms}
    return {
        "query": query.name,
        "workers": config.workers,
        "mechanism": plan.mechanism,
        "rate": pace.rate,
        "events": events,
        "planned_events": pace.events,
        "seconds": seconds,
        "events_per_second": events / seconds,
        "latency_ms": latency,
        "discarded_seconds": pace.discard_ns / 1e9 if pace.rate is not None else None,
        "dnf": any(part["dnf"] for part in parts),
        "cpu_seconds": sum(part["cpu_seconds"] for part in parts),
        "peak_rss_mb": max(part["peak_rss_mb"] for part in parts),
        "anonymous_mb": max(part["anonymous_mb"] for part in parts),
        "shared_mb": config.layout.total_bytes / 1e6,
        "block_events": pace.block,
        "steps": sum(part["steps"] for part in parts),
        "verified": None,
        "result": query.merge([part["result"] for part in parts]),
    }
