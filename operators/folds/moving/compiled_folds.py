"""CompiledFolds: the state of aggregates in a compiled operator out of slots, and into them."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import Batch
from tokenring.operators.folds import BLOCK, Accumulators, Folds, FoldTables, put_pairs
from tokenring.operators.folds.moving.fold_tables import FLAGS, VALUE
from tokenring.operators.state.moving import Rows


class CompiledFolds:
    """Of Accumulators in a compiled operator, and of its own sets."""

    def __init__(self, state: Accumulators, tables: FoldTables, folded: Folds, link: Callable[[], None]) -> None:
        """folded: what `tables` are linked to. link: links all that the operator has."""
        self._state, self._tables, self._folded, self._link = state, tables, folded, link

    def out(self, slots: np.ndarray) -> Sequence[Rows]:
        """See Kept."""
        made: list[Rows] = [(self._state.partials(slots), None)]
        for values in self._tables.values:
            found, flags, which = values.out(slots)
            made.append((((found, flags), (None, None)), which))
        return made

    def put(self, limit: int, slots: Sequence[np.ndarray], tables: Sequence[Batch]) -> None:
        """See Kept."""
        self._tables.make_room(limit)
        self._state.put(slots[0], tables[0])
        folded = self._folded
        folded.arrived = max(folded.arrived, self._state.arrived)
        self._link()
        for number, (owners, table) in enumerate(zip(slots[1:], tables[1:], strict=True)):
            values, flags = table.words(VALUE).view(np.int64), table.words(FLAGS)
            for start in range(0, table.rows, BLOCK):
                rows = slice(start, start + BLOCK)
                while not put_pairs(folded.words, number, owners[rows], values[rows], flags[rows]):
                    self._tables.make_room(limit)
                    self._link()
