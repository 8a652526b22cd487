"""Marks: what sends them, operators that are driven by them, which run for each and forward it, and what tells how far
they have come."""

from collections.abc import Callable, Sequence

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
    kernel,
)
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Compiled,
    Entry,
    Record,
    Words,
    address_of,
    call_at,
    drop,
    entry,
    least_word,
    make_due,
    peek,
    room,
    send_word,
    state_as,
    words_at,
    world_at,
)
from tokenring.operators.mechanisms.drivers import (
    MOST_PORTS,
    Beginning,
    CompiledLogic,
    Driven,
    answer_all,
    compile_with,
    drop_first,
    take_by_part,
    tell_frontier,
)
from tokenring.operators.mechanisms.logic import in_order


class Mark(Record):
    """What an output sent last, and the rows of the `count` signals that listen to it."""

    time: int
    signals: int
    count: int


class Marked(Driven):
    """`mark`: of its output. `heard`: by input the row of the signal of its marks; there may be none but that."""

    mark: Mark
    heard: Words = room(MOST_PORTS)


class Watching(Beginning):
    """`frontier`: how far marks have come; `heard`: the row of their signal. `runs`: the compiled operators, so many,
    that run when it moves; `tells`: whether Python is to be told, too."""

    frontier: int
    heard: int
    runs: int
    count: int
    tells: int


@kernel
def send_mark(world: int, mark: Mark, time: int) -> None:
    """Send a later mark; the same one is not sent again."""
    if time > mark.time:
        mark.time = time
        for signal in words_at(mark.signals, mark.count):
            send_word(world, signal, time)


@kernel
def _forward(world: int, me: int, state: Marked, time: int) -> None:
    """Send a mark behind what was sent; with the last one the token goes."""
    send_mark(world, state.mark, time)
    if time == COMPLETE and state.first >= 0:
        drop(world, me, state.first)
        state.first = -1


@entry
def marked(world: int, me: int) -> int:
    """Take what came; where the least of all marks has moved, send what is finished by it, and a mark."""
    state = state_as(world, me, Marked)
    state.held = state.first
    frontier = COMPLETE
    for port in range(state.ports):
        while True:
            message = peek(world, me, port)
            if message == 0:
                break
            status = take_by_part(world, me, state, port, message)
            if status != DONE:
                return status
            state.pending = min(state.pending, state.made)
        frontier = min(frontier, least_word(world, state.heard[port]))
    if frontier == state.seen:
        return DONE
    status = tell_frontier(world, me, state, frontier)
    if status != DONE:
        return status
    state.upto = frontier - state.late
    if state.pending <= state.upto:
        status = call_at(state.emit, world, me)
        if status != DONE:
            return status
        state.pending = state.made
    state.seen = frontier
    _forward(world, me, state, frontier)  # what is pending is not before it
    return DONE


@entry
def forwarded(world: int, me: int) -> int:
    """Answer each message, and forward the least mark."""
    state = state_as(world, me, Marked)
    status = answer_all(world, me, state)
    if status == DONE:
        _forward(world, me, state, least_word(world, state.heard[0]))
    return status


@entry
def watched(world: int, me: int) -> int:
    """Note how far marks have come, run who listens, and have `MarkProgress` tell Python."""
    state = state_as(world, me, Watching)
    time = least_word(world, state.heard)
    if time == state.frontier:
        return DONE
    state.frontier = time
    for operator in words_at(state.runs, state.count):
        make_due(world_at(world), operator)
    if time == COMPLETE:
        drop_first(world, me, state)
    return NEEDS_ROOM if state.tells else DONE


def drive_by_marks(
    driver: Entry, logic: CompiledLogic, heard: Sequence[Signal], listeners: Sequence[Signal]
) -> Compiled:
    """The operator that watermarks make of a logic. heard: the signals of its inputs' marks; listeners: of its own."""
    state, signals = Marked(), rows_of_signals(listeners)
    state.is_untimed = 1
    state.heard[: len(heard)] = [signal.row for signal in heard]
    state.mark.signals, state.mark.count = address_of(signals), len(signals)
    made = compile_with(driver, logic, state=state)
    made.owners = (*made.owners, signals)
    return made


def rows_of_signals(signals: Sequence[Signal]) -> np.ndarray:
    """What kernels know them by, int64 (signals,)."""
    return np.array([signal.row for signal in signals], np.int64)


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
