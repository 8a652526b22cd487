"""Texts interned: one word stands for all that are equal, in all arrangements of a worker."""

import mmap
from collections.abc import MutableSequence, Sequence

import numpy as np

from tokenring.engine import COLUMN, boolean, int64, kernel, text_equal, text_hash
from tokenring.engine.compiled import Record, Words, address_of, record_at, records_at, signed
from tokenring.engine.raw import LENGTH_BITS, LENGTH_MASK, TextSpace, copy_text, prefetch, text_space


class InternedTexts(Record):
    """`base`: where the text space is; `common`: the first word that is not common; `start`: the part with texts that
    were copied, its offset, `at`: the next free byte's, `end`: that of its end; `cells`: where a Cell a place is, and
    how many there are; `count`: of texts; `before`: the cells before these, how many, and how many of them are entered
    in these (`moved`); `lately`: Pairs of those that came lately."""

    base: int
    common: int
    start: int
    at: int
    end: int
    cells: int
    cell_count: int
    count: int
    before: int
    before_count: int
    moved: int
    lately: int


class Cell(Record):
    """A text's hash, and the word behind its own; an empty cell is 0."""

    hashed: int
    after: int


class Pair(Record):
    """A word, and the one that stands for it."""

    known: int
    made: int


_NO_WORD = -1
NO_ROOM = -2  # in the place of a word
_LATELY_PAIRS = 1 << 12
_FIRST_CELLS = 1 << 10
_MOVED_A_TEXT = 16  # cells that are entered anew for each text that is new: so nobody waits until all are
_AT_ONCE = 64  # texts that are looked for together
_AHEAD = 16  # rows whose texts are asked for while others are read
_SPACE_BYTES = 1 << 63 - LENGTH_BITS
_PART_BYTES = 1 << 35  # addresses; memory comes to what is written


@kernel
def _home(hashed: int, mask: int) -> int:
    return (hashed ^ (hashed >> 17)) & mask


@kernel
def _place(cells: Sequence[Cell], hashed: int, word: int, base: int, heap: int) -> int:
    """The cell of a text, or the empty one where it would be."""
    mask = len(cells) - 1
    at = _home(hashed, mask)
    while cells[at].after != 0:
        if cells[at].hashed == hashed and text_equal(cells[at].after - 1, base, word, heap):
            return at
        at = (at + 1) & mask
    return at


@kernel
def _cells_of(own: InternedTexts) -> MutableSequence[Cell]:
    return records_at(own.cells, own.cell_count, Cell)


@kernel
def _known(own: InternedTexts, at: int, word: int, heap: int, hashed: int) -> int:
    """The word that stands for a text of this hash, whose cell is `at` if it is entered; _NO_WORD if there is none."""
    made = _cells_of(own)[at].after - 1
    if made == _NO_WORD and own.moved < own.before_count:
        before = records_at(own.before, own.before_count, Cell)
        made = before[_place(before, hashed, word, own.base, heap)].after - 1
    return made


@kernel
def _enter_some(own: InternedTexts) -> None:
    """Enter some of the cells before, if they are not all entered; they stay as they were."""
    before, cells = records_at(own.before, own.before_count, Cell), _cells_of(own)
    mask = len(cells) - 1
    stop = min(own.moved + _MOVED_A_TEXT, len(before))
    for i in range(own.moved, stop):
        if before[i].after != 0:
            at = _home(before[i].hashed, mask)
            while cells[at].after != 0:
                at = (at + 1) & mask
            cells[at] = before[i]
    own.moved = stop


@kernel
def _in_space(own: InternedTexts, word: int, heap: int) -> tuple[int, bool]:
    """(the word that counts from the text space's start, _NO_WORD if there is none; whether its text stays there)."""
    moved = heap - own.base
    if moved < 0 or moved >= _SPACE_BYTES:
        return signed(_NO_WORD), False
    known = word + (moved << LENGTH_BITS)
    return known, known < own.common or own.start <= known >> LENGTH_BITS < own.at


@kernel
def _lately_at(own: InternedTexts, known: int) -> Pair:
    """The pair that a word would be in if it came lately."""
    place = ((known >> LENGTH_BITS) ^ (known >> (LENGTH_BITS + 9))) & (_LATELY_PAIRS - 1)
    return records_at(own.lately, _LATELY_PAIRS, Pair)[place]


@kernel
def _entered(own: InternedTexts, word: int, heap: int, hashed: int) -> int:
    """The word that stands for a text of this hash, which is entered if it is new; NO_ROOM if it does not fit then."""
    at = _place(_cells_of(own), hashed, word, own.base, heap)
    made = _known(own, at, word, heap, hashed)
    if made == _NO_WORD:
        length = word & LENGTH_MASK
        if 2 * own.count >= own.cell_count or own.at + length >= own.end:
            return signed(NO_ROOM)
        made, _ = _in_space(own, word, heap)
        if made < 0 or made >= own.common:
            made = copy_text(word, heap, own.base, own.at)
            own.at += length + (length == 0)  # a place of its own for each
        cell = _cells_of(own)[at]
        cell.hashed, cell.after = hashed, made + 1
        own.count += 1
        if own.moved < own.before_count:
            _enter_some(own)
    return made


@kernel
def intern_texts(own: InternedTexts, words: Words, heap: int, null: int, target: Words) -> bool:
    """Write the word that stands for each text of a column in arrangements; False if there was no room for one that is
    new. heap: the address from which the words count; null: the word of null, which stays.

    Many texts lie far apart: of some at a time, the places where they are to be looked for are asked for first."""
    rows, waiting, cells = np.empty(_AT_ONCE, np.int64), 0, own.cells
    hashes = np.empty(_AT_ONCE, np.int64)
    mask, row = own.cell_count - 1, 0
    while row < len(words):
        waiting = 0
        while row < len(words) and waiting < _AT_ONCE:
            word = words[row]
            prefetch(heap + (words[min(row + _AHEAD, len(words) - 1)] >> LENGTH_BITS))
            if word < 0:
                target[row] = null
            else:
                known, lasts = _in_space(own, word, heap)
                if lasts and _lately_at(own, known).known == known:
                    target[row] = _lately_at(own, known).made
                else:
                    rows[waiting], hashes[waiting] = row, text_hash(word, heap)
                    prefetch(cells + 16 * _home(hashes[waiting], mask))
                    if own.moved < own.before_count:
                        prefetch(own.before + 16 * _home(hashes[waiting], own.before_count - 1))
                    waiting += 1
            row += 1
        for i in range(waiting):
            stored = _cells_of(own)[_home(hashes[i], mask)].after - 1
            prefetch(own.base + (stored >> LENGTH_BITS))
        for i in range(waiting):
            word = words[rows[i]]
            made = _entered(own, word, heap, hashes[i])
            if made == NO_ROOM:
                return False
            target[rows[i]] = made
            known, lasts = _in_space(own, word, heap)
            if lasts:
                pair = _lately_at(own, known)
                pair.known, pair.made = known, made
    return True


@kernel(boolean(int64, COLUMN, int64))
def are_known(address: int, words: Words, heap: int) -> bool:
    """Whether each text of a column has a word already. address: of the InternedTexts."""
    own = record_at(address, InternedTexts)
    for word in words:
        if word >= 0:
            hashed = text_hash(word, heap)
            at = _place(_cells_of(own), hashed, word, own.base, heap)
            if _known(own, at, word, heap, hashed) == _NO_WORD:
                return False
    return True


def _empty_cells(count: int) -> np.ndarray:
    """Zeros, int64 (count, 2), that take no memory until they are written to, and are a process's own after a fork."""
    pages = mmap.mmap(-1, 16 * max(count, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, np.int64)[: 2 * count].reshape(count, 2)


class Interned:
    """The texts that a worker's arrangements have had. Memory: 32 to 96 bytes each, and the bytes of those that are not
    common; none leaves while the worker lives."""

    def __init__(self, space: TextSpace) -> None:
        self._cells, self._before = _empty_cells(_FIRST_CELLS), _empty_cells(0)
        self._lately = np.full((_LATELY_PAIRS, 2), _NO_WORD, np.int64)
        self.state = InternedTexts()
        """As kernels see them."""
        own = self.state
        own.base, own.common, own.lately = space.address, space.common_words, address_of(self._lately)
        own.cells, own.cell_count = address_of(self._cells), len(self._cells)
        own.start = own.at = space.claim(_PART_BYTES)
        own.end = own.start + _PART_BYTES

    @property
    def texts(self) -> int:
        """How many there are."""
        return int(self.state.count)

    @property
    def kept_bytes(self) -> int:
        """What they take."""
        return self._cells.nbytes + self._before.nbytes + int(self.state.at - self.state.start)

    def make_room(self) -> None:
        """Let there be room for more, where there was none. MemoryError if the system has no more."""
        own = self.state
        if 2 * own.count < own.cell_count:
            raise MemoryError(f"{own.count:,} texts of collections take all of {_PART_BYTES:,} bytes")
        assert own.moved == own.before_count, "all were entered long before there are twice as many"
        self._before, self._cells = self._cells, _empty_cells(2 * len(self._cells))
        own.before, own.before_count, own.moved = own.cells, own.cell_count, 0
        own.cells, own.cell_count = address_of(self._cells), len(self._cells)


_interned: list[Interned] = []


def interned_texts() -> Interned | None:
    """This process's; None where the system has no text space (`ulimit -v`)."""
    space = text_space()
    if space is None:
        return None
    if not _interned:
        _interned.append(Interned(space))
    return _interned[0]
