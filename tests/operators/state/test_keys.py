"""Keys: like a dictionary from tuples to slots, for every kind of column, with removal and growth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import COLUMN, Batch, Schema, SchemaError, int64, kernel
from tokenring.engine import WORDS as TAGS
from tokenring.engine.compiled import record_of
from tokenring.operators.state import KeyCounts, Keys, key_table, slot_of
from tokenring.operators.state.cells import REHASHED_AT_ONCE, mark_of

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


@settings(max_examples=examples(60))
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
    with raises(SchemaError, "column 'c'", "columns are a, b"):
        Keys(Schema("a b"), ("c",))
    with raises(SchemaError, "one column"):
        Keys(Schema("a b"), ())
    with raises(SchemaError, "column 'a'", "columns are x"):
        Keys(Schema("a"), ("a",)).slots(Batch(Schema("x"), {"x": [1]}))


WORDS = st.one_of(st.integers(-5, 5), st.integers(-HUGE - 1, HUGE))


@given(data=st.data(), pieces=st.lists(st.lists(WORDS, max_size=50), max_size=6))
def test_one_column_of_numbers_has_a_quicker_way(data: st.DataObject, pieces: list[list[int]]) -> None:
    schema = Schema("key")
    quick, slow = Keys(schema, ("key",)), Keys(schema, ("key",))
    for piece in pieces:
        words = np.array(piece, np.int64)
        slots = quick.slots_of(words)
        assert slots.tolist() == slow.slots(Batch(schema, {"key": words})).tolist()
        assert (len(quick), quick.limit) == (len(slow), slow.limit)
        assert quick.words(0)[slots].tolist() == piece
        known = sorted({*slots.tolist()})
        gone = np.array([slot for slot in known if data.draw(st.booleans())], np.int64)
        for keys in (quick, slow):
            keys.remove(gone)


NEAR = st.one_of(st.integers(0, 40), st.integers(1_000, 1_040), st.sampled_from((-HUGE - 1, -1, HUGE)))


@given(data=st.data(), pieces=st.lists(st.lists(NEAR, max_size=40), max_size=12))
def test_keys_close_together_and_others_have_one_slot_each(data: st.DataObject, pieces: list[list[int]]) -> None:
    """Whatever form they have, in turn: the array by key, cells, and both."""
    keys, known = Keys(Schema("key"), ("key",)), dict[int, int]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_table, "_LEAST_DENSE", 4)
        patch.setattr(key_table, "_FIRST_CELLS", 8)
        keys.clear()
        for piece in pieces:
            for word, slot in zip(piece, keys.slots_of(np.array(piece, np.int64)).tolist(), strict=True):
                assert known.setdefault(word, slot) == slot
            assert len({*known.values()}) == len(known) == len(keys)
            assert sorted(keys.live().tolist()) == sorted(known.values())
            gone = [word for word in known if data.draw(st.booleans())]
            keys.remove(np.array([known.pop(word) for word in gone], np.int64))
            asked = np.array([*known, *gone, 7], np.int64)
            found = keys.find(Batch(Schema("key"), {"key": asked})).tolist()
            assert found == [known.get(word, -1) for word in asked.tolist()]


PAIRS = st.one_of(
    st.tuples(st.integers(0, 3), st.integers(-5, 5)),
    st.tuples(st.integers(0, 40), st.sampled_from((10**18, 10**18 + 10**10))),
    st.tuples(NEAR, NEAR),
)
FOLLOWING = st.integers(0, 60).map(lambda number: (number**2 * 10**9, number))


def _pieces(pairs: st.SearchStrategy[tuple[int, int]]) -> st.SearchStrategy[list[list[tuple[int, int]]]]:
    return st.lists(st.lists(pairs, max_size=30), max_size=8)


@pytest.mark.parametrize("least", [4, 1 << 10])
@given(data=st.data(), first=_pieces(FOLLOWING), then=_pieces(PAIRS))
def test_pairs_are_told_apart_packed_hashed_or_by_one_of_them(
    data: st.DataObject, least: int, first: list[list[tuple[int, int]]], then: list[list[tuple[int, int]]]
) -> None:
    schema = Schema("a b")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_table, "_LEAST_DENSE", least)
        patch.setattr(key_table, "_FIRST_CELLS", 2 * least)
        _tell_apart(data, Keys(schema, ("a", "b")), first + then)


def _tell_apart(data: st.DataObject, keys: Keys, pieces: list[list[tuple[int, int]]]) -> None:
    schema, known = keys.schema, dict[tuple[int, int], int]()

    def batch(pairs: Sequence[tuple[int, int]]) -> Batch:
        return Batch(schema, {"a": [pair[0] for pair in pairs], "b": [pair[1] for pair in pairs]})

    for piece in pieces:
        for pair, slot in zip(piece, keys.slots(batch(piece)).tolist(), strict=True):
            assert known.setdefault(pair, slot) == slot
        assert len({*known.values()}) == len(known) == len(keys)
        gone = [pair for pair in known if data.draw(st.booleans())]
        keys.remove(np.array([known.pop(pair) for pair in gone], np.int64))
        asked = [*known, *gone, (7, 7), (HUGE, -HUGE), *[(a ^ 1, b) for a, b in known]]
        assert keys.find(batch(asked)).tolist() == [known.get(pair, -1) for pair in asked]
        assert [*zip(*(keys.words(at)[[*known.values()]].tolist() for at in (0, 1)), strict=True)] == [*known]


def test_pairs_are_packed_while_their_ranges_allow_it() -> None:
    keys = Keys(Schema("a b"), ("a", "b"))
    for step in (1, 10**3, 10**6, 10**9):
        keys.slots(Batch(Schema("a b"), {"a": np.arange(100), "b": np.arange(100) * step}))
        assert keys._counts.packing_at != 0
    keys.slots(Batch(Schema("a b"), {"a": [HUGE], "b": [-HUGE]}))
    assert keys._counts.packing_at == 0 and len(keys) == 398


def test_a_column_that_tells_keys_apart_is_all_that_is_looked_up_until_it_does_not() -> None:
    keys, ids = Keys(Schema("pair id day"), ("pair", "id", "day")), np.arange(5_000)

    def batch(ids: np.ndarray, more: int = 0) -> Batch:
        return Batch(Schema("pair id day"), {"pair": ids // 2 * 3 + more, "id": ids, "day": ids // 90 * 10**6})

    for part in np.split(ids, 5):
        keys.slots(batch(part))
    assert keys._counts.told_by == 2 and keys._counts.dense_live > 4_000
    assert (keys.find(batch(ids, 1)) == -1).all(), "the other columns are looked at"
    assert keys._counts.told_by == 2
    assert keys.slots(batch(ids[::2], 1)).tolist() == list(range(5_000, 7_500))
    assert keys._counts.told_by < 0
    assert keys.find(batch(ids)).tolist() == ids.tolist()
    assert keys.find(batch(ids, 1))[::2].tolist() == list(range(5_000, 7_500))
    keys.slots(batch(np.arange(5_000, 50_000)))
    assert keys._counts.told_by < 0, "it is not tried once more"


def test_numbers_in_a_row_need_no_hash_until_they_are_no_longer() -> None:
    keys = Keys(Schema("key"), ("key",))
    keys.slots_of(np.arange(10**12, 10**12 + 5_000))
    assert keys._counts.dense_room > 0 and keys._counts.dense_live > 4_000
    keys.slots_of(np.arange(5_000) * 2**40)
    assert keys._counts.dense_live > 4_000, "others are in cells"
    assert keys.slots_of(np.array([10**12 + 4_999, 10**12])).tolist() == [4_999, 0]
    keys.remove(np.arange(4_900))
    keys.slots_of(np.arange(5_000, 50_000) * 2**40)
    assert keys._counts.dense_room == 0
    assert keys.slots_of(np.array([10**12 + 4_999])).tolist() == [4_999]


def test_slots_are_dense_in_the_order_of_first_appearance() -> None:
    keys = Keys(Schema("key"), ("key",))
    words = np.arange(-5_000, 5_000) * 2**32
    for start in range(0, len(words), 100):
        assert keys.slots_of(words[start : start + 100]).tolist() == list(range(start, start + 100))
    assert keys.slots_of(words).tolist() == list(range(len(words)))
    assert keys.words(0).tolist() == words.tolist()


def test_the_quick_way_is_for_one_column_of_numbers() -> None:
    schema = Schema(a="int64", b="int64", c="string")
    for by, keys in ((("a", "b"), "Schema(a=int64, b=int64)"), (("c",), "Schema(c=string)")):
        with raises(SchemaError, keys, "use slots"):
            Keys(schema, by).slots_of(np.zeros(1, np.int64))


@kernel(int64(TAGS, TAGS, TAGS, COLUMN, int64, TAGS))
def _look_up(cells, tags, meta, words, start, slots):  # type: ignore[no-untyped-def]
    for i in range(start, len(words)):
        slots[i] = slot_of(cells, tags, record_of(meta, KeyCounts), words[i])
        if slots[i] < 0:
            return i
    return len(words)


@given(pieces=st.lists(st.lists(WORDS, min_size=1, max_size=200), max_size=6))
def test_a_kernel_may_look_keys_up_itself(pieces: list[list[int]]) -> None:
    keys, other = Keys(Schema("key"), ("key",)), Keys(Schema("key"), ("key",))
    for piece in pieces:
        words, slots = np.array(piece, np.int64), np.empty(len(piece), np.int64)
        done = _look_up(*keys.table, words, 0, slots)
        while done < len(words):
            keys.grow()
            done = _look_up(*keys.table, words, done, slots)
        assert slots.tolist() == other.slots_of(words).tolist()
        assert len(keys) == keys.limit == len(other) <= keys.capacity
        assert sorted(keys.live().tolist()) == list(range(len(keys)))


def test_keys_are_found_while_they_move_to_the_dense_form() -> None:
    """Some at a time, while others come, from within its bounds and beyond, are asked for, and leave."""
    moved, left = 0, 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        keys, known = Keys(Schema("key"), ("key",)), dict[int, int]()
        strays = float(random.choice([0.0, 0.05, 0.3]))
        for step in range(60):
            count = 1_500 if step == 0 else int(random.integers(1, 6))
            words = random.integers(0, 4_000, count)
            words[random.random(count) < strays] += 2**40 * int(random.integers(1, 9))
            if step % 20 == 10:  # as it does by itself now and then
                keys._hash()
                keys._have_dense(100, int(random.choice([1_000, 3_000, 5_000])))
            if random.random() < 0.3:
                words = np.array([word for word in words.tolist() if word in known], np.int64)
                slots = np.empty(len(words), np.int64)
                assert _look_up(*keys.table, words, 0, slots) == len(words)
            else:
                slots = keys.slots_of(words)
            for word, slot in zip(words.tolist(), slots.tolist(), strict=True):
                assert known.setdefault(word, slot) == slot, (seed, word)
            assert sorted(keys.live().tolist()) == sorted(known.values()), seed
            moving = keys._counts.to_rehash
            gone = [word for word in known if random.random() < 0.02]
            keys.remove(np.array([known.pop(word) for word in gone], np.int64))
            moved += moving > 0
            left += moving > 0 and bool(gone)
            if step % 10 == 9:
                asked = np.concatenate((np.array([*known, *gone], np.int64), random.integers(0, 4_000, 3)))
                found = keys.find(Batch(Schema("key"), {"key": asked})).tolist()
                assert found == [known.get(word, -1) for word in asked.tolist()], seed
    assert moved > 500 and left > 500, (moved, left)


def test_a_key_that_comes_round_to_a_cell_that_was_looked_at_moves_too() -> None:
    keys = Keys(Schema("key"), ("key",))
    last = len(keys.table[0]) - 1
    near = next(word for word in range(10_000) if mark_of(word) & last == last)
    far = next(word for word in range(2**40, 2**41) if mark_of(word) & last == last)
    keys.slots_of(np.array([far, near]))
    assert keys.table[0][last] and keys.table[0][0], "the second has gone round"
    keys._have_dense(0, 10_000)
    others = iter(word for word in range(10_000) if word != near)
    keys.slots_of(np.array([next(others)]))
    assert keys._counts.to_rehash == last + 1 - REHASHED_AT_ONCE
    keys.remove(np.array([0]))
    assert keys._counts.to_rehash == last + 1
    while keys._counts.to_rehash:
        keys.slots_of(np.array([next(others)]))
    assert keys._counts.dense_live == len(keys)
    assert keys.slots_of(np.array([near])).tolist() == [1]


def test_one_more_key_moves_few() -> None:
    keys = Keys(Schema("key"), ("key",))
    words = np.random.default_rng(1).permutation(100_000)
    made = 0
    for word in words.reshape(-1, 1):
        before = keys._counts.dense_live
        keys.slots_of(word)
        made += before == 0 and keys._counts.dense_room > 0
        assert keys._counts.dense_live - before <= 1 + REHASHED_AT_ONCE
    assert made and keys._counts.dense_live > len(words) - 100 and len(keys.table[0]) < 1_000, "cells are given back"


def test_keys_move_from_cells_that_were_just_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dense form becomes longer while cells are not yet where they belong among twice as many; other keys come."""
    schema, order = Schema("key"), np.random.default_rng(1)
    monkeypatch.setattr(key_table, "_FIRST_CELLS", 128)  # so that cells are doubled when they are to be
    keys, known = Keys(schema, schema.names), dict[int, int]()

    def add(*some: int) -> None:
        slots = keys.slots(_batch(schema, [(one,) for one in some])).tolist()
        for one, slot in zip(some, slots, strict=True):
            assert known.setdefault(one, slot) == slot

    add(*range(0, 4 * 4096, 4))
    room = int(keys._counts.dense_room)
    beyond = iter(order.permutation(np.arange(room, 2 * room)).tolist())
    while keys._counts.half == 0:
        add(next(beyond))
    waiting = [one for one in known if one >= room]
    add(*[one for one in range(room) if one not in known][:1600])
    for _ in range(20):
        add(next(beyond))
    assert keys._counts.dense_room == 2 * room
    assert keys._counts.to_rehash > 0
    add(*range(2**40, 2**40 + 25))
    absent = [next(beyond) for _ in range(40)]
    found = keys.find(_batch(schema, [(one,) for one in absent + waiting])).tolist()
    assert found == [-1] * 40 + [known[one] for one in waiting]


@pytest.mark.parametrize("order", ["rising", "falling", "both ways"])
def test_keys_that_come_next_to_each_other_ask_for_room_seldom(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever way they go: to make the dense form anew for each few of them took as long as there were keys."""
    values = np.arange(200_000)
    if order == "falling":
        values = values[::-1].copy()
    elif order == "both ways":
        values = np.where(values % 2 == 0, values, -values)
    schema, grown = Schema("key"), []
    grow = Keys.grow
    monkeypatch.setattr(Keys, "grow", lambda self, *options: (grown.append(1), grow(self, *options)))
    keys = Keys(schema, ["key"])
    slots = np.concatenate(
        [keys.slots(Batch(schema, {"key": values[at : at + 5_000]})) for at in range(0, len(values), 5_000)]
    )
    assert slots.tolist() == list(range(200_000))
    assert (keys.find(Batch(schema, {"key": values})) == slots).all()
    assert len(grown) < 60


@pytest.mark.parametrize("at", [-(2**63), 2**63 - 1 - 5_000])
def test_falling_keys_at_the_ends_of_what_there_is(at: int) -> None:
    schema = Schema("key")
    keys = Keys(schema, ["key"])
    for start in range(4_000, -1, -1_000):
        keys.slots(Batch(schema, {"key": at + np.arange(start + 999, start - 1, -1)}))
    found = keys.find(Batch(schema, {"key": at + np.arange(5_000)}))
    assert sorted(found.tolist()) == list(range(5_000))
