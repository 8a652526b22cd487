"""late=True: rows that come too late go to a stream of their own; the others pass as if there were none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, simulated
from tests.errors import raises
from tests.long_form import examples
from tests.operators.sources.helpers import run
from tokenring.engine import OperatorError, Schema, Scope, Stream, UsageError
from tokenring.operators import (
    END_OF_STREAM,
    for_each,
    from_callback,
    from_generator,
    read_columns,
    read_csv,
    read_json_lines,
    read_parquet,
)

ROW = Schema("at")
TIMES = [5, 3, 9, 9, 2, 8, 20, 11, 4]


def both(declare: Callable[[Scope], tuple[Stream, Stream]]) -> tuple[list[int], list[tuple[int, int]]]:
    """The times of rows in time, and of those that are late, with their messages'."""
    late: list[tuple[int, int]] = []

    def only_in_time(scope: Scope) -> Stream:
        in_time, missed = declare(scope)
        for_each(missed, lambda time, batch: late.extend((time, own) for own in batch["at"].tolist()))
        return in_time

    sent = run(only_in_time)
    return [at for (at,) in sent.values], late


@settings(max_examples=examples(40), deadline=None)
@given(batches=st.lists(st.lists(st.integers(0, 30), max_size=4), max_size=8), disorder=st.integers(0, 9))
def test_late_are_the_rows_that_would_have_ended_the_run(batches: list[list[int]], disorder: int) -> None:
    expected, expected_late, promised, greatest = [], [], 0, -1
    for batch in batches:
        expected += [at for at in batch if at >= promised]
        expected_late += [(promised, at) for at in batch if at < promised]
        greatest = max([greatest, *batch])
        promised = max(promised, greatest - disorder)

    def function(worker: int, peers: int) -> Iterator[dict[str, Any]]:
        return iter([{"at": batch} for batch in batches])

    def declare(scope: Scope) -> tuple[Stream, Stream]:
        return from_generator(scope, ROW, function, time="at", disorder=disorder, late=True)

    assert both(declare) == (expected, expected_late)
    if expected_late:
        with raises(OperatorError, "column 'at'", "late=True"):
            run(lambda scope: from_generator(scope, ROW, function, time="at", disorder=disorder))


def _live(scope: Scope, folder: Path) -> tuple[Stream, Stream]:
    waiting = [{"at": [at]} for at in TIMES]
    poll: Callable[[], Any] = lambda: waiting.pop(0) if waiting else END_OF_STREAM  # noqa: E731
    return from_callback(scope, ROW, poll, time="at", late=True)


def _raw(scope: Scope, folder: Path) -> tuple[Stream, Stream]:
    np.array(TIMES).tofile(folder / "at.i64")
    return read_columns(scope, ROW, {"at": folder / "at.i64"}, time="at", batch_rows=1, late=True)


def _json(scope: Scope, folder: Path) -> tuple[Stream, Stream]:
    (folder / "rows.jsonl").write_text("".join(f'{{"at": {at}}}\n' for at in TIMES))
    return read_json_lines(scope, folder, ROW, time="at", block_bytes=1, late=True)


def _parquet(scope: Scope, folder: Path) -> tuple[Stream, Stream]:
    pq.write_table(pa.table({"at": TIMES}), folder / "rows.parquet", write_statistics=False)
    return read_parquet(scope, folder, time="at", batch_rows=1, schema=ROW, late=True)


@pytest.mark.parametrize("declare", [_live, _raw, _json, _parquet])
def test_every_source_that_goes_by_order_has_a_stream_of_late_rows(
    declare: Callable[[Scope, Path], tuple[Stream, Stream]], tmp_path: Path
) -> None:
    in_time, late = both(lambda scope: declare(scope, tmp_path))
    assert in_time == [5, 9, 9, 20]
    assert late == [(5, 3), (9, 2), (9, 8), (20, 11), (20, 4)]


def test_a_time_that_is_none_is_no_late_row(tmp_path: Path) -> None:
    def source(scope: Scope) -> tuple[Stream, Stream]:
        return from_generator(scope, Schema("at"), lambda worker, peers: iter([{"at": [5, -1]}]), time="at", late=True)

    with raises(OperatorError, "row 1", "column 'at'", "-1", "begin with 0"):
        both(source)
    with simulated(1) as group, raises(UsageError, "source 'read_csv'", "late=", "time=column"):
        build(group, lambda worker, scope: read_csv(scope, tmp_path, ROW, late=True))
    with simulated(1) as group, raises(UsageError, "source 'read_csv'", "disorder=", "time=column"):
        build(group, lambda worker, scope: read_csv(scope, tmp_path, ROW, time=3, disorder="5s"))
    with simulated(1) as group, raises(UsageError, "source 'from_callback'", "late=", "time=column"):
        build(group, lambda worker, scope: from_callback(scope, ROW, lambda: None, late=True))
