"""Operators driven by tokens in the worker's inner loop, and what all drivers of compiled operators share.

A logic gives entries `part(world, me) -> status` for what `TimedLogic` has methods for. A driver calls them by their
addresses and tells them, and is told, in words of the operator's state; the logic's own words lie at OWN. Every
mechanism has a driver of its own: notifications.py, marks.py.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from tokenring.engine import COMPLETE, MAX_TIME, kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    FAILED,
    Compiled,
    Entry,
    Record,
    Words,
    address_of,
    answer,
    call_at,
    column_of,
    downgrade,
    drop,
    end_of_message,
    entry,
    fail,
    frontier_at,
    lease,
    part_of,
    peek,
    record_at,
    retain,
    room,
    rows_of,
    send,
    send_at,
    send_by,
    state_as,
    take,
    time_of,
    words_at,
    world_at,
)

MOST_PORTS = 2
R = TypeVar("R")


class Beginning(Record):
    """What an operator's state begins with: the slot of the token that it begins with itself, -1 once that is gone."""

    first: int


class Driven(Beginning):
    """What a driver has of an operator. `own`: where the logic's own record is. `message`: what a part is to look at;
    `made`: the least time at which output is pending, after `take` that of its rows alone; `upto`: for `emit` and
    `advance`; `reply`: what an answer is. `held`: the slot of the token, at `pending`; `seen`: the frontier that was
    told last. `late`: how many units later than its rows' end output is made. `at`: the row to go on with; `whole`:
    whether a burst is answered as it is. `brings_due`: whether an input behind all others brings rights for state that
    moved here; `empties`: whether all that is kept is to be sent at once. `asks`: the parts that say which times a
    message's rows make output pending at, at `asked`, `asked_count` of them. `is_untimed`: whether all is sent at the
    token's own time. `is_by_times`: whether output of different times is sent apart, as whoever goes by the times of
    messages needs it to be alike each time."""

    own: int
    message: int
    made: int
    upto: int
    reply: int
    held: int
    pending: int
    seen: int
    late: int
    ports: int
    advance: int
    emit: int
    at: int
    whole: int
    brings_due: int
    is_untimed: int
    is_by_times: int
    asked: int
    asked_count: int
    empties: Words = room(1)
    takes: Words = room(MOST_PORTS)
    asks: Words = room(MOST_PORTS)


LATE_ROWS = -1_000_000
"""The drivers' error: rows came later than what they are part of."""


@kernel
def driven(world: int, me: int) -> Driven:
    """What the driver has of an operator."""
    return state_as(world, me, Driven)


@kernel
def drop_first(world: int, me: int, state: Beginning) -> None:
    """The operator has run: its rows give it what rights it has from now on."""
    if state.first >= 0:
        drop(world, me, state.first)
        state.first = -1


@kernel
def own_record(world: int, me: int, record: type[R]) -> R:
    """What the logic keeps, as its record."""
    return record_at(driven(world, me).own, record)


@kernel
def give(world: int, me: int, time: int, message: int) -> None:
    """For `emit`: send rows that were pending at `time`."""
    state = driven(world, me)
    if state.is_untimed:
        send_by(world, me, state.held, message)
    else:
        send(world, me, state.held, message, min(time, MAX_TIME))


@kernel
def times_asked(world: int, me: int, count: int) -> Words:
    """For `asks`: room for so many times, in whatever order and as often as you like; good until the round's end."""
    state = driven(world, me)
    state.asked, state.asked_count = lease(world_at(world), 8 * count), count
    return words_at(state.asked, count)


@entry
def asks_nothing(world: int, me: int) -> int:
    """For `asks`: rows of this input make no output pending."""
    driven(world, me).asked_count = 0
    return DONE


@kernel
def _move_token(world: int, me: int, port: int, made: int) -> None:
    """Hold the operator's one token at `made`, with the right of the message at hand at input `port`."""
    state = driven(world, me)
    slot = retain(world, me, port, 0)
    downgrade(world, me, slot, min(made, MAX_TIME))
    if state.held >= 0:
        drop(world, me, state.held)
    state.held, state.pending = slot, made


@kernel
def _take_due(world: int, me: int, state: Driven) -> None:
    """Hold the token at the least time at which output is pending in state that moved here."""
    while True:
        message = take(world, me, state.ports)
        if message == 0:
            return
        due = column_of(message, 0)[0]
        if due < state.pending:
            _move_token(world, me, state.ports, due)


@kernel
def take_by_part(world: int, me: int, state: Driven, port: int, message: int) -> int:
    """Have the logic take a message that was peeked at; a status, with which it is taken, or stays."""
    state.message, state.made = message, COMPLETE
    status = call_at(state.takes[port], world, me)
    if status == DONE:
        take(world, me, port)
    return status


@kernel
def tell_frontier(world: int, me: int, state: Driven, frontier: int) -> int:
    """Tell the logic of a frontier that has moved; a status."""
    state.upto = frontier
    return DONE if state.advance == 0 else call_at(state.advance, world, me)


@entry
def timed(world: int, me: int) -> int:
    """Take what came, then send what is finished: one token is held, at the least time at which output is pending."""
    state = driven(world, me)
    drop_first(world, me, state)
    if state.brings_due:
        _take_due(world, me, state)
    frontier = COMPLETE
    for port in range(state.ports):
        while True:
            message = peek(world, me, port)
            if message == 0:
                break
            status = take_by_part(world, me, state, port, message)
            if status != DONE:
                return status
            if state.made < state.pending:
                if state.made < time_of(message):
                    fail(world, me, LATE_ROWS, time_of(message), state.made, 0)
                    return FAILED
                _move_token(world, me, port, state.made)
        frontier = min(frontier, frontier_at(world, me, port))
    if frontier != state.seen:
        status = tell_frontier(world, me, state, frontier)
        if status != DONE:
            return status
        state.seen = frontier
    state.upto = COMPLETE if state.empties[0] else frontier - state.late
    if state.held < 0 or state.pending > state.upto:
        return DONE
    upto = state.upto
    if state.is_by_times != 0 and state.empties[0] == 0:
        state.upto = min(upto, state.pending)
    status = call_at(state.emit, world, me)
    if status != DONE:
        return status
    state.pending = state.made
    if state.pending == COMPLETE:
        drop(world, me, state.held)
        state.held = -1
        return DONE
    downgrade(world, me, state.held, min(state.pending, MAX_TIME))
    return DONE if state.pending > upto else AGAIN


@entry
def respond(world: int, me: int) -> int:
    """Answer each message at its own time, in a loop as well; of a burst each of its messages, unless the answer keeps
    its rows whole."""
    state = driven(world, me)
    drop_first(world, me, state)
    return answer_all(world, me, state)


@kernel
def answer_all(world: int, me: int, state: Driven) -> int:
    """`respond`, whatever rights the operator has; a status."""
    while True:
        message = peek(world, me, 0)
        if message == 0:
            return DONE
        rows = rows_of(message)
        end = rows if state.whole else end_of_message(message, 0)
        while True:
            part = message
            if state.at > 0 or end < rows:
                part = part_of(world_at(world), message, state.at, end)
            state.message, state.reply = part, 0
            status = call_at(state.emit, world, me)
            if status != DONE:
                return status
            if state.at == 0 and end == rows:
                take(world, me, 0)
                if state.reply != 0:
                    answer(world, me, 0, 0, state.reply)
                break
            if state.reply != 0:
                send_at(world, me, 0, state.reply, time_of(part))
            state.at = end
            if end == rows:
                take(world, me, 0)
                break
            end = end_of_message(message, end)
        state.at = 0


class CompiledLogic:
    """What a logic gives a driver: its words (with addresses), entries, and how to help it."""

    __slots__ = (
        "advance", "asks", "emit", "explain", "keeps_rows", "late", "make_room", "owners", "takes", "view", "words",
    )  # fmt: skip

    def __init__(
        self,
        words: np.ndarray,
        emit: Entry,
        takes: Sequence[Entry] = (),
        asks: Sequence[Entry] = (),
        advance: Entry | None = None,
        late: int = 0,
        owners: Sequence[Any] = (),
        make_room: Callable[[], None] | None = None,
        explain: Callable[[int, tuple[int, int, int]], Exception] | None = None,
        view: Callable[[], Any] | None = None,
        keeps_rows: bool = False,
    ) -> None:
        """emit: of an operator that answers messages, what answers one. asks: for each of `takes`, what says
        (`times_asked`) at which times rows make output pending, before they are taken. keeps_rows: its answer to a
        burst is the same messages, of the same rows."""
        self.words = words
        self.emit = emit
        self.takes = takes
        self.asks = asks
        self.advance = advance
        self.late = late
        self.owners = owners
        self.make_room = make_room
        self.explain = explain
        self.view = view
        self.keeps_rows = keeps_rows


def compile_with(
    driver: Entry,
    logic: CompiledLogic,
    late_rows: Callable[[int, int], Exception] | None = None,
    brings_due: bool = False,
    state: Driven | None = None,
    make_room: Callable[[], None] | None = None,
) -> Compiled:
    """The operator that a driver makes of a logic. late_rows: the error for rows at (message's time, due). brings_due:
    whether a last input brings rights for state that moved here. state, make_room: of a driver that has more words, or
    needs room itself."""
    state = state or Driven()
    state.own = address_of(logic.words)
    state.held, state.pending, state.seen, state.late = -1, COMPLETE, -1, logic.late
    state.ports, state.emit, state.whole = len(logic.takes), logic.emit.address, logic.keeps_rows
    state.brings_due = brings_due
    state.advance = 0 if logic.advance is None else logic.advance.address
    for port, (take_part, asks_part) in enumerate(zip(logic.takes, logic.asks, strict=True)):
        state.takes[port], state.asks[port] = take_part.address, asks_part.address

    def explain(error: int, operands: tuple[int, int, int]) -> Exception:
        if error == LATE_ROWS and late_rows is not None:
            return late_rows(operands[0], operands[1])
        return ValueError(f"error {error}, {operands}") if logic.explain is None else logic.explain(error, operands)

    owners = (state.words, logic.words, *logic.owners)
    return Compiled(driver, state.words, owners, make_room or logic.make_room, explain, logic.view)
