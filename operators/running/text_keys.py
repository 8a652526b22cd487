"""Texts as keys in compiled operators: each gets a number, by which keys of several columns are found as others are.

Texts are compared byte by byte where their hashes are equal. Of texts that all workers have in common a word says which
it is: those that came lately are found by it alone.
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, WORDS, Schema, kernel, text_equal, text_hash, void
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
from tokenring.operators.state import BASE, COMMON, KeptTexts, grown, has_room_for_texts, keep_text, kept_texts

# Words: where KeptTexts has its words; cells with a number + 1 each; by number the text's word and its hash; room for
# how many, and how many there are; pairs of a word and its number, of those that came lately.
_TEXTS, _CELLS, _CELL_COUNT, _STORED, _HASHES, _CAPACITY, _COUNT, _LATELY = range(8)
_NUMBERED_WORDS = 8
_LATELY_PAIRS = 1 << 12
_FIRST_TEXTS = 64
_NO_NUMBER, _NO_WORD, _NULL = -2, -2, -1


@kernel
def _home(hashed, mask):  # type: ignore[no-untyped-def]
    """Where probing for a text of this hash begins."""
    return (hashed ^ (hashed >> 17)) & mask


@kernel
def _number(world, own, word):  # type: ignore[no-untyped-def]
    """A text's number; where it is new and there is no room, _NO_NUMBER."""
    texts = kept_texts(own[_TEXTS])
    mask = own[_CELL_COUNT] - 1
    cells, hashes = words_at(own[_CELLS], mask + 1), words_at(own[_HASHES], own[_CAPACITY])
    stored = words_at(own[_STORED], own[_CAPACITY])
    mixed = text_hash(word, texts[BASE])
    at = _home(mixed, mask)
    while cells[at] != 0:
        number = cells[at] - 1
        if hashes[number] == mixed and text_equal(stored[number], texts[BASE], word, texts[BASE]):
            return number
        at = (at + 1) & mask
    number = own[_COUNT]
    size_bytes = word & LENGTH_MASK if word >= texts[COMMON] else 0
    if number == own[_CAPACITY] or not has_room_for_texts(world, texts, size_bytes):
        return _NO_NUMBER
    stored[number], hashes[number] = keep_text(texts, word), mixed
    cells[at] = number + 1
    own[_COUNT] = number + 1
    return number


@kernel(void(WORDS, COLUMN))
def _fill(cells, hashes):  # type: ignore[no-untyped-def]
    """Enter all numbers into cells that are empty."""
    mask = len(cells) - 1
    for number in range(len(hashes)):
        at = _home(hashes[number], mask)
        while cells[at] != 0:
            at = (at + 1) & mask
        cells[at] = number + 1


@kernel
def _number_texts(world, address, column, numbers):  # type: ignore[no-untyped-def]
    """Write the number of each text of a column, -1 of null; whether there was room for all. address: of the words of
    _TextNumbers."""
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


class _TextNumbers:
    """The texts of one column of a key, numbered from 0 on; none ever goes. Memory: 32 to 64 bytes each, and the text
    where it is not common."""

    def __init__(self) -> None:
        self._texts = KeptTexts()
        self._stored, self._hashes = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._lately = np.full((_LATELY_PAIRS, 2), _NO_WORD, np.int64)
        self.words = np.zeros(_NUMBERED_WORDS, np.int64)
        self.words[_TEXTS], self.words[_LATELY] = address_of(self._texts.words), address_of(self._lately)
        self.grow()

    def grow(self) -> None:
        """Make room for another text, where there is none."""
        words = self.words
        count = int(words[_COUNT])
        if self._texts.lacks_room:
            self._texts.make_room([self._stored[:count]])
        if count < len(self._stored):
            return
        self._stored = grown(self._stored, max(_FIRST_TEXTS, count + 1))  # a power of two: it doubles
        self._hashes = grown(self._hashes, len(self._stored))
        self._cells = np.zeros(2 * len(self._stored), np.int64)
        _fill(self._cells, self._hashes[:count])
        words[_CELLS], words[_CELL_COUNT] = address_of(self._cells), len(self._cells)
        words[_STORED], words[_HASHES] = address_of(self._stored), address_of(self._hashes)
        words[_CAPACITY] = len(self._stored)


class TextKeys:
    """The texts of a key's columns. address: of a word for each, where its numbers are, 0 if it is none of text; itself
    0 if none is. schema: with integers in the place of the key's texts."""

    def __init__(self, schema: Schema, by: Sequence[str]) -> None:
        texts = [name for name in by if schema.kind(name).is_text]
        self._numbers = {at: _TextNumbers() for at, name in enumerate(by) if name in texts}
        self._addresses = np.zeros(len(by), np.int64)
        for at, numbers in self._numbers.items():
            self._addresses[at] = address_of(numbers.words)
        self.address = address_of(self._addresses) if texts else 0
        self.schema = Schema.of(schema.spec() | dict.fromkeys(texts, "int64"))

    def grow(self) -> None:
        """Make room for another text in each column, where there is none."""
        for numbers in self._numbers.values():
            numbers.grow()
