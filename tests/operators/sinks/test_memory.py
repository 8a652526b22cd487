"""for_each and collect: rows for Python code."""

from __future__ import annotations

from typing import Any

from tests.engine.helpers import build, settle, simulated
from tests.errors import raises
from tokenring.engine import GraphError, Schema, Scope, UsageError, Worker
from tokenring.operators import collect, for_each
from tokenring.operators.sinks.kept_rows import compiled_rows

SCHEMA = Schema("value", name="string?")


def test_rows_are_given_out_as_they_come_and_in_order_of_time() -> None:
    came: list[Any] = []
    ordered: list[Any] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(SCHEMA)
        for_each(stream, lambda time, batch: came.append((time, batch["value"].tolist())))
        for_each(stream, lambda time, batch: ordered.append((time, batch["name"].tolist())), in_order=True)
        return handle

    with simulated(1) as group:
        (handle,) = build(group, declare)
        for time, name in ((7, "late"), (3, "first"), (3, None), (0, "zero")):
            handle.send({"value": [time], "name": [name]}, time=time)
        settle(group)
        assert came == [(7, [7]), (3, [3]), (3, [3]), (0, [0])]
        assert ordered == []
        handle.advance_to(4)
        settle(group)
        assert ordered == [(0, ["zero"]), (3, ["first", None])]
        handle.close()
        settle(group)
        assert ordered[2:] == [(7, ["late"])]


def test_a_loop_has_no_order() -> None:
    def declare(worker: Worker, scope: Scope) -> None:
        _, stream = scope.new_input(SCHEMA)
        with scope.loop("inner") as loop:
            for_each(loop.enter(stream), print, in_order=True)

    with simulated(1) as group, raises(GraphError, "operator 'for_each'", "loop 'inner'", "leave"):
        build(group, declare)


def test_what_is_no_function_is_not_called() -> None:
    def declare(worker: Worker, scope: Scope) -> None:
        for_each(scope.new_input(SCHEMA)[1], None)  # type: ignore[arg-type]

    with simulated(1) as group, raises(UsageError, "operator 'for_each'", "(time, batch)", "not None"):
        build(group, declare)


def test_collected_rows_become_tables() -> None:
    with simulated(1) as group:
        ((handle, rows),) = build(
            group, lambda worker, scope: (lambda made: (made[0], collect(made[1])))(scope.new_input(SCHEMA))
        )
        assert len(rows) == 0
        assert rows.to_arrow().schema == SCHEMA.to_arrow()
        handle.send({"value": [1], "name": ["a"]})
        handle.send({"value": [2], "name": [None]})
        settle(group)
        assert len(rows) == 2
        assert rows.columns()["name"].tolist() == ["a", None]
        assert rows.to_arrow().to_pylist() == [{"value": 1, "name": "a"}, {"value": 2, "name": None}]
        assert rows.to_pandas()["value"].tolist() == [1, 2]


def test_what_is_kept_is_not_copied_as_it_grows() -> None:
    """Once a column is large: to copy a table of many is what everything else would wait for."""
    schema = Schema("a b c")
    compiled, read = compiled_rows(schema, lambda rows: False)
    places = []
    for _ in range(12):
        compiled.state[2] = compiled.state[1]  # all rows are used
        compiled.state[3] = 1
        compiled.make_room()
        batch = read()
        batch.columns[1][-1] = batch.rows
        places.append([column.ctypes.data for column in batch.columns])
    assert batch.rows == 2**21
    assert places[-1] == places[-2] == places[-3]
    assert [batch["b"][2**power - 1] for power in (18, 19, 20)] == [2**18, 2**19, 2**20]
