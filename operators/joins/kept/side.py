"""One side of a join on one worker: the rows kept, chained by key."""

import numpy as np

from tokenring.operators.joins.kept.kernels import BoundedLink, Link, SideCounts
from tokenring.operators.state import RowStore, grown

_FIRST_PLACES = 256
AT_ONCE = 16_384
"""Pairs, or rows that go, to handle at a time: what a hot key finds is sent in messages of this size."""


class Side:
    """Rows by place: links between those of a key, and the columns that results need. Memory: 16 bytes a row and 8 for
    each column, and texts; 88 where rows expire, 40 of versions. Places of rows that went are used again.
    """

    __slots__ = ("_counts", "_expiring", "_free", "_meta", "bounded", "heads", "links", "store")

    def __init__(self, store: RowStore | None, bounded: bool, link_words: int = Link.size) -> None:
        """link_words: of each row's links, where rows are not bounded."""
        self.store = store
        self.bounded = bounded
        self.heads = np.zeros(_FIRST_PLACES, np.int64)
        self.links = np.empty((_FIRST_PLACES, BoundedLink.size if bounded else link_words), np.int64)
        self._free = np.empty(_FIRST_PLACES, np.int64)
        self._expiring = np.empty((_FIRST_PLACES if bounded else 0, 2), np.int64)
        self._meta = np.zeros(SideCounts.size, np.int64)
        self._counts = SideCounts(self._meta)

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

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What the kernels take: heads, links, free, meta and the heap, until the next `reserve`."""
        return self.heads, self.links, self._free, self._meta, self._expiring

    def __len__(self) -> int:
        return self._counts.limit - self._counts.free
