"""with_arrival: the same instant for all rows of a message, by a clock that is set, or the one on the wall."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pytest

import tokenring as tr
from tests.errors import raises


def test_rows_of_a_message_come_at_one_instant() -> None:
    said: list[int] = []

    def clock() -> int:
        said.append(len(said) + 7)
        return said[-1]

    def program(worker: tr.Worker) -> list[tuple[int, str, int]]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_input(tr.Schema("n", name="string?"))
            seen = rows.with_arrival("came", clock).collect()
        for numbers in ([1, 2], [3]):
            handle.send({"n": numbers, "name": [None if n == 2 else f"n{n}" for n in numbers]})
            worker.step()
        handle.close()
        worker.run()
        columns = seen.columns()
        return list(zip(*(columns[name].tolist() for name in ("n", "name", "came")), strict=True))

    (found,) = tr.execute(program, workers=1)
    assert [row[:2] for row in found] == [(1, "n1"), (2, None), (3, "n3")]
    assert found[0][2] == found[1][2] != found[2][2]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_clock_on_the_wall(workers: int) -> None:
    before = time.time_ns()

    table: Any = tr.run(
        lambda scope: scope.read_arrow(pa.table({"n": range(1000)}))
        .with_arrival()
        .exchange("n")
        .select("n", "arrived", again=tr.col("n") + 1)
        .filter(tr.col("n") != 7)
        .collect(),
        workers=workers,
    )
    assert sorted(table["n"].to_pylist()) == [n for n in range(1000) if n != 7]
    assert all(before <= at <= time.time_ns() for at in table["arrived"].to_pylist())


def test_a_column_that_is_there() -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            _, rows = scope.new_input(tr.Schema("arrived"))
            with raises(tr.SchemaError, "operator 'with_arrival'", "column 'arrived'", "otherwise"):
                rows.with_arrival()
            rows.with_arrival("came").collect()

    tr.execute(program, workers=1)
