"""Runs one query over staged events: plans the pace, executes the workers, merges what they saw into one result."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenring.engine import Config, Worker
from tokenring.nexmark.measure import DNF, Histogram, Verdict, anonymous_mb, hiccups_ms, judge, peak_rss_mb
from tokenring.nexmark.queries import QUERIES, Query
from tokenring.nexmark.run.callback import Callback
from tokenring.nexmark.run.pace import Measurements, Pace
from tokenring.nexmark.run.result_rows import Rows, file_of, kept_rows
from tokenring.nexmark.run.sent_at import with_sent_at
from tokenring.nexmark.run.source import nexmark_source
from tokenring.nexmark.staging import StagedEvents
from tokenring.operators import collect, for_each
from tokenring.operators.fluent import execute
from tokenring.operators.mechanisms import use
from tokenring.operators.migrate import use_bins
from tokenring.tools.errors import OptionError

if TYPE_CHECKING:
    from tokenring.operators.migrate import Change

CLOSED_BLOCK_ROWS = 16_384
LEAST_TURNS = 16  # that each worker has in a closed loop, however few of the events are read
CLOSED_OUTSTANDING = 4
FINE_BLOCK_EVENTS = 256  # where each event is a message of its own, or a micro-batch is to be shared by all workers
OPEN_TURN_S = 1e-3  # event time that a worker takes in turn
OPEN_OUTSTANDING = 3
DISCARD_S = 1.0
HICCUP_S = 1.0
SHOWN_ROWS = 1_000  # of a large result, in the outcome
_HEAD_START_NS = 5_000_000


@dataclass(frozen=True)
class Plan:
    """What to run. rate: events a second offered in an open loop, None for a closed loop; duration_s: of an open loop;
    events: at most so many of the staged ones; block: events a worker takes in turn (0: chosen); micro_batch_ns: event
    time that sequential lets in at once; each_time: send a message for each distinct event time, whatever the mechanism
    needs; bins: in which keyed state lies, so that it can be moved (0: it cannot); moves: what is known beforehand of
    that, as (event time, bin, worker); callback: end with a function in Python, up to whose return an event counts as
    under way; checks, memory_bytes: see Config."""

    query: str
    input_folder: str
    workers: int = 0
    mechanism: str = "tokens"
    rate: float | None = None
    duration_s: float | None = None
    events: int | None = None
    block: int = 0
    micro_batch_ns: int = 1_000_000
    each_time: bool = False
    bins: int = 0
    moves: "tuple[Change, ...]" = ()
    callback: bool = False
    queue_bytes: int = 0
    ring_records: int = 1 << 14
    checks: str = ""
    memory_bytes: int = 0

    def pace(self, staged_events: int, workers: int, read: float = 1.0) -> Pace:
        """How the source offers events, of which the query reads the share `read`: a closed loop's batches have about
        as many rows whatever that is."""
        events = staged_events if self.events is None else min(self.events, staged_events)
        is_fine = self.mechanism in ("notifications", "sequential")
        if self.rate is None:
            most = max(CLOSED_BLOCK_ROWS, events // (LEAST_TURNS * workers))
            coarse = min(most, int(CLOSED_BLOCK_ROWS / read)) if read > 0 else most
            block = self.block or (FINE_BLOCK_EVENTS if is_fine else coarse)
            return Pace(
                events, block, CLOSED_OUTSTANDING, micro_batch_ns=self.micro_batch_ns, each_time=self.each_time
            )
        if self.duration_s is not None:
            events = min(events, max(1, int(self.rate * self.duration_s)))
        turn = self.block or max(16, int(self.rate * OPEN_TURN_S / workers))
        if is_fine and not self.block:
            turn = min(turn, FINE_BLOCK_EVENTS)
        discard_s = min(DISCARD_S, events / self.rate / 2)  # of a run of less than two seconds, the first half
        return Pace(
            events, turn, OPEN_OUTSTANDING, self.rate, int(discard_s * 1e9), self.micro_batch_ns, self.each_time
        )


def prepare(plan: Plan) -> tuple[Query, StagedEvents, Config, Pace]:
    """What a plan comes to: its query, its events (proven), the group's settings and the pace. Raises what the person
    can put right: StagedError, ConfigError, OptionError."""
    query = QUERIES[plan.query]
    if plan.mechanism not in query.mechanisms:
        if len(query.mechanisms) == 1:
            both = " and ".join([name for name, other in QUERIES.items() if plan.mechanism in other.mechanisms])
            raise OptionError(
                f"{plan.query} is written for {query.mechanisms[0]} alone, not for {plan.mechanism}; leave --mechanism "
                f"out, or ask for one that has it: {both or 'none has'}"
            )
        raise OptionError(
            f"{plan.query} exchanges rows between workers, which {plan.mechanism} cannot; use "
            f"{', '.join(query.mechanisms[:-1])} or {query.mechanisms[-1]}"
        )
    staged = StagedEvents.open(plan.input_folder, check=query.checked)
    config = Config(
        workers=plan.workers, queue_bytes=plan.queue_bytes, ring_records=plan.ring_records, checks=plan.checks,
        memory_bytes=plan.memory_bytes,
    )
    for name, columns in query.reads.items():
        staged.stream(name).map_all_texts(columns)  # before there are workers: texts then cross as words
    rows = sum(staged.stream(name).rows for name in query.reads)
    pace = plan.pace(staged.events, config.workers, rows / max(1, staged.events))
    if pace.events == 0:
        raise OptionError(f"{plan.input_folder} holds no events; stage some with `tokenring stage`")
    return query, staged, config, pace


def run_query(
    plan: Plan,
    on_progress: Callable[[int, int], None] | None = None,
    on_start: Callable[[list[int]], None] | None = None,
    rows: Path | None = None,
) -> dict[str, Any]:
    """Run the plan; returns the JSON object of `tokenring run` (its `verified` is still None).

    on_progress(offered, events) is called a few times a second; on_start(pids) when the workers are there. rows: an
    empty folder to keep the rows of a large result in (result_rows.kept_rows reads them); otherwise they are counted.
    """
    query, staged, config, pace = prepare(plan)
    hiccups = hiccups_ms(config.workers, HICCUP_S) if plan.rate is not None else None
    offered = [0] * config.workers

    def note(worker: int, value: Any) -> None:
        offered[worker] = value
        if on_progress is not None:
            on_progress(sum(offered), pace.events)

    started_s = time.monotonic()
    program = partial(_work, plan=plan, query=query, staged=staged, pace=pace, rows=rows)
    parts = execute(program, config=config, on_note=note, on_start=on_start)
    return (
        _merge(plan, query, config, pace, parts)
        | (_called([part["callback"] for part in parts]) if plan.callback else {})
        | _result(query, [part["result"] for part in parts], rows)
        | {
            "hiccups_ms": hiccups,
            "wall_seconds": time.monotonic() - started_s,
            "staged_events": staged.events,
        }
    )


def declare(
    worker: Worker,
    plan: Plan,
    query: Query,
    staged: StagedEvents,
    pace: Pace,
    measurements: Measurements,
    rows: Path | None = None,
    callback: Callback | None = None,
) -> Callable[[], Any]:
    """Declare a plan's dataflow on a worker; returns what gives this worker's part of the result once all is done: the
    columns of a small one, else the number of rows, which are kept in the folder `rows` if there is one. callback: is
    given all of the answer's rows, and events are done when it has them."""
    with worker.dataflow(query.name) as scope:
        way = use(scope, plan.mechanism)
        if plan.bins:
            measurements.placement = use_bins(scope, worker.index, worker.peers, plan.bins, plan.moves)
        streams, attach = nexmark_source(worker, scope, staged, query.reads, pace, measurements)
        stream, final = query.declare(streams)
        placement = measurements.placement if worker.peers > 1 else None
        if placement is not None and query.key and final is None and (query.is_small or rows is not None):
            stream = with_sent_at(stream)
        given = None if callback is None else for_each(stream, callback, name="callback")
        if query.is_small:
            attach(way.probe(stream) if given is None else given)
            return final.columns if final is not None else collect(stream, name="result").columns
        kept = Rows(query, None if rows is None else file_of(rows, worker.index))
        taken = kept.sink(stream)
        attach(taken if given is None else given)
        return kept.close


def _work(
    worker: Worker, plan: Plan, query: Query, staged: StagedEvents, pace: Pace, rows: Path | None
) -> dict[str, Any]:
    """One worker's program."""
    measurements = Measurements(pace.discard_ns)
    callback = Callback() if plan.callback else None
    result = declare(worker, plan, query, staged, pace, measurements, rows, callback)
    measurements.start_ns = worker.barrier() + _HEAD_START_NS
    cpu_ns = time.process_time_ns()
    worker.run()
    end_ns = time.monotonic_ns()
    return {
        "seconds": (end_ns - measurements.start_ns) / 1e9,
        "cpu_seconds": (time.process_time_ns() - cpu_ns) / 1e9,
        "offered": measurements.offered,
        "dnf": measurements.dnf,
        "trail": measurements.backlog.trail,
        "latency": measurements.histogram.to_json(),
        "steps": worker.steps,
        "peak_rss_mb": peak_rss_mb(),
        "anonymous_mb": anonymous_mb(),
        "result": result(),
        "callback": callback and callback.seen(query, staged, pace, measurements.start_ns),
    }


def _merge(plan: Plan, query: Query, config: Config, pace: Pace, parts: list[dict[str, Any]]) -> dict[str, Any]:
    seconds = max(part["seconds"] for part in parts)
    events = sum(part["offered"] for part in parts)
    latency, verdict = None, Verdict("", None)
    if pace.rate is not None:
        verdict = judge((part["trail"] for part in parts), any(part["dnf"] for part in parts))
        latency = Histogram(part["latency"] for part in parts).quantiles_ms()
    return {
        "query": query.name,
        "engine": "tokenring",
        "workers": config.workers,
        "mechanism": plan.mechanism,
        "rate": pace.rate,
        "events": events,
        "planned_events": pace.events,
        "seconds": seconds,
        "events_per_second": events / seconds,
        "latency_ms": latency,
        "discarded_seconds": pace.discard_ns / 1e9 if pace.rate is not None else None,
        "dnf": verdict.verdict == DNF,
        "verdict": verdict.verdict or None,
        "slope": verdict.slope,
        "cpu_seconds": sum(part["cpu_seconds"] for part in parts),
        "peak_rss_mb": max(part["peak_rss_mb"] for part in parts),
        "anonymous_mb": max(part["anonymous_mb"] for part in parts),
        "shared_mb": config.layout.total_bytes / 1e6,
        "block_events": pace.block,
        "steps": sum(part["steps"] for part in parts),
        "verified": None,
    }


def _called(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """What the workers' functions saw."""
    counts = {name: sum(part[name] for part in parts) for name in ("calls", "rows")}
    return {"callback": counts | {"latency_ms": Histogram(part["latency"] for part in parts).quantiles_ms()}}


def _result(query: Query, parts: list[Any], rows: Path | None) -> dict[str, Any]:
    """What is told of the result: all rows of a small one; of a large one that was kept the first, else how many."""
    if query.is_small:
        result = query.merge(parts)
        return {"result": result, "result_rows": len(result)}
    if rows is None:
        return {"result": None, "result_rows": None if query.key else sum(parts)}
    kept = kept_rows(rows, query.key)
    return {"result": kept.slice(0, SHOWN_ROWS).to_pylist(), "result_rows": kept.num_rows}
