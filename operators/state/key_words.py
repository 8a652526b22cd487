"""Keys, and values that are counted, of any kind in compiled operators, as words that are equal where the values are: a
text is a number, and -0.0 is 0.0.

Texts are compared byte by byte where their hashes are equal. Of texts that all workers have in common a word says which
it is: those that came lately are found by it alone. A text that is of no key any more keeps its number until there is
no room for another; then all such numbers are given back at once.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tokenring.engine import COLUMN, WORDS, Kind, Schema, Strings, int64, kernel, text_equal, text_hash, void
from tokenring.engine.columns import heap_address, text_bytes
from tokenring.engine.compiled import (
    Record,
    Words,
    address_of,
    alias_of,
    claim,
    column_of,
    point_to,
    record_at,
    record_of,
    records_at,
    rows_of,
    signed,
    words_at,
    world_at,
)
from tokenring.engine.raw import LENGTH_BITS, LENGTH_MASK
from tokenring.operators.state.kept_texts import KeptTexts, TextStore, has_room_for_texts, keep_text, keep_text_of
from tokenring.operators.state.key_records import KeyColumns
from tokenring.operators.state.keys import Keys
from tokenring.operators.state.tables import grown

_MOST_LATELY = 1 << 11
_FIRST_TEXTS = 64
_NO_NUMBER, _NO_WORD, _NULL = -2, -2, -1
_UNKNOWN = -3
"""The number of a text that no key has."""
_MINUS_ZERO = np.int64(-(2**63))
AS_IT_IS, FLOATS = 0, 1
"""What stands for a column of a key that is taken as it is, and for one of float64; else the address of its texts."""


class TextMap(Record):
    """A column's texts and their numbers. `texts`: the address of a TextStore. `cells`: with a number + 1 each.
    `stored`, `hashes`: by number the text's word and its hash; `capacity`: room for how many; `count`: how many there
    were. `lately`: a LateWord for each of some words, `lately_count` of them, a power of two. `unused`: numbers that
    are to be used again, whose text is null. `given`, `given_bytes`: how many numbers the last column got that are new,
    and the bytes of their texts. `columns`: how many columns there were."""

    texts: int
    cells: int
    cell_count: int
    stored: int
    hashes: int
    capacity: int
    count: int
    lately: int
    lately_count: int
    unused: int
    unused_count: int
    given: int
    given_bytes: int
    columns: int


class LateWord(Record):
    """A word that came lately, its number, and in which column that was."""

    word: int
    number: int
    column: int


@kernel
def store_of(texts: TextMap) -> TextStore:
    """Where the texts are kept."""
    return record_at(texts.texts, TextStore)


@kernel
def _home(hashed: int, mask: int) -> int:
    """Where probing for a text of this hash begins."""
    return (hashed ^ (hashed >> 17)) & mask


@kernel
def _find_text(texts: TextMap, word: int, heap: int, mixed: int) -> tuple[int, int]:
    """The number of a text of this hash, -1 if it has none; and its cell, or where that would be."""
    base, mask = store_of(texts).base, texts.cell_count - 1
    cells, hashes = words_at(texts.cells, mask + 1), words_at(texts.hashes, texts.capacity)
    stored = words_at(texts.stored, texts.capacity)
    at = _home(mixed, mask)
    while cells[at] != 0:
        number = cells[at] - 1
        if hashes[number] == mixed and text_equal(stored[number], base, word, heap):
            return number, at
        at = (at + 1) & mask
    return signed(-1), at


@kernel
def _has_number(texts: TextMap) -> bool:
    return texts.unused_count > 0 or texts.count < texts.capacity


@kernel
def _enter(texts: TextMap, at: int, mixed: int, word: int) -> int:
    """Give a text that is kept a number, for which there is room, and the cell `at`."""
    if texts.unused_count > 0:
        texts.unused_count -= 1
        number = words_at(texts.unused, texts.capacity)[texts.unused_count]
    else:
        number = texts.count
        texts.count += 1
    words_at(texts.stored, texts.capacity)[number] = word
    words_at(texts.hashes, texts.capacity)[number] = mixed
    words_at(texts.cells, texts.cell_count)[at] = number + 1
    return number


@kernel
def _number(world: int, texts: TextMap, word: int) -> int:
    """A text's number; where it is new and there is no room, _NO_NUMBER."""
    store = store_of(texts)
    mixed = text_hash(word, store.base)
    number, at = _find_text(texts, word, store.base, mixed)
    if number >= 0:
        return number
    size_bytes = word & LENGTH_MASK if word >= store.common else 0
    if not _has_number(texts) or not has_room_for_texts(world, store, size_bytes):
        return signed(_NO_NUMBER)
    texts.given += 1
    texts.given_bytes += size_bytes
    return _enter(texts, at, mixed, keep_text(store, word))


@kernel(void(WORDS, COLUMN, int64, WORDS))
def _number_all(map_words: Words, words: Words, heap: int, numbers: Words) -> None:
    """Write the numbers of texts of a heap at some address, -1 of null, where there is room for all."""
    texts = record_of(map_words, TextMap)
    for row in range(len(words)):
        numbers[row] = _NULL
        if words[row] >= 0:
            mixed = text_hash(words[row], heap)
            number, at = _find_text(texts, words[row], heap, mixed)
            if number < 0:
                number = _enter(texts, at, mixed, keep_text_of(store_of(texts), words[row], heap))
            numbers[row] = number


@kernel(void(WORDS, COLUMN))
def _forget(map_words: Words, numbers: Words) -> None:
    """Texts have no number any more, each named once; the gaps in the probe sequences are closed."""
    texts = record_of(map_words, TextMap)
    mask = texts.cell_count - 1
    cells, hashes = words_at(texts.cells, mask + 1), words_at(texts.hashes, texts.capacity)
    stored, unused = words_at(texts.stored, texts.capacity), words_at(texts.unused, texts.capacity)
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
        unused[texts.unused_count] = number
        texts.unused_count += 1


@kernel(void(WORDS, COLUMN, COLUMN))
def _fill(cells: Words, hashes: Words, stored: Words) -> None:
    """Enter the numbers of all texts into cells that are empty."""
    mask = len(cells) - 1
    for number in range(len(stored)):
        if stored[number] != _NULL:
            at = _home(hashes[number], mask)
            while cells[at] != 0:
                at = (at + 1) & mask
            cells[at] = number + 1


@kernel
def _number_texts(world: int, address: int, column: Words, numbers: Words) -> bool:
    """Write the number of each text of a column, -1 of null; whether there was room for all. address: of a
    TextMap."""
    texts = record_at(address, TextMap)
    texts.given = texts.given_bytes = 0
    common = store_of(texts).common
    texts.columns += 1
    now = texts.columns
    lately = records_at(texts.lately, texts.lately_count, LateWord)
    for row in range(len(column)):
        word = column[row]
        if word < 0:
            numbers[row] = _NULL
            continue
        one = lately[((word >> LENGTH_BITS) ^ (word >> (LENGTH_BITS + 9))) & (len(lately) - 1)]
        # Where a word is not common, other bytes may be when the column is another.
        if one.word != word or (word >= common and one.column != now):
            number = _number(world, texts, word)
            if number == _NO_NUMBER:
                return False
            one.word, one.number, one.column = word, number, now
        numbers[row] = one.number
    return True


@kernel
def _find_texts(address: int, column: Words, numbers: Words) -> None:
    """Write the number of each text of a column, -1 of null, _UNKNOWN of one that has none."""
    texts = record_at(address, TextMap)
    base = store_of(texts).base
    for row in range(len(column)):
        numbers[row] = _NULL
        if column[row] >= 0:
            number, _ = _find_text(texts, column[row], base, text_hash(column[row], base))
            numbers[row] = number if number >= 0 else _UNKNOWN


@kernel
def one_zero(column: Words, words: Words) -> None:
    """Write floats' words, with 0.0 in the place of -0.0."""
    for i in range(len(column)):
        words[i] = 0 if column[i] == _MINUS_ZERO else column[i]


@kernel
def word_column(world: int, what: int, column: Words, add: bool) -> int:
    """A key's column as words, at an address that is good until the round's end; 0 if there was no room for a text that
    is new. what: AS_IT_IS, FLOATS or where the column's texts are. add: whether new texts get numbers; else they are
    none that a key has."""
    if what == AS_IT_IS:
        return column.ctypes.data
    target = claim(world_at(world), 8 * len(column))
    words = words_at(target, len(column))
    if what == FLOATS:
        one_zero(column, words)
    elif not add:
        _find_texts(what, column, words)
    elif not _number_texts(world, what, column, words):
        return 0
    return target


@kernel
def with_key_words(world: int, key_words: int, message: int, width: int, by: KeyColumns) -> int:
    """A message of so many columns with words in the place of the columns of its key; 0 if there was no
    room for a text that is new. key_words: the address of KeyWords, 0 where all are taken as they are."""
    if key_words == 0:
        return message
    made = alias_of(world_at(world), message, 0, width)
    kinds, numbers = words_at(key_words, by.count), words_at(by.numbers, by.count)
    for each in range(by.count):
        if kinds[each] != AS_IT_IS:
            target = word_column(world, kinds[each], column_of(message, numbers[each]), True)
            if target == 0 and rows_of(message) > 0:
                return 0
            point_to(made, numbers[each], target)
    return made


@kernel
def values_of(key_words: int, column: int, words: Words) -> None:
    """Put a key's values, texts good until the round's end, in the place of the words of its column number `column`."""
    if key_words == 0:
        return
    what = words_at(key_words, column + 1)[column]
    if what in (AS_IT_IS, FLOATS):
        return
    texts = record_at(what, TextMap)
    stored = words_at(texts.stored, texts.capacity)
    for i in range(len(words)):
        if words[i] >= 0:
            words[i] = stored[words[i]]


class TextNumbers:
    """The texts of one column, of a key or of values that are counted, numbered from 0 on. Memory: 40 to 80 bytes each,
    and the text where it is not common."""

    def __init__(self) -> None:
        self._texts = KeptTexts()
        self._stored, self._hashes, self._unused = (np.zeros(0, np.int64) for _ in range(3))
        self._map = TextMap()
        self._map.texts = self._texts.store.address
        self._lengthen(_FIRST_TEXTS)

    def grow(self, used: Callable[[], np.ndarray]) -> None:
        """Make room for another text, where there is none: of those that are not among the `used` ones, int64 of any
        length, nothing stays."""
        its, length = self._map, len(self._stored)
        is_full = self._room == 0
        if not is_full and not self._texts.lacks_room:
            return
        self._forget_unused(used())
        # The column at hand is begun anew, and no key has its texts yet.
        if self._texts.lacks_room:
            self._texts.make_room([self._kept], its.given_bytes)
        if is_full and its.unused_count < max(2 * its.given, length // 4):
            self._lengthen(length + 1)

    def _forget_unused(self, used: np.ndarray) -> None:
        """Give back the numbers of texts that are not among the used ones."""
        gone = self._kept != _NULL
        gone[used[used >= 0]] = False
        self.forget(np.flatnonzero(gone))

    @property
    def address(self) -> int:
        """Of the TextMap, for kernels."""
        return self._map.address

    @property
    def _kept(self) -> np.ndarray:
        """The texts' words, by number."""
        return self._stored[: self._map.count]

    def _lengthen(self, length: int) -> None:
        """Have room for so many texts: a power of two, if it is one more than there are."""
        its = self._map
        self._stored, self._hashes, self._unused = (
            grown(each, length, None) for each in (self._stored, self._hashes, self._unused)
        )
        self._cells = np.zeros(1 << (2 * len(self._stored) - 1).bit_length(), np.int64)
        _fill(self._cells, self._hashes, self._kept)
        self._lately = np.full((min(len(self._cells), _MOST_LATELY), LateWord.size), _NO_WORD, np.int64)
        its.cells, its.cell_count = address_of(self._cells), len(self._cells)
        its.lately, its.lately_count = address_of(self._lately), len(self._lately)
        its.stored, its.hashes = address_of(self._stored), address_of(self._hashes)
        its.unused, its.capacity = address_of(self._unused), len(self._stored)

    def numbers_of(self, texts: Strings, used: Callable[[], np.ndarray]) -> np.ndarray:
        """Before the operator runs in a round: the numbers of texts, new ones where they have none: int64 (texts,).
        Where there is no room for all, of those that are not among the `used` ones nothing stays."""
        count, size_bytes = len(texts), text_bytes(texts.words)
        if self._room < count or not self._texts.has_room(size_bytes):
            self._forget_unused(used())
            room, length = self._room, len(self._stored)
            if room < max(count, length // 4):
                self._lengthen(length + max(count - room, 1))
            self._texts.reserve(size_bytes, [self._kept])
        numbers = np.empty(count, np.int64)
        _number_all(self._map.words, texts.words, heap_address(texts.heap), numbers)
        return numbers

    @property
    def _room(self) -> int:
        """How many texts more can get a number."""
        return self._map.unused_count + len(self._stored) - self._map.count

    def texts_of(self, numbers: np.ndarray) -> np.ndarray:
        """The words of texts, as they are until the next call: of int64 (n,), -1 for null, int64 (n,)."""
        return np.where(numbers < 0, _NULL, self._stored[np.maximum(numbers, 0)])

    def forget(self, numbers: np.ndarray) -> None:
        """Between two runs: these are of no key any more, each named once."""
        _forget(self._map.words, numbers)
        self._lately[:] = _NO_WORD


def what_stands_for(kind: Kind, texts: TextNumbers | None) -> int:
    """What `word_column` is told of a column of this kind; texts: of one of text, its own."""
    if texts is not None:
        return texts.address
    return FLOATS if kind.is_float else AS_IT_IS


class KeyWords:
    """A key's columns as words. kinds: a word for each that says what it is (AS_IT_IS, FLOATS, where its texts are), at
    `address`, which is 0 if all are taken as they are. spec: the kinds of the words, by name."""

    def __init__(self, schema: Schema, by: Sequence[str]) -> None:
        kinds = [schema.kind(name) for name in by]
        self._texts = {at: TextNumbers() for at, kind in enumerate(kinds) if kind.is_text}
        self.kinds = np.array([what_stands_for(kind, self._texts.get(at)) for at, kind in enumerate(kinds)], np.int64)
        self.address = address_of(self.kinds) if self.kinds.any() else 0
        self.spec = {name: "int64" if kind.is_text else str(kind) for name, kind in zip(by, kinds, strict=True)}

    @property
    def texts(self) -> dict[int, TextNumbers]:
        """By column of the key, of those that are text."""
        return self._texts

    def grow(self, keys: Keys, first: int = 0) -> None:
        """Make room for another text in each column, where there is none. keys: all that there are, in words; first:
        their column where the key begins."""
        for at, texts in self._texts.items():
            texts.grow(partial(numbers_in_use, keys, first + at))


def numbers_in_use(keys: Keys, column: int) -> np.ndarray:
    """The numbers of texts that keys have in a column: int64 (keys,)."""
    return keys.words(column)[keys.live()]
