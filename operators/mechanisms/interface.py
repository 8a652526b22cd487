"""What a way to coordinate offers to operators, sources and whoever waits for results: the same for every mechanism."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tokenring.engine import (
    AnyStream,
    GraphError,
    InputHandle,
    InputPort,
    Notify,
    OperatorContext,
    Pact,
    Schema,
    Scope,
    Stream,
    Time,
)
from tokenring.engine.compiled import Compiled
from tokenring.operators.mechanisms.drivers import CompiledLogic
from tokenring.operators.mechanisms.logic import Answer, Take, TimedLogic
from tokenring.operators.migrate import Table
from tokenring.operators.time import Due, position_of, split_by_messages

Edge = tuple[AnyStream, Pact]
"""An input: where its rows come from, and how they are spread."""


class Progress(Protocol):
    """What can be waited for: the interface of the engine's Probe."""

    @property
    def frontier(self) -> Time:
        """The least time that may still appear; COMPLETE if none."""

    def less_than(self, time: Time) -> bool:
        """Whether a time before `time` may still appear."""

    def done(self) -> bool:
        """Whether nothing can appear any more."""

    def on_advance(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever the frontier moves on this worker."""


Constructor = Callable[..., Callable[..., None]]
"""Of a source in Python: `constructor(context, *outlets)` returns `logic(*outputs)`."""


def require_one_form(name: str, python: object | None, compiled: object | None) -> None:
    """GraphError, naming the operator, for one that is both Python's and compiled, or neither."""
    if (python is None) == (compiled is None):
        raise GraphError(
            f"operator {name!r}: it has {'no logic' if compiled is None else 'two'}; give one in Python, or compiled= "
            f"for the worker's inner loop"
        )


def require_times(name: str, schemas: Sequence[Schema], times: Sequence[str]) -> None:
    """GraphError, naming the source, where there is not a time for each output; SchemaError for a column that is not
    there, or holds no times."""
    if len(times) != len(schemas):
        raise GraphError(
            f"source {name!r}: times names each output's column of times, {len(schemas)} in all, not {times!r}; give "
            f'"" for an output whose rows have none'
        )
    for schema, column in zip(schemas, times, strict=True):
        if column:
            position_of(f"source {name!r}", schema, column)


class Mechanism(ABC):
    """One way to coordinate. Make one for each dataflow with `mechanism(name)`, and give it to all that takes part."""

    name: str
    one_at_a_time = False
    """Whether a source must see each of its times pass the probe before it starts the next."""
    sends_each_time = False
    """Whether the rows of each time are a message, also where that is not asked for."""

    @abstractmethod
    def source(
        self,
        scope: Scope,
        name: str,
        schemas: tuple[Schema, ...],
        constructor: Constructor | None,
        times: tuple[str, ...],
        each_time: bool = False,
        compiled: Callable[[OperatorContext, np.ndarray], Compiled] | None = None,
        other_times: bool = False,
    ) -> tuple[Stream, ...]:
        """An operator without inputs, as `Scope.source` has it, with an Outlet in place of each token: by `constructor`
        in Python, as the library's sources are, or by `compiled(context, outlets)` in the worker's inner loop, with a
        row of CompiledOutlets each. `times` names each output's column of rows' own times, "" where these say nothing;
        `each_time`: each distinct one is sent as a message of its own, though the mechanism needs it not.
        `other_times`: it sends at later times than 0 that no column has. GraphError where one time is let in at a time,
        for one in Python whose rows have times of their own."""

    @abstractmethod
    def new_input(self, scope: Scope, schema: Schema, time: str, name: str = "input") -> tuple[InputHandle, Stream]:
        """A manual input, as `Scope.new_input` makes it; `time` names the column of rows' own times: SchemaError
        for one that is not there, or holds none."""

    @abstractmethod
    def timed(
        self,
        name: str,
        inputs: Sequence[Edge[AnyStream]],
        schema: Schema,
        make: Callable[[], TimedLogic] | None,
        notify: Notify,
        compiled: Callable[[], CompiledLogic] | None = None,
        moves: Sequence[Table] | None = None,
    ) -> AnyStream:
        """An operator that acts on finished times: `make()` gives each worker its logic in Python, or `compiled()` one
        for the worker's inner loop. `notify` is what the logic needs of an engine that wakes operators: ALWAYS if
        `advance` matters while nothing is pending. `moves`: the tables that its keyed state is where bins move, for
        what `make` and `compiled` offer; None: it cannot move; no tables: what it keeps it may send at any time, and
        does before a snapshot (`emit(COMPLETE, ...)`, and rows come still)."""

    @abstractmethod
    def respond(
        self,
        name: str,
        edge: Edge[AnyStream],
        schema: Schema,
        make: Callable[[], Answer] | None,
        notify: Notify = Notify.NEVER,
        remembers: bool = True,
        compiled: Callable[[], CompiledLogic] | None = None,
        moves: Sequence[Table] | None = None,
    ) -> AnyStream:
        """An operator that answers each message at the message's time: `make()` gives each worker its function in
        Python, or `compiled()` one for the worker's inner loop. `remembers`: whether an answer depends on earlier
        messages. In a loop each epoch then has a function of its own, which is called with each round's rows, in order,
        once the round is finished. `moves`: as for `timed`."""

    def split_late(self, stream: AnyStream, name: str, due: Due, time: str) -> tuple[AnyStream, AnyStream]:
        """The rows in time, and the late ones, whose `due` of their column `time` has passed when they come."""
        return split_by_messages(stream, name, due, time)

    @abstractmethod
    def probe(self, stream: Stream) -> Progress:
        """What tells how far the stream has come, on all workers unless the mechanism is local to each."""


Ports = Any
"""The inputs and then the output, as the engine hands them to a logic."""


def taken_by(operator: TimedLogic, ports: Sequence[InputPort]) -> tuple[tuple[Take, InputPort], ...]:
    """What takes each input's rows, and the input, which gives the messages of a burst together: rows' own times are in
    a column."""
    return tuple([(take, port.in_bursts()) for take, port in zip(operator.takes, ports, strict=True)])
