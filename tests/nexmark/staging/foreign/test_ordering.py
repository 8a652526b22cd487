"""Foreign rows come out in the one order that is defined for them, whatever order, batches and ranges they came in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tokenring.nexmark.events import STREAMS
from tokenring.nexmark.staging.foreign import ordering, raw_rows, write_in_order
from tokenring.nexmark.staging.foreign.raw_rows import RawRows

TEXTS = st.none() | st.sampled_from(["", "a", "ä", "z", "\U0001f600", "\uffff"])


def rows_of(draw: st.DrawFn, name: str) -> list[dict[str, Any]]:
    times = draw(st.lists(st.integers(0, 12), max_size=25))
    times = sorted(times) if draw(st.booleans()) else times
    return [
        {
            column.name: time if column.name == "date_time" else draw(st.integers(0, 1) if column.is_integer else TEXTS)
            for column in STREAMS[name].columns
        }
        for time in times
    ]


def expected_of(events: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Time, then person < auction < bid, then all columns, null before all texts."""
    keyed = []
    for name, stream in STREAMS.items():
        for row in events[name]:
            integers = [row[column] for column in stream.integer_columns]
            texts = [(row[column] is not None, (row[column] or "").encode()) for column in stream.string_columns]
            keyed.append((row["date_time"], stream.rank, integers, texts, name, row))
    keyed.sort(key=lambda entry: entry[:4])
    made: dict[str, list[dict[str, Any]]] = {name: [] for name in STREAMS}
    for event, entry in enumerate(keyed):
        made[entry[4]].append(entry[5] | {"event": event})
    return made


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from([1, 300, 1 << 27]), st.integers(1, 9), st.sampled_from([1, 3]))
def test_rows_are_in_order_and_numbered(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, bucket: int, batch_rows: int, sampled: int
) -> None:
    folder = tmp_path_factory.mktemp("order")
    out = folder / "out"
    out.mkdir()
    events = {name: rows_of(data.draw, name) for name in STREAMS}  # type: ignore[arg-type]
    streams = []
    for name, stream in STREAMS.items():
        raw = RawRows(folder, stream)
        for start in range(0, len(events[name]), batch_rows):
            rows = events[name][start : start + batch_rows]
            columns = {column.name: [row[column.name] for row in rows] for column in stream.columns}
            arrays = {name: pa.array(values) for name, values in columns.items()}
            raw.append(arrays | {"date_time": np.array(columns["date_time"])})
        raw.close()
        streams.append(raw)
    told: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "BUCKET_BYTES", bucket)
        patch.setattr(raw_rows, "_SAMPLED", sampled)
        write_in_order(streams, folder, out, told.append)
    assert sum(told) == sum(map(len, events.values()))
    expected = expected_of(events)
    for name in STREAMS:
        parts = sorted((out / f"{name}.parquet").glob("part-*.parquet"))
        assert pa.concat_tables([pq.read_table(part) for part in parts]).to_pylist() == expected[name]
