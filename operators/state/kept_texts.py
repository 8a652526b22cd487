"""Texts that a compiled operator keeps: those that are not common, in a part of the text space of the operator's own.

What is kept is never written over. Where the part is full, the texts that are still there move to another, which is
twice as large as they are; so of texts that leave again nothing stays for long. Memory: at most four times the bytes of
the texts that are there, and what is not needed yet is not there yet.
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, WORDS, int64, kernel, void
from tokenring.engine.columns import heap_address
from tokenring.engine.compiled import move_private, move_text, private_bytes, round_of, words_at
from tokenring.engine.raw import LENGTH_MASK, copy_text, text_space

# Words: where the text space is, the first word that is not common, the next free byte's offset and that of the part's
# end, how many bytes there was no room for, and in which round that was.
BASE, COMMON, _AT, _END, _WANTED, _ROUND = range(6)
KEPT_TEXTS_WORDS = 6
_FIRST_BYTES = 1 << 16


@kernel
def kept_texts(address):  # type: ignore[no-untyped-def]
    """The words of KeptTexts at an address."""
    return words_at(address, KEPT_TEXTS_WORDS)


@kernel
def has_room_for_texts(world, texts, size_bytes):  # type: ignore[no-untyped-def]
    """Whether so many bytes can be kept; if not, that is noted for `make_room`."""
    if texts[_AT] + size_bytes <= texts[_END]:
        return True
    texts[_WANTED], texts[_ROUND] = size_bytes, round_of(world)
    return False


@kernel
def bytes_to_keep(texts, column):  # type: ignore[no-untyped-def]
    """The bytes of a column's texts that are copied if all are kept."""
    return private_bytes(column, texts[COMMON])


@kernel
def keep_text(texts, word):  # type: ignore[no-untyped-def]
    """Keep a text, for which there is room: the word to be stored."""
    if word < texts[COMMON]:
        return word
    made = move_text(word, texts[BASE], texts[_AT])
    texts[_AT] += word & LENGTH_MASK
    return made


@kernel
def keep_text_of(texts, word, heap):  # type: ignore[no-untyped-def]
    """Keep a text of a heap at some address, for which there is room: the word to be stored."""
    if heap == texts[BASE]:
        return keep_text(texts, word)
    made = copy_text(word, heap, texts[BASE], texts[_AT])
    texts[_AT] += word & LENGTH_MASK
    return made


@kernel(int64(COLUMN))
def bytes_in(words):  # type: ignore[no-untyped-def]
    """The bytes of a column's texts, each as often as it is there."""
    total = 0
    for word in words:
        total += word & LENGTH_MASK if word >= 0 else 0
    return total


@kernel(void(WORDS, COLUMN, int64, WORDS))
def _keep_all(texts, words, heap, kept):  # type: ignore[no-untyped-def]
    for i in range(len(words)):
        kept[i] = keep_text_of(texts, words[i], heap) if words[i] >= 0 else words[i]


@kernel(int64(COLUMN, int64))
def _bytes_of(column, common):  # type: ignore[no-untyped-def]
    return private_bytes(column, common)


@kernel(int64(WORDS, int64, int64, int64))
def _move(column, base, common, at):  # type: ignore[no-untyped-def]
    return move_private(column, base, common, at)


class KeptTexts:
    """The texts of one operator's columns, and the `words` that say where they are."""

    def __init__(self) -> None:
        space = text_space()
        assert space is not None, "without one, no operator that is compiled has text"
        self._space = space
        self._part = (0, 0)  # offset and bytes
        # Parts that messages of a round may still point into; None for one that was left between two runs.
        self._before: list[tuple[int, int, int | None]] = []
        self.words = np.zeros(KEPT_TEXTS_WORDS, np.int64)
        self.words[BASE], self.words[COMMON] = space.address, space.common_words

    @property
    def lacks_room(self) -> bool:
        """Whether `make_room` is to be called."""
        return self.words[_WANTED] > 0

    def has_room(self, size_bytes: int) -> bool:
        """Whether so many bytes more can be kept where these are."""
        return bool(self.words[_AT] + size_bytes <= self.words[_END])

    def reserve(self, size_bytes: int, columns: Sequence[np.ndarray]) -> None:
        """Between two runs of the operator: have room for so many bytes; columns: as `make_room` has them."""
        if not self.has_room(size_bytes):
            self.words[_WANTED] = size_bytes
            self._move(columns, None)

    def keep(self, words: np.ndarray, heap: np.ndarray, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Between two runs of the operator: keep a column of texts, int64 (rows,), of a heap; the words to be stored.
        columns: all that is kept so far, as `make_room` has them."""
        self.reserve(int(bytes_in(words)), columns)
        kept = np.empty(len(words), np.int64)
        _keep_all(self.words, words, heap_address(heap), kept)
        return kept

    def make_room(self, columns: Sequence[np.ndarray], more_bytes: int = 0) -> None:
        """Move what these columns have, int64 of any length, which are written to, to where there is room for what was
        lacking, and for so many bytes besides. What messages of this round point to stays until the next time that
        room is made."""
        now = int(self.words[_ROUND])
        self.words[_WANTED] += more_bytes
        for before, length, when in self._before:
            if when not in (now, None):
                self._space.give_back(before, length)
        self._before = [(*part[:2], now) for part in self._before if part[2] in (now, None)]
        self._move(columns, now)

    def _move(self, columns: Sequence[np.ndarray], now: int | None) -> None:
        words, space = self.words, self._space
        live = sum([_bytes_of(column, words[COMMON]) for column in columns])
        size = max(_FIRST_BYTES, 2 * (live + int(words[_WANTED])))
        at = offset = space.claim(size)
        for column in columns:
            at = _move(column, words[BASE], words[COMMON], at)
        if self._part[1]:
            self._before.append((*self._part, now))
        self._part = offset, size
        words[_AT], words[_END], words[_WANTED] = at, offset + size, 0

    def __del__(self) -> None:
        for offset, size in (self._part, *[part[:2] for part in self._before]):
            if size:
                self._space.give_back(offset, size)
