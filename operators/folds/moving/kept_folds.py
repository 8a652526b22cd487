"""KeptFolds: the state of aggregates out of slots, and into them."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Batch
from tokenring.operators.folds import Accumulators, Plan
from tokenring.operators.folds.moving.fold_tables import FLAGS, VALUE, pieces_of
from tokenring.operators.folds.sets import MOST_FLAGS
from tokenring.operators.state.moving import Rows

_FLAGS = (1 << MOST_FLAGS) - 1


class KeptFolds:
    """Of Accumulators, with the sets that they have themselves."""

    def __init__(self, plan: Plan, state: Accumulators) -> None:
        self._state = state
        self._pieces = [numbers for _, numbers in pieces_of(plan)]

    def out(self, slots: np.ndarray) -> Sequence[Rows]:
        """See Kept."""
        made: list[Rows] = [(self._state.partials(slots), None)]
        for values, numbers in self._state.sets:
            (words, heap), flags, which = values.out(slots)
            for at in range(0, len(numbers), MOST_FLAGS):
                piece = flags >> at & _FLAGS
                some = np.flatnonzero(piece)
                made.append((((words[some], piece[some]), (heap, None)), which[some]))
        self._state.drop(slots)
        return made

    def put(self, limit: int, slots: Sequence[np.ndarray], tables: Sequence[Batch]) -> None:
        """See Kept."""
        state = self._state
        state.reset(slots[0], limit)
        state.put(slots[0], tables[0])
        rest = iter(zip(slots[1:], tables[1:], strict=True))
        for values, numbers in state.sets:
            for at in range(0, len(numbers), MOST_FLAGS):
                owners, table = next(rest)
                position = table.schema.position(VALUE)
                heap = table.heaps[position] if table.heaps else None
                new = values.put(owners, table.columns[position], heap, table.words(FLAGS) << at)
                state.count(numbers, new)
