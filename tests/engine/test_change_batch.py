"""The change log: netting against a dictionary, growing, and the order that makes a prefix safe."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.change_batch import CHANGE_BYTES, ChangeLog, net, positives_first

changes = st.tuples(st.integers(0, 4), st.one_of(st.integers(0, 6), st.integers(2**61, 2**61 + 3)), st.integers(-3, 3))


def _counted(log: list[tuple[int, int, int]]) -> dict[tuple[int, int], int]:
    counts: Counter[tuple[int, int]] = Counter()
    for location, time, delta in log:
        counts[location, time] += delta
    return {place: count for place, count in counts.items() if count}


def _filled(entries: list[tuple[int, int, int]], capacity: int = 4096) -> ChangeLog:
    log = ChangeLog(capacity)
    for location, time, delta in entries:
        log.add(location, time, delta)
    return log


@given(st.lists(changes, max_size=120))
def test_netting_is_counting(entries: list[tuple[int, int, int]]) -> None:
    """Few changes are merged by looking, many by hashing: both must agree with a dictionary."""
    log = _filled(entries)
    kept = net(log.words, log.offset // CHANGE_BYTES, log.scratch)
    log.offset = kept * CHANGE_BYTES
    assert len(log.changes()) == len({(location, time) for location, time, _ in log.changes()})
    assert {(location, time): delta for location, time, delta in log.changes()} == _counted(entries)


@given(st.lists(changes.filter(lambda change: change[2] != 0), max_size=60))
def test_positives_first_keeps_every_change(entries: list[tuple[int, int, int]]) -> None:
    log = _filled(entries)
    positive = positives_first(log.words, len(entries))
    ordered = log.changes()
    assert positive == sum(delta > 0 for _, _, delta in entries)
    assert all(delta > 0 for _, _, delta in ordered[:positive])
    assert all(delta < 0 for _, _, delta in ordered[positive:])
    assert sorted(ordered) == sorted(entries)


@given(st.lists(changes, max_size=200), st.integers(4, 9))
def test_a_small_log_nets_or_grows(entries: list[tuple[int, int, int]], capacity: int) -> None:
    log = _filled(entries, capacity)
    assert _counted(log.changes()) == _counted(entries)
    assert log.offset < log.limit
    assert np.shares_memory(log.words, np.frombuffer(log.buffer, np.uint8))


def test_many_distinct_changes_grow_the_log_and_few_do_not() -> None:
    many, few = ChangeLog(8), ChangeLog(8)
    for number in range(10_000):
        many.add(number % 3, number, 1)
        few.add(0, 5, 1 - 2 * (number % 2))
    assert len(many.changes()) == 10_000
    assert _counted(few.changes()) == {}
    assert len(few.buffer) == 8 * CHANGE_BYTES, "what cancels out takes no room"


def test_extreme_words_survive() -> None:
    log = _filled([(2**40, 2**62 - 1, 2**62), (2**40, 2**62 - 1, -1)])
    assert net(log.words, 2, log.scratch) == 1
    log.offset = CHANGE_BYTES
    assert log.changes() == [(2**40, 2**62 - 1, 2**62 - 1)]
