"""RowStore: rows of any kinds by place, replaced at will, for operators that keep a row for each of their slots."""

import numpy as np

from tokenring.engine import COLUMN, WORDS, Batch, Schema, int64, kernel, require_memory
from tokenring.engine.compiled import Words
from tokenring.engine.raw import LENGTH_MASK, address_of, copy_text
from tokenring.operators.state.keys_kernels import move_texts
from tokenring.operators.state.tables import grown

_FIRST_BYTES = 4096


@kernel(int64(WORDS, COLUMN, COLUMN, COLUMN, int64, int64, int64))
def _put_texts(stored: Words, places: Words, words: Words, rows: Words, heap: int, target: int, at: int) -> int:
    """Store the texts of `rows` at their places, and their bytes from byte `at` of `target` on; returns the next."""
    for i in range(len(places)):
        word = words[rows[i]]
        if word >= 0:
            word = copy_text(word, heap, target, at)
            at += word & LENGTH_MASK
        stored[places[i]] = word
    return at


@kernel(int64(COLUMN, COLUMN))
def _bytes_of(words: Words, rows: Words) -> int:
    total = 0
    for row in rows:
        total += words[row] & LENGTH_MASK if words[row] >= 0 else 0
    return total


class RowStore:
    """A row at each place below the highest ever put to. Memory: 8 bytes a column and place, and at most about twice
    the bytes of the texts that are there."""

    __slots__ = ("_columns", "_heap", "_limit", "_texts", "_used", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._texts = [kind.is_text for kind in schema.kinds]
        self._columns = [np.full(64, -1, np.int64) for _ in schema.names]
        self._heap = np.empty(_FIRST_BYTES if schema.has_text else 0, np.uint8)
        self._used = 0
        self._limit = _FIRST_BYTES  # compact when the heap would be fuller than this

    def put(self, places: np.ndarray, batch: Batch, rows: np.ndarray) -> None:
        """Store rows `rows` of a batch of this schema at `places`, both int64 (n,); of equal places the last counts."""
        if len(places) == 0:
            return
        needed = int(places.max()) + 1
        for at, words in enumerate(batch.columns):
            self._columns[at] = stored = grown(self._columns[at], needed, -1 if self._texts[at] else None)
            if self._texts[at]:
                self._reserve(_bytes_of(words, rows))
                heap = batch.heaps[at]
                assert heap is not None
                self._used = _put_texts(
                    stored, places, words, rows, address_of(heap), address_of(self._heap), self._used
                )
            else:
                stored[places] = words.view(np.int64)[rows]

    def reserve(self, limit: int) -> list[np.ndarray]:
        """Make room for places below `limit`, of rows whose text, if any, is somebody else's to keep (KeptTexts); the
        columns' words, until the next `put`."""
        self._columns = [grown(stored, limit) for stored in self._columns]
        return self._columns

    def _reserve(self, length: int) -> None:
        if self._used + length <= min(self._limit, len(self._heap)):
            return
        require_memory(self._used + length)
        heap, at = np.empty(2 * (self._used + length), np.uint8), 0
        for stored, is_text in zip(self._columns, self._texts, strict=True):
            if is_text:
                places = np.flatnonzero(stored >= 0)
                at = move_texts(stored.reshape(-1, 1), 0, places, address_of(self._heap), address_of(heap), at)
        self._used = at
        self._limit = 2 * (at + length) + _FIRST_BYTES
        self._heap = grown(heap, self._limit, None)

    def drop(self, places: np.ndarray) -> None:
        """What is stored there is not needed any more (its text's memory comes back in time)."""
        for stored, is_text in zip(self._columns, self._texts, strict=True):
            if is_text:
                stored[places[places < len(stored)]] = -1

    def column(self, at: int, places: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """One column's words at places where something was put, and its heap if it is text."""
        words = self._columns[at][places].view(self.schema.dtypes[at])
        return words, self._heap if self._texts[at] else None

    def batch(self, places: np.ndarray) -> Batch:
        """The rows at these places."""
        found = [self.column(at, places) for at in range(len(self.schema))]
        heaps = tuple([heap for _, heap in found]) if self.schema.has_text else ()
        return Batch.wrap(self.schema, tuple([words for words, _ in found]), len(places), heaps)
