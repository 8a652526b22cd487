"""branch, partition, exchange, broadcast, inspect, delay, iterate, concatenate, and functions of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tests.errors import raises
from tests.operators.helpers import bench
from tokenring.engine import COMPLETE, GraphError, OperatorError, Schema, SchemaError, Scope, Stream, UsageError
from tokenring.operators import (
    RowwiseWarning,
    branch,
    broadcast,
    col,
    delay,
    exchange,
    filter,
    filter_batches,
    filter_rows,
    flat_map_rows,
    inspect,
    iterate,
    map_batches,
    map_rows,
    partition,
    select,
    union,
    with_columns,
)

VALUE = Schema("value")
MIXED = Schema("value", name="string?", flag="bool?", at="timestamp?")
SOME = {
    "value": [1, 2, 3, 4],
    "name": ["a", None, "bé", ""],
    "flag": [True, None, False, True],
    "at": [np.datetime64(5, "ns"), None, np.datetime64(7, "ns"), np.datetime64(8, "ns")],
}


def marked(streams: tuple[Stream, ...]) -> Stream:
    """Several streams of values as one, with the number of each."""
    return union(*[select(stream, "value", part=col("value") * 0 + at) for at, stream in enumerate(streams)])


def of_mod_3(batch: Any) -> Any:
    return batch["value"] % 3 == 0


@pytest.mark.parametrize(
    ("declare", "expected"),
    [
        (lambda s: branch(s, col("value") > 2), [(1, 1), (2, 1), (3, 0), (4, 0)]),
        (lambda s: branch(s, of_mod_3), [(1, 1), (2, 1), (3, 0), (4, 1)]),
        (lambda s: branch(s, col("flag"), col("value") > 2), [(1, 0), (2, 2), (3, 1), (4, 0)]),
        (lambda s: branch(s, of_mod_3, col("value") > 1, col("flag")), [(1, 2), (2, 1), (3, 0), (4, 1)]),
        (lambda s: branch(branch(s, col("value") > 1)[0], col("value") > 2), [(2, 1), (3, 0), (4, 0)]),
        (lambda s: partition(s, 3, col("value") % 3), [(1, 1), (2, 2), (3, 0), (4, 1)]),
        (lambda s: partition(s, 2, lambda batch: batch["value"] % 2), [(1, 1), (2, 0), (3, 1), (4, 0)]),
    ],
)
def test_each_row_goes_one_way(declare: Callable[[Stream], Any], expected: list[tuple[int, int]]) -> None:
    with bench([MIXED], lambda stream: marked(declare(stream))) as made:
        made.send(SOME, time=3)
        made.close()
        assert made.sent() == [(3, *row) for row in expected]


def test_a_part_that_there_is_not() -> None:
    with (
        bench([VALUE], lambda stream: marked(partition(stream, 3, col("value")))) as made,
        raises(OperatorError, "operator 'partition'", "for part 5;", "parts 0 to 2"),
    ):
        made.send({"value": [0, 5]})
    stream = Scope("wrong").new_input(MIXED)[1]
    with raises(SchemaError, "operator 'partition'", "name is string?", "int64", ".cast", ".fill_null"):
        partition(stream, 2, col("name"))
    with raises(UsageError, "operator 'partition'", "one part", "not 0"):
        partition(stream, 0, col("value"))
    with raises(SchemaError, "operator 'branch'", "value is int64", "bool", "compare"):
        branch(stream, col("value"))
    with raises(UsageError, "operator 'branch'", "one condition"):
        branch(stream)


def test_equal_keys_meet_and_a_broadcast_is_for_all() -> None:
    with bench([MIXED], lambda stream: exchange(stream, ("name", "flag")), workers=2) as made:
        for worker in range(2):
            made.send(SOME, worker=worker)
        made.close()
        where_from = {(row[2:], row[0]) for row in made.rows}
        assert len(made.rows) == 8
        assert len(where_from) == 4, "the same key came out on two workers"
    with bench([MIXED], broadcast, workers=2) as made:
        made.send(SOME, time=4)
        made.close()
        assert [row[:3] for row in sorted(made.rows, key=lambda row: row[:3])] == [
            (worker, 4, value) for worker in range(2) for value in SOME["value"]
        ]


def test_inspect_shows_small_decimals_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    with bench([Schema(fee="decimal(10, 7)")], inspect) as made:
        made.send({"fee": [Decimal(0), Decimal("0.0000001")]})
        made.close()
    assert [line.strip() for line in capsys.readouterr().out.splitlines()[2:]] == ["0.0000000", "0.0000001"]


def test_inspect_shows_and_passes_on(capsys: pytest.CaptureFixture[str]) -> None:
    seen = []

    def declare(stream: Stream) -> Stream:
        return inspect(inspect(stream, lambda batch, time: seen.append((time, batch.rows))), name="look")

    with bench([MIXED], declare) as made:
        made.send(SOME, time=2)
        made.send({name: values[:1] * 11 for name, values in SOME.items()})
        made.close()
        assert len(made.sent()) == 15
    assert seen == [(2, 4), (2, 11)]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "look, worker 0, time 2:"
    assert lines[1].split() == ["value", "name", "flag", "at"]
    assert lines[3].split() == ["2", "null", "null", "null"]
    assert lines[-1] == "  … 1 more"


def test_delay_holds_rows_and_frontiers() -> None:
    probes = []

    def declare(stream: Stream) -> Stream:
        late = delay(stream, 10)
        probes.append(late.probe())
        return late

    with bench([MIXED], declare, workers=2) as made:
        made.send({name: values[:2] for name, values in SOME.items()}, time=5)
        made.send({name: values[2:] for name, values in SOME.items()}, time=7)
        made.settle()
        assert made.sent() == []
        assert probes[0].frontier == 10, "worker 1 may still send at 0"
        made.advance(14)
        assert made.sent() == []
        assert probes[0].frontier == 15
        made.advance(15)
        assert [row[:2] for row in made.sent()] == [(15, 1), (15, 2)]
        made.advance(16)
        assert (made.sent(), probes[0].frontier) == ([], 17)
        made.close()
        assert [row[:3] for row in made.sent()] == [(17, 3, "bé"), (17, 4, "")]
        assert probes[0].frontier == COMPLETE
    with raises(UsageError, "operator 'delay'", "1 before their times", "0 or more"):
        delay(Scope("back").new_input(VALUE)[1], -1)


def test_a_delay_by_nothing_lets_rows_go_in_order_of_time() -> None:
    """One worker is ahead, and its rows wait for the other."""
    with bench([VALUE], lambda stream: delay(exchange(stream, "value"), 0), workers=2) as made:
        made.send({"value": [4]}, worker=0, time=7)
        made.settle()
        assert made.sent() == []
        made.send({"value": [4]}, worker=1, time=5)
        made.settle()
        assert made.sent() == [(5, 4)]
        made.inputs[1][0].advance_to(7)
        made.settle()
        assert made.sent() == [(7, 4)]


def test_iterate_goes_round_until_all_are_done() -> None:
    def collatz(stream: Stream) -> Stream:
        def body(rows: Stream) -> tuple[Stream, Stream]:
            more, done = branch(rows, col("value") != 1)
            even, odd = branch(more, col("value") % 2 == 0)
            halved = with_columns(even, value=col("value") // 2, steps=col("steps") + 1)
            return union(halved, with_columns(odd, value=3 * col("value") + 1, steps=col("steps") + 1)), done

        return iterate(stream, body)

    with bench([Schema("start value steps")], collatz, workers=2) as made:
        made.send({"start": [6, 1, 27], "value": [6, 1, 27], "steps": [0, 0, 0]}, time=3)
        made.close()
        assert made.sent() == [(3, 1, 1, 0), (3, 6, 1, 8), (3, 27, 1, 111)]
    stream = Scope("other").new_input(VALUE)[1]
    with raises(SchemaError, "feedback", "Schema(value=int64)", "not Schema(value=int64, x=int64)"):
        iterate(stream, lambda rows: (with_columns(rows, x=col("value")), rows))
    with raises(GraphError, "operator 'delay'", "loop 'iterate'", "leave"):
        iterate(stream, lambda rows: (delay(rows, 1), rows))


def test_streams_of_other_columns_are_not_concatenated() -> None:
    scope = Scope("two")
    with raises(SchemaError, "operator 'union'", "Schema(value=int64)", "Schema(other=int64)"):
        union(scope.new_input(VALUE)[1], scope.new_input(Schema("other"))[1])


def test_functions_of_rows_and_batches_take_every_kind() -> None:
    seen: list[Any] = []

    def declare(stream: Stream) -> Stream:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kept = filter_rows(stream, lambda row: seen.append(row) or row["name"] != "a")
            twice = flat_map_rows(kept, MIXED, lambda row: [row] * (row["value"] - 2))
            mapped = map_rows(twice, MIXED, lambda row: {**row, "name": str(row["name"]) + "!"})
        assert [each.category for each in caught] == [RowwiseWarning] * 3
        assert "operator 'filter_rows' calls a Python function for each row" in str(caught[0].message)
        assert caught[0].filename == __file__
        same = map_batches(mapped, MIXED, lambda batch: batch)
        return filter(filter_batches(same, lambda batch: batch["flag"] == batch["flag"]), "name", "!=", "x")

    with bench([MIXED], declare) as made:
        made.send(SOME)
        made.close()
        assert [row[1:4] for row in made.sent()] == [(3, "bé!", False), (4, "!", True), (4, "!", True)]
    assert seen[1] == {"value": 2, "name": None, "flag": None, "at": None}
    assert seen[2] == {"value": 3, "name": "bé", "flag": False, "at": 7}


def test_null_conditions_keep_nothing() -> None:
    def declare(stream: Stream) -> Stream:
        return select(filter_batches(filter(stream, "name", "!=", "a"), lambda batch: ~batch["flag"]), "value", "name")

    with bench([MIXED], declare) as made:
        made.send(SOME)
        made.close()
        assert made.sent() == [(0, 3, "bé")]
