"""Texts that a stage has made and remembers: in parts of the text space of its own, in which none ever moves."""

import numpy as np

from tokenring.engine import Strings
from tokenring.engine.compiled import address_of, heap_of_words
from tokenring.engine.raw import LENGTH_BITS, text_space

_FIRST_BYTES = 1 << 12


class MadeTexts:
    """All texts since the last `forget`. Memory: at most twice their bytes, and 4 KiB."""

    def __init__(self) -> None:
        space = text_space()
        assert space is not None, "without one, no stage has text"
        self._space = space
        self._parts: list[tuple[int, int]] = []  # offset and bytes; the last one is being filled
        self._before: list[tuple[int, int]] = []  # forgotten, though messages of a round may point there
        self._round = -1
        self._used = 0

    def keep(self, texts: Strings) -> np.ndarray:
        """The words of texts that are copied here, which count from the text space's start. MemoryError if there is no
        room."""
        compact = texts.compact()
        size = len(compact.heap)
        if not self._parts or self._used + size > self._parts[-1][1]:
            room = max(_FIRST_BYTES, 2 * size, 2 * self._parts[-1][1] if self._parts else 0)
            self._parts.append((self._space.allocate(room), room))
            self._used = 0
        offset = self._parts[-1][0] + self._used
        self._space.write(offset, compact.heap)
        self._used += size
        return np.where(compact.words < 0, compact.words, compact.words + (offset << LENGTH_BITS))

    def forget(self, round_number: int) -> None:
        """Let all go, once the round of this number is over."""
        self.settle(round_number)
        self._before += self._parts
        self._parts, self._round = [], round_number

    def settle(self, round_number: int) -> None:
        """Give back what was forgotten in another round than this."""
        if round_number != self._round:
            for offset, size in self._before:
                self._space.give_back(offset, size)
            self._before = []

    def __del__(self) -> None:
        for offset, size in (*self._parts, *self._before):
            self._space.give_back(offset, size)


def are_in_space(heap: np.ndarray) -> bool:
    """Whether words into this heap count from the text space's start."""
    return address_of(heap) == address_of(heap_of_words())
