"""Notifications, as Naiad has them, in library code over tokens: an operator asks for times, and gets one a call.

For each distinct time with pending output it retains a token: that is its request. When the frontier has passed times,
a call delivers the least of them alone, and the operator yields to the system for the next, however many there are:
this is the interaction for each time that the mechanism consists in. Everything else is kept cheap: where Naiad walks
an unsorted list, requests are in an ordered map, and what operators keep by time is as ordered as for tokens.
Sources send a message for each distinct time in the data, since a message's time is all that Naiad knows.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from sortedcontainers import SortedDict

from tokenring.engine import (
    COMPLETE,
    MAX_TIME,
    Batch,
    InputHandle,
    InputPort,
    OperatorContext,
    OutputPort,
    Schema,
    Scope,
    Stream,
    Time,
    Token,
    kernel,
)
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    FAILED,
    NEEDS_ROOM,
    Compiled,
    Words,
    address_of,
    call_at,
    downgrade,
    drop,
    entry,
    fail,
    frontier_at,
    lease,
    peek,
    retain,
    state_as,
    table_at,
    time_of,
    words_at,
    world_at,
)
from tokenring.operators.mechanisms.drivers import (
    LATE_ROWS,
    CompiledLogic,
    Driven,
    compile_with,
    drop_first,
    take_by_part,
    tell_frontier,
)
from tokenring.operators.mechanisms.interface import Ports, taken_by
from tokenring.operators.mechanisms.logic import Take, TimedLogic, in_order
from tokenring.operators.mechanisms.tokens import Tokens, late_rows
from tokenring.operators.state import (
    SOURCE_WORDS,
    KeyMap,
    Keys,
    forget_slots,
    grown,
    key_column,
    link_numbers,
    live_of,
    number_rows,
    pop,
    push,
)

_NO_TOKEN_YET = -1


class Notified(Driven):
    """`times`: those asked for, numbered; `requests`: (time, number) of each as a heap; `tokens`: by number the slot of
    the token that asks for it. `lacks`: whether it is these that there is no room for."""

    times: KeyMap
    requests: int
    tokens: int
    lacks: int


@kernel
def _requests_of(state: Notified) -> Words:
    return table_at(state.requests, state.times.places, 2)


@kernel
def _tokens_of(state: Notified) -> Words:
    return words_at(state.tokens, state.times.places)


@kernel
def _number_times(world: int, state: Notified) -> int:
    """Number the times that the rows at hand ask for, and note those that are new, which have no token yet: the address
    of the numbers; 0 where there is no room."""
    graph, count = world_at(world), state.asked_count
    scratch = table_at(lease(graph, 24 * count), 3, count)
    none = table_at(state.asked, 0, SOURCE_WORDS)
    done, added = number_rows(
        state.times, none, words_at(state.asked, count), scratch[0], scratch[1], scratch[2]
    )
    requests, tokens, times = _requests_of(state), _tokens_of(state), key_column(state.times, 0)
    for i in range(added):
        number = scratch[1, i]
        tokens[number] = _NO_TOKEN_YET
        push(requests, live_of(state.times) - added + i, times[number], number)
    return scratch[0].ctypes.data if done == count else 0


@kernel
def _ask(world: int, me: int, port: int, state: Notified, numbers: Words) -> int:
    """Retain a token for each time that has none, with the right of the message at hand; the time of one that is before
    the message's, else COMPLETE."""
    tokens, times = _tokens_of(state), key_column(state.times, 0)
    for number in numbers:
        if tokens[number] == _NO_TOKEN_YET:
            if times[number] < time_of(state.message):
                return times[number]
            tokens[number] = retain(world, me, port, 0)
            downgrade(world, me, tokens[number], min(times[number], MAX_TIME))
    return COMPLETE


@entry
def notified(world: int, me: int) -> int:
    """Take what came, and ask for each distinct time at which it makes output pending; then, once the frontier has
    passed the least of them, deliver that alone, and yield to the system for the next."""
    state = state_as(world, me, Notified)
    drop_first(world, me, state)
    frontier = COMPLETE
    for port in range(state.ports):
        while True:
            message = peek(world, me, port)
            if message == 0:
                break
            state.message = message
            status = call_at(state.asks[port], world, me)
            if status != DONE:
                return status
            count, numbers = state.asked_count, 0
            if count > 0:
                numbers = _number_times(world, state)
                if numbers == 0:
                    state.lacks = 1
                    return NEEDS_ROOM
            status = take_by_part(world, me, state, port, message)
            if status != DONE:
                return status
            if count > 0:
                due = _ask(world, me, port, state, words_at(numbers, count))
                if due < COMPLETE:
                    fail(world, me, LATE_ROWS, time_of(message), due, 0)
                    return FAILED
        frontier = min(frontier, frontier_at(world, me, port))
    if frontier != state.seen:
        status = tell_frontier(world, me, state, frontier)
        if status != DONE:
            return status
        state.seen = frontier
    requests = _requests_of(state)
    if live_of(state.times) == 0 or requests[0, 0] >= frontier:
        return DONE
    number = requests[0, 1]
    state.upto, state.held = requests[0, 0], _tokens_of(state)[number]
    status = call_at(state.emit, world, me)
    if status != DONE:
        return status
    drop(world, me, state.held)
    pop(requests, live_of(state.times))
    forgotten = words_at(lease(world_at(world), 8), 1)
    forgotten[0] = number
    forget_slots(state.times, forgotten)
    return AGAIN if live_of(state.times) > 0 and requests[0, 0] < frontier else DONE


def notify(logic: CompiledLogic, late_rows: Callable[[int, int], Exception]) -> Compiled:
    """The operator that notifications make of a logic. late_rows: as `compile_with` has it."""
    state = Notified()
    times = Keys(Schema("time"), ("time",))
    tables = [np.zeros((times.capacity, 2), np.int64), np.zeros(times.capacity, np.int64)]

    def link() -> None:
        link_numbers(state.times, times)
        state.requests, state.tokens = address_of(tables[0]), address_of(tables[1])

    def make_room() -> None:
        if not state.lacks:
            assert logic.make_room is not None, "it returned NEEDS_ROOM"
            logic.make_room()
            return
        state.lacks = 0
        times.grow()
        tables[:] = grown(tables[0], times.capacity, axis=0), grown(tables[1], times.capacity)
        link()

    link()
    made = compile_with(notified, logic, late_rows, state=state, make_room=make_room)
    made.owners = (*made.owners, times, tables)
    return made


def by_time(batch: Batch, column: str) -> Iterator[tuple[Time, Batch]]:
    """The rows of each distinct time, in order of time; rows of one time keep theirs. Slices, unless out of order."""
    batch = in_order(batch, column)
    times = batch.words(column)
    starts = [0, *(np.flatnonzero(times[1:] != times[:-1]) + 1).tolist(), batch.rows]
    for start, stop in pairwise(starts):
        if stop > start:
            yield int(times[start]), batch.slice(start, stop)


class TimesInput(InputHandle):
    """A manual input that sends each distinct time by itself."""

    __slots__ = ("column",)

    def __init__(self, schema: Schema, column: str) -> None:
        super().__init__(schema)
        self.column = column

    def send(self, batch: Batch | Mapping[str, Any], time: Time | None = None, block: bool = False) -> None:
        """A message for each distinct time of the rows, those before the input's at that; `time` may only say what the
        first of them is."""
        rows = batch if isinstance(batch, Batch) else Batch(self.schema, batch)
        for at, piece in by_time(rows, self.column):
            super().send(piece, max(at, self.time), block)


class Notifications(Tokens):
    """Naiad's notifications. Sources send a message for each time: it is all that Naiad knows of rows."""

    name = "notifications"
    sends_each_time = True

    def new_input(self, scope: Scope, schema: Schema, time: str, name: str = "input") -> tuple[InputHandle, Stream]:
        """See Mechanism."""
        return scope.new_input(schema, name, TimesInput(schema, time))

    def _compile(
        self, logic: CompiledLogic, late_rows: Callable[[Time, Time], Exception], brings_due: bool
    ) -> Compiled:
        """The logic on one worker. State neither moves here nor is saved."""
        return notify(logic, late_rows)

    def _drive(
        self, context: OperatorContext, token: Token, operator: TimedLogic, brings_due: bool, empties: memoryview
    ) -> Callable[..., None]:
        """The logic on one worker. State neither moves here nor is saved."""
        token.drop()
        inputs: tuple[tuple[Take, InputPort], ...] = ()
        requests: SortedDict = SortedDict()  # time -> the token that asks for it
        seen = -1
        held: Token
        port: OutputPort

        def give(time: Time, batch: Batch) -> None:
            port.give(held, batch, min(time, MAX_TIME))

        def logic(*ports: Ports) -> None:
            nonlocal seen, held, inputs, port
            if not inputs:  # the first call: ports are always the same
                inputs, port = taken_by(operator, ports[:-1]), ports[-1]
            frontier = COMPLETE
            for index, (take, rows) in enumerate(inputs):
                for reference, batch in rows:  # of a burst all at once: each of its times is asked for all the same
                    for time in operator.times(index, batch):
                        if time not in requests:
                            if time < reference.time:
                                raise late_rows(context.name, reference.time, time)
                            requests[time] = request = reference.retain()
                            request.downgrade(min(time, MAX_TIME))
                    take(batch)
                frontier = min(frontier, rows.frontier)
            if frontier != seen:
                seen = frontier
                operator.advance(frontier)
            if not requests or requests.peekitem(0)[0] >= frontier:
                return
            time, held = requests.popitem(0)
            operator.emit(time, give)
            held.drop()
            if requests and requests.peekitem(0)[0] < frontier:
                context.activate()

        return logic
