"""What a join in Python sends: pairs as they are found, and rows alone, each of the times that they are sent at."""

from collections.abc import Callable

import numpy as np

from tokenring.engine import Batch, OutputPort, Time, TokenRef
from tokenring.operators.joins.kept import TIME, Results, Side, both
from tokenring.operators.state import RowStore

Send = Callable[[Time, Batch], None]
"""`send(time, batch)`: results, at a time that is not before the message's at hand."""


class Sent:
    """Makes and sends results of rows of both `sides`. exact: whether rows that go do so at few times, see Extents."""

    __slots__ = ("_exact", "_results", "_sides")

    def __init__(self, results: Results, sides: tuple[Side, ...], exact: bool) -> None:
        self._results = results
        self._sides = sides
        self._exact = exact

    def pairs(
        self, side: int, batch: Batch, rows: np.ndarray, places: np.ndarray, latest: Time, time: Time, send: Send
    ) -> None:
        """Pairs of rows of a message with the other side's, at the later of their messages' times. latest: of the other
        side's."""
        other = self._sides[1 - side]
        if latest <= time:
            send(time, self._results.of(*both(side, (batch, rows), (other.store, places)), len(rows)))
            return
        times = np.maximum(other.links[places, TIME], time)
        for each in np.unique(times).tolist():  # times of messages that are ahead of this one: few
            chosen = times == each
            parts = both(side, (batch, rows[chosen]), (other.store, places[chosen]))
            send(each, self._results.of(*parts, int(chosen.sum())))

    def alone(self, side: int, source: Batch | RowStore | None, rows: np.ndarray, time: Time, send: Send) -> None:
        """Rows of one side that match nothing."""
        send(time, self._results.of(*both(side, (source, rows), None), len(rows)))

    def at_each(
        self, side: int, source: Batch | RowStore | None, rows: np.ndarray, times: np.ndarray, send: Send
    ) -> None:
        """Rows of one side that match nothing, each at its time."""
        for time in np.unique(times).tolist():
            self.alone(side, source, rows[times == time], time, send)

    def due(self, side: int, source: Batch | RowStore | None, rows: np.ndarray, dues: np.ndarray, send: Send) -> None:
        """Rows of one side that match nothing: at the ends of their windows, or all at the least of their times."""
        if self._exact:
            self.at_each(side, source, rows, dues, send)
        else:
            self.alone(side, source, rows, int(dues.min()), send)


def answer(output: OutputPort, reference: TokenRef, time: Time, rows: Batch) -> None:
    """Send rows with the right of the message at hand, at its time or later."""
    output.give(reference, rows, None if time == reference.time else time)
