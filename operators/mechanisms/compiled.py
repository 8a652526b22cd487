"""The drivers of compiled operators: what `Tokens.timed` and `Tokens.respond` do, in the worker's inner loop.

A logic gives entries `part(world, me) -> status` for what `TimedLogic` has methods for. The driver calls them by their
addresses and tells them, and is told, in words of the operator's state; the logic's own words lie at OWN.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tokenring.engine import COMPLETE, MAX_TIME, Schema, Scope, kernel
from tokenring.engine.compiled import (
    DONE,
    FAILED,
    Compiled,
    Entry,
    address_of,
    answer,
    call_at,
    can_have_texts,
    column_of,
    downgrade,
    drop,
    end_of_message,
    entry,
    fail,
    frontier_at,
    part_of,
    peek,
    retain,
    rows_of,
    send,
    send_at,
    state_of,
    take,
    time_of,
    words_at,
    world_at,
)

# Words of the state. FIRST: the slot of the token it begins with. MESSAGE: what a part is to look at. MADE: the least
# time at which output is pending, after `take` that of its rows alone. UPTO: for `emit` and `advance`. REPLY: what an
# answer is.
# BRINGS_DUE: whether an input behind all others brings rights for state that moved here. EMPTIES: whether all that is
# kept is to be sent at once.
FIRST, OWN, MESSAGE, MADE, UPTO, REPLY, HELD, PENDING, SEEN, LATE, PORTS, ADVANCE, EMIT, AT, WHOLE = range(15)
BRINGS_DUE, EMPTIES, TAKES = 15, 16, 17
MOST_PORTS = 8
STATE_WORDS = TAKES + MOST_PORTS

LATE_ROWS = -1_000_000
"""The drivers' error: rows came later than what they are part of."""


@kernel
def driven(world, me):  # type: ignore[no-untyped-def]
    """The driver's words of an operator."""
    return state_of(world, me, STATE_WORDS)


@kernel
def drop_first(world, me, state):  # type: ignore[no-untyped-def]
    """The operator has run: its rows give it what rights it has from now on. state: its words, the first of which is
    the slot of the token that it begins with."""
    if state[FIRST] >= 0:
        drop(world, me, state[FIRST])
        state[FIRST] = -1


@kernel
def own_words(world, me, count):  # type: ignore[no-untyped-def]
    """The logic's own words."""
    return words_at(driven(world, me)[OWN], count)


@kernel
def give(world, me, time, message):  # type: ignore[no-untyped-def]
    """For `emit`: send rows that were pending at `time`."""
    send(world, me, driven(world, me)[HELD], message, min(time, MAX_TIME))


@kernel
def _move_token(world, me, port, made):  # type: ignore[no-untyped-def]
    """Hold the operator's one token at `made`, with the right of the message at hand at input `port`."""
    state = driven(world, me)
    slot = retain(world, me, port, 0)
    downgrade(world, me, slot, min(made, MAX_TIME))
    if state[HELD] >= 0:
        drop(world, me, state[HELD])
    state[HELD], state[PENDING] = slot, made


@kernel
def _take_due(world, me, state):  # type: ignore[no-untyped-def]
    """Hold the token at the least time at which output is pending in state that moved here."""
    while True:
        message = take(world, me, state[PORTS])
        if message == 0:
            return
        due = column_of(message, 0)[0]
        if due < state[PENDING]:
            _move_token(world, me, state[PORTS], due)


@entry
def timed(world, me):  # type: ignore[no-untyped-def]
    """Take what came, then send what is finished: one token is held, at the least time at which output is pending."""
    state = driven(world, me)
    drop_first(world, me, state)
    if state[BRINGS_DUE]:
        _take_due(world, me, state)
    frontier = COMPLETE
    for port in range(state[PORTS]):
        while True:
            message = peek(world, me, port)
            if message == 0:
                break
            state[MESSAGE], state[MADE] = message, COMPLETE
            status = call_at(state[TAKES + port], world, me)
            if status != DONE:
                return status
            take(world, me, port)
            if state[MADE] < state[PENDING]:
                if state[MADE] < time_of(message):
                    fail(world, me, LATE_ROWS, time_of(message), state[MADE], 0)
                    return FAILED
                _move_token(world, me, port, state[MADE])
        frontier = min(frontier, frontier_at(world, me, port))
    if frontier != state[SEEN]:
        state[UPTO] = frontier
        if state[ADVANCE] != 0:
            status = call_at(state[ADVANCE], world, me)
            if status != DONE:
                return status
        state[SEEN] = frontier
    state[UPTO] = COMPLETE if state[EMPTIES] else frontier - state[LATE]
    if state[HELD] < 0 or state[PENDING] > state[UPTO]:
        return DONE
    status = call_at(state[EMIT], world, me)
    if status != DONE:
        return status
    state[PENDING] = state[MADE]
    if state[PENDING] == COMPLETE:
        drop(world, me, state[HELD])
        state[HELD] = -1
    else:
        downgrade(world, me, state[HELD], min(state[PENDING], MAX_TIME))
    return DONE


@entry
def respond(world, me):  # type: ignore[no-untyped-def]
    """Answer each message at its own time; of a burst each of its messages, unless the answer keeps its rows whole."""
    state = driven(world, me)
    drop_first(world, me, state)
    while True:
        message = peek(world, me, 0)
        if message == 0:
            return DONE
        rows = rows_of(message)
        end = rows if state[WHOLE] else end_of_message(message, 0)
        while True:
            part = message
            if state[AT] > 0 or end < rows:
                part = part_of(world_at(world), message, state[AT], end)
            state[MESSAGE], state[REPLY] = part, 0
            status = call_at(state[EMIT], world, me)
            if status != DONE:
                return status
            if state[AT] == 0 and end == rows:
                take(world, me, 0)
                if state[REPLY] != 0:
                    answer(world, me, 0, 0, state[REPLY])
                break
            if state[REPLY] != 0:
                send_at(world, me, 0, state[REPLY], time_of(part))
            state[AT] = end
            if end == rows:
                take(world, me, 0)
                break
            end = end_of_message(message, end)
        state[AT] = 0


class CompiledLogic:
    """What a logic gives a driver: its words (with addresses), entries, and how to help it."""

    __slots__ = ("advance", "emit", "explain", "keeps_rows", "late", "make_room", "owners", "takes", "view", "words")

    def __init__(
        self,
        words: np.ndarray,
        emit: Entry,
        takes: Sequence[Entry] = (),
        advance: Entry | None = None,
        late: int = 0,
        owners: Sequence[Any] = (),
        make_room: Callable[[], None] | None = None,
        explain: Callable[[int, tuple[int, int, int]], Exception] | None = None,
        view: Callable[[], Any] | None = None,
        keeps_rows: bool = False,
    ) -> None:
        """emit: of an operator that answers messages, what answers one. keeps_rows: its answer to a burst is the same
        messages, of the same rows."""
        self.words = words
        self.emit = emit
        self.takes = takes
        self.advance = advance
        self.late = late
        self.owners = owners
        self.make_room = make_room
        self.explain = explain
        self.view = view
        self.keeps_rows = keeps_rows


def can_be_compiled(scope: Scope, *schemas: Schema, texts: bool = False) -> bool:
    """Whether the inner loop can run an operator there: in the root scope, where no text passes, unless the operator
    knows words of `texts`."""
    return scope.depth == 1 and ((texts and can_have_texts()) or not any(schema.has_text for schema in schemas))


def compile_with(
    driver: Entry,
    logic: CompiledLogic | Compiled,
    late_rows: Callable[[int, int], Exception] | None = None,
    brings_due: bool = False,
) -> Compiled:
    """The operator that a driver makes of a logic, which may be one without a driver. late_rows: the error for rows at
    (message's time, due). brings_due: whether a last input brings rights for state that moved here."""
    if isinstance(logic, Compiled):
        return logic
    state = np.zeros(STATE_WORDS, np.int64)
    state[OWN] = address_of(logic.words)
    state[HELD], state[PENDING], state[SEEN], state[LATE] = -1, COMPLETE, -1, logic.late
    state[PORTS], state[EMIT], state[WHOLE] = len(logic.takes), logic.emit.address, logic.keeps_rows
    state[BRINGS_DUE] = brings_due
    state[ADVANCE] = 0 if logic.advance is None else logic.advance.address
    for port, part in enumerate(logic.takes):
        state[TAKES + port] = part.address

    def explain(error: int, operands: tuple[int, int, int]) -> Exception:
        if error == LATE_ROWS and late_rows is not None:
            return late_rows(operands[0], operands[1])
        return ValueError(f"error {error}, {operands}") if logic.explain is None else logic.explain(error, operands)

    return Compiled(driver, state, (state, logic.words, *logic.owners), logic.make_room, explain, logic.view)
