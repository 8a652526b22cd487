"""Operators driven by watermarks in the worker's inner loop: run for each mark, and forwarding it."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COMPLETE, Signal, kernel
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
from tokenring.operators.mechanisms.compiled import (
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
