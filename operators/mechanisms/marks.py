"""Watermarks as sources, inputs and waiters see them: what sends marks, and what tells how far they have come."""

from collections.abc import Callable

import numpy as np

from tokenring.engine import (
    COMPLETE,
    MAX_TIME,
    Batch,
    InputHandle,
    OperatorContext,
    OutputPort,
    Schema,
    Signal,
    Time,
    TimeRegressionError,
    Token,
)
from tokenring.engine.compiled import address_of
from tokenring.operators.mechanisms.compiled_watermarks import Watching
from tokenring.operators.mechanisms.logic import in_order


class Marks:
    """The mark of one output on one worker: the last one sent, and who listens."""

    __slots__ = ("listeners", "time")

    def __init__(self) -> None:
        self.time = 0
        self.listeners: list[Signal] = []

    def send(self, time: Time, where: str) -> None:
        """Send a later mark; the same one is not sent again."""
        require_later(self.time, time, where)
        if time > self.time:
            self.time = time
            for signal in self.listeners:
                signal.send(time)


def require_later(was: Time, time: Time, where: str) -> None:
    """TimeRegressionError for a mark that is before the one that was, or none."""
    if time < was or MAX_TIME < time != COMPLETE:
        raise TimeRegressionError(
            f"cannot move the watermark of {where} from {was} to {time}: watermarks only move to later times, up to "
            f"{MAX_TIME}"
        )


class MarkOutlet:
    """A source's outlet: a token at time 0, and a promise; the output's marks are the least that its outlets promise.
    column: of rows' own times, each of which is to be one message; "" for one message whatever their times."""

    __slots__ = ("_column", "_marks", "_of_output", "_token", "_where", "time")

    def __init__(self, where: str, token: Token, marks: Marks, column: str, first: "MarkOutlet | None" = None) -> None:
        """first: another one of the output."""
        self._column = column
        self._where = where
        self._token = token
        self._marks = marks
        self._of_output: list[MarkOutlet] = [] if first is None else first._of_output
        """Those that are live."""
        self._of_output.append(self)
        self.time: Time = 0 if first is None else first.time
        """What it promises."""

    @property
    def live(self) -> bool:
        """Whether it was not closed."""
        return self._token.live

    def clone(self) -> "MarkOutlet":
        """See Outlet."""
        return MarkOutlet(self._where, self._token.clone(), self._marks, self._column, self)

    def send(self, output: OutputPort, batch: Batch, time: Time) -> None:
        """One message, or one for each distinct time, all at time 0. `time` is not sent as a mark: one follows."""
        if self._column:
            batch = in_order(batch, self._column)
            output.give_each(self._token, batch, batch.words(self._column), timed=False)
        else:
            output.give(self._token, batch)

    def advance(self, time: Time) -> None:
        """Send a mark, if it was this one that held it back."""
        require_later(self.time, time, self._where)
        self.time = time
        self._marks.send(min([each.time for each in self._of_output]), self._where)

    def close(self) -> None:
        """Send the last mark, if it is the last one."""
        if self._token.live:
            self._of_output.remove(self)
            self._marks.send(min([each.time for each in self._of_output], default=COMPLETE), self._where)
            self._token.drop()


class MarkedInput(InputHandle):
    """A manual input whose token stays at time 0 and whose advances are marks."""

    __slots__ = ("_marks", "_name")

    def __init__(self, schema: Schema, name: str, marks: Marks) -> None:
        super().__init__(schema)
        self._name = name
        self._marks = marks

    @property
    def time(self) -> Time:
        """The last mark sent."""
        return max(super().time, self._marks.time)

    def advance_to(self, time: Time) -> None:
        """Send a mark."""
        if self.cut_at is not None:
            return
        if self.time <= time:  # asks whether it is open, too
            self._marks.send(time, f"input {self._name!r}")
            return
        raise TimeRegressionError(f"cannot advance input {self._name!r} from {self.time} back to {time}")

    def _end(self) -> None:
        self._marks.send(COMPLETE, f"input {self._name!r}")


class MarkProgress:
    """How far a stream's marks have come on this worker, as its operator writes it down."""

    def __init__(self) -> None:
        self.state = Watching()
        self._listeners: list[Callable[[], None]] = []
        self._rows = np.zeros(0, np.int64)

    @property
    def frontier(self) -> Time:
        """The least time that may still appear; COMPLETE if none."""
        return self.state.frontier

    def less_than(self, time: Time) -> bool:
        """Whether a time before `time` may still appear."""
        return self.frontier < time

    def done(self) -> bool:
        """Whether nothing can appear any more."""
        return self.frontier == COMPLETE

    def on_advance(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever the frontier moves on this worker."""
        self._listeners.append(listener)
        self.state.tells = 1

    def run_on_advance(self, context: OperatorContext) -> int:
        """Run a compiled operator whenever it does; the address of the word in which it is."""
        self._rows = np.append(self._rows, context.row)
        self.state.runs, self.state.count = address_of(self._rows), len(self._rows)
        return self.state.address + 8 * Watching.place_of("frontier")

    def moved(self) -> None:
        """Tell the listeners."""
        for listener in self._listeners:
            listener()
