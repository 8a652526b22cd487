"""A batch of a collection's updates that changes no more."""

from typing import NamedTuple, Self

import numpy as np

from tokenring.operators.collections.updates.sorting import consolidate


class Sealed(NamedTuple):
    """The first `rows` of an int64 table (columns, at least rows): updates, consolidated."""

    table: np.ndarray
    rows: int

    @classmethod
    def of(cls, table: np.ndarray) -> Self:
        """The updates of a table, in order and added up, in memory of their own."""
        target = np.empty_like(table)
        return cls(target, int(consolidate(table, target)))

    @property
    def words(self) -> np.ndarray:
        """The updates, as an int64 array (columns, rows)."""
        return self.table[:, : self.rows]
