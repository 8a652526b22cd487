"""Frontiers as lists of times, and which rows of updates lie behind them."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tokenring.engine import TABLE, WORDS, int64, kernel
from tokenring.engine.times import COMPLETE

Time = tuple[int, ...]


def elements_of(frontier: Any) -> list[Time]:
    """A port's frontier as a list of its elements, each a tuple; empty if nothing can come."""
    if isinstance(frontier, int):
        return [] if frontier == COMPLETE else [(frontier,)]
    return sorted(frontier)


def least_of(times: Iterable[Time]) -> list[Time]:
    """Those that no other is less than or equal to."""
    kept: list[Time] = []
    for time in sorted(set(times)):
        if not any([all([mine <= theirs for mine, theirs in zip(one, time, strict=True)]) for one in kept]):
            kept.append(time)
    return kept


def both(first: Iterable[Time], second: list[Time]) -> list[Time]:
    """The frontier behind which a time is finished that is finished at either."""
    return least_of([tuple(map(max, one, other)) for one in first for other in second])


def as_table(frontier: list[Time], depth: int) -> np.ndarray:
    """The elements as an int64 table (elements, coordinates)."""
    return np.array(frontier, np.int64).reshape(len(frontier), depth)


@kernel(int64(TABLE, int64, TABLE, WORDS))
def mark_behind(updates, first, frontier, marks):  # type: ignore[no-untyped-def]
    """Mark with 1 the rows whose time, in columns from `first` on, no element of the frontier is less than or equal to,
    others with 0; how many."""
    found = 0
    for row in range(updates.shape[1]):
        marks[row] = 1
        for element in range(len(frontier)):
            is_less = True
            for at in range(frontier.shape[1]):
                is_less &= frontier[element, at] <= updates[first + at, row]
            if is_less:
                marks[row] = 0
                break
        found += marks[row]
    return found


def split(updates: np.ndarray, first: int, frontier: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the rows whose times are finished, the others): int64 tables of the same columns."""
    marks = np.empty(updates.shape[1], np.int64)
    found = mark_behind(updates, first, frontier, marks)
    if found == len(marks):
        return updates, updates[:, :0]
    if found == 0:
        return updates[:, :0], updates
    chosen = marks.astype(bool)
    return np.ascontiguousarray(updates[:, chosen]), np.ascontiguousarray(updates[:, ~chosen])


def least_times(updates: np.ndarray, first: int, depth: int) -> list[Time]:
    """The least times of rows, in columns from `first` on."""
    if updates.shape[1] == 0:
        return []
    if depth == 1:
        return [(int(updates[first].min()),)]
    times = np.unique(updates[first : first + depth], axis=1)
    return least_of([tuple(time) for time in times.T.tolist()])
