"""Texts as keys in compiled operators: each gets a number, by which keys of several columns are found as others are.

Texts are compared byte by byte where their hashes are equal. Of texts that all workers have in common a word says which
it is: those that came lately are found by it alone.
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, WORDS, Schema, Strings, int64, kernel, text_equal, text_hash, void
from tokenring.engine.columns import heap_address, text_bytes
from tokenring.engine.compiled import (
    address_of,
    alias_of,
    claim,
    column_of,
    point_to,
    rows_of,
    table_at,
    words_at,
    world_at,
)
from tokenring.engine.raw import LENGTH_BITS, LENGTH_MASK
from tokenring.operators.state import (
    BASE,
    COMMON,
    KeptTexts,
    grown,
    has_room_for_texts,
    keep_text,
    keep_text_of,
    kept_texts,
)

# Words: where KeptTexts has its words; cells with a number + 1 each; by number the text's word and its hash; room for
# how many, and how many there were; pairs of a word and its number, of those that came lately; numbers that are to be
# used again, whose text is null.
_TEXTS, _CELLS, _CELL_COUNT, _STORED, _HASHES, _CAPACITY, _COUNT, _LATELY, _UNUSED, _UNUSED_COUNT = range(10)
_NUMBERED_WORDS = 10
_LATELY_PAIRS = 1 << 12
_FIRST_TEXTS = 64
_NO_NUMBER, _NO_WORD, _NULL = -2, -2, -1


@kernel
def _home(hashed, mask):  # type: ignore[no-untyped-def]
    """Where probing for a text of this hash begins."""
    return (hashed ^ (hashed >> 17)) & mask


@kernel
def _find_text(own, word, heap, mixed):  # type: ignore[no-untyped-def]
    """The number of a text of this hash, -1 if it has none; and its cell, or where that would be."""
    base, mask = kept_texts(own[_TEXTS])[BASE], own[_CELL_COUNT] - 1
    cells, hashes = words_at(own[_CELLS], mask + 1), words_at(own[_HASHES], own[_CAPACITY])
    stored = words_at(own[_STORED], own[_CAPACITY])
    at = _home(mixed, mask)
    while cells[at] != 0:
        number = cells[at] - 1
        if hashes[number] == mixed and text_equal(stored[number], base, word, heap):
            return number, at
        at = (at + 1) & mask
    return np.int64(-1), at


@kernel
def _has_number(own):  # type: ignore[no-untyped-def]
    return own[_UNUSED_COUNT] > 0 or own[_COUNT] < own[_CAPACITY]


@kernel
def _enter(own, at, mixed, word):  # type: ignore[no-untyped-def]
    """Give a text that is kept a number, for which there is room, and the cell `at`."""
    if own[_UNUSED_COUNT] > 0:
        own[_UNUSED_COUNT] -= 1
        number = words_at(own[_UNUSED], own[_CAPACITY])[own[_UNUSED_COUNT]]
    else:
        number = own[_COUNT]
        own[_COUNT] += 1
    words_at(own[_STORED], own[_CAPACITY])[number] = word
    words_at(own[_HASHES], own[_CAPACITY])[number] = mixed
    words_at(own[_CELLS], own[_CELL_COUNT])[at] = number + 1
    return number


@kernel
def _number(world, own, word):  # type: ignore[no-untyped-def]
    """A text's number; where it is new and there is no room, _NO_NUMBER."""
    texts = kept_texts(own[_TEXTS])
    mixed = text_hash(word, texts[BASE])
    number, at = _find_text(own, word, texts[BASE], mixed)
    if number >= 0:
        return number
    size_bytes = word & LENGTH_MASK if word >= texts[COMMON] else 0
    if not _has_number(own) or not has_room_for_texts(world, texts, size_bytes):
        return np.int64(_NO_NUMBER)
    return _enter(own, at, mixed, keep_text(texts, word))


@kernel(void(WORDS, COLUMN, int64, WORDS))
def _number_all(own, words, heap, numbers):  # type: ignore[no-untyped-def]
    """Write the numbers of texts of a heap at some address, -1 of null, where there is room for all."""
    for row in range(len(words)):
        numbers[row] = _NULL
        if words[row] >= 0:
            mixed = text_hash(words[row], heap)
            number, at = _find_text(own, words[row], heap, mixed)
            if number < 0:
                number = _enter(own, at, mixed, keep_text_of(kept_texts(own[_TEXTS]), words[row], heap))
            numbers[row] = number


@kernel(void(WORDS, COLUMN))
def _forget(own, numbers):  # type: ignore[no-untyped-def]
    """Texts have no number any more, each named once; the gaps in the probe sequences are closed."""
    mask = own[_CELL_COUNT] - 1
    cells, hashes = words_at(own[_CELLS], mask + 1), words_at(own[_HASHES], own[_CAPACITY])
    stored, unused = words_at(own[_STORED], own[_CAPACITY]), words_at(own[_UNUSED], own[_CAPACITY])
    for number in numbers:
        gap = _home(hashes[number], mask)
        while cells[gap] != number + 1:
            gap = (gap + 1) & mask
        probe = (gap + 1) & mask
        while cells[probe] != 0:
            home = _home(hashes[cells[probe] - 1], mask)
            if ((probe - home) & mask) >= ((probe - gap) & mask):
                cells[gap] = cells[probe]
                gap = probe
            probe = (probe + 1) & mask
        cells[gap], stored[number] = 0, _NULL
        unused[own[_UNUSED_COUNT]] = number
        own[_UNUSED_COUNT] += 1


@kernel(void(WORDS, COLUMN, COLUMN))
def _fill(cells, hashes, stored):  # type: ignore[no-untyped-def]
    """Enter the numbers of all texts into cells that are empty."""
    mask = len(cells) - 1
    for number in range(len(stored)):
        if stored[number] != _NULL:
            at = _home(hashes[number], mask)
            while cells[at] != 0:
                at = (at + 1) & mask
            cells[at] = number + 1


@kernel
def _number_texts(world, address, column, numbers):  # type: ignore[no-untyped-def]
    """Write the number of each text of a column, -1 of null; whether there was room for all. address: of the words of
    TextNumbers."""
    own = words_at(address, _NUMBERED_WORDS)
    common = kept_texts(own[_TEXTS])[COMMON]
    lately = table_at(own[_LATELY], _LATELY_PAIRS, 2)
    before, number = np.int64(-1), np.int64(_NULL)
    for row in range(len(column)):
        word = column[row]
        if word != before:
            before = word
            if word < 0:
                number = np.int64(_NULL)
            elif word >= common:  # where its bytes are, others are when the round is over
                number = _number(world, own, word)
            else:
                pair = lately[((word >> LENGTH_BITS) ^ (word >> (LENGTH_BITS + 9))) & (_LATELY_PAIRS - 1)]
                if pair[0] != word:
                    number = _number(world, own, word)
                    if number != _NO_NUMBER:
                        pair[0], pair[1] = word, number
                else:
                    number = pair[1]
            if number == _NO_NUMBER:
                return False
        numbers[row] = number
    return True


@kernel
def by_numbers(world, text_keys, message, width, by):  # type: ignore[no-untyped-def]
    """A message of so many columns with numbers in the place of the texts of its key, whose columns are `by`; 0 if
    there was no room for one that is new. text_keys: the address of TextKeys."""
    if text_keys == 0:
        return message
    words, rows = world_at(world), rows_of(message)
    made = alias_of(words, message, 0, width)
    numbered = words_at(text_keys, len(by))
    for each in range(len(by)):
        if numbered[each] != 0:
            target = claim(words, 8 * rows)
            if not _number_texts(world, numbered[each], column_of(message, by[each]), words_at(target, rows)):
                return 0
            point_to(made, by[each], target)
    return made


@kernel
def texts_of(text_keys, column, numbers):  # type: ignore[no-untyped-def]
    """Put the words of texts, good until the round's end, in the place of their numbers, if that column of the key is
    text."""
    if text_keys == 0 or words_at(text_keys, column + 1)[column] == 0:
        return
    own = words_at(words_at(text_keys, column + 1)[column], _NUMBERED_WORDS)
    stored = words_at(own[_STORED], own[_CAPACITY])
    for i in range(len(numbers)):
        if numbers[i] >= 0:
            numbers[i] = stored[numbers[i]]


class TextNumbers:
    """The texts of one column of a key, numbered from 0 on. Memory: 40 to 80 bytes each, and the text where it is not
    common."""

    def __init__(self) -> None:
        self._texts = KeptTexts()
        self._stored, self._hashes, self._unused = (np.zeros(0, np.int64) for _ in range(3))
        self._lately = np.full((_LATELY_PAIRS, 2), _NO_WORD, np.int64)
        self.words = np.zeros(_NUMBERED_WORDS, np.int64)
        self.words[_TEXTS], self.words[_LATELY] = address_of(self._texts.words), address_of(self._lately)
        self._lengthen(_FIRST_TEXTS)

    def grow(self) -> None:
        """Make room for another text, where there is none."""
        if self._texts.lacks_room:
            self._texts.make_room([self._kept])
        if self.words[_UNUSED_COUNT] == 0 and self.words[_COUNT] == len(self._stored):
            self._lengthen(len(self._stored) + 1)

    @property
    def _kept(self) -> np.ndarray:
        """The texts' words, by number."""
        return self._stored[: self.words[_COUNT]]

    def _lengthen(self, length: int) -> None:
        """Have room for so many texts: a power of two, if it is one more than there are."""
        words = self.words
        self._stored, self._hashes, self._unused = (
            grown(each, length, None) for each in (self._stored, self._hashes, self._unused)
        )
        self._cells = np.zeros(1 << (2 * len(self._stored) - 1).bit_length(), np.int64)
        _fill(self._cells, self._hashes, self._kept)
        words[_CELLS], words[_CELL_COUNT] = address_of(self._cells), len(self._cells)
        words[_STORED], words[_HASHES] = address_of(self._stored), address_of(self._hashes)
        words[_UNUSED], words[_CAPACITY] = address_of(self._unused), len(self._stored)

    def numbers_of(self, texts: Strings) -> np.ndarray:
        """Between two runs: the numbers of texts, new ones where they have none: int64 (texts,)."""
        room = int(self.words[_UNUSED_COUNT]) + len(self._stored) - int(self.words[_COUNT])
        if room < len(texts):
            self._lengthen(len(self._stored) + len(texts) - room)
        self._texts.reserve(text_bytes(texts.words), [self._kept])
        numbers = np.empty(len(texts), np.int64)
        _number_all(self.words, texts.words, heap_address(texts.heap), numbers)
        return numbers

    def texts_of(self, numbers: np.ndarray) -> np.ndarray:
        """The words of texts, as they are until the next call: of int64 (n,), -1 for null, int64 (n,)."""
        return np.where(numbers < 0, _NULL, self._stored[np.maximum(numbers, 0)])

    def forget(self, numbers: np.ndarray) -> None:
        """Between two runs: these are of no key any more, each named once."""
        _forget(self.words, numbers)
        self._lately[:] = _NO_WORD


class TextKeys:
    """The texts of a key's columns. address: of a word for each, where its numbers are, 0 if it is none of text; itself
    0 if none is. schema: with integers in the place of the key's texts."""

    def __init__(self, schema: Schema, by: Sequence[str]) -> None:
        texts = [name for name in by if schema.kind(name).is_text]
        self._numbers = {at: TextNumbers() for at, name in enumerate(by) if name in texts}
        self._addresses = np.zeros(len(by), np.int64)
        for at, numbers in self._numbers.items():
            self._addresses[at] = address_of(numbers.words)
        self.address = address_of(self._addresses) if texts else 0
        self.schema = Schema.of(schema.spec() | dict.fromkeys(texts, "int64"))

    @property
    def numbers(self) -> dict[int, TextNumbers]:
        """By column of the key, of those that are text."""
        return self._numbers

    def grow(self) -> None:
        """Make room for another text in each column, where there is none."""
        for numbers in self._numbers.values():
            numbers.grow()
