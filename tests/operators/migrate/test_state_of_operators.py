"""What leaves is forgotten and used again; states of scan, indexes and published parts that move; what cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.migrate import runs
from tests.operators.migrate.two_benches import BINS, move, offering, send
from tokenring.engine import OperatorError, Schema, Stream
from tokenring.operators import (
    Count,
    CountDistinct,
    Last,
    Session,
    Sliding,
    Tumbling,
    aggregate,
    average_of_last,
    distinct,
    last_by,
    running_average,
    scan,
    top,
    word_count,
)
from tokenring.operators.migrate import Leaving
from tokenring.operators.sinks import Latest

SCHEMA = Schema.of({"key": "int64", "name": "string", "at": "int64"})
OPERATORS = {
    "sets": lambda rows: aggregate(rows, "key name", ats=CountDistinct("at"), last=Last("at")),
    "firsts": lambda rows: distinct(rows, "name"),
    "tumbling": lambda rows: aggregate(rows, "key", window=Tumbling("at", 1000), ats=CountDistinct("at")),
    "sliding": lambda rows: aggregate(rows, "key", window=Sliding("at", 3000, 1000), n=Count()),
    "session": lambda rows: aggregate(rows, "key", window=Session("at", 1000), n=Count()),
    "last": lambda rows: last_by(rows, "key", order="at"),
    "top": lambda rows: top(tr.select(rows, "key", "at"), "key", order="at", k=2),
    "average": lambda rows: running_average(rows, "key", "at"),
    "averages": lambda rows: average_of_last(rows, "key", "at", rows=2, order="at"),
    "words": lambda rows: word_count(rows, "key", "at"),
}


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_what_left_comes_again_for_as_long_as_one_likes(name: str) -> None:
    """The tables are the same each time, whatever is between; nothing is left of what was taken out."""
    rows: Any = [(key, f"name {key % 7} {'x' * 300}", 500 + key % 50) for key in range(600)]
    everything = Leaving(BINS, np.ones(BINS.count, np.bool_))
    with offering(SCHEMA, OPERATORS[name]) as (made, offered):
        (moves,) = offered
        send(made, SCHEMA, rows, 0)
        first = [table.copy() for table in moves.take_out(everything)]
        assert all(table.rows == 0 for table in moves.take_out(everything))
        for _ in range(12):
            moves.put_in(first)
            again = [table.copy() for table in moves.take_out(everything)]
            for before, after in zip(first, again, strict=True):
                columns = [[table[name].tolist() for name in table.schema.names] for table in (before, after)]
                assert sorted(zip(*columns[0], strict=True)) == sorted(zip(*columns[1], strict=True))


def test_states_of_scan_are_the_same_values_elsewhere() -> None:
    values: list[Any] = [
        *(True, 0, -(2**80), 1.5, float("inf"), float("nan"), -0.0, "ä", b"\xff", (1, (2,)), [None, [3]]),
        *({"a": {1: (2.5, b"")}, (1, 2): [4]}, {1, "a"}, frozenset({2})),
    ]
    rows: Any = [[(key, "", key) for key in range(len(values))]] * 6

    def kept(rows: Stream) -> Stream:
        def function(state: Any, row: Any) -> Any:
            told = (sorted(map(repr, state)) if isinstance(state, set) else state), type(state)
            return values[row["key"]], {"told": repr(told)}

        return scan(rows, "key", function, Schema(told="string"), initial=lambda: "new")

    changes = [(time, number, time % 2) for time in range(6) for number in range(runs.BINS)]
    assert runs.run(SCHEMA, kept, rows, 2, changes, from_all=False) == runs.run(SCHEMA, kept, rows, 1)


def test_states_that_are_no_values_are_refused() -> None:
    def kept(rows: Stream) -> Stream:
        return scan(rows, "key", lambda state, row: ([object()], None), Schema("n"))

    changes = [(time, number, time % 2) for time in range(6) for number in range(runs.BINS)]
    with raises(OperatorError, "operator 'scan'", "builtins.object", "bins="):
        runs.run(SCHEMA, kept, [[(key, "", 0) for key in range(20)]] * 6, 2, changes)


def test_an_index_moves_with_its_keys() -> None:
    def net(rows: Stream) -> Stream:
        return tr.arrange(rows, "key", "at")[0]

    messages: Any = [[(key % 9, "", (key * time) % 5 - 2) for key in range(30)] for time in range(6)]
    changes = [(time, number, (time + number) % 2) for time in range(6) for number in range(runs.BINS)]
    assert runs.run(SCHEMA, net, messages, 2, changes) == runs.run(SCHEMA, net, messages, 1)


def test_parts_are_published_wherever_their_publisher_is(tmp_path: Path) -> None:
    def program(worker: tr.Worker) -> None:
        changes = [(time, number, (time + number) % 2) for time in range(9) for number in range(8)]
        with worker.dataflow("written", bins=8, moves=changes) as scope:
            handle, rows = scope.new_input(Schema("n"))
            rows.to_parquet(tmp_path / "made")
        for time in range(9):
            handle.advance_to(time)
            handle.send({"n": [10 * time + worker.index]})
            worker.step()
        handle.close()
        worker.run()

    tr.execute(program, workers=2)
    import pyarrow.parquet as parquet

    found = sorted(parquet.read_table(tmp_path / "made")["n"].to_pylist())
    assert found == sorted(10 * time + worker for time in range(9) for worker in range(2))


def test_the_latest_averages_are_of_the_keys_that_are_here() -> None:
    latest: list[Latest] = []

    def averages(rows: Stream) -> Stream:
        latest.append(Latest(("key", "average", "count")))
        return running_average(rows, "key", "at", latest=latest[-1])

    with offering(SCHEMA, averages) as (made, offered), offering(SCHEMA, averages) as (_, others):
        send(made, SCHEMA, [(key, "", 10 * key) for key in range(40)], 0)
        move(offered[0], others[0], np.arange(BINS.count) % 2 == 0)
        columns = [each.columns() for each in latest]
        here, there = [dict(zip(each["key"].tolist(), each["average"].tolist(), strict=True)) for each in columns]
    assert here and there and not here.keys() & there.keys()
    assert here | there == {key: 10 * key for key in range(40)}
