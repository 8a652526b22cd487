"""The versions of keys on one worker: what each key's row is from a time on."""

import numpy as np

from tokenring.engine import Batch, Time
from tokenring.operators.joins.kept.joined_columns import RIGHT, JoinedColumns, present
from tokenring.operators.joins.kept.version_kernels import add_versions, find_versions
from tokenring.operators.state import FREE, LIMIT, Keys, grown

_FIRST_PLACES = 256


class Versions:
    """Rows of a join's right side, by key and the time from which they are valid.

    Memory: each key; 24 bytes and 8 for each column a version, and texts. Of a key's versions those stay that rows at
    the horizon or later can see, as of the last time the key got one.
    """

    __slots__ = ("_columns", "_free", "_heads", "_keys", "_links", "_meta", "store")

    def __init__(self, columns: JoinedColumns) -> None:
        self._columns = columns
        self._keys = Keys(columns.sides[RIGHT], columns.on[RIGHT])
        self._heads = np.zeros(_FIRST_PLACES, np.int64)
        self._links = np.empty((_FIRST_PLACES, 2), np.int64)
        self._free = np.empty(_FIRST_PLACES, np.int64)
        self._meta = np.zeros(2, np.int64)
        self.store = columns.store(RIGHT)

    def add(self, batch: Batch, times: np.ndarray, horizon: Time) -> None:
        """Take versions, valid from `times` on, int64 (rows,). Nobody asks for times before `horizon` any more."""
        kept = present(batch, self._columns.on[RIGHT])
        if kept.rows < batch.rows:
            whole = np.ones(batch.rows, np.bool_)
            for name in self._columns.on[RIGHT]:
                whole &= ~batch.nulls(name)
            times = times[whole]
        slots = self._keys.slots(kept)
        self._heads = grown(self._heads, self._keys.limit)
        needed = int(self._meta[LIMIT]) + max(0, kept.rows - int(self._meta[FREE]))
        if needed > len(self._free):
            self._free = grown(self._free, needed)
            self._links = grown(self._links, len(self._free), None, axis=0)
        places = np.empty(kept.rows, np.int64)
        dropped = np.empty(len(self._free), np.int64)
        state = self._heads, self._links, self._free, self._meta
        gone = add_versions(*state, slots, times, horizon, places, dropped)
        if self.store is not None:
            self.store.drop(dropped[:gone])  # before those that got such a place are put there
            self.store.put(places, kept.select(self.store.schema), np.arange(kept.rows))

    def find(self, batch: Batch, names: tuple[str, ...], times: np.ndarray) -> np.ndarray:
        """The place of the version valid at each row's time, int64 (rows,), -1 where there is none."""
        slots = known(self._keys, batch, names)
        places = np.empty(batch.rows, np.int64)
        find_versions(self._heads, self._links, slots, times, places)
        return places

    def __len__(self) -> int:
        return int(self._meta[LIMIT] - self._meta[FREE])


def known(keys: Keys, batch: Batch, names: tuple[str, ...]) -> np.ndarray:
    """The slot of each row's key, int64 (rows,), -1 where it is not known or null."""
    slots = keys.find(batch, names)
    for name in names:
        if batch.schema.kind(name).nullable:
            slots[batch.nulls(name)] = -1
    return slots
