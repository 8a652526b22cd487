"""Where keys are in a large sorted batch: for each range of the first word, the first row of it or after it.

A key is found with two reads of memory that is not at hand, however many rows there are, where a binary search takes
twenty. Ranges are alike in width, so that keys which lie close together in few places are searched among more rows.
"""

import numpy as np

from tokenring.engine import TABLE, WORDS, int64, kernel, void
from tokenring.engine.compiled import allocate, words_at
from tokenring.operators.collections.updates.packed import LEAST_ROWS, compare, word_of

_ROWS_A_RANGE = 4
# Words of a directory: the least first word, by how many bits words are shifted, how many ranges there are, the next
# range to be written. The first row of each range follows, and behind them how many rows there are.
_LEAST, _SHIFT, _RANGES, _NEXT = range(4)
HEAD_WORDS = 4


@kernel
def directory_words(rows):  # type: ignore[no-untyped-def]
    """How many words a directory of so many rows has at most."""
    return HEAD_WORDS + rows // _ROWS_A_RANGE + 2


@kernel
def directory_at(address, room):  # type: ignore[no-untyped-def]
    """The directory of a batch with room for so many rows."""
    return words_at(address, directory_words(room))


@kernel
def _begin(directory, rows, least, most):  # type: ignore[no-untyped-def]
    spread, shift = np.uint64(most) - np.uint64(least), np.uint64(0)
    while spread >> shift >= np.uint64(max(1, rows // _ROWS_A_RANGE)):
        shift += np.uint64(1)
    directory[_LEAST], directory[_SHIFT] = least, np.int64(shift)
    directory[_RANGES], directory[_NEXT] = np.int64(spread >> shift) + 1, 0


@kernel
def new_directory(rows, least, most):  # type: ignore[no-untyped-def]
    """The address of an empty directory for so many rows, whose first words are from `least` to `most`; 0 if they are
    few, or there is no memory."""
    if rows < LEAST_ROWS:
        return 0
    address = allocate(8 * directory_words(rows))
    if address != 0:
        _begin(directory_at(address, rows), rows, least, most)
    return address


@kernel
def _range_of(directory, word):  # type: ignore[no-untyped-def]
    return np.int64((np.uint64(word) - np.uint64(directory[_LEAST])) >> np.uint64(directory[_SHIFT]))


@kernel
def extend_directory(directory, heads, start, stop):  # type: ignore[no-untyped-def]
    """Take in rows start..stop of a packed batch, which are behind those before."""
    following, rows = directory[_NEXT], directory[HEAD_WORDS:]
    for row in range(start, stop):
        found = _range_of(directory, word_of(heads, 0, row))
        while following <= found:
            rows[following] = row
            following += 1
    directory[_NEXT] = following


@kernel
def end_directory(directory, rows):  # type: ignore[no-untyped-def]
    """All rows are taken in, so many."""
    for at in range(directory[_NEXT], directory[_RANGES] + 1):
        directory[HEAD_WORDS + at] = rows
    directory[_NEXT] = directory[_RANGES] + 1


@kernel
def _range_around(directory, rows, word):  # type: ignore[no-untyped-def]
    """Between which rows the first one is whose first word is not less."""
    if word < directory[_LEAST]:
        return 0, 0
    found = _range_of(directory, word)
    if found < 0 or found >= directory[_RANGES]:  # a word far away is below zero as a number of a range
        return rows, rows
    return directory[HEAD_WORDS + found], directory[HEAD_WORDS + found + 1]


@kernel
def _first_not_before(heads, low, high, asked, number, keys):  # type: ignore[no-untyped-def]
    """The first of rows low..high whose key is not less than one that is asked for."""
    while low < high:
        middle = (low + high) >> 1
        if compare(heads, middle, asked, number, 0, keys) < 0:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def first_behind(heads, low, high, asked, number, keys):  # type: ignore[no-untyped-def]
    """The first of rows low..high whose key is greater than one that is asked for."""
    while low < high:
        middle = (low + high) >> 1
        if compare(heads, middle, asked, number, 0, keys) <= 0:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _end_of_key(heads, rows, first, asked, number, keys):  # type: ignore[no-untyped-def]
    """The end of the rows from `first` on that have the key that is asked for."""
    step, low, high = np.int64(1), first, first
    while high < rows and compare(heads, high, asked, number, 0, keys) == 0:
        low = high + 1
        high += step
        step += step
    return first_behind(heads, low, min(high, rows), asked, number, keys)


@kernel
def find_by_directory(directory, heads, rows, keys, asked, count, starts, stops):  # type: ignore[no-untyped-def]
    """`find_rows` in a batch that has a directory."""
    for number in range(count):
        low, high = _range_around(directory, rows, asked[0, number])
        first = _first_not_before(heads, low, high, asked, number, keys)
        starts[number], stops[number] = first, _end_of_key(heads, rows, first, asked, number, keys)


@kernel(void(TABLE, int64, int64, TABLE, int64, WORDS, WORDS))
def find_rows(heads, rows, keys, asked, count, starts, stops):  # type: ignore[no-untyped-def]
    """Where, among the first rows of a packed batch, those of each of `count` keys are: starts..stops, alike where
    there are none. asked: int64 (keys, at least count), in order; keys: of how many columns a key is, the first of
    both."""
    at = np.int64(0)
    for number in range(count):
        step = np.int64(1)  # gallop from where the last one was
        low, high = at, at
        while high < rows and compare(heads, high, asked, number, 0, keys) < 0:
            low = high + 1
            high += step
            step += step
        first = _first_not_before(heads, low, min(high, rows), asked, number, keys)
        at = _end_of_key(heads, rows, first, asked, number, keys)
        starts[number], stops[number] = first, at
