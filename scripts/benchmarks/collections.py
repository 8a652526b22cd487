"""`benchmark collections`: views kept up to date, beside DuckDB that recomputes them from scratch."""

from __future__ import annotations

from typing import Any

import click
import orjson

from scripts.benchmarks.collections_rust import Rust, rust_of
from scripts.benchmarks.collections_tpch import DUCKDB, measure_tpch, tables_of, tpch_tables
from scripts.benchmarks.measure import WORKERS, Found, Row, benchmark, child
from tokenring.nexmark.bench.collections import COLLECTIONS, IMPORT
from tokenring.nexmark.bench.parts import figure, measure_all, option, table, workers_text
from tokenring.nexmark.bench.sizes import WORKLOADS
from tokenring.tools.system import Number


@benchmark(
    option("--workload NAME...", click.Choice(WORKLOADS), "[default: all]", WORKLOADS, "workloads"),
    WORKERS,
    option("--scale X", Number(0, 100, min_open=True), "Times the records.", 1.0),
    option("--seconds S", Number(0, 600, min_open=True), "Of each size of epochs.", 3.0),
    option("--tpch X", Number(0, 100), "The scale of TPC-H's tables; 0: without.", 1.0),
)
def command(workloads: tuple[str, ...], workers: tuple[int, ...], scale: float, seconds: float, tpch: float) -> Found:
    """Load records, change them epoch by epoch, each sent when the one before it is done; some six minutes."""
    rows: list[Row] = []
    queries: list[Row] = []
    scratch = {}
    for number in workers:
        click.echo(f"collections: DuckDB from scratch, {number} thread(s)", err=True)
        done = child("DuckDB from scratch", "-m", DUCKDB, "collections", str(scale), str(number), *workloads)
        scratch[str(number)] = orjson.loads(done.out)
        sweep = {"workload": workloads, "workers": (number,), "scale": scale, "seconds": seconds}
        jobs = [(COLLECTIONS, point, sweep) for point in COLLECTIONS.points(sweep)]
        for measured in measure_all(jobs):
            click.echo(f"collections: {measured[0]['workload']}, {number} worker(s)", err=True)
            rows += measured
        if tpch:
            click.echo(f"collections: TPC-H, {number} worker(s)", err=True)
            queries += measure_tpch(tables_of(tpch), number)
    parameters = {"workers": workers, "scale": scale, "seconds": seconds, "tpch": tpch}
    return parameters, {"rows": rows, "from_scratch": scratch, "tpch": queries}


def tables(data: dict[str, Any]) -> list[str]:
    """Loads and changes, by the number of workers."""
    asked = data["parameters"]
    parts = [
        f"Closed loop, {asked['seconds']:g} s of each size of epochs, records times {asked['scale']:g}. “Rust” is "
        "differential dataflow, measured once on another machine of this kind: figures to aim at, not of this run. "
        "DuckDB has as many threads as there are workers, and makes the whole result anew."
    ]
    for workers in sorted({row["workers"] for row in data["rows"]}):
        own = [row for row in data["rows"] if row["workers"] == workers]
        found = [_beside(row, asked["scale"]) for row in own if not row["error"]]
        whole = [row for row in found if not row["workload"].startswith(IMPORT)]
        parts += [
            f"**{workers_text(workers)}**, what is loaded at once:",
            _loaded_table(whole, data["from_scratch"][str(workers)]),
            "Changes:",
            _changes_table([row for row in whole if not row["is_load"]]),
        ]
        imports = [row for row in found if row["workload"].startswith(IMPORT)]
        if imports:
            parts += [
                f"An arrangement of {imports[0]['loaded_rows']:,} rows, looked up by key, and imported by dataflows "
                "declared when it is there:",
                _asked_table(imports),
            ]
        parts += [f"**Failed:** {row['workload']}: {row['error']}" for row in own if row["error"]]
    return [*parts, *tpch_tables(data["tpch"], asked["tpch"])]


def _beside(row: Row, scale: float) -> Row:
    """The row with what Rust gave for the same size; nothing for another."""
    rust = rust_of(row["workload"], row["workers"], row["epoch_rows"]) if scale == 1 else Rust()
    load_s = rust.load_s
    if row["is_load"] and rust.changes_per_second:
        load_s = row["epoch_rows"] / rust.changes_per_second
    return (
        {"state_mb": None, "hiccup_p999_ms": None}
        | row
        | {
            "load_over": load_s and row["load_s"] / load_s,
            "rate_over": rust.changes_per_second and row["changes_per_second"] / rust.changes_per_second,
            "p50_over": rust.p50_us and row["p50_ms"] * 1e3 / rust.p50_us,
        }
    )


def _loaded_table(rows: list[Row], scratch: dict[str, float]) -> str:
    """A line for each workload that loads."""
    first = {row["workload"]: row for row in reversed(rows) if row["loaded_rows"]}
    return table(
        reversed(first.values()), ("workload", "workload"), ("s to load", "load_s"), ("over Rust's", "load_over"),
        ("MB, all processes", "rss_mb"), ("MB of state", "state_mb"),
        ("DuckDB from scratch s", lambda row: figure(scratch.get(row["workload"]))),
    )  # fmt: skip


def _changes_table(rows: list[Row]) -> str:
    return table(
        rows, ("workload", "workload"), ("rows an epoch", "{epoch_rows:,}"), ("changes/s", "{changes_per_second:,.0f}"),
        ("of Rust's", "rate_over"), ("p50 µs", "p50_ms", 1e-3), ("over Rust's", "p50_over"), ("p99 µs", "p99_ms", 1e-3),
        ("hiccup p99.9", "hiccup_p999_ms", 1e-3),
    )  # fmt: skip


def _asked_table(rows: list[Row]) -> str:
    return table(
        rows, ("what is asked", lambda row: row["workload"].removeprefix(f"{IMPORT}: ")), ("p50 ms", "p50_ms"),
        ("over Rust's", "p50_over"), ("p99 ms", "p99_ms"), ("s to build it", "load_s"), ("MB, all processes", "rss_mb"),
    )  # fmt: skip
