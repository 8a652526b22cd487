"""Where keys are in a large sorted batch: for each range of the first word, the first row of it or after it.

A key is found with two reads of memory that is not at hand, however many rows there are, where a binary search takes
twenty. Ranges are alike in width, so that keys which lie close together in few places are searched among more rows.
"""

from collections.abc import Sequence

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, Words, allocate, record_at, signed, unsigned, words_at
from tokenring.operators.collections.updates.packed import LEAST_ROWS, Head, compare, word_of

_ROWS_A_RANGE = 4


class Directory(Record):
    """`least`: the least first word; `shift`: by how many bits words are shifted; `ranges`: how many there are; `next`:
    the next one to be written; `firsts`: where the first row of each is, and behind them how many rows there are."""

    least: int
    shift: int
    ranges: int
    next: int
    firsts: int


_HEAD_WORDS = Directory.size


@kernel
def directory_words(rows: int) -> int:
    """How many words a directory of so many rows has at most."""
    return _HEAD_WORDS + rows // _ROWS_A_RANGE + 2


@kernel
def directory_at(address: int) -> Directory:
    """The directory of a batch."""
    return record_at(address, Directory)


@kernel
def _firsts(directory: Directory) -> Words:
    return words_at(directory.firsts, directory.ranges + 1)


@kernel
def _begin(directory: Directory, rows: int, least: int, most: int) -> None:
    spread, shift = unsigned(most) - unsigned(least), unsigned(0)
    while spread >> shift >= unsigned(max(1, rows // _ROWS_A_RANGE)):
        shift += unsigned(1)
    directory.least, directory.shift = least, signed(shift)
    directory.ranges, directory.next = signed(spread >> shift) + 1, 0


@kernel
def new_directory(rows: int, least: int, most: int) -> int:
    """The address of an empty directory for so many rows, whose first words are from `least` to `most`; 0 if they are
    few, or there is no memory."""
    if rows < LEAST_ROWS:
        return 0
    address = allocate(8 * directory_words(rows))
    if address != 0:
        _begin(directory_at(address), rows, least, most)
        directory_at(address).firsts = address + 8 * _HEAD_WORDS
    return address


@kernel
def _range_of(directory: Directory, word: int) -> int:
    return signed((unsigned(word) - unsigned(directory.least)) >> unsigned(directory.shift))


@kernel
def extend_directory(directory: Directory, heads: Sequence[Head], start: int, stop: int) -> None:
    """Take in rows start..stop of a packed batch, which are behind those before."""
    following, rows = directory.next, _firsts(directory)
    for row in range(start, stop):
        found = _range_of(directory, word_of(heads, 0, row))
        while following <= found:
            rows[following] = row
            following += 1
    directory.next = following


@kernel
def end_directory(directory: Directory, rows: int) -> None:
    """All rows are taken in, so many."""
    _firsts(directory)[directory.next :] = rows
    directory.next = directory.ranges + 1


@kernel
def _range_around(directory: Directory, rows: int, word: int) -> tuple[int, int]:
    """Between which rows the first one is whose first word is not less."""
    if word < directory.least:
        return 0, 0
    found = _range_of(directory, word)
    if found < 0 or found >= directory.ranges:  # a word far away is below zero as a number of a range
        return rows, rows
    return _firsts(directory)[found], _firsts(directory)[found + 1]


@kernel
def _first_not_before(heads: Sequence[Head], low: int, high: int, asked: Words, number: int, keys: int) -> int:
    """The first of rows low..high whose key is not less than one that is asked for."""
    while low < high:
        middle = (low + high) >> 1
        if compare(heads, middle, asked, number, 0, keys) < 0:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def first_behind(heads: Sequence[Head], low: int, high: int, asked: Words, number: int, keys: int) -> int:
    """The first of rows low..high whose key is greater than one that is asked for."""
    while low < high:
        middle = (low + high) >> 1
        if compare(heads, middle, asked, number, 0, keys) <= 0:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _end_of_key(heads: Sequence[Head], rows: int, first: int, asked: Words, number: int, keys: int) -> int:
    """The end of the rows from `first` on that have the key that is asked for."""
    step, low, high = signed(1), first, first
    while high < rows and compare(heads, high, asked, number, 0, keys) == 0:
        low = high + 1
        high += step
        step += step
    return first_behind(heads, low, min(high, rows), asked, number, keys)


@kernel
def find_by_directory(
    directory: Directory, heads: Sequence[Head], rows: int, keys: int, asked: Words, count: int, starts: Words,
    stops: Words,
) -> None:  # fmt: skip
    """`find_rows` in a batch that has a directory."""
    for number in range(count):
        low, high = _range_around(directory, rows, asked[0, number])
        first = _first_not_before(heads, low, high, asked, number, keys)
        starts[number], stops[number] = first, _end_of_key(heads, rows, first, asked, number, keys)


@kernel
def find_rows(
    heads: Sequence[Head], rows: int, keys: int, asked: Words, count: int, starts: Words, stops: Words
) -> None:
    """Where, among the first rows of a packed batch, those of each of `count` keys are: starts..stops, alike where
    there are none. asked: int64 (keys, at least count), in order; keys: of how many columns a key is, the first of
    both."""
    at = signed(0)
    for number in range(count):
        step = signed(1)  # gallop from where the last one was
        low, high = at, at
        while high < rows and compare(heads, high, asked, number, 0, keys) < 0:
            low = high + 1
            high += step
            step += step
        first = _first_not_before(heads, low, min(high, rows), asked, number, keys)
        at = _end_of_key(heads, rows, first, asked, number, keys)
        starts[number], stops[number] = first, at
