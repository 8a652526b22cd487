"""Which slots of a worker's keys leave, and keys as columns of tables: out, and in again."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from tokenring.engine import Batch, Schema, Strings
from tokenring.engine.columns import is_hashed
from tokenring.engine.compiled import heap_of_words
from tokenring.operators.migrate import Leaving
from tokenring.operators.state import HeapedColumns, KeyCounts, Keys, KeyWords, numbers_in_use


def live_slots(keys: Keys) -> np.ndarray:
    """The slots of all live keys, in order: int64 (keys,). Looks at what was given back, not at the cells."""
    *_, free, meta = keys.tables
    live = np.ones(keys.limit, np.bool_)
    live[free[: KeyCounts(meta).free]] = False
    return np.flatnonzero(live)


def leaving_slots(keys: Keys, leaving: Leaving, names: Sequence[str]) -> np.ndarray:
    """The slots of the live keys that leave, in order: int64 (n,). names: the columns of the keys by which rows are
    exchanged, in that order. A nanosecond or some a key."""
    _, stored, _, free, meta = keys.tables
    unused = free[: KeyCounts(meta).free]
    schema = keys.schema.select(names)
    if schema.has_text and len(unused):  # what removed keys say of texts means nothing
        slots = live_slots(keys)
        chosen: np.ndarray = slots[leaving.rows(keys.batch(slots), names)]
        return chosen
    at = [keys.schema.position(name) for name in names]
    if not is_hashed(schema.kinds):
        found = leaving.positions(stored[: keys.limit, at[0]])
        if not len(unused):
            return found
        live = np.ones(keys.limit, np.bool_)
        live[unused] = False
        return found[live[found]]
    columns = tuple([np.ascontiguousarray(stored[: keys.limit, each]).view(keys.schema.dtypes[each]) for each in at])
    heaps = keys.columns(np.zeros(0, np.int64))[1]
    heaps = tuple([heaps[each] for each in at]) if schema.has_text else ()
    leaves = leaving.rows(Batch.wrap(schema, columns, keys.limit, heaps), names)
    leaves[unused] = False
    return np.flatnonzero(leaves)


class KeySlots(Protocol):
    """The keys of an operator on one worker, as slots by which the rest of its state is kept."""

    def leaving(self, leaving: Leaving) -> np.ndarray:
        """The slots whose keys leave: int64 (n,)."""

    def columns(self, slots: np.ndarray) -> HeapedColumns:
        """The keys of live slots, as the first columns of each table have them."""

    def enter(self, batch: Batch) -> np.ndarray:
        """A slot for the key of each row, none of which is known yet: int64 (rows,)."""

    def find(self, batch: Batch) -> np.ndarray:
        """The slots of rows' keys, which are known: int64 (rows,)."""

    def forget(self, slots: np.ndarray) -> None:
        """These keys are not here any more."""

    @property
    def limit(self) -> int:
        """Every slot so far is less."""


class MovingKeys:
    """The keys of `Keys`, of which the columns `exchanged` say where a row goes; if there are none, all rows are
    together, with a column that is 0."""

    def __init__(self, keys: Keys, exchanged: Sequence[str], in_kernels: bool = False) -> None:
        """in_kernels: whether kernels add keys, which hand out all slots before they ask for more."""
        self._keys, self._exchanged, self._in_kernels = keys, tuple(exchanged), in_kernels

    def leaving(self, leaving: Leaving) -> np.ndarray:
        """See KeySlots."""
        if self._exchanged:
            return leaving_slots(self._keys, leaving, self._exchanged)
        return live_slots(self._keys) if leaving.words(np.zeros(1, np.int64))[0] else np.zeros(0, np.int64)

    def columns(self, slots: np.ndarray) -> HeapedColumns:
        """See KeySlots."""
        return self._with_group(slots, *self._keys.columns(slots))

    def _with_group(
        self, slots: np.ndarray, columns: tuple[np.ndarray, ...], heaps: tuple[np.ndarray | None, ...]
    ) -> HeapedColumns:
        """Columns of keys, with what all rows go by if it is none of them."""
        if self._exchanged:
            return columns, heaps
        return (*columns, np.zeros(len(slots), np.int64)), (*heaps, None)

    def enter(self, batch: Batch) -> np.ndarray:
        """See KeySlots."""
        return self._keys.slots(batch, batch.schema.names[: len(self._keys.schema)])

    def find(self, batch: Batch) -> np.ndarray:
        """See KeySlots."""
        return self._keys.find(batch, batch.schema.names[: len(self._keys.schema)])

    def forget(self, slots: np.ndarray) -> None:
        """See KeySlots."""
        self._keys.remove(slots)

    @property
    def limit(self) -> int:
        """See KeySlots."""
        return self._keys.capacity if self._in_kernels else self._keys.limit


class MovingKeyWords(MovingKeys):
    """The keys of a compiled operator, which has them as words."""

    def __init__(self, schema: Schema, keys: Keys, words: KeyWords, exchanged: Sequence[str], first: int = 0) -> None:
        """schema: of keys as they are; first: the column of theirs where what has `words` begins."""
        super().__init__(keys, exchanged, in_kernels=True)
        self._schema = schema
        self._texts = {first + at: texts for at, texts in words.texts.items()}

    def batch(self, slots: np.ndarray) -> Batch:
        """The keys of live slots; texts are where the operator has them."""
        columns = list(self._keys.columns(slots)[0])
        heaps: list[np.ndarray | None] = [None] * len(columns)
        for at, texts in self._texts.items():
            columns[at], heaps[at] = texts.texts_of(columns[at]), heap_of_words()
        return Batch.wrap(self._schema, tuple(columns), len(slots), tuple(heaps) if self._texts else ())

    def leaving(self, leaving: Leaving) -> np.ndarray:
        """See KeySlots."""
        if not self._texts or not self._exchanged:
            return super().leaving(leaving)
        slots = live_slots(self._keys)
        chosen: np.ndarray = slots[leaving.rows(self.batch(slots), self._exchanged)]
        return chosen

    def columns(self, slots: np.ndarray) -> HeapedColumns:
        """See KeySlots."""
        batch = self.batch(slots)
        if batch.heaps:
            batch = batch.copy()  # what the operator has may move
        return self._with_group(slots, batch.columns, batch.heaps or (None,) * len(batch.columns))

    def _as_words(self, batch: Batch) -> Batch:
        columns = list(batch.columns[: len(self._schema)])
        for at, texts in self._texts.items():
            heap = batch.heaps[at]
            assert heap is not None
            strings = Strings(np.ascontiguousarray(columns[at]), heap)
            columns[at] = texts.numbers_of(strings, partial(numbers_in_use, self._keys, at))
        return Batch.wrap(self._keys.schema, tuple(columns), batch.rows)

    def enter(self, batch: Batch) -> np.ndarray:
        """See KeySlots."""
        return self._keys.slots(self._as_words(batch))

    def find(self, batch: Batch) -> np.ndarray:
        """See KeySlots."""
        return self._keys.find(self._as_words(batch))


class OneKey:
    """The key 0, of an exchange by a column that is 0 in all rows: it has slot 0. See KeySlots."""

    limit = 1

    def __init__(self, start: Callable[[], None]) -> None:
        """start: what is kept of it starts anew."""
        self._start = start

    def leaving(self, leaving: Leaving) -> np.ndarray:
        """See KeySlots."""
        return np.flatnonzero(leaving.words(np.zeros(1, np.int64)))

    def columns(self, slots: np.ndarray) -> HeapedColumns:
        """See KeySlots."""
        return (slots,), (None,)

    def enter(self, batch: Batch) -> np.ndarray:
        """See KeySlots."""
        return np.zeros(batch.rows, np.int64)

    find = enter

    def forget(self, slots: np.ndarray) -> None:
        """See KeySlots."""
        if len(slots):
            self._start()
