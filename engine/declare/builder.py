"""The builder of operators: declares an operator with any number of inputs and outputs."""

from collections.abc import Iterator
from contextlib import contextmanager
from sys import intern
from typing import TYPE_CHECKING, Generic

from tokenring.engine.arguments import require_function, require_name
from tokenring.engine.columns import Schema, require_schema
from tokenring.engine.declare.stream import Made_co, Stream
from tokenring.engine.errors import GraphError
from tokenring.engine.graph import (
    CompiledConstructor,
    Constructor,
    Notify,
    OperatorSpec,
    Pact,
    Pipeline,
    Signal,
    Source,
    Target,
    arriving_schema,
)
from tokenring.engine.running import Probe
from tokenring.engine.texts import can_have_texts
from tokenring.engine.times import PathSummary

if TYPE_CHECKING:
    from tokenring.engine.declare.scope import Scope


class OperatorBuilder(Generic[Made_co]):
    """Declares an operator with any number of inputs and outputs: inputs, outputs, summaries, then `build`."""

    def __init__(self, scope: "Scope", name: str, notify: Notify = Notify.ALWAYS) -> None:
        scope.require_open()
        require_name("an operator", name)
        if notify not in [*Notify]:
            raise GraphError(f"operator {name!r}: notify is one of {', '.join(Notify)}, not {notify!r}")
        self._scope = scope
        full_name = intern(str(scope.graph.region + name))  # there may be a million of one name
        self._spec = OperatorSpec(full_name, Notify(notify), depth=scope.depth, input_depth=scope.depth)
        self.number = len(scope.graph.operators)
        scope.graph.operators.append(self._spec)

    def input(self, stream: Stream, pact: Pact | None = None) -> int:
        """Add an input fed by `stream`; returns its port number."""
        self._require_unbuilt("an input is added")
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
    ) -> Made_co:
        """Add an output; `summaries[input]` says how it depends on an input (default: same time; None: not at all).
        only: it does not depend on inputs that are not in `summaries`.
        """
        self._require_unbuilt("an output is added")
        port = len(self._spec.outputs)
        require_schema(f"operator {self._spec.name!r} output {port}", schema)
        if summaries is not None and not isinstance(summaries, dict):
            raise GraphError(
                f"operator {self._spec.name!r}: the summaries of output {port} are a mapping of inputs to them, such "
                f"as {{0: PathSummary(1)}}, not {summaries!r}"
            )
        if only:
            self._spec.closed.add(port)
        self._spec.outputs.append(schema)
        for input_port, summary in (summaries or {}).items():
            if input_port not in range(len(self._spec.inputs)):
                there = ", ".join(map(str, range(len(self._spec.inputs)))) or "none"
                raise GraphError(
                    f"operator {self._spec.name!r}: output {port} has a summary for input {input_port!r}, and the "
                    f"inputs declared so far are {there}: name one of them, or declare inputs first"
                )
            if summary is not None and not isinstance(summary, PathSummary):
                raise GraphError(
                    f"operator {self._spec.name!r}: the summary of output {port} for input {input_port} is a "
                    f"PathSummary, or None, not {summary!r}; say PathSummary({summary!r})"
                )
            if summary is not None and (len(summary.delays) != self._spec.depth or summary.then):
                raise GraphError(
                    f"operator {self._spec.name!r}: {summary!r} is for times of another scope; times here have "
                    f"{self._spec.depth} coordinate(s), so give PathSummary so many delays"
                )
            self._spec.summaries[input_port, port] = summary
        made: Made_co = self._scope.stream_class(self._scope, Source(self.number, port), schema)
        return made

    @contextmanager
    def _before_it(self, where: str, cure: str) -> Iterator[None]:
        """Let what is declared within the block come before this operator, which something is to be declared before
        that it needs. GraphError, with where that is so and the cure, once it has an output or is not the last one."""
        operators = self._scope.graph.operators
        if operators[-1] is not self._spec or self._spec.outputs:
            raise GraphError(
                f"operator {self._spec.name!r}: {where}, inputs and state are declared right behind the operator, "
                f"before its outputs and before other operators{cure}"
            )
        operators.pop()
        try:
            yield
        finally:
            self.number = len(operators)
            operators.append(self._spec)

    def probe(self, port: int, is_quiet: bool = False) -> Probe:
        """A handle to watch what this input, on any worker, has still to take. is_quiet: see `Scope.watch`."""
        return self._scope.watch(Target(self.number, port), is_quiet)

    def build(self, constructor: Constructor) -> None:
        """Give the operator its code: `constructor(context, *tokens)` returns `logic(*inputs, *outputs)`."""
        self._require_unbuilt("build is called")
        require_function(f"operator {self._spec.name!r}", "constructor", constructor)
        self._spec.constructor = constructor

    def _require_unbuilt(self, what: str) -> None:
        if self._spec.constructor is not None:
            raise GraphError(
                f"operator {self._spec.name!r}: {what} after it was built; declare inputs and outputs first, then "
                f"build it, once"
            )

    @property
    def can_be_compiled(self) -> bool:
        """Whether `build_compiled` would do with the ports declared so far."""
        return self._spec.depth == 1 and not self._has_text

    @property
    def can_be_compiled_in_loops(self) -> bool:
        """Whether it would with `texts` and `loops`."""
        return can_have_texts() or not self._has_text

    @property
    def can_be_compiled_with_texts(self) -> bool:
        """Whether it would with `texts`."""
        return self._spec.depth == 1 and self.can_be_compiled_in_loops

    @property
    def _has_text(self) -> bool:
        schemas = [*[port.schema for port in self._spec.inputs], *self._spec.outputs]
        return any([schema.has_text for schema in schemas])

    def build_compiled(
        self, constructor: CompiledConstructor, texts: bool = False, reads_texts: bool = True, loops: bool = False
    ) -> None:
        """Give the operator compiled code: `constructor(context)` returns a Compiled, whose logic the worker's inner
        loop calls, or what makes one at the first message (AtFirstMessage). GraphError in a loop, for one that does not
        say that it knows times of `loops`; where outputs have summaries, and where text would pass to one that does not
        say that it knows words of `texts`: compiled operators read words, and answer at the time of what came. With
        `reads_texts=False`, for one that neither looks at texts nor sends them on, those that Python's operators made
        come as nulls, which saves bringing them.
        """
        self._require_unbuilt("build_compiled is called")
        spec = self._spec
        require_function(f"operator {spec.name!r}", "constructor", constructor)
        if spec.summaries or spec.closed:
            raise GraphError(
                f"operator {spec.name!r}: a compiled operator answers at the time of what came, so its outputs have no "
                f"summaries; use build() with a Python logic, or declare them without"
            )
        if spec.depth > 1 and not loops:
            raise GraphError(
                f"operator {spec.name!r}: this is a loop, whose times have several coordinates, which a compiled "
                f"operator has to know of: say loops=True if it does, or use build() with a Python logic"
            )
        for schema in (*[port.schema for port in spec.inputs], *spec.outputs):
            if schema.has_text and not texts:
                raise GraphError(
                    f"operator {spec.name!r}: a compiled operator reads words, and {schema!r} has text; use build() "
                    f"with a Python logic"
                )
            if schema.has_text and not can_have_texts():
                raise GraphError(
                    f"operator {spec.name!r}: {schema!r} has text, for which the system refuses addresses (`ulimit "
                    f"-v`): lift that limit, or let numbers stand for texts"
                )
        spec.is_compiled, spec.reads_texts = True, reads_texts
        spec.constructor = constructor
