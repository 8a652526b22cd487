"""Streams: handles to operator outputs while a dataflow is being built, and the builder for operators that consume
them.
"""

from collections.abc import Callable
from sys import intern
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from tokenring.engine.columns import Schema
from tokenring.engine.errors import GraphError, NoSuchMethodError
from tokenring.engine.graph import (
    BatchFunction,
    Constructor,
    Fusable,
    InputSpec,
    Notify,
    OperatorSpec,
    Pact,
    Pipeline,
    Signal,
    Source,
    Stage,
    Target,
    Updates,
    arriving_schema,
)
from tokenring.engine.running import Probe
from tokenring.engine.times import PathSummary

if TYPE_CHECKING:
    from tokenring.engine.declare.scope import Scope

P = ParamSpec("P")
R = TypeVar("R")


class Stream:
    """The output of an operator in a dataflow under construction, seen through stateless operators if `stage` is one.
    """

    __slots__ = ("schema", "scope", "source", "stage", "updates")

    def __init__(self, scope: "Scope", source: Source, schema: Schema, stage: Stage | None = None) -> None:
        self.scope = scope
        self.source = source
        self.schema = schema
        self.stage = stage
        self.updates: Updates | None = None
        """Whether rows take the places of earlier ones (operators/state/updates.py)."""

    def apply(self, name: str, schema: Schema, function: BatchFunction | Fusable) -> "Stream":
        """A stateless operator: `function(batch)` returns the batch of `schema` that is sent in its stead, or None.

        It costs a function call for a batch and nothing else: no location, no queue, no token, no run of its own. It
        runs wherever the batch is sent, before any exchange. The stream's frontier is that of the output it begins at.
        """
        scope = self.scope
        scope.require_open()
        stages = scope.graph.stages
        stage = Stage(len(stages), scope.graph.region, name, schema, function, self.source, self.stage)
        stages.append(stage)
        made = Stream(scope, self.source, schema, stage)
        if self.updates is not None:
            made.updates = self.updates.unknown()
        return made

    def pipe(self, operator: "Callable[Concatenate[Stream, P], R]", *arguments: P.args, **named: P.kwargs) -> R:
        """`operator(self, *arguments, **named)`: so that a pipeline of library operators reads in the order in which
        rows pass it.
        """
        return operator(self, *arguments, **named)

    if not TYPE_CHECKING:  # a checker of types knows better

        def __getattr__(self, name: str) -> Any:
            raise NoSuchMethodError(
                f"a Stream has no {name!r}: operators are functions of streams, so that all can write more of them; "
                f"say {name}(stream, ...) or stream.pipe({name}, ...), with {name} from operators or your own"
            )

    def unary(
        self,
        name: str,
        schema: Schema,
        constructor: Constructor,
        pact: Pact | None = None,
        notify: Notify = Notify.ALWAYS,
    ) -> "Stream":
        """An operator with this input and one output.

        `constructor(context, token)` runs once on each worker and returns `logic(input, output)`, which runs whenever
        messages arrive, or the input's frontier moves and `notify` asks for it.
        """
        builder = OperatorBuilder(self.scope, name, notify)
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
    ) -> "Stream":
        """An operator with two inputs, this and `other`, and one output: `constructor(context, token)` returns
        `logic(input, other, output)`; otherwise as `unary`. pacts: one for each input.
        """
        builder = OperatorBuilder(self.scope, name, notify)
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
        builder = OperatorBuilder(self.scope, name, notify)
        port = builder.input(self, pact)
        builder.build(constructor)
        return self.scope.watch(Target(builder.number, port))

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


class OperatorBuilder:
    """Declares an operator with any number of inputs and outputs: inputs, outputs, summaries, then `build`."""

    def __init__(self, scope: "Scope", name: str, notify: Notify = Notify.ALWAYS) -> None:
        scope.require_open()
        self._scope = scope
        full_name = intern(str(scope.graph.region + name))  # there may be a million of one name
        self._spec = OperatorSpec(full_name, Notify(notify), depth=scope.depth, input_depth=scope.depth)
        self.number = len(scope.graph.operators)
        scope.graph.operators.append(self._spec)

    def input(self, stream: Stream, pact: Pact | None = None) -> int:
        """Add an input fed by `stream`; returns its port number."""
        self._require_earlier(stream)
        pact = Pipeline() if pact is None else pact
        schema = arriving_schema(stream.schema, pact, self._spec.name)
        self._spec.inputs.append(stream.read(pact, schema))
        return len(self._spec.inputs) - 1

    def listen(self, stream: Stream, everywhere: bool = True) -> Signal:
        """Run this operator also when the operator behind `stream` sends a word on the signal that is returned, to all
        workers or to its own alone.
        """
        self._require_earlier(stream)
        signal = Signal(everywhere)
        self._spec.signals.append((stream.source, signal))
        return signal

    def _require_earlier(self, stream: Stream) -> None:
        self._scope.require_own(stream, f"operator {self._spec.name!r}")
        behind = self._scope.graph.operators[stream.source.operator]
        if stream.source.operator >= self.number and behind.relay is None:  # a relay runs nowhere, so it may come later
            whose = "its own output" if stream.source.operator == self.number else f"the output of the later {stream!r}"
            raise GraphError(
                f"operator {self._spec.name!r} cannot consume {whose}: that makes a cycle, and a cycle must advance "
                f"time; lead it through scope.feedback()"
            )

    def output(
        self, schema: Schema, summaries: dict[int, PathSummary | None] | None = None, *, only: bool = False
    ) -> Stream:
        """Add an output; `summaries[input]` says how it depends on an input (default: same time; None: not at all).
        only: it does not depend on inputs that are not in `summaries`.
        """
        port = len(self._spec.outputs)
        if only:
            self._spec.closed.add(port)
        self._spec.outputs.append(schema)
        for input_port, summary in (summaries or {}).items():
            if summary is not None and (len(summary.delays) != self._spec.depth or summary.then):
                raise GraphError(
                    f"operator {self._spec.name!r}: {summary!r} is for times of another scope; times here have "
                    f"{self._spec.depth} coordinate(s), so give PathSummary so many delays"
                )
            self._spec.summaries[input_port, port] = summary
        return Stream(self._scope, Source(self.number, port), schema)

    def build(self, constructor: Constructor) -> None:
        """Give the operator its code: `constructor(context, *tokens)` returns `logic(*inputs, *outputs)`."""
        self._spec.constructor = constructor
