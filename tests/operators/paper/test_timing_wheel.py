"""The timing wheel against a plain heap: any times, held and passed in any turns."""

from __future__ import annotations

import heapq

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tokenring.engine import TABLE, WORDS, int64, kernel, void
from tokenring.engine.compiled import record_of, records_of
from tokenring.operators.paper.timing_wheel import Bucket, HeldEntry, TimingWheel, WheelCounts, hold, leave, pass_by

LEAST, MOST = -(2**63), 2**63 - 1


@kernel(void(TABLE, TABLE, WORDS, int64, int64))
def add(entries, wheel, words, time, number):  # type: ignore[no-untyped-def]
    hold(records_of(entries, HeldEntry), records_of(wheel, Bucket), record_of(words, WheelCounts), time, number)


@kernel(int64(TABLE, TABLE, TABLE, WORDS, int64, int64, TABLE))
def remove(entries, buckets, due, words, bound, most, out):  # type: ignore[no-untyped-def]
    """Let up to `most` entries leave that the bound has passed."""
    wheel, counts = records_of(buckets, Bucket), record_of(words, WheelCounts)
    first, last = pass_by(records_of(entries, HeldEntry), wheel, due, counts, bound)
    rows = min(most, last - first)
    for i in range(rows):
        out[i, 0], out[i, 1] = due[first + i, 0], due[first + i, 1]
    leave(wheel, due, counts, rows)
    return rows


class Pair:
    """A wheel and a heap that are told the same."""

    def __init__(self) -> None:
        self.wheel, self.heap, self.number = TimingWheel(4), [], 0

    def add(self, time: int) -> None:
        wheel = self.wheel
        self.number += 1
        wheel.reserve(wheel.counts.held + 1)
        add(wheel.entries, wheel.wheel, wheel.counts.words, time, self.number)
        heapq.heappush(self.heap, (time, self.number))
        self.check()

    def pass_by(self, bound: int, most: int = 3) -> None:
        wheel, found, rows = self.wheel, [], most
        out = np.zeros((most, 2), np.int64)
        while rows == most:
            rows = remove(wheel.entries, wheel.wheel, wheel.due, wheel.counts.words, bound, most, out)
            found += [(int(time), int(number)) for time, number in out[:rows]]
            assert wheel.counts.held == len(self.heap) - len(found)
        expected = []
        while self.heap and self.heap[0][0] <= bound:
            expected.append(heapq.heappop(self.heap))
        assert [time for time, _ in found] == [time for time, _ in expected]
        assert sorted(found) == expected
        self.check()

    def check(self) -> None:
        assert self.wheel.counts.held == len(self.heap)
        assert self.wheel.counts.least_time == (self.heap[0][0] if self.heap else MOST)


TIMES = st.one_of(
    st.integers(LEAST, MOST),  # far apart
    st.integers(-70, 70),  # about zero, where the sign turns
    st.integers(10**18, 10**18 + 300),
    st.integers(10**18, 10**18 + 10**8),
    st.sampled_from([LEAST, LEAST + 1, -1, 0, 7, MOST - 1, MOST]),
)


@given(st.lists(st.tuples(st.booleans(), st.lists(TIMES, min_size=1, max_size=40)), max_size=25))
@settings(max_examples=examples(300), deadline=None)
def test_what_leaves_and_when(turns: list[tuple[bool, list[int]]]) -> None:
    """A bound moves on, never back; entries may lie before it, and leave the next time then."""
    pair, bound = Pair(), LEAST
    for is_bound, times in turns:
        if is_bound:
            bound = max(bound, times[0])
            pair.pass_by(bound)
        else:
            for time in times:
                pair.add(time)
    pair.pass_by(MOST)


def test_very_many_equal_ones_and_one_far_behind() -> None:
    pair = Pair()
    pair.add(10**18)
    for _ in range(1000):
        pair.add(5)
    pair.pass_by(4)
    pair.pass_by(5, most=300)
    pair.pass_by(10**18)


def test_a_stream_of_times_roughly_in_order() -> None:
    """As the ends of auctions come."""
    pair, random = Pair(), np.random.default_rng(1)
    for now in range(0, 2_000_000, 10_000):
        for time in random.integers(now, now + 10_000, 200) + random.integers(1, 4000, 200):
            pair.add(int(time))
        pair.pass_by(now + 10_000, most=100)
    pair.pass_by(MOST)
