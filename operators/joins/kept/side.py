"""One side of a join on one worker: the rows kept, chained by key."""

import numpy as np

from tokenring.engine import COMPLETE, Batch, Time
from tokenring.operators.joins.kept.kernels import (
    BOUNDED_WORDS,
    HAS_ROW,
    NO_ROW,
    TIME,
    UNBOUNDED_WORDS,
    SideCounts,
    add,
    add_bounded,
    bar,
    expire,
    take_chains,
)
from tokenring.operators.state import RowStore, grown

_FIRST_PLACES = 256
AT_ONCE = 16_384
"""Pairs, or rows that go, to handle at a time: what a hot key finds is sent in messages of this size."""


class Side:
    """Rows by place: links between those of a key, and the columns that results need. Memory: 16 bytes a row and 8 for
    each column, and texts; 88 where rows expire. Places of rows that went are used again.
    """

    __slots__ = ("_counts", "_expiring", "_free", "_meta", "_sizes", "bounded", "heads", "links", "store")

    def __init__(self, store: RowStore | None, bounded: bool) -> None:
        self.store = store
        self.bounded = bounded
        self.heads = np.zeros(_FIRST_PLACES, np.int64)
        self.links = np.empty((_FIRST_PLACES, BOUNDED_WORDS if bounded else UNBOUNDED_WORDS), np.int64)
        self._free = np.empty(_FIRST_PLACES, np.int64)
        self._expiring = np.empty((_FIRST_PLACES if bounded else 0, 2), np.int64)
        self._meta = np.zeros(SideCounts.size, np.int64)
        self._counts = SideCounts(self._meta)
        self._sizes = np.zeros(1, np.int64)

    def have_slots(self, slots: int) -> None:
        """Room for the heads of so many slots."""
        self.heads = grown(self.heads, slots)

    def reserve(self, rows: int) -> None:
        """Room for so many more rows."""
        needed = self._counts.limit + max(0, rows - self._counts.free)
        if needed > len(self.links):
            self._free = grown(self._free, needed)
            self.links = grown(self.links, len(self._free), None, axis=0)
            if self.bounded:
                self._expiring = grown(self._expiring, len(self._free), None, axis=0)

    def add(self, batch: Batch, slots: np.ndarray, chosen: np.ndarray, time: Time, unique: bool) -> int:
        """Keep the rows `chosen` for ever; returns how many were: fewer if `unique` and a key has a row already."""
        self.reserve(len(chosen))
        places = np.empty(len(chosen), np.int64)
        done: int = add(self.heads, self.links, self._free, self._meta, slots, chosen, time, unique, places)
        if done == len(chosen):
            self._put(places, batch, chosen)
        return done

    def add_bounded(
        self,
        batch: Batch,
        slots: np.ndarray,
        chosen: np.ndarray,
        extent: tuple[np.ndarray, np.ndarray, np.ndarray],
        matched: np.ndarray,
        time: Time,
        rule: int,
    ) -> int:
        """Keep the rows `chosen` until they are due. extent: (starts, ends, dues), each int64 (rows,). rule: see the
        kernel. Returns how many were."""
        self.reserve(len(chosen))
        places = np.empty(len(chosen), np.int64)
        meta, heap = self._meta, self._expiring
        state = self.heads, self.links, self._free, meta, heap
        done: int = add_bounded(*state, slots, chosen, *extent, matched, time, rule, places)
        if done == len(chosen):
            self._put(places, batch, chosen)
        return done

    def bar(self, slots: np.ndarray, chosen: np.ndarray) -> int:
        """Let the keys of rows that can match nothing have none; returns of how many: fewer if a key has a row."""
        barred: int = bar(self.heads, slots, chosen)
        return barred

    def _put(self, places: np.ndarray, batch: Batch, rows: np.ndarray) -> None:
        if self.store is not None:
            self.store.put(places, batch.select(self.store.schema), rows)

    def firsts(self, slots: np.ndarray, time: Time) -> np.ndarray:
        """The rows, of keys at these slots, that are the first of keys of which there is none yet, int64; the others
        may be earlier than the one that is there."""
        places = self.heads[slots]
        known = places != NO_ROW
        np.minimum.at(self.links[:, TIME], places[known] - HAS_ROW, time)
        first = np.unique(slots, return_index=True)[1]
        return np.sort(first[~known[first]])

    def taken(self, slots: np.ndarray) -> np.ndarray:
        """Take all rows of these keys, each once, out: their places, int64, which can be read until rows are added."""
        places = np.empty(len(self), np.int64)
        return places[: take_chains(self.heads, self.links, self._free, self._meta, slots, places)]

    def forget(self, slots: np.ndarray) -> np.ndarray:
        """Drop all rows of these keys; the times of their messages, int64 (rows,)."""
        places = self.taken(slots)
        if self.store is not None:
            self.store.drop(places)
        times: np.ndarray = self.links[places, TIME]
        return times

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What the kernels take: heads, links, free, meta and the heap, until the next `reserve`."""
        return self.heads, self.links, self._free, self._meta, self._expiring

    @property
    def least_due(self) -> Time:
        """The frontier at which the first row goes; COMPLETE if there is none."""
        return int(self._expiring[0, 0]) if self._counts.expiring else COMPLETE

    def expire(self, other: "Side", horizon: Time) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Drop rows due by `horizon`, at most AT_ONCE: (places, dues, slots emptied on both sides), each int64. The
        places can be read until rows are added."""
        room = min(AT_ONCE, len(self))
        places, dues, emptied = np.empty((3, room), np.int64)
        found = expire(
            *(self.heads, other.heads.reshape(-1, 1), self.links, self._free, self._meta, self._expiring),
            *(horizon, places, dues, emptied, self._sizes),
        )
        return places[:found], dues[:found], emptied[: self._sizes[0]]

    def __len__(self) -> int:
        return self._counts.limit - self._counts.free
