"""DistinctValues: which values each slot has seen, exactly, for CountDistinct."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, WORDS, Batch, Kind, Schema, int64, kernel
from tokenring.engine.compiled import Words
from tokenring.operators.folds.plan import Plan, counted_columns
from tokenring.operators.state import Keys, chain, grown, members_of

_PAIR = ("slot", "value")


@kernel(int64(COLUMN, COLUMN, int64, WORDS, WORDS))
def _mark(pairs: Words, slots: Words, flag: int, flags: Words, new: Words) -> int:
    """Flag pairs; writes the slots of those that were not yet, returns how many."""
    found = 0
    for i in range(len(pairs)):
        before = flags[pairs[i]]
        if before & flag == 0:
            flags[pairs[i]] = before | flag
            new[found] = slots[i]
            found += 1
    return found


MOST_SETS = 56
"""There are flags for so many in a word, in whole bytes."""


class DistinctValues:
    """Some sets (at most MOST_SETS) of values of one kind by slot; a value that is in several is kept once, with a flag
    for each. Memory: each value of each slot, about 70 bytes and its text."""

    __slots__ = ("_first", "_flags", "_following", "_keys", "_sets")

    def __init__(self, kind: Kind, sets: int) -> None:
        self._sets = sets
        self._flags = np.zeros(64, np.int64)
        self._keys = Keys(Schema.of({"slot": "int64", "value": kind}), _PAIR)
        self._first = np.zeros(64, np.int64)
        self._following = np.zeros(64, np.int64)

    def add(
        self,
        slots: np.ndarray,
        values: np.ndarray,
        heap: np.ndarray | None,
        chosen: Sequence[np.ndarray | None],
    ) -> list[np.ndarray]:
        """Add a value, a word, to each slot (both of shape (rows,)), to each set where `chosen`, bool (rows,), is true
        (None: in all rows); returns for each set the slots that had not seen theirs, once for each such value: int64.
        """
        masks = [mask for mask in chosen if mask is not None]
        if len(masks) == len(chosen):
            rows = masks[0] if len(masks) == 1 else np.logical_or.reduce(masks)
            slots, values = slots[rows], values[rows]
            chosen = [mask[rows] for mask in masks]
        heaps = (None, heap) if self._keys.schema.has_text else ()
        pairs = self._keys.slots(Batch.wrap(self._keys.schema, (slots, values), len(slots), heaps))
        fresh = self._keys.fresh
        if len(fresh):
            owners = slots[self._keys.fresh_rows]
            self._first = grown(self._first, int(owners.max()) + 1)
            self._following = grown(self._following, self._keys.limit, None)
            self._flags = grown(self._flags, self._keys.limit, None)
            self._flags[fresh] = 0
            chain(fresh, owners, self._first, self._following)
        return [self._mark(number, pairs, slots, mask) for number, mask in enumerate(chosen)]

    def _mark(self, number: int, pairs: np.ndarray, slots: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
        if mask is not None:
            pairs, slots = pairs[mask], slots[mask]
        new = np.empty(len(pairs), np.int64)
        return new[: _mark(pairs, slots, 1 << number, self._flags, new)]

    def add_from(self, other: "DistinctValues", source: np.ndarray, target: np.ndarray) -> list[np.ndarray]:
        """Add all values of another one's slots `source` to the slots `target`; returns what `add` does."""
        (values, heap), flags, which = other.out(source)
        return self.put(target[which], values, heap, flags)

    def out(self, slots: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray | None], np.ndarray, np.ndarray]:
        """The values of slots, each named once: words and heap; of each a flag for each set it is in, and the position
        of its slot, int64 (values,)."""
        pairs, which = self._pairs(slots)
        columns, heaps = self._keys.columns(pairs)
        return (columns[1], heaps[1]), self._flags[pairs], which

    def put(
        self, slots: np.ndarray, values: np.ndarray, heap: np.ndarray | None, flags: np.ndarray
    ) -> list[np.ndarray]:
        """Add values with their flags; returns what `add` does."""
        return self.add(slots, values, heap, [flags & (1 << number) != 0 for number in range(self._sets)])

    def drop(self, slots: np.ndarray) -> None:
        """Forget all values of slots, each named once."""
        self._keys.remove(self._pairs(slots)[0])
        self._first[slots] = 0

    def _pairs(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self._first = grown(self._first, int(slots.max(initial=0)) + 1)
        return members_of(slots, self._first, self._following)


def sets_of(plan: Plan) -> list[tuple[DistinctValues, str, list[int]]]:
    """For the folds that count different values: the sets of a column that several share, the column, their numbers."""
    return [
        (DistinctValues(plan.schema.kind(column), len(numbers)), column, numbers)
        for column, numbers in counted_columns(plan, MOST_SETS)
    ]
