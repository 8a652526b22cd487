"""`tokenring bench migration`: a run for each workload and plan, its moves as a table, and the latency meanwhile as a
plot after Megaphone's figures: a panel a workload, a line a plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tokenring.engine import Config, Worker
from tokenring.nexmark.bench.experiments import Schedule, WordMeasurements, offered_words
from tokenring.nexmark.bench.migration.moving import measured_moves, run_moving
from tokenring.nexmark.bench.parts import Column, Draw, Experiment, Panels, Row, Sweep, figure, points, table
from tokenring.nexmark.run import Measurements, Plan, declare, prepare
from tokenring.operators import Count, aggregate
from tokenring.operators.mechanisms import mechanism_of
from tokenring.operators.migrate import use_bins

KEY_COUNT = "key-count"
_STAGED_S = 20.0
LONGEST_S = 60.0
"""Of a run: by then its moves have ended, or have failed to."""
_QUANTUM_LOG2 = 8  # each key's time is its due instant, to 256 ns
_DISCARD_S = 0.5
_COLOURS = {
    "none": "#999999",
    "all_at_once": "#d55e00",
    "fluid": "#0072b2",
    "batched": "#009e73",
    "optimized": "#cc79a7",
}


def _points(sweep: Sweep) -> list[Row]:
    found = []
    for workload in sweep["workload"]:
        keys = sweep["keys_log2"] if workload == KEY_COUNT else (None,)
        others = {name: sweep[name] for name in ("bins_log2", "workers", "plan")}
        found += points(workload=(workload,), keys_log2=keys, **others, rate=(sweep["rate"],))
    return found


def _measure(point: Row, sweep: Sweep) -> Row:
    if point["workload"] == KEY_COUNT:
        return measured_key_count(point, sweep["seconds"])
    return _measured_query(point, str(sweep["folder"]), sweep["seconds"])


def measured_key_count(point: Row, quiet_s: float) -> Row:
    """One run: counts of 2^keys_log2 keys, in 2^bins_log2 bins, at `rate` keys a second over all workers. point: what
    these are."""

    def program(worker: Worker) -> dict[str, Any]:
        words, keys = int(point["rate"] * LONGEST_S), 1 << point["keys_log2"]
        schedule = Schedule(point["rate"], _QUANTUM_LOG2, words, worker.index, worker.peers, keys, all_first=True)
        return _count_keys(worker, schedule, point, quiet_s)

    return measured_moves(point, point["workers"], program, Config(workers=point["workers"]))


def _count_keys(worker: Worker, schedule: Schedule, point: Row, quiet_s: float) -> dict[str, Any]:
    """One worker's program."""
    discard_ns = int(_DISCARD_S * 1e9)
    measurements = WordMeasurements(discard_ns)
    with worker.dataflow("key-count") as scope:
        placement = use_bins(scope, worker.index, worker.peers, 1 << point["bins_log2"])
        words, attach = offered_words(worker, scope, schedule, discard_ns, measurements)
        attach(mechanism_of(scope).probe(aggregate(words, "word", n=Count())))
    return run_moving(worker, measurements, placement, point["plan"], quiet_s)


def _measured_query(point: Row, folder: str, quiet_s: float) -> Row:
    """One run over staged events, of which there are to be enough for its moves: at `rate` events a second. point: the
    query, workers, bins, plan and rate."""
    bins = 1 << point["bins_log2"]
    run = Plan(point["workload"], folder, point["workers"], rate=point["rate"], bins=bins)
    query, staged, config, pace = prepare(run)

    def program(worker: Worker) -> dict[str, Any]:
        measurements = Measurements(pace.discard_ns)
        result = declare(worker, run, query, staged, pace, measurements)
        assert measurements.placement is not None
        part = run_moving(worker, measurements, measurements.placement, point["plan"], quiet_s)
        result()
        return part

    return measured_moves(point, config.workers, program, config)


def _tables(rows: list[Row], sweep: Sweep) -> list[str]:
    """Moves away, half of the bins at once or in steps; of rows and bytes, half of those of both moves."""
    of_away: list[Column] = [
        (said, f"away.{name}", 1.0)
        for said, name in {
            "p99.9 before ms": "before_p999_ms", "p99.9 moving ms": "during_p999_ms", "spike": "spike",
            "max moving ms": "during_max_ms", "s above twice before": "above_s",
        }.items()
    ]  # fmt: skip
    return [
        f"Open loop, {sweep['rate']:,.0f} events a second; after {sweep['seconds']:g} s half of the bins go to the "
        "next worker, and later back: figures of the first move. “Spike” is p99.9 of the second of the move, or of all "
        "of it if it is longer, over that of the second before.",
        table(
            [row for row in rows if not row["error"]],
            ("workload", "workload"), ("keys", _keys_text), ("bins", "2^{bins_log2}"), ("workers", "workers"),
            ("plan", "plan"),
            ("s to move", lambda row: figure(row["away"]["seconds"]) if row["rows_moved"] else ""),
            ("rows moved", lambda row: f"{row['rows_moved'] // 2:,}"),
            ("MB moved", lambda row: figure(row["bytes_moved"] / 2e6)),
            *of_away,
            ("MB before", "memory_before_mb"), ("MB moving", "memory_moving_mb"), ("hiccup p99.9 ms", "hiccup_p999_ms"),
        ),
    ]  # fmt: skip


def _keys_text(row: Row) -> str:
    return "" if row["keys_log2"] is None else f"2^{row['keys_log2']}"


def _panels(rows: list[Row]) -> Iterator[Draw]:
    """The greatest latency of each twentieth of a second."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        keys = f", {_keys_text(row)} keys" if row["keys_log2"] is not None else ""
        title = f"{row['workload']}{keys}, 2^{row['bins_log2']} bins, {row['workers']} workers"
        found.setdefault(title, []).append(row)
    for title, own in found.items():
        yield partial(_timelines, rows=own, title=title)


def _timelines(ax: Any, rows: list[Row], title: str) -> None:
    ax.set(title=title, xlabel="seconds", ylabel="greatest latency, ms", yscale="log")
    for row in rows:
        xs, ys = zip(*row["timeline"], strict=True)
        colour = _COLOURS.get(row["plan"].split(":")[0], "black")
        ax.plot(xs, ys, color=colour, linewidth=0.8, label=row["plan"])


def _events(sweep: Sweep) -> tuple[tuple[float, ...], float] | None:
    return None if {*sweep["workload"]} == {KEY_COUNT} else ((sweep["rate"],), _STAGED_S)


MIGRATION = Experiment(
    "migration", _points, _measure, _tables, Panels(_panels, (5.2, 2.9), (2,), shares_y=False), events=_events
)
