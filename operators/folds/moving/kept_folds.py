"""KeptFolds: the state of aggregates out of slots, and into them."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import Batch
from tokenring.operators.folds import ARRIVED, BLOCK, Accumulators, FoldTables, Plan, put_pairs
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


class CompiledFolds:
    """Of Accumulators in a compiled operator, and of its own sets."""

    def __init__(
        self, state: Accumulators, tables: FoldTables, words: np.ndarray, at: int, link: Callable[[], None]
    ) -> None:
        """words, at: where `tables` are linked to. link: links all that the operator has."""
        self._state, self._tables, self._words, self._at, self._link = state, tables, words, at, link

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
        words, arrived = self._words, self._at + ARRIVED
        words[arrived] = max(int(words[arrived]), self._state.arrived)
        self._link()
        for number, (owners, table) in enumerate(zip(slots[1:], tables[1:], strict=True)):
            values, flags = table.words(VALUE).view(np.int64), table.words(FLAGS)
            for start in range(0, table.rows, BLOCK):
                rows = slice(start, start + BLOCK)
                while not put_pairs(words, self._at, number, owners[rows], values[rows], flags[rows]):
                    self._tables.make_room(limit)
                    self._link()
