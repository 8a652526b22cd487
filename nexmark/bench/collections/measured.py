"""`tokenring bench collections`: one workload on so many workers, loaded, then changed phase by phase; a row each."""

from __future__ import annotations

from typing import Any

import numpy as np

from tokenring.engine import Config, Worker, execute
from tokenring.nexmark.bench.collections.closed_loop import AT_REST, ClosedLoop
from tokenring.nexmark.bench.collections.imports import IMPORT, measured_imports
from tokenring.nexmark.bench.collections.interactive import INTERACTIVE, measured_interactive
from tokenring.nexmark.bench.collections.records import latency_row
from tokenring.nexmark.bench.collections.workloads import WORKLOADS, Workload, sized
from tokenring.nexmark.bench.parts import Experiment, Row, Sweep, figure, hiccup_row, points, table
from tokenring.nexmark.measure import anonymous_mb, group_mb, hiccups_ms
from tokenring.operators.collections import collection

HICCUP_S = 0.2
_HEAD_START_NS = 5_000_000


def measured(workload: Workload, workers: int, seconds: float) -> list[Row]:
    """A row for each phase, which lasts so long; of a workload without phases, one of what was loaded at once. rss_mb:
    of the launcher and all workers; state_mb: what the workers' own memory grew by."""
    hiccups = hiccups_ms(workers, HICCUP_S)
    parts = execute(lambda worker: _work(worker, workload, seconds), config=Config(workers=workers))
    load_s = max(part["load_s"] for part in parts)
    common = {
        "is_load": not workload.epochs,
        "loaded_rows": workload.records * workload.streams,
        "load_s": load_s,
        "rss_mb": max(part["rss_mb"] for part in parts),
        "state_mb": sum(part["state_mb"] for part in parts),
        **hiccup_row(hiccups),
    }
    named = {"workload": workload.name, "workers": workers}
    if not workload.epochs:
        loaded = common["loaded_rows"]
        took = dict.fromkeys(("p50_ms", "p99_ms", "max_ms"), 1e3 * load_s)
        return [{**named, "epoch_rows": loaded, "changes_per_second": loaded / load_s, **took, "epochs": 1, **common}]
    return [
        {**named, "epoch_rows": rows, **_of_phase([part["phases"][number] for part in parts]), **common}
        for number, rows in enumerate(workload.epochs)
    ]


def _of_phase(parts: list[dict[str, Any]]) -> Row:
    """What all workers noted of a phase."""
    latencies_ms = np.concatenate([part["latencies_ns"] for part in parts]) / 1e6
    took_s = (max(part["ended_ns"] for part in parts) - min(part["began_ns"] for part in parts)) / 1e9
    changes = sum(part["changes"] for part in parts)
    epochs = max(len(part["latencies_ns"]) for part in parts)
    return {"changes_per_second": changes / took_s, **latency_row(latencies_ms), "epochs": epochs}


def _work(worker: Worker, workload: Workload, seconds: float) -> dict[str, Any]:
    """One worker's program."""
    phases = [(rows, seconds, workload.most) for rows in workload.epochs]
    with worker.dataflow("collections") as scope:
        sizes, place = (workload.keys, workload.values), (worker.index, worker.peers)
        loop = ClosedLoop(scope, workload.streams, workload.records, sizes, phases, place, workload.only_adds)
        probe = workload.build(*[collection(rows, times="times") for rows in loop.streams]).probe()
        loop.watch(probe)
    before_mb = anonymous_mb()
    loop.start_at(worker.barrier() + _HEAD_START_NS)
    worker.step_while(lambda: probe.less_than(AT_REST))
    worker.barrier()
    rss_mb, state_mb = group_mb() if worker.index == 0 else 0.0, anonymous_mb() - before_mb
    worker.barrier()
    loop.end()
    worker.run()
    noted = [
        {
            "latencies_ns": loop.latencies_ns(number).copy(),
            "changes": int(row["changes"]),
            "began_ns": int(row["began_ns"]),
            "ended_ns": int(row["ended_ns"]),
        }
        for number, row in enumerate(loop.phases)
    ]
    return {"load_s": loop.loaded_s, "rss_mb": rss_mb, "state_mb": state_mb, "phases": noted}


def _points(sweep: Sweep) -> list[Row]:
    return points(workload=sweep["workload"], workers=sweep["workers"])


def _measure(point: Row, sweep: Sweep) -> list[Row]:
    """One workload's rows."""
    name, workers, scale, seconds = point["workload"], point["workers"], sweep["scale"], sweep["seconds"]
    if name == IMPORT:
        return measured_imports(workers, scale)
    if name == INTERACTIVE:
        return measured_interactive(workers, scale, seconds)
    return measured(sized(WORKLOADS[name], scale), workers, seconds)


def _tables(rows: list[Row], _sweep: Sweep) -> list[str]:
    return [
        table(
            [row for row in rows if not row["error"]],
            ("workload", "workload"), ("workers", "workers"), ("rows an epoch", "{epoch_rows:,}"),
            ("changes/s", "{changes_per_second:,.0f}"), ("p50 µs", "p50_ms", 1e-3), ("p99 µs", "p99_ms", 1e-3),
            ("s to load", lambda row: figure(row.get("load_s"))),
            ("MB, all processes", lambda row: figure(row.get("rss_mb"))),
            ("MB of state", lambda row: figure(row.get("state_mb"))),
            ("hiccup p99.9 µs", lambda row: figure(row.get("hiccup_p999_ms"), 1e-3)),
        )
    ]  # fmt: skip


COLLECTIONS = Experiment("collections", _points, _measure, _tables)
