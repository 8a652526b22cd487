"""`benchmark collections`: views kept up to date, beside DuckDB that recomputes them from scratch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import orjson

from scripts.benchmarks.collections_tpch import measure_tpch, tables_of
from scripts.benchmarks.measure import ROOT, json_option, workers_option, write_json
from scripts.benchmarks.render import render
from tokenring.nexmark.bench.collections_command import NAMES, measure
from tokenring.nexmark.bench.sweeps import ListCommand, Number
from tokenring.tools.errors import CommandError


@click.command(cls=ListCommand)
@click.option(
    "--workload", "workloads", multiple=True, type=click.Choice(NAMES), default=NAMES,
    metavar="NAME...", help="[default: all]",
)  # fmt: skip
@workers_option
@click.option("--scale", type=Number(0, 100, min_open=True), default=1.0, help="Times the records. [default: 1]")
@click.option("--seconds", type=Number(0, 600, min_open=True), default=3.0, help="Of each size of epochs. [default: 3]")
@click.option("--tpch", type=Number(0, 100), default=1.0, help="The scale of TPC-H's tables; 0: without. [default: 1]")
@json_option
def command(
    workloads: tuple[str, ...], workers: tuple[int, ...], scale: float, seconds: float, tpch: float, json_file: Path
) -> None:
    """Load records, change them epoch by epoch, each sent when the one before it is done; some six minutes."""
    rows: list[dict[str, Any]] = []
    queries: list[dict[str, Any]] = []
    scratch = {}
    for number in workers:
        click.echo(f"collections: DuckDB from scratch, {number} thread(s)", err=True)
        scratch[str(number)] = _from_scratch(workloads, scale, number)
        for name in workloads:
            click.echo(f"collections: {name}, {number} worker(s)", err=True)
            rows += measure(name, number, scale, seconds)
        if tpch:
            click.echo(f"collections: TPC-H, {number} worker(s)", err=True)
            queries += measure_tpch(tables_of(tpch), number)
    parameters = {"workers": workers, "scale": scale, "seconds": seconds, "tpch": tpch}
    figures = {"rows": rows, "from_scratch": scratch, "tpch": queries}
    click.echo(render(write_json(json_file, "collections", parameters, figures)))
    if any(row["error"] for row in rows):
        raise CommandError("a workload failed: see the table")


def _from_scratch(workloads: tuple[str, ...], scale: float, threads: int) -> dict[str, float]:
    """DuckDB's seconds by workload, in a process of its own: workers are forked from this one, without its threads."""
    module = "scripts.benchmarks.references.collections_from_scratch"
    done = subprocess.run(
        [sys.executable, "-m", module, str(scale), str(threads), *workloads], cwd=ROOT, capture_output=True, check=False
    )
    if done.returncode:
        raise CommandError(f"{module}: {done.stderr.decode(errors='replace')[-500:]}")
    found: dict[str, float] = orjson.loads(done.stdout)
    return found
