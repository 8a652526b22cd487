"""Records: one memory, by the same names in Python and in kernels, wherever it lies."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from tests.errors import raises
from tokenring.shm.kernels import (
    Record,
    Words,
    also,
    int64,
    kernel,
    record_at,
    record_of,
    records_at,
    records_of,
    room,
    void,
)
from tokenring.shm.kernels.signatures import TABLE, WORDS


class Counts(Record):
    live: int
    free: int


class Heap(Counts):
    """Begins as Counts do."""

    first: int


class Pane(Record):
    end: int
    counts: Counts
    members: Words = room(3)
    heap: Heap
    last: int


@kernel
def _add(counts: Counts, number: int) -> int:
    counts.live += number
    return counts.live


@kernel(int64(int64))
def _change(address: int) -> int:
    pane = record_at(address, Pane)
    pane.end = -1
    pane.members[1] = 7
    pane.last = pane.counts.free
    return _add(pane.counts, 10) + _add(pane.heap, 100)  # of a record that begins as it does, too


@numba.njit("int64(int64[::1])")  # type: ignore[untyped-decorator, unused-ignore]
def _second_of(words: Words) -> int:
    """Compiled for words alone, as a kernel is that comes from the library."""
    return int(words[1])


@kernel(int64(int64))
def _second_member(address: int) -> int:
    return _second_of(record_at(address, Pane).members)  # type: ignore[no-any-return, unused-ignore]


@kernel(void(WORDS))
def _change_words(words: Words) -> None:
    record_of(words, Heap).first = 5


@kernel(int64(TABLE))
def _sum_of_firsts(table: Words) -> int:
    total = 0
    heaps = records_of(table, Heap)
    for i in range(len(heaps)):
        total += heaps[i].first
        heaps[i].free = i
    return total


@kernel(int64(int64, int64))
def _last_of(address: int, count: int) -> int:
    return records_at(address, count, Heap)[count - 1].first


def test_python_and_kernels_see_the_same() -> None:
    pane = Pane()
    pane.counts.live, pane.counts.free, pane.heap.live = 1, 2, -3
    pane.members[:] = 4, 5, 6
    assert _change(pane.address) == 11 + 97
    assert (pane.end, pane.counts.live, pane.counts.free, pane.heap.live, pane.last) == (-1, 11, 2, 97, 2)
    assert pane.members.tolist() == [4, 7, 6]
    assert pane.words.tolist() == [-1, 11, 2, 4, 7, 6, 97, 0, 0, 2]


def test_a_room_goes_to_kernels_that_take_words() -> None:
    pane = Pane()
    pane.members[:] = 4, 5, 6
    assert _second_member(pane.address) == 5


def test_words_that_are_not_checked() -> None:
    """They are cut off, as in kernels."""

    class Quick(Counts, is_checked=False):
        first: int

    quick = Quick()
    quick.first = 2**63
    assert quick.first == -(2**63)
    with pytest.raises(OverflowError):
        quick.live = 2**63  # of the class before


class Window(Record):
    begin: int
    end: int
    heap_used: int = also("begin")


@kernel(void(int64))
def _use_heap(address: int) -> None:
    record_at(address, Window).heap_used = -1


def test_another_name_of_a_word() -> None:
    window = Window()
    window.begin, window.end = 3, 4
    assert window.heap_used == 3 and Window.size == 2
    _use_heap(window.address)
    assert (window.begin, window.end) == (-1, 4)
    table = Window.of_table(np.array([[1, 2], [3, 4]]))
    assert table["heap_used"].tolist() == [1, 3]
    assert (Window.place_of("end"), Window.place_of("heap_used"), Pane.place_of("heap")) == (1, 0, 6)


def test_a_record_without_fields_of_its_own() -> None:
    class Same(Window):
        pass

    assert Same.size == Window.size and Same(np.array([5, 6])).end == 6
    with raises(ValueError, "small"):
        Same(np.array([5]))


def test_where_they_lie() -> None:
    words = np.arange(20)
    pane = Pane(words[5:])
    assert (pane.end, pane.counts.free, pane.heap.first, pane.last) == (5, 7, 13, 14)
    assert pane.address == words[5:].ctypes.data
    pane.heap.first = np.int64(-1)
    pane.counts = Counts(np.array([8, 9]))
    assert words[13] == -1 and words[6:8].tolist() == [8, 9]
    assert (Counts.size, Heap.size, Pane.size) == (2, 3, 10)
    assert pane.heap.words.base is not None and len(pane.heap.words) == Heap.size


def test_the_least_and_the_greatest_words() -> None:
    counts = Counts()
    counts.live, counts.free = -(2**63), 2**63 - 1
    assert (counts.live, counts.free) == (-(2**63), 2**63 - 1)
    with pytest.raises(OverflowError):
        counts.live = 2**63


def test_tables() -> None:
    table = np.array([[1, 2, 30], [3, 4, 50]])
    assert _sum_of_firsts(table) == 80
    assert Heap.of_table(table)["free"].tolist() == [0, 1]
    assert _last_of(table.ctypes.data, 2) == 50
    made = Heap.new_table(3)
    assert made.dtype.names == ("live", "free", "first") and not made.view(np.int64).any()


def test_words_of_others_that_begin_as_it_does() -> None:
    words = np.zeros(5, np.int64)
    _change_words(words)
    assert words.tolist() == [0, 0, 5, 0, 0]


def test_misuse() -> None:
    with raises(AttributeError, "Counts", "lives"):
        Counts().lives = 3  # type: ignore[attr-defined]
    with raises(TypeError, "Bad", "name", "room(n)"):

        class Bad(Record):
            name: str


def test_what_it_says_of_itself() -> None:
    assert repr(Heap(np.array([1, 2, 3]))) == "Heap(live=1, free=2, first=3)"
