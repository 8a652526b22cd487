"""gather: rows are handed on as they come, all of them and in order, in pieces of some size; what fails says where."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.errors import raises
from tokenring import Batch, OperatorError, Schema, Worker, collect, gather

NUMBERS = Schema.of({"at": "int64", "half": "float64?"})
TEXTS = Schema.of({"at": "int64", "name": "string?"})


def _batch(schema: Schema, start: int, rows: int) -> Batch:
    at = np.arange(start, start + rows)
    if schema is NUMBERS:
        return Batch(schema, {"at": at, "half": [None if row % 5 == 0 else row / 2 for row in at.tolist()]})
    return Batch(schema, {"at": at, "name": [None if row % 5 == 0 else f"n{row % 13}" for row in at.tolist()]})


def _sent(schema: Schema, sizes: list[int]) -> Any:
    """A program whose workers each send messages of so many rows."""

    def program(worker: Worker) -> Any:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(schema)
            kept = collect(stream)
        at = worker.index << 32
        for rows in sizes:
            handle.send(_batch(schema, at, rows))
            at += rows
        handle.close()
        return kept

    return program


SIZES = {"small": [1] * 300, "large": [100_000, 3], "mixed": [5, 9000, 7, 8191, 1, 40_000, 2], "none": []}


@pytest.mark.parametrize("schema", [NUMBERS, TEXTS], ids=["numbers", "texts"])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_all_rows_in_order(schema: Schema, sizes: list[int]) -> None:
    table = gather(_sent(schema, sizes), workers=2)
    whole = [_batch(schema, worker << 32, sum(sizes)).to_arrow() for worker in range(2)]
    assert table.combine_chunks() == pa.Table.from_batches(whole).combine_chunks()


@pytest.mark.parametrize("schema", [NUMBERS, TEXTS], ids=["numbers", "texts"])
def test_pieces_are_neither_many_nor_the_whole(schema: Schema) -> None:
    table = gather(_sent(schema, [10] * 20_000), workers=1)
    pieces = table.column(0).num_chunks
    assert table.num_rows == 200_000
    assert 3 <= pieces <= 30


@pytest.mark.parametrize("schema", [NUMBERS, TEXTS], ids=["numbers", "texts"])
def test_no_room(schema: Schema) -> None:
    """A limit of files stands for a full disk."""
    program = _sent(schema, [50_000] * 3)

    def limited(worker: Worker) -> Any:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        return program(worker)

    with raises(OperatorError, "operator 'collect'", "gathered", "TMPDIR", "File too large"):
        gather(limited, workers=1)


def test_a_run_that_fails_says_its_own_error() -> None:
    def program(worker: Worker) -> Any:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(NUMBERS)
            kept = collect(stream.map_batches(NUMBERS, lambda batch: batch if batch.rows < 10 else 1 / 0))
        handle.send(_batch(NUMBERS, 0, 9))
        handle.send(_batch(NUMBERS, 9, 100))
        handle.close()
        return kept

    with raises(OperatorError, "ZeroDivisionError"):
        gather(program, workers=1)
