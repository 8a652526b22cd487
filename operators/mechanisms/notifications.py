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
)
from tokenring.engine.compiled import Compiled
from tokenring.operators.mechanisms.compiled import CompiledLogic
from tokenring.operators.mechanisms.compiled_notifications import notify
from tokenring.operators.mechanisms.interface import Ports, taken_by
from tokenring.operators.mechanisms.logic import Take, TimedLogic, in_order
from tokenring.operators.mechanisms.tokens import Tokens


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
        """A message for each distinct time of the rows; `time` may only say what the first of them is."""
        rows = batch if isinstance(batch, Batch) else Batch(self.schema, batch)
        for at, piece in by_time(rows, self.column):
            super().send(piece, at, block)


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
