"""Remembered: a function of one column, computed once for each distinct word and looked up from then on.

Equal words are equal values as long as the column's heap is the same one, and nobody writes into it: so it is behind a
source that maps a file, in which texts that occur often are stored once. Where few words come again, or heaps do not
stay, remembering is given up.
"""

from collections.abc import Callable
from weakref import ref

import numpy as np

from tokenring.engine import Batch, Schema, Strings
from tokenring.engine.raw import LENGTH_BITS
from tokenring.operators.state import Keys

MOST = 1 << 15
"""Distinct words that are remembered; then all are forgotten."""
_LEAST_USES = 4  # of a word on average, for remembering to go on
_FIRST_BYTES = 1 << 12
_WORD = Schema("word")

Made = tuple[np.ndarray, np.ndarray | None]
"""Words, and their heap if they are text."""


def parts_of(found: Strings | np.ndarray) -> Made:
    """What a function gave, as words and a heap."""
    return (found.words, found.heap) if isinstance(found, Strings) else (found, None)


class Remembered:
    """`Remembered(function, name)(batch)` is `function(batch)`, which depends on the column `name` alone."""

    __slots__ = (
        "_column", "_function", "_heap", "_is_off", "_keys", "_made", "_made_heap", "_shown", "_used", "_uses",
    )  # fmt: skip

    def __init__(self, function: Callable[[Batch], Made], column: str) -> None:
        self._function = function
        self._column = column
        self._is_off = False
        self._forget(None)

    def _forget(self, heap: np.ndarray | None) -> None:
        self._heap = None if heap is None else ref(heap)  # a received one is to go when its message does
        self._keys = Keys(_WORD, _WORD.names)
        self._made: np.ndarray = np.empty(0, np.int64)
        self._made_heap: np.ndarray = np.empty(0, np.uint8)
        self._shown: np.ndarray | None = None
        self._used = 0
        self._uses = 0

    def __call__(self, batch: Batch) -> Made:
        """The function's result for each row."""
        schema = batch.schema
        position = schema.position(self._column)
        heap = batch.heaps[position] if batch.heaps else None
        if self._is_off or (heap is not None and heap.flags.writeable):
            return self._function(batch)
        if heap is not (None if self._heap is None else self._heap()) or len(self._keys) > MOST:
            self._is_off = self._uses < _LEAST_USES * len(self._keys)
            self._forget(None if self._is_off else heap)
            return self(batch)
        known = len(self._keys)
        slots = self._keys.slots_of(batch.columns[position].view(np.int64))
        self._uses += batch.rows
        if len(self._keys) > known:
            rows = np.flatnonzero(slots >= known)
            first = np.empty(len(self._keys) - known, np.int64)
            first[slots[rows[::-1]] - known] = rows[::-1]
            self._add(*self._function(batch.select(schema.select((self._column,))).take(first)))
        return self._made[slots], self._shown

    def _add(self, words: np.ndarray, heap: np.ndarray | None) -> None:
        """Results of the newest words; the heap that was shown before stays as it was, up to its used bytes."""
        if heap is not None:
            own = Strings(words, heap).compact()
            words = np.where(own.words < 0, own.words, own.words + (self._used << LENGTH_BITS))
            used = self._used + len(own.heap)
            if self._shown is None or used > len(self._made_heap):
                larger = np.empty(max(2 * used, _FIRST_BYTES), np.uint8)
                larger[: self._used] = self._made_heap[: self._used]
                self._made_heap, self._shown = larger, larger.view()
                self._shown.flags.writeable = False
            self._made_heap[self._used : used] = own.heap
            self._used = used
        self._made = np.concatenate([self._made, words]) if len(self._made) else words
