"""A side of a compiled join that has one row a key, for some time: the rows are kept by the keys' slots."""

import numpy as np

from tokenring.operators.joins.kept.kernels import SideCounts
from tokenring.operators.joins.kept.unique_kernels import LEAST_WORDS, MOST_WORDS
from tokenring.operators.state import RowStore, grown

_FIRST_SLOTS = 64
_NONE = np.zeros(0, np.int64)


class UniqueSide:
    """Rows by key slot: their extents, and the columns that results need. Memory: 24 bytes a key and 8 for each column,
    and texts; 8 more where ends are not as long after starts in all rows, and 16 where rows do not go together."""

    __slots__ = ("_counts", "_expiring", "_meta", "_rows", "store")

    def __init__(self, store: RowStore | None, spans_differ: bool) -> None:
        self.store = store
        self._rows = np.zeros((_FIRST_SLOTS, MOST_WORDS if spans_differ else LEAST_WORDS), np.int64)
        self._expiring = np.empty((_FIRST_SLOTS, 2), np.int64)
        self._meta = np.zeros(SideCounts.size, np.int64)
        self._counts = SideCounts(self._meta)

    def have_slots(self, slots: int) -> None:
        """Room for the rows of so many slots."""
        self._rows = grown(self._rows, slots, axis=0)
        self._expiring = grown(self._expiring, slots, None, axis=0)

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """As of a `Side`, with rows in place of links, and neither heads nor places to be used again."""
        return _NONE, self._rows, _NONE, self._meta, self._expiring

    def __len__(self) -> int:
        return self._counts.limit - self._counts.free
