"""Streams: handles to operator outputs while a dataflow is being built."""

from collections.abc import Callable
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from tokenring.engine.arguments import require_function, require_name
from tokenring.engine.columns import Schema, require_schema
from tokenring.engine.errors import GraphError, NoSuchMethodError
from tokenring.engine.graph import (
    BatchFunction,
    Constructor,
    Fusable,
    InputSpec,
    Notify,
    Pact,
    Rejects,
    Source,
    Stage,
    Updates,
)
from tokenring.engine.running import Probe

if TYPE_CHECKING:
    from tokenring.engine.declare.builder import OperatorBuilder
    from tokenring.engine.declare.scope import Scope

P = ParamSpec("P")
R = TypeVar("R")
AnyStream = TypeVar("AnyStream", bound="Stream")
"""A class of streams: what is made of a stream is of its class."""
Made_co = TypeVar("Made_co", bound="Stream", covariant=True)
"""The class of a scope's streams."""


def require_streams(who: str, *given: object) -> None:
    """GraphError, on behalf of `who`, for what is no stream."""
    for each in given:
        if not isinstance(each, Stream):
            cure = "give what an input, a source or an operator gave"
            if isinstance(each, tuple):
                cure = f"unpack it, `{getattr(each, 'names', 'stream, other')} = ...`"
            elif hasattr(each, "changes"):
                cure = "collections go with collections: say .collection() of the streams beside it"
            raise GraphError(f"{who}: {shortened(each)} is no stream; {cure}")


class Stream:
    """The output of an operator in a dataflow under construction, seen through stateless operators if `stage` is one.
    """

    __slots__ = ("rejects", "schema", "scope", "source", "stage", "updates")

    def __init__(self, scope: "Scope", source: Source, schema: Schema, stage: Stage | None = None) -> None:
        self.scope = scope
        self.source = source
        self.schema = schema
        self.stage = stage
        self.updates: Updates | None = None
        """Whether rows take the places of earlier ones."""
        self.rejects: Rejects | None = None
        """Who takes the rows that stateless operators behind it fail at; None: the run ends."""

    def apply(self, name: str, schema: Schema, function: BatchFunction | Fusable) -> Self:
        """A stateless operator: `function(batch)` returns the batch of `schema` that is sent in its stead, or None.

        It costs a function call for a batch and nothing else: no location, no queue, no token, no run of its own. It
        runs wherever the batch is sent, before any exchange. The stream's frontier is that of the output it begins at.
        """
        require_name("an operator", name)
        require_schema(f"operator {name!r}", schema)
        if not hasattr(function, "fused"):
            require_function(f"operator {name!r}", "function", function)
        scope = self.scope
        scope.require_open()
        stages = scope.graph.stages
        place = self.source, self.stage, self.schema
        stage = Stage(len(stages), scope.graph.region, name, schema, function, *place, self.rejects)
        stages.append(stage)
        made = type(self)(scope, self.source, schema, stage)
        made.rejects = self.rejects
        if self.updates is not None:
            made.updates = self.updates.unknown()
        return made

    def pipe(self, operator: Callable[Concatenate[Self, P], R], *arguments: P.args, **named: P.kwargs) -> R:
        """`operator(self, *arguments, **named)`: so that a pipeline of library operators reads in the order in which
        rows pass it.
        """
        require_function("pipe", "operator", operator)
        return operator(self, *arguments, **named)

    if not TYPE_CHECKING:  # a checker of types knows better

        def __getattr__(self, name: str) -> Any:
            raise NoSuchMethodError(
                f"a Stream has no {name!r}: operators are functions of streams, so that all can write more of them; "
                f"say {name}(stream, ...) or stream.pipe({name}, ...), with {name} from operators or your own"
            )

    def operator(self, name: str, notify: Notify = Notify.ALWAYS) -> "OperatorBuilder[Self]":
        """A builder for an operator of this stream's scope, as `Scope.operator`; its outputs are of this class."""
        builder: OperatorBuilder[Any] = self.scope.operator(name, notify)
        return builder

    def unary(
        self,
        name: str,
        schema: Schema,
        constructor: Constructor,
        pact: Pact | None = None,
        notify: Notify = Notify.ALWAYS,
    ) -> Self:
        """An operator with this input and one output.

        `constructor(context, token)` runs once on each worker and returns `logic(input, output)`, which runs whenever
        messages arrive, or the input's frontier moves and `notify` asks for it.
        """
        builder = self.operator(name, notify)
        builder.input(self, pact)
        output = builder.output(schema)
        builder.build(constructor)
        return output

    def binary(
        self,
        other: "Stream",
        name: str,
        schema: Schema,
        constructor: Constructor,
        pacts: tuple[Pact | None, Pact | None] = (None, None),
        notify: Notify = Notify.ALWAYS,
    ) -> Self:
        """An operator with two inputs, this and `other`, and one output: `constructor(context, token)` returns
        `logic(input, other, output)`; otherwise as `unary`. pacts: one for each input.
        """
        if not isinstance(pacts, tuple | list) or len(pacts) != 2:
            raise GraphError(
                f"operator {name!r}: pacts are two, one for each input, such as (Exchange('key'), None), not {pacts!r}"
            )
        builder = self.operator(name, notify)
        builder.input(self, pacts[0])
        builder.input(other, pacts[1])
        output = builder.output(schema)
        builder.build(constructor)
        return output

    def sink(
        self,
        name: str,
        constructor: Callable[[Any], Callable[..., None]],
        pact: Pact | None = None,
        notify: Notify = Notify.ALWAYS,
    ) -> Probe:
        """An operator with this input and no output: `constructor(context)` returns `logic(input)`.

        The probe tells what the sink, on any worker, has still to take: it passes a time once all rows up to it were
        taken.
        """
        builder = self.operator(name, notify)
        port = builder.input(self, pact)
        builder.build(constructor)
        return builder.probe(port)

    def probe(self) -> Probe:
        """A handle to watch this stream's frontier from outside the dataflow.

        Behind stateless operators it is the frontier of the output before them: what they send, they send at once.
        """
        return self.scope.probe(self)

    def read(self, pact: Pact, schema: Schema) -> InputSpec:
        """An input that takes this stream, as `schema` (done by the engine)."""
        if self.stage is not None:
            self.stage.followers += 1
        return InputSpec(self.source, pact, schema, self.stage)

    def __repr__(self) -> str:
        through = "" if self.stage is None else f" through {self.stage.label!r}"
        return (
            f"Stream({self.scope.graph.describe(self.source)}{through} of dataflow {self.scope.graph.name!r}, "
            f"{self.schema!r})"
        )
