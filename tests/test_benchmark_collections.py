"""The benchmark of collections, in a tiny form: a row for each size of epochs, beside DuckDB from scratch."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from scripts.benchmarks.__main__ import main
from scripts.benchmarks.collections_rust import RUST
from tokenring.nexmark.bench.collections import IMPORT, INTERACTIVE, WORKLOADS, measured
from tokenring.nexmark.bench.sizes import WORKLOADS as NAMES


def test_a_row_for_each_size_of_epochs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "HICCUP_S", 0.02)
    file = tmp_path / "collections.json"
    asked = ["--workload", "arrange, one epoch", "min", "bfs", "import", "interactive"]
    small = ["--scale", "0.001", "--seconds", "0.05"]
    assert main(["collections", *asked, *small, "--workers", "1", "--tpch", "0", "--json", str(file)]) == 0
    data = orjson.loads(file.read_bytes())
    assert [(row["workload"], row["epoch_rows"]) for row in data["rows"]] == [
        ("arrange, one epoch", 10_000),
        *[("min", rows) for rows in (1, 10, 100, 1_000)],
        ("bfs", 2),
        *[
            (f"import: {asked}", 10_000)
            for asked in ("first look-up", "look-up", "count by value % 100", "min per key")
        ],
        ("interactive: shared", 2),
        ("interactive: own indexes", 2),
    ]
    assert data["from_scratch"]["1"].keys() == {"arrange, one epoch", "min"}
    out = capsys.readouterr().out
    assert "| min | 1,000 |" in out
    assert "| bfs | 2 |" in out
    assert "| min per key |" in out


def test_workloads_are_named_where_they_are_chosen() -> None:
    assert (*WORKLOADS, IMPORT, INTERACTIVE) == NAMES


def test_figures_to_compare_with_are_of_workloads_there_are() -> None:
    for name, _, rows in RUST:
        if name.startswith((IMPORT, INTERACTIVE)):
            continue
        workload = WORKLOADS[name]
        assert rows in (workload.epochs or [workload.records])
