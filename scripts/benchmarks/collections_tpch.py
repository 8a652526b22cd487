"""TPC-H kept up to date, beside DuckDB that answers from scratch."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import orjson

from examples.tpch.kept import keep
from examples.tpch.tables import EPOCHS, generate, generator
from scripts.benchmarks.measure import ROOT
from tokenring.how_to_install import how_to_install
from tokenring.nexmark.bench.rendering import figure, table
from tokenring.tools.errors import CommandError, OptionError

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


def measure_tpch(folder: Path, workers: int) -> list[dict[str, Any]]:
    """A row for each query: s until most orders are answered, ms of an epoch in which some come and go."""
    scratch = _from_scratch(folder, workers)
    rows = []
    for name in AT_ONCE:
        _, seconds = keep(folder, name, workers, EPOCHS)
        epoch_ms = 1e3 * statistics.median(seconds[1:])
        rows.append(
            {"query": name, "workers": workers, "load_s": seconds[0], "epoch_ms": epoch_ms, "scratch_s": scratch[name]}
        )
    return rows


def _from_scratch(folder: Path, threads: int) -> dict[str, float]:
    module = "scripts.benchmarks.references.tpch_from_scratch"
    command = [sys.executable, "-m", module, str(folder), str(threads), *AT_ONCE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise CommandError(f"{module}: {done.stderr.decode(errors='replace')[-500:]}")
    found: dict[str, float] = orjson.loads(done.stdout)
    return found


def render_tpch(rows: list[dict[str, Any]], scale: float) -> list[str]:
    """A table of all queries."""
    if not rows:
        return []
    body = [
        [
            row["query"],
            str(row["workers"]),
            figure(row["load_s"]),
            figure(row["load_s"] / RUST_S[row["query"]] if scale == 1 and row["workers"] == 2 else None),
            figure(row["epoch_ms"]),
            figure(1e3 * row["scratch_s"]),
        ]
        for row in rows
    ]
    return [
        f"**TPC-H at scale {scale:g}**: nine tenths of the orders at once; then five epochs, in each of which a "
        "fiftieth of all orders come and a fiftieth go, with their lines.",
        table(["query", "workers", "s at once", "over Rust's", "ms an epoch", "DuckDB from scratch ms"], body),
    ]


