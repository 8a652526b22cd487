"""TPC-H kept up to date, beside DuckDB that answers from scratch."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Final

import orjson

from examples.tpch.kept import keep
from examples.tpch.tables import EPOCHS, generate, generator
from scripts.benchmarks.measure import ROOT, Row, child
from tokenring.how_to_install import how_to_install
from tokenring.nexmark.bench.parts import figure, table
from tokenring.tools.errors import OptionError

DUCKDB: Final = "scripts.benchmarks.references.duckdb_process"
AT_ONCE: Final = ("q1", "q3", "q5", "q6")
RUST_S: Final = {"q1": 0.34, "q3": 0.37, "q5": 0.86, "q6": 0.062}
"""Differential dataflow in Rust at scale 1, two workers, measured once on another machine of this kind."""


def tables_of(scale: float) -> Path:
    """A folder with the tables, written now unless they are there."""
    folder = ROOT / ".data" / f"tpch-{scale:g}"
    if generator() is None:
        raise OptionError(f"tpchgen-cli is not installed; {how_to_install('bench')}, or run ./scripts/benchmark")
    if not (folder / "orders.parquet").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        generate(folder, scale)
    return folder


def measure_tpch(folder: Path, workers: int) -> list[Row]:
    """A row for each query: s until most orders are answered, ms of an epoch in which some come and go."""
    done = child("DuckDB from scratch", "-m", DUCKDB, "tpch", str(folder), str(workers), *AT_ONCE)
    scratch = orjson.loads(done.out)
    rows = []
    for name in AT_ONCE:
        _, seconds = keep(folder, name, workers, EPOCHS)
        epoch_ms = 1e3 * statistics.median(seconds[1:])
        rows.append(
            {"query": name, "workers": workers, "load_s": seconds[0], "epoch_ms": epoch_ms, "scratch_s": scratch[name]}
        )
    return rows


def tpch_tables(rows: list[Row], scale: float) -> list[str]:
    """A table of all queries."""
    if not rows:
        return []
    return [
        f"**TPC-H at scale {scale:g}**: nine tenths of the orders at once; then five epochs, in each of which a "
        "fiftieth of all orders come and a fiftieth go, with their lines.",
        table(
            rows, ("query", "query"), ("workers", "workers"), ("s at once", "load_s"),
            ("over Rust's", lambda row: figure(_over_rust(row) if scale == 1 and row["workers"] == 2 else None)),
            ("ms an epoch", "epoch_ms"), ("DuckDB from scratch ms", "scratch_s", 1e-3),
        ),
    ]  # fmt: skip


def _over_rust(row: Row) -> float:
    return float(row["load_s"] / RUST_S[row["query"]])
