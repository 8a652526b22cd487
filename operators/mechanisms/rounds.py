"""Rounds: what an operator that remembers keeps in a loop: its state by epoch, fed a finished round of one at a time.

Messages of several epochs come in any order, and a later round's before an earlier one's, where they come from several
workers. So they wait, each with a token, until their round is finished: answers then depend on no schedule. An epoch's
state goes once no round of it can come any more.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sortedcontainers import SortedDict

from tokenring.engine import MAX_TIME, Batch, InputPort, OperatorContext, OutputPort, Token, kernel
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Compiled,
    Record,
    Words,
    address_of,
    call_at,
    drop,
    elements_at,
    entry,
    let_go_aside,
    records_at,
    room,
    round_of,
    send_by,
    slot_aside,
    state_as,
)
from tokenring.operators.mechanisms.drivers import CompiledLogic, Driven, compile_with, drop_first
from tokenring.operators.mechanisms.logic import Answer
from tokenring.operators.state import grown
from tokenring.operators.time import coordinate_of, end_of_time, finished_aside, may_come, set_all_aside, together


class _Part:
    """One worker's state for one time of the surrounding scope, and the rounds of it that wait."""

    __slots__ = ("answer", "waiting")

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.waiting: SortedDict = SortedDict()  # round -> (token, batches)


def by_rounds(make: Callable[[], Answer]) -> Callable[..., Callable[..., None]]:
    """The constructor of an operator in a loop: of each epoch (all coordinates but the round), `make()` gives the
    function that is called once for each round with rows, in the rounds' order, with all of them.
    """

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        parts: dict[Any, _Part] = {}
        context.inspectable(lambda: {"epochs": len(parts)})

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                *outer, at_round = reference.time
                epoch = tuple(outer)
                part = parts.get(epoch)
                if part is None:
                    part = parts[epoch] = _Part(make())
                if at_round not in part.waiting:
                    part.waiting[at_round] = (reference.retain(), [])
                part.waiting[at_round][1].append(batch.copy())
            for epoch, part in list(parts.items()):
                waiting = part.waiting
                while waiting and rows.finished((*epoch, waiting.peekitem(0)[0])):
                    held, batches = waiting.popitem(0)[1]
                    output.give(held, part.answer(Batch.concatenate(batches)))
                    held.drop()
                if not waiting and rows.finished((*epoch, MAX_TIME)):
                    del parts[epoch]

        return logic

    return construct


_OUTER = 3
"""Coordinates of times but the last one."""
_GROWS, _BEGINS, _ENDS = range(3)


class Epoch(Record):
    """All coordinates of its times but the last one; `own`: the address of the logic's words, 0: it is over."""

    own: int
    time: Words = room(_OUTER)


class Rounds(Driven):
    """`epochs`: those with state, in places of so many. `depth`: how many coordinates times have. `wants`: what Python
    is to do: let the logic of the epoch `at_epoch` grow, begin the epoch `time`, or let go of those that are over, in
    the loop's `round`."""

    epochs: int
    places: int
    depth: int
    wants: int
    at_epoch: int
    round: int
    time: Words = room(_OUTER)


@kernel
def _place_of(state: Rounds, message: int) -> int:
    """Where the epoch of a message is; -1 if it has no state."""
    epochs = records_at(state.epochs, state.places, Epoch)
    for place in range(state.places):
        is_it = epochs[place].own != 0
        for at in range(state.depth - 1):
            is_it &= epochs[place].time[at] == coordinate_of(message, at)
        if is_it:
            return place
    return -1


@kernel
def _note_ends(world: int, me: int, state: Rounds, elements: Words) -> bool:
    """Note which epochs are over; whether one is."""
    epochs, found = records_at(state.epochs, state.places, Epoch), False
    for place in range(state.places):
        if epochs[place].own != 0 and not may_come(elements, epochs[place].time[: state.depth - 1]):
            epochs[place].own = 0
            found = True
    return found


@entry
def answer_rounds(world: int, me: int) -> int:
    """Set aside what came, then answer each finished round, in order, by its epoch's state."""
    state = state_as(world, me, Rounds)
    drop_first(world, me, state)
    set_all_aside(world, me, 0)
    elements, depth = elements_at(world, me, 0), state.depth
    messages, start = finished_aside(world, me, 0, elements, depth), 0
    while start < len(messages):
        first, stop = messages[start], end_of_time(messages, start, depth)
        place = _place_of(state, first)
        if place < 0:
            for at in range(depth - 1):
                state.time[at] = coordinate_of(first, at)
            state.wants = _BEGINS
            return NEEDS_ROOM
        state.at_epoch, state.wants = place, _GROWS
        state.own = records_at(state.epochs, state.places, Epoch)[place].own
        state.message, state.reply = together(world, messages[start:stop]), 0
        status = call_at(state.emit, world, me)
        if status != DONE:
            return status
        if state.reply != 0:
            send_by(world, me, slot_aside(first), state.reply)
        for message in messages[start:stop]:
            drop(world, me, slot_aside(message))
            let_go_aside(world, me, 0, message)
        start = stop
    if _note_ends(world, me, state, elements):
        state.wants, state.round = _ENDS, round_of(world)
        return NEEDS_ROOM
    return DONE


def no_epochs() -> dict[str, int]:
    """What inspection shows before anything comes."""
    return {"epochs": 0}


def answer_by_rounds(make: Callable[[], CompiledLogic], depth: int) -> Compiled:
    """The operator, of times of so many coordinates; `make()` gives each epoch its logic."""
    state, table = Rounds(), [np.zeros(0, Epoch.dtype)]
    logics: dict[int, CompiledLogic] = {}
    over: list[tuple[int, CompiledLogic]] = []

    def link() -> None:
        state.epochs, state.places = address_of(table[0]), len(table[0])

    def begin() -> None:
        place = next((place for place, own in enumerate(table[0]["own"].tolist()) if not own), len(table[0]))
        if place == len(table[0]):
            table[0] = grown(table[0], place + 1)
        logics[place] = logic = spare.pop() if spare else make()
        table[0]["own"][place], table[0]["time"][place] = address_of(logic.words), state.time
        link()

    def make_room() -> None:
        if state.wants == _BEGINS:
            begin()
        elif state.wants == _ENDS:
            # Texts that were sent in this round lie in what the epoch kept, and are read until it ends.
            over[:] = [each for each in over if each[0] == state.round]
            places = [place for place in logics if not table[0]["own"][place]]
            over.extend((state.round, logics.pop(place)) for place in places)
        else:
            more = logics[state.at_epoch].make_room
            assert more is not None, "it returned NEEDS_ROOM"
            more()

    def explain(error: int, operands: tuple[int, int, int]) -> Exception:
        found = logics[state.at_epoch].explain
        return ValueError(f"error {error}, {operands}") if found is None else found(error, operands)

    spare = [make()]
    made = compile_with(answer_rounds, spare[0], state=state, make_room=make_room)
    state.depth = depth
    link()
    made.owners = (*made.owners, table, logics, over)
    made.explain, made.view = explain, lambda: {"epochs": len(logics)}
    return made
