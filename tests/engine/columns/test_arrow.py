"""Rows are put together for Arrow as they came, whatever their messages were."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.errors import raises
from tokenring.engine import Batch, Schema, SchemaError
from tokenring.engine.columns import ArrowRows, arrow

SCHEMA = Schema.of(
    {
        "n": "int64", "maybe": "int64?", "u": "uint64", "x": "float64?", "is_so": "bool?", "at": "timestamp?",
        "day": "date", "price": "decimal(6, 2)", "name": "string", "note": "string?", "raw": "bytes?",
    }
)  # fmt: skip
TEXTS = ["", "a", "ä", "a text that is longer than a word is", "\0"]


def value_of(dice: random.Random, name: str) -> Any:
    if name in ("maybe", "x", "is_so", "at", "note", "raw") and dice.random() < 0.2:
        return None
    return {
        "n": lambda: dice.choice([0, -1, 2**63 - 1, -(2**63)]),
        "maybe": lambda: dice.randrange(-9, 9),
        "u": lambda: dice.choice([0, 2**64 - 1]),
        "x": lambda: dice.choice([0.0, -1.5, float("inf")]),
        "is_so": lambda: dice.random() < 0.5,
        "at": lambda: np.datetime64(dice.randrange(-9, 9), "ns"),
        "day": lambda: np.datetime64(dice.randrange(-9, 9), "D"),
        "price": lambda: Decimal(dice.randrange(-999_999, 999_999)).scaleb(-2),
        "name": lambda: dice.choice(TEXTS),
        "note": lambda: dice.choice(TEXTS),
        "raw": lambda: dice.choice(TEXTS).encode(),
    }[name]()


def batch_of(dice: random.Random, rows: int) -> tuple[Batch, list[list[Any]]]:
    columns = {name: [value_of(dice, name) for _ in range(rows)] for name in SCHEMA.names}
    shown = [
        [None if value is None else int(value.astype(np.int64)) if name in ("at", "day") else value for value in values]
        for name, values in columns.items()
    ]
    return Batch(SCHEMA, columns), shown


class Kept:
    """What was handed on, copied out of memory that is used again."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.columns: list[list[Any]] = [[] for _ in SCHEMA.names]

    def write(self, batch: pa.RecordBatch) -> None:
        batch.validate(full=True)
        assert batch.schema == SCHEMA.to_arrow()
        self.counts.append(batch.num_rows)
        for kept, name, column in zip(self.columns, SCHEMA.names, batch.columns, strict=True):
            if name in ("at", "day"):
                column = column.cast(pa.int64() if name == "at" else pa.int32())
            kept.extend(column.to_pylist())


@pytest.mark.parametrize("seed", range(4))
def test_rows_come_out_as_they_went_in(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that fill the memory, go beyond it, need more for their texts, or are many enough to go by themselves;
    and slices, whose texts lie anywhere in their heaps."""
    monkeypatch.setattr(arrow, "_ROWS", 40)
    monkeypatch.setattr(arrow, "_MANY_ROWS", 60)
    monkeypatch.setattr(arrow, "_TEXT_BYTES", 8)
    dice, kept = random.Random(seed), Kept()
    rows = ArrowRows(SCHEMA, kept.write)
    wanted: list[list[Any]] = [[] for _ in SCHEMA.names]
    for count in [0, 1, 39, 0, 40, 41, 59, 60, 100, *[dice.randrange(30) for _ in range(30)]]:
        batch, shown = batch_of(dice, count)
        start = dice.randrange(count + 1) if dice.random() < 0.5 else 0
        rows.add(batch.slice(start, count))
        for column, values in zip(wanted, shown, strict=True):
            column.extend(values[start:])
    rows.hand_on()
    rows.hand_on()
    assert kept.columns == wanted
    assert max(kept.counts) <= 100 and min(kept.counts) > 0


def test_many_small_messages_make_few_batches() -> None:
    schema, counts = Schema.of({"name": "string"}), []
    rows = ArrowRows(schema, lambda batch: counts.append(batch.num_rows))
    few = Batch(schema, {"name": ["a"] * 100})
    for _ in range(1_000):
        rows.add(few)
    rows.hand_on()
    assert sum(counts) == 100_000 and len(counts) == 4


@pytest.mark.parametrize("beyond", [1_000, -1_000])
def test_a_sum_beyond_its_decimal_is_named(beyond: int) -> None:
    schema = Schema.of({"name": "string", "price": "decimal(3, 0)"})
    rows = ArrowRows(schema, lambda batch: None)

    def add(*sums: int) -> None:
        rows.add(Batch.wrap(schema, (np.zeros(2, np.int64), np.array(sums)), 2, (np.zeros(1, np.uint8), None)))

    add(999, -999)
    rows.hand_on()
    add(5, beyond)
    with raises(SchemaError, "'price'", "row 1", str(beyond)):
        rows.hand_on()


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.float32(), pa.int32(), pa.bool_()])
def test_an_array_without_memory_has_no_rows(kind: pa.DataType) -> None:
    """Other libraries hand over such ones."""
    nothing = pa.Array.from_buffers(kind, 0, [None, None])
    schema = Schema.of({"n": {"float": "float64", "double": "float64", "bool": "bool"}.get(str(kind), "int64")})
    assert Batch(schema, {"n": nothing}).rows == 0


def test_a_day_that_is_no_date_of_arrow_says_which_are() -> None:
    days = Batch.wrap(Schema(day="date"), (np.array([0, 3_000_000]),), 2)
    with raises(SchemaError, "column 'day'", "row 1", "10183-09-21", "years 1 to 9999"):
        days.to_arrow()
