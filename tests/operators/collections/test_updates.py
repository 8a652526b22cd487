"""Sorting, adding up and merging of updates, beside dictionaries."""

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tokenring.operators.collections.updates import ALL, DONE, EACH, TOTAL_WORDS, Sealed, Spine, SpineSince, change_keys

SMALL = st.integers(-3, 3)
ROWS = st.lists(st.tuples(SMALL, SMALL, st.integers(0, 4), st.integers(0, 3), st.integers(-2, 2)), max_size=120)


def table_of(rows: Iterable[tuple[int, ...]], columns: int = 5) -> np.ndarray:
    return np.ascontiguousarray(np.array(list(rows), np.int64).reshape(-1, columns).T)


def total(tables: Iterable[np.ndarray]) -> Counter[Any]:
    """What updates add up to, by all but the multiplicity."""
    found: Counter[Any] = Counter()
    for table in tables:
        for *what, diff in table.T.tolist():
            found[tuple(what)] += diff
    return Counter({what: diff for what, diff in found.items() if diff})


def at(tables: Iterable[np.ndarray], time: tuple[int, ...], data: int = 2) -> Counter[Any]:
    """The collection at a time: what has come up to it, in each coordinate."""
    found: Counter[Any] = Counter()
    for table in tables:
        for *what, diff in table.T.tolist():
            if all(mine <= theirs for mine, theirs in zip(what[data:], time, strict=True)):
                found[tuple(what[:data])] += diff
    return Counter({what: diff for what, diff in found.items() if diff})


@given(ROWS)
def test_updates_are_put_in_order_and_added_up(rows: list[tuple[int, ...]]) -> None:
    table = Sealed.of(table_of(rows)).words
    expected = sorted([(*what, diff) for what, diff in total([table_of(rows)]).items()])
    assert [tuple(row) for row in table.T.tolist()] == expected


def test_wide_words_are_put_in_order() -> None:
    """Of all digits, and signs; runs of many that are alike."""
    random = np.random.default_rng(7)
    table = np.empty((3, 20_000), np.int64)
    table[0] = random.choice(random.integers(-(1 << 63), 1 << 62, 50), 20_000)
    table[1] = random.integers(-(1 << 63), (1 << 63) - 1, 20_000)
    table[2] = 1
    order = np.lexsort([table[1], table[0]])
    assert np.array_equal(Sealed.of(table).words, table[:, order])


@settings(max_examples=examples(200))
@given(st.lists(ROWS, max_size=12), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3))
def test_a_spine_tells_every_later_collection(
    pieces: list[list[tuple[int, ...]]], elements: list[tuple[int, int]]
) -> None:
    """However it was merged and compacted: at all times beyond the frontier."""
    since = [one for one in elements if not any(other != one and all(np.less_equal(other, one)) for other in elements)]
    spine = Spine(2, 2)
    spine.new_reader(ALL)
    spine.compact(sorted(set(since)))
    for piece in pieces:
        spine.add(Sealed.of(table_of(piece)).words)
    while spine.work(7):
        pass
    for batch in spine.batches():
        assert np.array_equal(batch.words, Sealed.of(np.ascontiguousarray(batch.words)).words)
    for first in range(5):
        for second in range(5):
            if any(first >= one[0] and second >= one[1] for one in since):
                expected = at([table_of(piece) for piece in pieces], (first, second))
                assert at([batch.words for batch in spine.batches()], (first, second)) == expected


def test_a_spine_has_few_batches_and_forgets_what_cancels() -> None:
    random = np.random.default_rng(3)
    spine = Spine(1, 1)
    reader = spine.new_reader(ALL)
    most = 0
    for time in range(2_000):
        keys = random.integers(0, 300, 20)
        spine.readers[reader]["since"] = time
        table = np.stack([keys, np.full(20, time), random.choice([-1, 1], 20)])
        spine.add(Sealed.of(np.ascontiguousarray(table)).words)
        most = max(most, len(spine.batches()))
    assert most <= 24
    assert spine.rows < 3_000  # 300 keys, and what merges have not come to


@pytest.mark.parametrize("spread", [500, 5_000, 1 << 63])
def test_keys_are_found_in_batches_with_directories(spread: int) -> None:
    """Dense keys, sparse ones, and of all words; after merges, some of which go on still."""
    random = np.random.default_rng(spread)
    spine, pieces = Spine(2, 1), []
    spine.new_reader(ALL)
    for time in range(30):
        rows = int(random.choice([1, 3, 50, 3_000, 9_000]))
        keys = random.integers(-spread, spread - 1, rows)
        pieces.append(np.stack([keys, random.integers(0, 3, rows), np.full(rows, time), random.choice([-1, 1], rows)]))
        spine.add(Sealed.of(pieces[-1]).words)
    there = np.concatenate(pieces, axis=1)
    ends = [-(1 << 63), (1 << 63) - 1]
    asked = np.unique([*random.choice(there[0], 100), *random.integers(*ends, 50), *ends])
    found, bounds = spine.rows_of_keys(1, asked.reshape(1, -1))
    for number, key in enumerate(asked):
        own = found[:, bounds[number] : bounds[number + 1]]
        assert total([own[[0, 2]]]) == total([there[1:, there[0] == key][[0, 2]]])


@given(ROWS, st.lists(SMALL, max_size=20))
def test_rows_of_keys_are_found(rows: list[tuple[int, ...]], asked: list[int]) -> None:
    table, spine = Sealed.of(table_of(rows)).words, Spine(len(table_of(rows)) - 2, 1)
    spine.new_reader(ALL)
    spine.add(table)
    keys = sorted(set(asked))
    found, bounds = spine.rows_of_keys(1, np.array(keys, np.int64).reshape(1, -1))
    for number, key in enumerate(keys):
        assert (found[:, bounds[number] : bounds[number + 1]] == table[1:, table[0] == key]).all()


@pytest.mark.parametrize("is_merged", [False, True])
def test_rows_take_as_many_bytes_as_their_words_differ_in(is_merged: bool) -> None:
    """Of a key below 16 million three, of a value of 40 bits five, of times and multiplicities that are alike none; and
    two of the directory."""
    rows = 4_000
    random = np.random.default_rng(1)
    keys, values = random.choice(1 << 24, rows, replace=False, shuffle=False), random.integers(0, 1 << 40, rows)
    spine = Spine(2, 1)
    reader = spine.new_reader(ALL)
    for time, piece in enumerate(np.array_split(np.stack([keys, values]), 3 if is_merged else 1, axis=1)):
        count = piece.shape[1]
        spine.readers[reader]["since"] = time
        spine.add(Sealed.of(np.concatenate([piece, np.full((1, count), time), np.ones((1, count), np.int64)])).words)
    while spine.work(1_000):
        pass
    assert spine.rows == rows and spine.count == 1 + is_merged
    assert 10 * rows < spine.kept_bytes < 10.2 * rows
    assert total([batch.words[:2] for batch in spine.batches()]) == total([np.stack([keys, values])])


@pytest.mark.parametrize("sign", [1, -1])
def test_multiplicities_grow_beyond_what_a_merge_had_room_for(sign: int) -> None:
    """Sums of what is alike have no room, as it was stored once: such a merge begins anew with more. One key's are
    greater than the others'; in the end nothing is left but that."""
    spine, rows = Spine(1, 1), 1_500
    reader = spine.new_reader(ALL)
    keys, factor = np.arange(rows), np.where(np.arange(rows) == 1_200, 3, 1) * sign
    each = [1, *(1 << k for k in range(0, 60, 3))]
    for time, often in enumerate([*each, -sum(each)]):
        spine.readers[reader]["since"] = time
        times = factor * often if often > 0 else np.full(rows, sign * often)
        spine.add(np.stack([keys, np.full(rows, time), times]))
        while spine.work(400):
            pass
    found, bounds = spine.rows_of_keys(1, keys.reshape(1, -1))
    assert [found[-1, start:stop].sum() for start, stop in itertools.pairwise(bounds)] == [
        2 * sign * sum(each) if key == 1_200 else 0 for key in keys
    ]


@settings(max_examples=examples(40))
@given(st.lists(ROWS, max_size=4), st.integers(1, 9), st.integers(0, 3))
def test_a_spine_is_taken_in_pieces_of_whole_keys(batches: list[list[tuple[int, ...]]], rows: int, least: int) -> None:
    """In order, while merges go on, and without what was added later."""
    spine = Spine(2, 1)
    spine.new_reader(len(batches))
    spine.readers["taken"][0], spine.readers["since"][0] = len(batches), least
    tables = [table_of([(k, v, t, d) for k, v, t, _, d in batch], 4) for batch in batches]
    for table in tables:
        spine.add(Sealed.of(table).words)
    before = spine.added
    spine.readers["taken"][0], spine.readers["since"][0] = before, least
    found = []
    for piece in SpineSince(spine, least).pieces(1, before, rows):
        found.append(piece)
        spine.add(table_of([(0, 0, 9, 1), (1, 0, 9, len(found))], 4))
        spine.work(3)
    keys = [int(key) for piece in found for key in piece[0]]
    assert keys == sorted(keys)
    assert len(np.unique(keys)) == sum(len(np.unique(piece[0])) for piece in found)
    moved = [table.copy() for table in tables]
    for table in moved:
        np.maximum(table[2], least, out=table[2])
    assert total(found) == total(moved)


def test_of_the_times_at_which_a_key_is_to_be_looked_at_the_least_wait() -> None:
    key, value, depth = 7, 1, 2
    source, target = Spine(2, depth), Spine(2, depth)
    for spine in (source, target):
        spine.new_reader(ALL)
        for round_ in range(5):  # a row that came in each round and went in the next
            words = [[key] * 2, [value + round_] * 2, [0, 0], [round_, round_ + 1], [1, -1]]
            spine.add(np.array(words, np.int64))
    source.add(np.array([[key], [value], [1], [0], [1]], np.int64))
    asked = np.array([[key, key], [1, 1], [0, 3], [1, 1]], np.int64)  # at (1, 0), and at (1, 3), which is not finished
    changes, later, faults = change_keys(
        source.address, 0, target.address, 1, asked, EACH, 0, np.zeros((0, TOTAL_WORDS), np.int64),
        np.zeros((1, 4), np.int64), np.array([[1, 2], [2, 0]], np.int64), True,
    )  # fmt: skip
    assert faults.T.tolist() == [[key, 1, 0, DONE], [key, 1, 1, DONE]]
    # at (1, 0) the row is there twice, once is said; at (1, 1) it came anew where the others say that it went
    assert changes.T.tolist() == [[key, value, 1, 1, 1]]
    assert later.T.tolist() == [[key, 1, 2, 1]]  # at (1, 2) all later ones are found again


def test_many_keys_are_looked_at_a_few_at_a_time_and_each_is_told_of_as_itself() -> None:
    """2,000 keys, each of a row: at (1, 0) it is said, at (1, 3) that waits."""
    keys, depth = np.arange(0, 4_000, 2), 2
    source, target = Spine(2, depth), Spine(2, depth)
    nothing, once = np.zeros_like(keys), np.ones_like(keys)
    for spine in (source, target):
        spine.new_reader(ALL)
    source.add(np.array([keys, keys + 1, once, nothing, once]))
    asked = np.hstack([[keys, once, nothing, once], [keys, once, 3 * once, once]])
    changes, later, faults = change_keys(
        source.address, 0, target.address, 1, asked, EACH, 0, np.zeros((0, TOTAL_WORDS), np.int64),
        np.zeros((1, 4), np.int64), np.array([[1, 2], [2, 0]], np.int64), True,
    )  # fmt: skip
    assert np.array_equal(changes, [keys, keys + 1, once, nothing, once])
    assert np.array_equal(later, [keys, once, 3 * once, once])
    assert np.array_equal(faults, [keys, once, nothing, nothing + DONE])
