"""Best: the best row of each key so far, without keeping rows: for `last_by`, and `top` of one."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, Batch, Schema, int64, kernel, void
from tokenring.operators.state import Keys, grown
from tokenring.operators.time import order_words, ranked

NO_ROW = -1
"""Of `state`: a key that has no row yet."""


@kernel(int64(TABLE, COLUMN, COLUMN, TABLE, WORDS, int64, WORDS, WORDS, int64))
def win(orders, slots, rows, kept, state, equal_wins, winners, won, found):  # type: ignore[no-untyped-def]
    """Which rows are the best of their slots, after all of them: written by slot, in order of first win, behind the
    `found` of those before them, until `end_wins`.

    rows: what they are called. kept, int64 (slots, words): the best rows' orders. state, int64 (slots,): NO_ROW, or 0.
    winners, won: the rows, and the slots they have won. Returns how many there are.
    """
    for i in range(len(slots)):
        slot = slots[i]
        better = state[slot] < 0
        if not better:
            better = equal_wins != 0
            for at in range(orders.shape[1]):
                if orders[i, at] != kept[slot, at]:
                    better = orders[i, at] < kept[slot, at]
                    break
        if better:
            for at in range(orders.shape[1]):
                kept[slot, at] = orders[i, at]
            if state[slot] <= 0:
                won[found] = slot
                found += 1
                state[slot] = found
            winners[state[slot] - 1] = rows[i]
    return found


@kernel(void(COLUMN, WORDS))
def end_wins(won, state):  # type: ignore[no-untyped-def]
    """Nobody has won yet of what comes next."""
    for slot in won:
        state[slot] = 0


class Best:
    """The best so far by key: that with the least `ties` of those with the largest (or smallest) `order`; of equal ones
    the first to arrive, or the last with equal_wins. Memory: each key, and 8 bytes for `order` and each of the ties."""

    def __init__(
        self, schema: Schema, by: Sequence[str], order: str, ties: tuple[str, ...], largest: bool, equal_wins: bool
    ) -> None:
        self._keys = Keys(schema, by)
        self._order, self._ties, self._largest, self._equal_wins = order, ties, largest, equal_wins
        self._kept = np.empty((64, 1 + len(ties)), np.int64)
        self._state = np.full(64, NO_ROW, np.int64)

    def winners(self, batch: Batch) -> Batch:
        """The rows of a batch that are their keys' best now, one a key, in no order between keys."""
        chosen = ranked(batch, self._order)
        if chosen is not None:
            batch = batch.filter(chosen)
        slots = self._keys.slots(batch)
        limit = self._keys.limit
        if len(self._kept) < limit:
            self._kept = grown(self._kept, limit, None, axis=0)
            self._state = grown(self._state, limit, NO_ROW)
        winners, won = np.empty(batch.rows, np.int64), np.empty(batch.rows, np.int64)
        orders = order_words(batch, self._order, self._ties, self._largest)
        state, rows = self._state, np.arange(batch.rows)
        found = win(orders, slots, rows, self._kept, state, int(self._equal_wins), winners, won, 0)
        end_wins(won[:found], state)
        return batch.take(winners[:found])
