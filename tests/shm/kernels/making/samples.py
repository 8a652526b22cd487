"""Functions that are made into a little library: one of each kind of argument, result and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tokenring.shm.kernels import COLUMN, TABLE, WORDS, boolean, float64, int64, readonly, tuple_of, void

SAMPLES: list[tuple[Callable[..., Any], Any]] = []
"""With their signatures. They are no kernels yet: numba would compile those before the tests."""
MOST = 1 << 40


def sample(signature: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a function for the library."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        SAMPLES.append((function, signature))
        return function

    return note


@sample(int64(int64, int64))
def difference(left: int, right: int) -> int:
    return left - right


@sample(float64(float64))
def halved(value: float) -> float:
    return value / 2


@sample(boolean(boolean))
def opposite(value: bool) -> bool:
    return not value


@sample(void())
def nothing() -> None:
    pass


@sample(int64(COLUMN))
def total(column: Any) -> int:
    found = 0
    for value in column:
        found += value
    return found


@sample(float64(readonly(float64)))
def total_of_reals(column: Any) -> float:
    found = 0.0
    for value in column:
        found += value
    return found


@sample(void(WORDS, int64))
def fill(words: Any, value: int) -> None:
    for at in range(len(words)):
        words[at] = value


@sample(void(float64[:, ::1]))
def halve(table: Any) -> None:
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            table[row, column] /= 2


@sample(int64(TABLE))
def corner(table: Any) -> int:
    if table.size == 0:
        return -len(table)
    return table[len(table) - 1, table.shape[1] - 1] * 100 + table.shape[0] * 10 + table.shape[1]


@sample(int64(int64, tuple_of(COLUMN, 2), int64))
def product(begin: int, columns: Any, factor: int) -> int:
    found = begin
    for at in range(len(columns[0])):
        found += columns[0][at] * columns[1][at] * factor
    return found


@sample(WORDS(WORDS))
def same(words: Any) -> Any:
    return words


@sample(TABLE(TABLE))
def same_table(table: Any) -> Any:
    return table


@sample(COLUMN(COLUMN))
def same_column(column: Any) -> Any:
    return column


@sample(WORDS(WORDS, int64, int64))
def part(words: Any, begin: int, end: int) -> Any:
    return words[begin:end]


@sample(COLUMN(COLUMN, int64, int64))
def part_of_column(column: Any, begin: int, end: int) -> Any:
    return column[begin:end]


@sample(TABLE(TABLE, int64, int64))
def rows(table: Any, begin: int, end: int) -> Any:
    return table[begin:end]


@sample(WORDS(int64))
def counted(count: int) -> Any:
    made = np.empty(count, np.int64)
    for at in range(count):
        made[at] = at
    return made


@sample(tuple_of(TABLE, 2)(int64))
def two_tables(count: int) -> Any:
    first, second = np.zeros((count, 2), np.int64), np.zeros((3, count), np.int64)
    first[count - 1, 1] = second[2, 0] = count
    return first, second


@sample(tuple_of(WORDS, 2)(int64))
def halves(count: int) -> Any:
    made = np.zeros(count, np.int64)
    return made[: count // 2], made[count // 2 :]


@sample(tuple_of(WORDS, 2)(WORDS, int64))
def given_and_made(words: Any, count: int) -> Any:
    return words, np.zeros(count, np.int64)


@sample(tuple_of(int64, 3)(int64))
def three(value: int) -> Any:
    return value, value + 1, value + 2


@sample(int64(WORDS, int64))
def checked(words: Any, which: int) -> int:
    if which == 1:
        raise MemoryError("there is no room")
    if which == 2:
        raise ValueError("that's 100 %s, \\ and \"quoted\"")
    if which == 3:
        raise KeyError
    return len(words)


@sample(int64(int64, WORDS, int64))
def from_within(count: int, words: Any, at: int) -> int:
    made = np.empty(count, np.int64)
    made[:] = at
    return made[0] + words[0]
