"""What staging tells of how far it is: more and more of each step, until all is done."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokenring.nexmark.events.schema import STREAMS
from tokenring.nexmark.staging.staging import stage_foreign

ROWS = 500


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_more_and_more_is_done_until_it_is_all(tmp_path: Path, suffix: str) -> None:
    events = {
        name: [{column: ROWS - number for column in stream.integer_columns} for number in range(ROWS)]
        for name, stream in STREAMS.items()
    }
    source = tmp_path / f"events.{suffix}"
    if suffix == "parquet":
        source.mkdir()
        for name, rows in events.items():
            pq.write_table(pa.Table.from_pylist(rows), source / f"{name}.parquet", row_group_size=100)
    else:
        lines = [orjson.dumps({name.capitalize(): row}) for name, rows in events.items() for row in rows]
        source.write_bytes(b"\n".join(lines) + b"\n")
    told: dict[str, list[tuple[int, int]]] = defaultdict(list)
    stage_foreign(source, tmp_path / "out", progress=lambda what, done, of: told[what].append((done, of)))
    assert list(told) == ["checking", "sorting", "writing columns"]
    for steps in told.values():
        assert steps == sorted(steps)
        assert {of for _, of in steps} == {steps[-1][0]}
