"""Antichains of times, and what is behind them, as the kernels of updates have them, beside the definitions."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tokenring.operators.collections.updates import as_table, both, elements_of, least_times, split

Time = tuple[int, ...]
TIMES = st.integers(1, 4).flatmap(lambda depth: st.lists(st.tuples(*[st.integers(0, 3)] * depth), max_size=9))


def is_at_most(time: Time, other: Time) -> bool:
    return all(mine <= theirs for mine, theirs in zip(time, other, strict=True))


def minimal(times: list[Time]) -> list[Time]:
    return sorted({time for time in times if not any(is_at_most(other, time) and other != time for other in times)})


def depth_of(times: list[Time]) -> int:
    return len(times[0]) if times else 2


def rows_at(times: list[Time]) -> np.ndarray:
    """Rows of a number and a time each, and how often they are there."""
    numbers = [(number, *time, 1) for number, time in enumerate(times)]
    return np.ascontiguousarray(np.array(numbers, np.int64).reshape(len(times), depth_of(times) + 2).T)


@settings(max_examples=examples(200))
@given(TIMES)
def test_the_least_times_of_rows_are_those_that_no_other_is_less_than(times: list[Time]) -> None:
    found = least_times(rows_at(times), 1, depth_of(times))
    assert [tuple(time) for time in found.tolist()] == minimal(times)


@settings(max_examples=examples(200))
@given(st.data())
def test_a_time_is_finished_where_no_element_of_the_frontier_is_less_or_equal(data: st.DataObject) -> None:
    times = data.draw(TIMES)
    depth = depth_of(times)
    frontier = minimal(data.draw(st.lists(st.tuples(*[st.integers(0, 3)] * depth), max_size=3)))
    finished, left = split(rows_at(times), 1, as_table(frontier, depth))
    wanted = [any(is_at_most(element, time) for element in frontier) for time in times]
    assert finished[0].tolist() == [number for number, may_come in enumerate(wanted) if not may_come]
    assert left[0].tolist() == [number for number, may_come in enumerate(wanted) if may_come]
    for part in (finished, left):
        assert [tuple(time) for time in part[1:-1].T.tolist()] == [times[number] for number in part[0].tolist()]


@settings(max_examples=examples(200))
@given(st.data())
def test_what_is_finished_at_either_of_two_is_behind_both(data: st.DataObject) -> None:
    depth = data.draw(st.integers(1, 3))
    some = st.lists(st.tuples(*[st.integers(0, 3)] * depth), max_size=3)
    first, second = minimal(data.draw(some)), minimal(data.draw(some))
    frontier = both(first, second)
    assert frontier == minimal(frontier)
    for time in product(range(5), repeat=depth):
        is_finished = [not any(is_at_most(element, time) for element in each) for each in (first, second, frontier)]
        assert is_finished[2] == (is_finished[0] or is_finished[1]), time


def test_the_frontier_of_a_port_is_a_list_of_its_elements() -> None:
    assert elements_of(7) == [(7,)]
    assert elements_of(2**63 - 1) == []
    assert elements_of([(2, 1), (1, 4)]) == [(1, 4), (2, 1)]
