"""KeptWords: rows of words by slot, as columns."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import Batch, Schema
from tokenring.operators.migrate import Table
from tokenring.operators.state.moving.keyed import Rows, tables_of


class KeptWords:
    """A table of int64 words by slot, in which zeros are what a slot begins with. See Kept."""

    def __init__(self, table: Callable[[int], np.ndarray]) -> None:
        """table: the table, int64 (slots, words), with room for so many slots."""
        self._table = table

    def out(self, slots: np.ndarray) -> Sequence[Rows]:
        """See Kept."""
        table = self._table(0)
        words = table[slots].T.copy()
        table[slots] = 0
        return [((tuple(words), (None,) * len(words)), None)]

    def put(self, limit: int, slots: Sequence[np.ndarray], tables: Sequence[Batch]) -> None:
        """See Kept."""
        table = self._table(limit)
        for at in range(table.shape[1]):
            table[slots[0], at] = tables[0].words(f"#{at}")


def word_tables(keys: Schema, exchanged: Sequence[str], words: int) -> list[Table]:
    """The one table that keys are with so many words each; exchanged: as for `tables_of`."""
    return tables_of(keys, exchanged, [{f"#{at}": "int64" for at in range(words)}])
