"""The change log: netting against a dictionary, growing, and the order that makes a prefix safe."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.change_batch import CHANGE_BYTES, ChangeLog, net, positives_first
from engine.timestamp import AnyTime

coordinates = st.one_of(st.integers(0, 2), st.integers(2**61, 2**61 + 3))
times = st.one_of(st.integers(0, 6), coordinates, *[st.tuples(*[coordinates] * depth) for depth in (2, 3, 4)])
changes = st.tuples(st.integers(0, 4), times, st.integers(-3, 3)).map(
    # a location's times have one depth
    lambda change: (change[0] * 4 + len(words(change[1])) - 1, change[1], change[2])
)


def words(time: AnyTime) -> tuple[int, ...]:
    return time if isinstance(time, tuple) else (time,)


def logged(entries: list[tuple[int, AnyTime, int]]) -> list[tuple[int, tuple[int, ...], int]]:
    """Changes as the log gives them back: all four coordinates."""
    return [(location, (*words(time), 0, 0, 0)[:4], delta) for location, time, delta in entries]


def _counted(log: list[tuple[int, tuple[int, ...], int]]) -> dict[tuple[int, tuple[int, ...]], int]:
    counts: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for location, time, delta in log:
        counts[location, time] += delta
    return {place: count for place, count in counts.items() if count}


def _filled(entries: list[tuple[int, AnyTime, int]], capacity: int = 4096) -> ChangeLog:
    log = ChangeLog(capacity)
    for location, time, delta in entries:
        log.add(location, time, delta)
    return log


@given(st.lists(changes, max_size=120))
def test_netting_is_counting(entries: list[tuple[int, AnyTime, int]]) -> None:
    """Few changes are merged by looking, many by hashing: both must agree with a dictionary."""
    log = _filled(entries)
    kept = net(log.words, log.offset // CHANGE_BYTES, log.scratch)
    log.offset = kept * CHANGE_BYTES
    assert len(log.changes()) == len({(location, time) for location, time, _ in log.changes()})
    assert {(location, time): delta for location, time, delta in log.changes()} == _counted(logged(entries))


@given(st.lists(changes.filter(lambda change: change[2] != 0), max_size=60))
def test_positives_first_keeps_every_change(entries: list[tuple[int, AnyTime, int]]) -> None:
    log = _filled(entries)
    positive = positives_first(log.words, len(entries))
    ordered = log.changes()
    assert positive == sum(delta > 0 for _, _, delta in entries)
    assert all(delta > 0 for _, _, delta in ordered[:positive])
    assert all(delta < 0 for _, _, delta in ordered[positive:])
    assert sorted(ordered) == sorted(logged(entries))


@given(st.lists(changes, max_size=200), st.integers(4, 9))
def test_a_small_log_nets_or_grows(entries: list[tuple[int, AnyTime, int]], capacity: int) -> None:
    log = _filled(entries, capacity)
    assert _counted(log.changes()) == _counted(logged(entries))
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
    assert log.changes() == [(2**40, (2**62 - 1, 0, 0, 0), 2**62 - 1)]
