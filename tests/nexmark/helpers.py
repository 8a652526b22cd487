"""What several nexmark tests need: rows to Parquet, a sealed folder without Spark, the command in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokenring.nexmark.commands import cli
from tokenring.nexmark.events.generator import Generator, GeneratorConfig
from tokenring.nexmark.events.schema import EVENT, STREAMS
from tokenring.nexmark.manifest import write_manifest
from tokenring.nexmark.spark.jobs.generate import chunk_batch
from tokenring.nexmark.staging.staging import seal_streams

SECOND_NS = 10**9


@dataclass
class Outcome:
    """How a command ended."""

    status: int
    out: str
    err: str


def tokenring(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Outcome:
    """Runs the command as its entry point does."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return Outcome(ended.value.code, captured.out, captured.err)


def seal(folder: Path, tables: Mapping[str, pa.Table]) -> Path:
    """A staged folder of the given rows, which carry `event`; Parquet by pyarrow instead of Spark, the rest as ever."""
    folder.mkdir(parents=True)
    for name, table in tables.items():
        (folder / f"{name}.parquet").mkdir()
        pq.write_table(table, folder / f"{name}.parquet" / "part-00000.parquet")
    rows = {name: table.num_rows for name, table in tables.items()}
    streams = seal_streams(folder, rows, lambda _what, _done, _of: None)
    write_manifest(folder, sum(rows.values()), streams, {"rate": None, "seed": None, "generator": None, "source": None})
    return folder


def seal_generated(folder: Path, config: GeneratorConfig) -> Path:
    generator = Generator(config)
    tables = {name: pa.Table.from_batches([chunk_batch(generator, name, 0, generator.rows(name))]) for name in STREAMS}
    return seal(folder, tables)


def table(stream: str, rows: Sequence[Mapping[str, Any]], *, event: bool = False) -> pa.Table:
    """Rows as a table of the stream's required columns; with `event`, as Spark leaves them: that and all texts too."""
    names = [c.name for c in STREAMS[stream].columns if c.required] + ([EVENT] if event else [])
    columns = {name: pa.array([row[name] for row in rows], pa.int64()) for name in names}
    texts = STREAMS[stream].string_columns if event else ()
    return pa.table(columns | {name: pa.array([row.get(name) for row in rows], pa.string()) for name in texts})


def auction(**changes: Any) -> dict[str, Any]:
    row = {"id": 1, "initial_bid": 100, "reserve": 200, "date_time": 1_000, "expires": 9_000, "seller": 7}
    return row | {"category": 10} | changes


def bid(**changes: Any) -> dict[str, Any]:
    return {"auction": 1, "bidder": 8, "price": 300, "date_time": 2_000} | changes
