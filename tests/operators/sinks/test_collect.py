"""collect and latest: rows kept on the worker."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.helpers import build, settle, simulated
from tests.errors import raises
from tokenring.engine import Batch, Exchange, Schema, SchemaError, Scope, Worker
from tokenring.operators import Collected, collect, latest

HUGE = 2**63 - 1
KEYS = st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1), st.sampled_from([HUGE, -HUGE - 1, 0]))


def _run(schema: Schema, declare: Any, pieces: list[dict[str, list[Any]]], workers: int = 1) -> list[Any]:
    with simulated(workers) as group:

        def on_worker(worker: Worker, scope: Scope) -> Any:
            handle, stream = scope.new_input(schema)
            return handle, declare(stream)

        made = build(group, on_worker)
        for at, piece in enumerate(pieces):
            made[at % workers][0].send(piece)
            settle(group)
        for handle, _ in made:
            handle.close()
        settle(group)
        return [sink.columns() for _, sink in made]


def test_collect_keeps_all_rows_in_order_and_their_types() -> None:
    schema = Schema(key="int64", share="float64")
    (columns,) = _run(schema, collect, [{"key": [3, 1], "share": [0.5, -1.5]}, {"key": [2], "share": [2.5]}])
    assert columns["key"].tolist() == [3, 1, 2]
    assert columns["share"].tolist() == [0.5, -1.5, 2.5]
    assert (columns["key"].dtype, columns["share"].dtype) == (np.int64, np.float64)


def test_collect_of_nothing() -> None:
    (columns,) = _run(Schema("key value"), collect, [])
    assert {name: column.tolist() for name, column in columns.items()} == {"key": [], "value": []}


@given(rows=st.lists(st.tuples(KEYS, st.integers(-9, 9)), min_size=1, max_size=80), size=st.integers(1, 80))
def test_latest_keeps_one_row_a_key(rows: list[tuple[int, int]], size: int) -> None:
    pieces = [rows[start : start + size] for start in range(0, len(rows), size)]
    batches = [{"key": [key for key, _ in piece], "value": [value for _, value in piece]} for piece in pieces]
    (columns,) = _run(Schema("key value"), lambda stream: latest(stream, "key"), batches)
    assert dict(zip(columns["key"].tolist(), columns["value"].tolist(), strict=True)) == dict(rows)
    assert columns["key"].tolist() == list(dict(rows)), "in the order of first appearance"


def test_latest_of_many_keys_grows() -> None:
    keys = list(range(-3_000, 3_000))
    batches = [{"key": keys, "value": keys}, {"key": keys[::-1], "value": [1] * len(keys)}]
    (columns,) = _run(Schema("key value"), lambda stream: latest(stream, "key"), batches)
    assert columns["key"].tolist() == keys
    assert set(columns["value"].tolist()) == {1}


@pytest.mark.parametrize("beside", [{}, {"text": "string?"}])
@pytest.mark.parametrize("key", ["number", "share", "at", "side", "text"])
def test_latest_rows_are_of_their_kinds(key: str, beside: dict[str, str]) -> None:
    """As words, in compiled code, and, with a text beside them or for a key, in Python."""
    schema = Schema.of({"number": "int64?", "share": "float64?", "at": "timestamp", "side": "bool"} | beside)
    if key not in schema.names:
        return
    values = {
        "number": [1, None, 1, 7, None],
        "share": [0.5, -1.5, 0.5, None, -1.5],
        "at": [5, 6, 5, 8, 6],
        "side": [True, False, True, True, False],
        "text": ["a", None, "a", "a name", None],
    }
    batches = [{name: values[name][start : start + 2] for name in schema.names} for start in range(0, 5, 2)]
    (found,) = _run(schema, lambda stream: _Tables(latest(stream, key)), batches)
    rows = list(zip(*[values[name] for name in schema.names], strict=True))
    last = {row[schema.position(key)]: row for row in rows}
    table = found["table"].cast(_with_numbers(schema))
    assert [tuple(row.values()) for row in table.to_pylist()] == list(last.values())


class _Tables:
    """A sink whose columns are its table."""

    def __init__(self, kept: Any) -> None:
        self.kept = kept

    def columns(self) -> dict[str, Any]:
        return {"table": self.kept.to_arrow()}


def _with_numbers(schema: Schema) -> pa.Schema:
    """Instants as numbers."""
    return pa.schema([(field.name, pa.int64() if field.name == "at" else field.type) for field in schema.to_arrow()])


@pytest.mark.parametrize("workers", [2, 3])
def test_latest_after_an_exchange_has_each_key_once(workers: int) -> None:
    def declare(stream: Any) -> Any:
        passed = stream.unary("by key", stream.schema, _pass_on, Exchange("key"))
        return latest(passed, "key")

    batches = [{"key": list(range(20)), "value": [turn] * 20} for turn in range(6)]
    parts = _run(Schema("key value"), declare, batches, workers)
    keys = [key for part in parts for key in part["key"].tolist()]
    assert sorted(keys) == list(range(20))
    assert {value for part in parts for value in part["value"].tolist()} == {5}


def _pass_on(context: Any, token: Any) -> Any:
    token.drop()

    def logic(rows: Any, output: Any) -> None:
        for reference, batch in rows:
            output.give(reference, batch)

    return logic


@pytest.mark.parametrize("beside", [{}, {"text": "string"}])
def test_thousands_of_rows_in_pieces(beside: dict[str, str]) -> None:
    """As words, in compiled code, and, with a text beside them, in Python: tables grow in the middle of a message."""
    schema = Schema.of({"key": "int64", "share": "float64?", "side": "bool"} | beside)
    pieces = [
        {
            "key": [(at * 7919) % 4_000 for at in range(start, start + 1_500)],
            "share": [None if at % 3 == 0 else at / 8 for at in range(start, start + 1_500)],
            "side": [at % 2 == 0 for at in range(start, start + 1_500)],
        }
        | {name: ["x"] * 1_500 for name in beside}
        for start in range(0, 6_000, 1_500)
    ]
    (columns,) = _run(schema, collect, pieces)
    for name in schema.names:
        said = [value for piece in pieces for value in piece[name]]
        assert [None if value != value else value for value in columns[name].tolist()] == said


def test_rows_of_another_schema_are_not_kept() -> None:
    kept = Collected(Schema("a"))
    with raises(SchemaError, "Schema(b=int64)", "Schema(a=int64)"):
        kept.add(Batch(Schema("b"), {"b": [1]}))
