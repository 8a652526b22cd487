"""What an operator that acts on finished times is to every mechanism: rows in, pending output by time, output out."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from tokenring.engine import Batch, Time

Give = Callable[[Time, Batch], None]
"""`give(time, batch)` sends rows whose own times are `time` or later, while `emit` runs."""

Take = Callable[[Batch], Time]
"""Takes a message's rows; see `TimedLogic.takes`."""

Answer = Callable[[Batch], Batch]
"""What an operator that does not look at time makes of a message, at the message's own time."""


class TimedLogic(Protocol):
    """One worker's state of an operator, written once and driven by any mechanism.

    Output is *pending at t* from the rows that cause it until it is sent, at t. Contract:
    1. Rows that arrive with nothing before frontier f still to come never make output pending before f; with `late`,
       not before f either, but at f itself they do.
    2. So output pending at t is finished once t + late <= frontier. A driver asks for nothing that is not.
    3. `emit(upto)` sends all that is pending at or before `upto` and nothing else, in order of time.
    Times may lie beyond MAX_TIME (the end of the last window): drivers send at MAX_TIME then.
    """

    late: int
    """1 where rows at t itself make output pending at t; 0 where they lie before t."""

    @property
    def takes(self) -> tuple[Take, ...]:
        """One an input: take a message's rows (views, which die with the call); returns the least time at which they
        made output pending, COMPLETE if they made none."""

    def advance(self, frontier: Time) -> None:
        """Nothing before `frontier` comes any more, at any input: state that only waited for such rows may go. Called
        once whenever the frontier has moved, before `emit`."""

    def least(self) -> Time:
        """The least time at which output is pending; COMPLETE if there is none."""

    def emit(self, upto: Time, give: Give) -> Time:
        """Send what is pending at or before `upto`; returns the least time at which output is pending then."""

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The distinct times at which these rows of input `port` make output pending (notifications ask before they
        take them)."""


def distinct(times: np.ndarray) -> list[Time]:
    """The distinct values of an int64 column, sorted; quick for the single one that a notification's message holds."""
    if len(times) == 0:
        return []
    first = int(times[0])
    if len(times) == 1 or bool((times == first).all()):
        return [first]
    found: list[Time] = np.unique(times).tolist()
    return found


def in_order(batch: Batch, column: str) -> Batch:
    """The rows in order of an int64 column, those alike in their own; the batch itself if they are."""
    times = batch.words(column)
    if batch.rows < 2 or bool((times[1:] >= times[:-1]).all()):
        return batch
    order = np.argsort(times, kind="stable")
    return Batch.wrap(batch.schema, tuple([each[order] for each in batch.columns]), batch.rows, batch.heaps, batch)
