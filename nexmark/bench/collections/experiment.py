"""`tokenring bench collections`: each workload on so many workers, and its rows as a table."""

from __future__ import annotations

from tokenring.nexmark.bench.collections.imports import IMPORT, measured_imports
from tokenring.nexmark.bench.collections.interactive import INTERACTIVE, measured_interactive
from tokenring.nexmark.bench.collections.measured import measured
from tokenring.nexmark.bench.collections.workloads import WORKLOADS, sized
from tokenring.nexmark.bench.parts import Experiment, Row, Sweep, figure, points, table


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
