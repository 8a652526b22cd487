"""Texts that a compiled operator keeps: those that are not common, in a part of the text space of the operator's own.

What is kept is never written over. Where the part is full, the texts that are still there move to another, which is
twice as large as they are; so of texts that leave again nothing stays for long. Memory: at most four times the bytes of
the texts that are there, and what is not needed yet is not there yet.
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, WORDS, int64, kernel, void
from tokenring.engine.columns import heap_address
from tokenring.engine.compiled import Record, Words, move_private, private_bytes, record_of, round_of
from tokenring.engine.raw import LENGTH_MASK, copy_text, text_space

_FIRST_BYTES = 1 << 16


class TextStore(Record):
    """`base`: where the text space is; `common`: the first word that is not common. `at`, `end`: the next free byte's
    offset, and that of the part's end. `wanted`: how many bytes there was no room for, and in which `round`."""

    base: int
    common: int
    at: int
    end: int
    wanted: int
    round: int


@kernel
def has_room_for(texts: TextStore, size_bytes: int) -> bool:
    """Whether so many bytes can be kept; if not, how many are lacking is noted for `make_room`."""
    if texts.at + size_bytes <= texts.end:
        return True
    texts.wanted = size_bytes
    return False


@kernel
def has_room_for_texts(world: int, texts: TextStore, size_bytes: int) -> bool:
    """The same, and in which round that was."""
    if has_room_for(texts, size_bytes):
        return True
    texts.round = round_of(world)
    return False


@kernel
def bytes_to_keep(texts: TextStore, column: Words) -> int:
    """The bytes of a column's texts that are copied if all are kept."""
    return private_bytes(column, texts.common)


@kernel
def keep_text(texts: TextStore, word: int) -> int:
    """Keep a text, for which there is room: the word to be stored."""
    if word < texts.common:
        return word
    return _copied(texts, word, texts.base)


@kernel
def keep_text_of(texts: TextStore, word: int, heap: int) -> int:
    """Keep a text of a heap at some address, for which there is room: the word to be stored."""
    if heap == texts.base:
        return keep_text(texts, word)
    return _copied(texts, word, heap)


@kernel
def _copied(texts: TextStore, word: int, heap: int) -> int:
    made = copy_text(word, heap, texts.base, texts.at)
    texts.at += word & LENGTH_MASK
    return made


@kernel(int64(COLUMN))
def bytes_in(words: Words) -> int:
    """The bytes of a column's texts, each as often as it is there."""
    total = 0
    for word in words:
        total += word & LENGTH_MASK if word >= 0 else 0
    return total


@kernel(void(WORDS, COLUMN, int64, WORDS))
def _keep_all(store: Words, words: Words, heap: int, kept: Words) -> None:
    texts = record_of(store, TextStore)
    for i in range(len(words)):
        kept[i] = keep_text_of(texts, words[i], heap) if words[i] >= 0 else words[i]


@kernel(int64(COLUMN, int64))
def _bytes_of(column: Words, common: int) -> int:
    return private_bytes(column, common)


@kernel(int64(WORDS, int64, int64, int64))
def _move(column: Words, base: int, common: int, at: int) -> int:
    return move_private(column, base, common, at)


class KeptTexts:
    """The texts of one operator's columns, and the `store` that says where they are."""

    def __init__(self) -> None:
        space = text_space()
        assert space is not None, "without one, no operator that is compiled has text"
        self._space = space
        self._part = (0, 0)  # offset and bytes
        # Parts that messages of a round may still point into; None for one that was left between two runs.
        self._before: list[tuple[int, int, int | None]] = []
        self.store = TextStore()
        self.store.base, self.store.common = space.address, space.common_words

    @property
    def lacks_room(self) -> bool:
        """Whether `make_room` is to be called."""
        return self.store.wanted > 0

    def has_room(self, size_bytes: int) -> bool:
        """Whether so many bytes more can be kept where these are."""
        return bool(self.store.at + size_bytes <= self.store.end)

    def reserve(self, size_bytes: int, columns: Sequence[np.ndarray]) -> None:
        """Between two runs of the operator: have room for so many bytes; columns: as `make_room` has them."""
        if not self.has_room(size_bytes):
            self.store.wanted = size_bytes
            self._move(columns, None)

    def keep(self, words: np.ndarray, heap: np.ndarray, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Between two runs of the operator: keep a column of texts, int64 (rows,), of a heap; the words to be stored.
        columns: all that is kept so far, as `make_room` has them."""
        self.reserve(int(bytes_in(words)), columns)
        kept = np.empty(len(words), np.int64)
        _keep_all(self.store.words, words, heap_address(heap), kept)
        return kept

    def make_room(self, columns: Sequence[np.ndarray], more_bytes: int = 0) -> None:
        """Move what these columns have, int64 of any length, which are written to, to where there is room for what was
        lacking, and for so many bytes besides. What messages of this round point to stays until the next time that
        room is made."""
        now = self.store.round
        self.store.wanted += more_bytes
        for before, length, when in self._before:
            if when not in (now, None):
                self._space.give_back(before, length)
        self._before = [(*part[:2], now) for part in self._before if part[2] in (now, None)]
        self._move(columns, now)

    def _move(self, columns: Sequence[np.ndarray], now: int | None) -> None:
        store, space = self.store, self._space
        live = sum([_bytes_of(column, store.common) for column in columns])
        size = max(_FIRST_BYTES, 2 * (live + store.wanted))
        at = offset = space.allocate(size)
        for column in columns:
            at = _move(column, store.base, store.common, at)
        if self._part[1]:
            self._before.append((*self._part, now))
        self._part = offset, size
        store.at, store.end, store.wanted = at, offset + size, 0

    def __del__(self) -> None:
        for offset, size in (self._part, *[part[:2] for part in self._before]):
            if size:
                self._space.give_back(offset, size)
