"""KeptFolds: the state of aggregates out of slots, and into them: a row of words for each slot, and one for each value
that is counted.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import Batch
from tokenring.operators.folds import BLOCK, Folds, FoldState, Plan, counted_columns, put_pairs
from tokenring.operators.folds.sets import MOST_FLAGS
from tokenring.operators.state.moving import Rows

VALUE, FLAGS = "#value", "#flags"


def fold_kinds(plan: Plan) -> list[dict[str, str]]:
    """Names and kinds of the columns behind keys: what `FoldState.partials` gives; then, for each set of different
    values, a value and flags of those who count it."""
    sets = [{VALUE: str(plan.schema.kind(column)), FLAGS: "int64"} for column, _ in counted_columns(plan, MOST_FLAGS)]
    return [plan.partial_kinds(), *sets]


class KeptFolds:
    """Of a FoldState, which is linked to `folded`."""

    def __init__(self, state: FoldState, folded: Folds, link: Callable[[], None]) -> None:
        """link: links all that the operator has."""
        self._state, self._folded, self._link = state, folded, link

    def out(self, slots: np.ndarray) -> Sequence[Rows]:
        """See Kept."""
        made: list[Rows] = [(self._state.partials(slots), None)]
        for values in self._state.values:
            found, flags, which = values.out(slots)
            made.append((((*found.columns, flags), (*(found.heaps or (None,)), None)), which))
        self._state.forget_texts(slots)
        return made

    def put(self, limit: int, slots: Sequence[np.ndarray], tables: Sequence[Batch]) -> None:
        """See Kept."""
        state, folded = self._state, self._folded
        state.make_room(limit)
        folded.arrived = max(folded.arrived, state.put(slots[0], tables[0]))
        self._link()
        for number, (owners, table) in enumerate(zip(slots[1:], tables[1:], strict=True)):
            column, heap = table.words(VALUE).view(np.int64), table.heaps[-2] if table.heaps else None
            for start in range(0, table.rows, BLOCK):
                rows = slice(start, start + BLOCK)
                while not self._put(number, owners[rows], column[rows], heap, table.words(FLAGS)[rows]):
                    state.make_room(limit)
                    self._link()

    def _put(
        self, number: int, owners: np.ndarray, column: np.ndarray, heap: np.ndarray | None, flags: np.ndarray
    ) -> bool:
        """Values come into a set; False if there was no room, and then texts may have lost their numbers."""
        values = self._state.values[number].words_of(column, heap)
        return bool(put_pairs(self._folded.words, number, owners, values, flags))
