"""Texts interned: one word stands for all that are equal, in all arrangements of a worker."""

import mmap

import numpy as np

from tokenring.engine import COLUMN, WORDS, boolean, int64, kernel, text_equal, text_hash
from tokenring.engine.compiled import address_of, table_at
from tokenring.engine.raw import LENGTH_BITS, LENGTH_MASK, TextSpace, copy_text, prefetch, text_space

# Words: where the text space is; the first word that is not common; the part with texts that were copied: its offset,
# the next free byte's, that of its end; cells of (hash, word + 1), and how many; how many texts there are; the cells
# before these, how many, and how many of them are entered in these; pairs of a word and the one that stands for it, of
# those that came lately.
_BASE, _COMMON, _START, _AT, _END, _CELLS, _CELL_COUNT, _COUNT, _BEFORE, _BEFORE_COUNT, _MOVED, _LATELY = range(12)
INTERNED_WORDS = 12
_HASH, _AFTER = range(2)
_NO_WORD = -1  # a cell that is empty is 0
NO_ROOM = -2  # in the place of a word
_LATELY_PAIRS = 1 << 12
_FIRST_CELLS = 1 << 10
_MOVED_A_TEXT = 16  # cells that are entered anew for each text that is new: so nobody waits until all are
_AT_ONCE = 64  # texts that are looked for together
_AHEAD = 16  # rows whose texts are asked for while others are read
_SPACE_BYTES = 1 << 63 - LENGTH_BITS
_PART_BYTES = 1 << 35  # addresses; memory comes to what is written


@kernel
def _home(hashed, mask):  # type: ignore[no-untyped-def]
    return (hashed ^ (hashed >> 17)) & mask


@kernel
def _place(cells, hashed, word, base, heap):  # type: ignore[no-untyped-def]
    """The cell of a text, or the empty one where it would be."""
    mask = len(cells) - 1
    at = _home(hashed, mask)
    while cells[at, _AFTER] != 0:
        if cells[at, _HASH] == hashed and text_equal(cells[at, _AFTER] - 1, base, word, heap):
            return at
        at = (at + 1) & mask
    return at


@kernel
def _cells_of(own):  # type: ignore[no-untyped-def]
    return table_at(own[_CELLS], own[_CELL_COUNT], 2)


@kernel
def _known(own, at, word, heap, hashed):  # type: ignore[no-untyped-def]
    """The word that stands for a text of this hash, whose cell is `at` if it is entered; _NO_WORD if there is none."""
    made = _cells_of(own)[at, _AFTER] - 1
    if made == _NO_WORD and own[_MOVED] < own[_BEFORE_COUNT]:
        before = table_at(own[_BEFORE], own[_BEFORE_COUNT], 2)
        made = before[_place(before, hashed, word, own[_BASE], heap), _AFTER] - 1
    return made


@kernel
def _enter_some(own):  # type: ignore[no-untyped-def]
    """Enter some of the cells before, if they are not all entered; they stay as they were."""
    before, cells = table_at(own[_BEFORE], own[_BEFORE_COUNT], 2), _cells_of(own)
    mask = len(cells) - 1
    stop = min(own[_MOVED] + _MOVED_A_TEXT, len(before))
    for i in range(own[_MOVED], stop):
        if before[i, _AFTER] != 0:
            at = _home(before[i, _HASH], mask)
            while cells[at, _AFTER] != 0:
                at = (at + 1) & mask
            cells[at] = before[i]
    own[_MOVED] = stop


@kernel
def _in_space(own, word, heap):  # type: ignore[no-untyped-def]
    """(the word that counts from the text space's start, _NO_WORD if there is none; whether its text stays there)."""
    moved = heap - own[_BASE]
    if moved < 0 or moved >= _SPACE_BYTES:
        return np.int64(_NO_WORD), False
    known = word + (moved << LENGTH_BITS)
    return known, known < own[_COMMON] or own[_START] <= known >> LENGTH_BITS < own[_AT]


@kernel
def _lately_at(own, known):  # type: ignore[no-untyped-def]
    """The pair that a word would be in if it came lately."""
    place = ((known >> LENGTH_BITS) ^ (known >> (LENGTH_BITS + 9))) & (_LATELY_PAIRS - 1)
    return table_at(own[_LATELY], _LATELY_PAIRS, 2)[place]


@kernel
def _entered(own, word, heap, hashed):  # type: ignore[no-untyped-def]
    """The word that stands for a text of this hash, which is entered if it is new; NO_ROOM if it does not fit then."""
    at = _place(_cells_of(own), hashed, word, own[_BASE], heap)
    made = _known(own, at, word, heap, hashed)
    if made == _NO_WORD:
        length = word & LENGTH_MASK
        if 2 * own[_COUNT] >= own[_CELL_COUNT] or own[_AT] + length >= own[_END]:
            return np.int64(NO_ROOM)
        made, _ = _in_space(own, word, heap)
        if made < 0 or made >= own[_COMMON]:
            made = copy_text(word, heap, own[_BASE], own[_AT])
            own[_AT] += length + (length == 0)  # a place of its own for each
        _cells_of(own)[at, _HASH], _cells_of(own)[at, _AFTER] = hashed, made + 1
        own[_COUNT] += 1
        if own[_MOVED] < own[_BEFORE_COUNT]:
            _enter_some(own)
    return made


@kernel
def intern_texts(own, words, heap, null, target):  # type: ignore[no-untyped-def]
    """Write the word that stands for each text of a column in arrangements; False if there was no room for one that is
    new. heap: the address from which the words count; null: the word of null, which stays.

    Many texts lie far apart: of some at a time, the places where they are to be looked for are asked for first."""
    rows, waiting, cells = np.empty(_AT_ONCE, np.int64), 0, own[_CELLS]
    hashes = np.empty(_AT_ONCE, np.int64)
    mask, row = own[_CELL_COUNT] - 1, 0
    while row < len(words):
        waiting = 0
        while row < len(words) and waiting < _AT_ONCE:
            word = words[row]
            prefetch(heap + (words[min(row + _AHEAD, len(words) - 1)] >> LENGTH_BITS))
            if word < 0:
                target[row] = null
            else:
                known, lasts = _in_space(own, word, heap)
                if lasts and _lately_at(own, known)[0] == known:
                    target[row] = _lately_at(own, known)[1]
                else:
                    rows[waiting], hashes[waiting] = row, text_hash(word, heap)
                    prefetch(cells + 16 * _home(hashes[waiting], mask))
                    if own[_MOVED] < own[_BEFORE_COUNT]:
                        prefetch(own[_BEFORE] + 16 * _home(hashes[waiting], own[_BEFORE_COUNT] - 1))
                    waiting += 1
            row += 1
        for i in range(waiting):
            stored = _cells_of(own)[_home(hashes[i], mask), _AFTER] - 1
            prefetch(own[_BASE] + (stored >> LENGTH_BITS))
        for i in range(waiting):
            word = words[rows[i]]
            made = _entered(own, word, heap, hashes[i])
            if made == NO_ROOM:
                return False
            target[rows[i]] = made
            known, lasts = _in_space(own, word, heap)
            if lasts:
                pair = _lately_at(own, known)
                pair[0], pair[1] = known, made
    return True


@kernel(boolean(WORDS, COLUMN, int64))
def are_known(own, words, heap):  # type: ignore[no-untyped-def]
    """Whether each text of a column has a word already."""
    for word in words:
        if word >= 0:
            hashed = text_hash(word, heap)
            at = _place(_cells_of(own), hashed, word, own[_BASE], heap)
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
        self.words = np.zeros(INTERNED_WORDS, np.int64)
        """As kernels see them."""
        words = self.words
        words[_BASE], words[_COMMON], words[_LATELY] = space.address, space.common_words, address_of(self._lately)
        words[_CELLS], words[_CELL_COUNT] = address_of(self._cells), len(self._cells)
        words[_START] = words[_AT] = space.claim(_PART_BYTES)
        words[_END] = words[_START] + _PART_BYTES

    @property
    def texts(self) -> int:
        """How many there are."""
        return int(self.words[_COUNT])

    @property
    def kept_bytes(self) -> int:
        """What they take."""
        return self._cells.nbytes + self._before.nbytes + int(self.words[_AT] - self.words[_START])

    def make_room(self) -> None:
        """Let there be room for more, where there was none. MemoryError if the system has no more."""
        words = self.words
        if 2 * words[_COUNT] < words[_CELL_COUNT]:
            raise MemoryError(f"{words[_COUNT]:,} texts of collections take all of {_PART_BYTES:,} bytes")
        assert words[_MOVED] == words[_BEFORE_COUNT], "all were entered long before there are twice as many"
        self._before, self._cells = self._cells, _empty_cells(2 * len(self._cells))
        words[_BEFORE], words[_BEFORE_COUNT], words[_MOVED] = words[_CELLS], words[_CELL_COUNT], 0
        words[_CELLS], words[_CELL_COUNT] = address_of(self._cells), len(self._cells)


_interned: list[Interned] = []


def interned_texts() -> Interned | None:
    """This process's; None where the system has no text space (`ulimit -v`)."""
    space = text_space()
    if space is None:
        return None
    if not _interned:
        _interned.append(Interned(space))
    return _interned[0]
