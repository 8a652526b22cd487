"""Results and notes reach the launcher equal and of the same type, whatever they are, or are refused with a cure."""

from __future__ import annotations

import math
import os
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises
from tokenring.engine import Batch, Schema, Strings, UsageError, Worker, execute
from tokenring.engine.group.frames import MessageReader, write_message
from tokenring.engine.group.values import pack, unpack

Point = namedtuple("Point", "x y")
SCHEMA = Schema(
    "a", n="int64?", s="string?", f="float64?", b="bool", t="timestamp?", raw="bytes", d="date?", p="decimal(5, 2)?"
)
ROWS = {
    "a": [1, 2], "n": [None, 5], "s": ["x\0é", None], "f": [None, 0.5], "b": [True, False],
    "t": np.array(["2026-01-01", "NaT"], "datetime64[ns]"), "raw": [b"", b"\xff"],
    "d": [date(2024, 2, 29), None], "p": [None, Decimal("-1.50")],
}  # fmt: skip


def round_trip(value: Any) -> Any:
    return unpack([bytearray(part) for part in pack(value)])


def same(one: Any, other: Any) -> bool:
    """Equal, and of one type all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list | tuple | deque):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one), list(other)) and same(list(one.values()), list(other.values()))
    if isinstance(one, np.ma.MaskedArray):
        return same(one.data, other.data) and same(one.mask, other.mask)
    if isinstance(one, np.ndarray) and one.dtype == object:
        return one.dtype == other.dtype and same(one.tolist(), other.tolist())
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, Strings):
        return one.is_text == other.is_text and one.tolist() == other.tolist()
    if isinstance(one, Batch):
        return one.schema == other.schema and all([same(one[name], other[name]) for name in one.schema.names])
    return bool(one == other)


PLAIN = [
    None, True, 0, -(2**200), 1.5, float("nan"), -math.inf, -0.0, 1j, "", "é\ud800", b"\0\xff", bytearray(b"x"),
    (), (1, (2, [3])), [1, "a", None], {1: 2}, {(1, "a"): {2.5: None}, None: [()]}, {1, "a"}, frozenset({(1, 2)}),
    {frozenset({date(2026, 1, 1)}): {date(2026, 1, 2)}}, Decimal("1.10"), Counter("abca"),
    date(2026, 11, 21), time(23, 59, 1, 5), time(1, tzinfo=UTC), timedelta(-1, 3, 7),
    datetime(2026, 11, 21, 1, 2, 3, 4),
    datetime(2026, 11, 21, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=timezone(timedelta(hours=-3), "here")),
    datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
    OrderedDict([("b", 1), ("a", date(2026, 1, 1))]), defaultdict(list, {1: [2]}), deque([1, date(2026, 1, 1)], 3),
]  # fmt: skip
ARRAYS = [
    np.arange(5), np.arange(10)[::-2], np.float64("nan"), np.int64(2**40), np.bool_(True), np.str_(""), np.str_("é"),
    np.array(["2026-01-01", "NaT"], "datetime64[s]"), np.datetime64("NaT", "ns"), np.zeros((0, 3), np.float32),
    np.asfortranarray(np.arange(6).reshape(2, 3)).T, np.array(7), np.array([(1, 2.5)], [("a", "i4"), ("b", ">f8")]),
    np.array(["a", "bcd"]), np.array([b"x", b""]), np.ma.MaskedArray([1, 2], [True, False]),
    {np.int64(3): [np.arange(2)]}, Strings.of(["a", None, "é"]), Strings.of([b"\xff", b""], is_text=False)[1:],
    Batch(SCHEMA, ROWS),
    [Batch(SCHEMA, ROWS)], Batch(SCHEMA, ROWS)["p"], Batch(SCHEMA, ROWS)["p"][:0],
]  # fmt: skip
TABLES = [
    pa.table({"a": [1, None], "b": ["x", "y"]}), pa.table({"a": pa.array([], pa.int32())}), pa.array([[1], None]),
    pa.record_batch({"a": [1.5, None]}), pa.record_batch({"a": pa.array([], pa.string())}), pa.array([], pa.int8()),
    pa.chunked_array([[1, 2], [3]]), pa.array(["a", "b", "a"]).dictionary_encode(), Batch(SCHEMA, ROWS).to_arrow(),
    pd.Timestamp("2026-01-01T00:00:00.000000001"), pd.Timestamp("2026-01-01", tz="Europe/Berlin").as_unit("s"),
]  # fmt: skip


@pytest.mark.parametrize("value", [*PLAIN, *ARRAYS, *TABLES], ids=lambda value: type(value).__name__)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    told = round_trip(value)
    assert same(value, told), (value, told)
    assert same([{"in": (value,)}], [{"in": (told,)}])
    assert same(round_trip([{"in": (value,)}]), [{"in": (value,)}])


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates()
_KEYS = st.integers() | st.text() | st.dates() | st.tuples(st.integers(), st.dates())


@given(st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(_KEYS, inner)))
def test_any_nesting_comes_back_as_it_was(value: Any) -> None:
    assert same(round_trip(value), value)


def test_arrays_that_come_back_can_be_written_to() -> None:
    told = round_trip(np.arange(3))
    told[0] = 5
    assert told.tolist() == [5, 1, 2]


def _itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


REFUSED = {
    "object": object(), "object in a list": [1, {"a": object()}], "named tuple": Point(1, 2), "function": len,
    "subclass": type("Mine", (dict,), {})(), "objects": np.array([object()]), "defaultdict": defaultdict(lambda: 1),
    "data frame": pd.DataFrame({"a": [1]}), "generator": (i for i in ()), "itself": _itself(), "ellipsis": (..., "set"),
    "class": int, "memmap": np.arange(2).view(np.recarray), "bool subclass": [type("Int", (int,), {})(1)],
}  # fmt: skip


@pytest.mark.parametrize("what", list(REFUSED))
def test_what_has_no_form_is_refused_with_a_cure(what: str) -> None:
    with pytest.raises(TypeError):
        pack(REFUSED[what])


def test_a_program_learns_what_to_return() -> None:
    with raises(UsageError, "worker 0", "returned", "builtins.object", "numpy arrays"):
        execute(lambda worker: object(), workers=1)


def test_a_program_learns_what_to_report() -> None:
    with raises(UsageError, "worker 0", "reported", "Point", "numpy arrays"):
        execute(lambda worker: worker.report(Point(1, 2)), workers=1)


def test_results_and_notes_of_workers_are_as_they_were() -> None:
    notes: list[Any] = []

    def program(worker: Worker) -> Any:
        worker.report((worker.index, {1: math.nan}))
        return {1: 2, "all": [*PLAIN, *ARRAYS, *TABLES]}

    results = execute(program, workers=2, on_note=lambda _, value: notes.append(value))
    assert all([same(result, {1: 2, "all": [*PLAIN, *ARRAYS, *TABLES]}) for result in results])
    assert sorted(note[0] for note in notes) == [0, 1]
    assert all([same(note, (note[0], {1: math.nan})) for note in notes])


def test_reading_a_message_costs_what_it_is_long_however_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes that the reader asks the system for, or looks at again, are those that were written."""
    moved = 0
    real = os.readv

    def counted(pipe: int, buffers: list[memoryview]) -> int:
        nonlocal moved
        taken = real(pipe, [buffers[0][:100]])
        moved += taken
        return taken

    read_end, write_end = os.pipe()
    monkeypatch.setattr(os, "readv", counted)
    reader = MessageReader(read_end)
    try:
        for length in (0, 1, 1000, 60_000):
            moved = 0
            write_message(write_end, [length, np.zeros(length, np.uint8)])
            ((told, data),) = reader.read()
            assert (told, len(data)) == (length, length)
            assert moved < length + 400
    finally:
        reader.close()
        os.close(write_end)
    assert not reader.ended


def test_large_results_of_two_workers() -> None:
    """In one piece, and in many: each chunk was once searched from the start."""
    (one, other) = execute(lambda worker: "x" * 50_000_000 if worker.index else list(range(3_000_000)), workers=2)
    assert (len(other), one[-1]) == (50_000_000, 2_999_999)
