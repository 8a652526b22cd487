"""Keys: like a dictionary from tuples to slots, for every kind of column, with removal and growth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenring.engine import Batch, Schema, SchemaError
from tokenring.operators.state.keys import Keys, grown

HUGE = 2**63 - 1
VALUES: dict[str, Any] = {
    "int64": st.one_of(st.integers(-3, 3), st.sampled_from([HUGE, -HUGE - 1])),
    "float64": st.sampled_from([0.0, -0.0, 1.5, float("inf")]),
    "bool?": st.sampled_from([True, False, None]),
    "string?": st.one_of(st.none(), st.sampled_from(["", "a", "ab", "abcdefgh", "abcdefghi" * 20])),
}


def _batch(schema: Schema, rows: list[Any]) -> Batch:
    columns = {name: [row[at] for row in rows] for at, name in enumerate(schema.names)}
    return Batch(schema, columns)


@settings(max_examples=60)
@given(data=st.data(), kinds=st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
def test_like_a_dictionary(data: st.DataObject, kinds: list[str]) -> None:
    schema = Schema.of({f"c{at}": kind for at, kind in enumerate(kinds)})
    row = st.tuples(*[VALUES[kind] for kind in kinds])
    keys, known = Keys(schema, schema.names), dict[Any, int]()
    for rows in data.draw(st.lists(st.lists(row, min_size=1, max_size=12), min_size=1, max_size=5)):
        batch = _batch(schema, rows)
        assert keys.find(batch).tolist() == [known.get(row, -1) for row in rows]
        slots = keys.slots(batch)
        fresh = []
        for at, (row, slot) in enumerate(zip(rows, slots.tolist(), strict=True)):
            if row not in known:
                assert slot not in known.values()
                fresh.append((slot, at))
            assert known.setdefault(row, slot) == slot
        assert list(zip(keys.fresh.tolist(), keys.fresh_rows.tolist(), strict=True)) == fresh
        assert len(keys) == len(known)
        assert max(known.values()) < keys.limit
        gone = [row for row in known if data.draw(st.integers(0, 3)) == 0]
        keys.remove(np.array([known.pop(row) for row in gone], np.int64))
        back = keys.batch(np.array(list(known.values()), np.int64))
        assert list(zip(*[back[name].tolist() for name in schema.names], strict=True)) == list(known)


@pytest.mark.parametrize("text", [False, True])
def test_many_keys_grow_and_memory_is_used_again(text: bool) -> None:
    schema = Schema.of({"id": "int64", "name": "string" if text else "int64"})
    keys = Keys(schema, ("id", "name"))
    for turn in range(6):
        ids = list(range(turn * 5_000, turn * 5_000 + 3_000))
        batch = Batch(schema, {"id": ids, "name": [f"name {at}" for at in ids] if text else ids})
        slots = keys.slots(batch)
        assert sorted(slots.tolist()) == list(range(3_000))
        assert (keys.slots(batch) == slots).all()
        assert keys.batch(slots)["name"].tolist() == batch["name"].tolist()
        some = slots[::3]
        keys.remove(some)
        found = slots.copy()
        found[::3] = -1
        assert (keys.find(batch) == found).all(), "those behind a gap are found still"
        rest = np.setdiff1d(slots, some)
        assert sorted(keys.live().tolist()) == rest.tolist()
        keys.remove(rest)
    assert keys.limit == 3_000
    assert keys._heap.nbytes <= 200_000 * text


def test_other_names_and_clear() -> None:
    keys = Keys(Schema("a", b="string"), ("b",))
    (slot,) = keys.slots(Batch(Schema(x="string"), {"x": ["one"]}), ("x",)).tolist()
    assert keys.find(Batch(Schema("a", b="string"), {"a": [1, 2], "b": ["one", "two"]})).tolist() == [slot, -1]
    seen = keys.batch(np.array([slot]))
    keys.clear()
    assert len(keys) == 0
    keys.slots(Batch(Schema(x="string"), {"x": ["six"]}), ("x",))
    assert seen["b"].tolist() == ["one"], "what was handed out keeps its texts"


def test_wrong_columns() -> None:
    with pytest.raises(SchemaError, match="no column 'c'; the columns are a, b"):
        Keys(Schema("a b"), ("c",))
    with pytest.raises(SchemaError, match="at least one column"):
        Keys(Schema("a b"), ())
    with pytest.raises(SchemaError, match="no column 'a'; the columns are x"):
        Keys(Schema("a"), ("a",)).slots(Batch(Schema("x"), {"x": [1]}))


def test_grown_doubles_and_fills() -> None:
    array = np.arange(6, dtype=np.int64).reshape(2, 3)
    assert grown(array, 3) is array
    assert grown(array, 4, -1).tolist() == [[0, 1, 2, -1, -1, -1], [3, 4, 5, -1, -1, -1]]
