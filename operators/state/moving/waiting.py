"""WaitingMoves: state by key, and rows that wait for their times before they come to it."""

from collections.abc import Sequence
from typing import Protocol

from tokenring.engine import COMPLETE, Batch, Time
from tokenring.operators.migrate import Leaving, Moves


class Waiting(Protocol):
    """Rows that wait on one worker: the last table of an operator."""

    def leave(self, leaving: Leaving) -> Batch:
        """Rows whose keys leave wait here no more."""

    def arrive(self, rows: Batch) -> Time:
        """Rows, which are the caller's, wait here as well; the least time of those that wait."""


class RowsThatWait(list[Batch]):
    """Batches of rows of their own, in the order in which they came."""

    def take_out(self, leaving: Leaving, key: str) -> Batch | None:
        """Rows whose keys leave; None if there are no rows."""
        if not self:
            return None
        rows = Batch.concatenate(self)
        leaves = leaving.rows(rows, (key,))
        stay = rows.filter(~leaves)
        self[:] = [stay] if stay.rows else []
        return rows.filter(leaves)


class WaitingMoves:
    """How keys move, with rows that wait."""

    def __init__(self, keyed: Moves, waiting: Waiting) -> None:
        """keyed: of all tables but the last."""
        self._keyed, self._waiting = keyed, waiting

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """See Moves."""
        return [*self._keyed.take_out(leaving), self._waiting.leave(leaving)]

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """See Moves."""
        self._keyed.put_in(tables[:-1])
        return self._waiting.arrive(tables[-1]) if tables[-1].rows else COMPLETE
