"""The best row of each key so far, without keeping rows: for `last_by`, and `top` of one."""

from collections.abc import Sequence

from tokenring.engine import COLUMN, TABLE, WORDS, Schema, int64, kernel, void
from tokenring.engine.compiled import Words
from tokenring.operators.migrate import Table
from tokenring.operators.ranking.top_state import comes_before
from tokenring.operators.state.moving import word_tables

STATE = 0
"""The first word of what is kept of a slot: NO_ROW, HAS_ROW, or behind how many winners of these rows the slot's is
listed. Behind it comes the order of its best row."""
NO_ROW, HAS_ROW = 0, -1


@kernel(int64(TABLE, COLUMN, COLUMN, TABLE, int64, int64, WORDS, WORDS, int64))
def win(
    orders: Words, slots: Words, rows: Words, kept: Words, equal_wins: int, each: int, winners: Words, won: Words,
    found: int,
) -> int:  # fmt: skip
    """Which rows are the best of their slots, after all of them: written by slot, in order of first win, behind the
    `found` of those before them, until `end_wins`. With each: all that are the best when they come.

    rows: what they are called. kept, int64 (slots, 1 + words): the state, and the best rows' orders. winners, won: the
    rows, and the slots they have won. Returns how many there are.
    """
    for i in range(len(slots)):
        best = kept[slots[i]]
        if best[STATE] == NO_ROW or comes_before(orders, i, best, 1, equal_wins != 0):
            for at in range(orders.shape[1]):
                best[1 + at] = orders[i, at]
            if best[STATE] <= 0 or each != 0:
                won[found] = slots[i]
                found += 1
                best[STATE] = found
            winners[best[STATE] - 1] = rows[i]
    return found


@kernel(void(COLUMN, TABLE))
def end_wins(won: Words, kept: Words) -> None:
    """Nobody has won yet of what comes next."""
    for slot in won:
        kept[slot, STATE] = HAS_ROW


def best_tables(schema: Schema, by: Sequence[str], orders: int) -> list[Table]:
    """The tables that the best rows so far are as they move; orders: how many columns order them."""
    return word_tables(schema.select(by), by, 1 + orders)
