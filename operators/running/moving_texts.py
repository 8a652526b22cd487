"""MovingTextKeys: keys with texts, which a compiled operator has as numbers, as columns of tables."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Batch, Schema, Strings
from tokenring.engine.compiled import heap_of_words
from tokenring.operators.migrate import Leaving
from tokenring.operators.running.text_keys import TextKeys
from tokenring.operators.state import HeapedColumns, Keys
from tokenring.operators.state.moving import leaving_slots, live_slots


class MovingTextKeys:
    """Keys in compiled operators, in which texts, if there are any, are numbers. See KeySlots."""

    def __init__(self, schema: Schema, keys: Keys, texts: TextKeys, exchanged: Sequence[str]) -> None:
        """schema: of keys as they are."""
        self._schema, self._keys, self._texts, self._exchanged = schema, keys, texts, tuple(exchanged)

    @property
    def limit(self) -> int:
        """Kernels hand out all slots below, before they ask for more."""
        return self._keys.capacity

    def _batch(self, slots: np.ndarray) -> Batch:
        """The keys of live slots; texts are where the operator has them."""
        columns = list(self._keys.columns(slots)[0])
        heaps: list[np.ndarray | None] = [None] * len(columns)
        for at, texts in self._texts.numbers.items():
            columns[at], heaps[at] = texts.texts_of(columns[at]), heap_of_words()
        return Batch.wrap(self._schema, tuple(columns), len(slots), tuple(heaps) if self._schema.has_text else ())

    def leaving(self, leaving: Leaving) -> np.ndarray:
        """See KeySlots."""
        if not self._texts.numbers:
            return leaving_slots(self._keys, leaving, self._exchanged)
        slots = live_slots(self._keys)
        chosen: np.ndarray = slots[leaving.rows(self._batch(slots), self._exchanged)]
        return chosen

    def columns(self, slots: np.ndarray) -> HeapedColumns:
        """See KeySlots."""
        batch = self._batch(slots)
        if batch.heaps:
            batch = batch.copy()  # what the operator has may move
        return batch.columns, batch.heaps or (None,) * len(batch.columns)

    def _numbered(self, batch: Batch) -> Batch:
        columns = list(batch.columns[: len(self._schema)])
        for at, texts in self._texts.numbers.items():
            heap = batch.heaps[at]
            assert heap is not None
            columns[at] = texts.numbers_of(Strings(np.ascontiguousarray(columns[at]), heap))
        return Batch.wrap(self._keys.schema, tuple(columns), batch.rows)

    def enter(self, batch: Batch) -> np.ndarray:
        """See KeySlots."""
        return self._keys.slots(self._numbered(batch))

    def find(self, batch: Batch) -> np.ndarray:
        """See KeySlots."""
        return self._keys.find(self._numbered(batch))

    def forget(self, slots: np.ndarray) -> None:
        """See KeySlots."""
        gone = self._keys.columns(slots)[0]
        self._keys.remove(slots)
        left = live_slots(self._keys) if len(self._schema) > 1 else slots[:0]
        for at, texts in self._texts.numbers.items():
            unused = np.setdiff1d(gone[at], self._keys.words(at)[left])
            texts.forget(unused[unused >= 0])
