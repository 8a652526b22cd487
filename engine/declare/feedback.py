"""Edges that change times: into a loop, out of it, and around."""

from typing import TYPE_CHECKING, Any, Generic

from tokenring.engine.columns import Schema
from tokenring.engine.declare.stream import Made_co, Stream
from tokenring.engine.errors import GraphError, SchemaError, UsageError
from tokenring.engine.graph import Notify, OperatorSpec, Pipeline, Source
from tokenring.engine.times import PathSummary, feedback_summary

if TYPE_CHECKING:
    from tokenring.engine.declare.scope import Scope


def relay(
    scope: "Scope", schema: Schema, name: str, summary: PathSummary, input_depth: int
) -> tuple[int, Any]:
    """An edge that changes times, into `scope`: the number of its operator, and its stream."""
    number = len(scope.graph.operators)
    scope.graph.operators.append(
        OperatorSpec(
            scope.graph.region + name,
            Notify.NEVER,
            outputs=[schema],
            relay=summary,
            depth=scope.depth,
            input_depth=input_depth,
        )
    )
    return number, scope.stream_class(scope, Source(number, 0), schema)

class Feedback(Generic[Made_co]):
    """The way around a loop: `stream` is where rows come back, `connect` where they go in."""

    def __init__(self, scope: "Scope", schema: Schema, increment: int | tuple[int, ...], name: str) -> None:
        self._scope = scope
        if isinstance(increment, tuple | list) and len(increment) != scope.depth:
            raise GraphError(
                f"{name}: increment={increment!r}: times in {scope.describe()} have {scope.depth} coordinate(s): give "
                f"so many, or one for the innermost"
            )
        try:
            if isinstance(increment, tuple | list):
                summary = PathSummary(*increment)
            else:
                summary = feedback_summary(scope.depth, increment)
        except UsageError as error:
            raise GraphError(f"{name}: increment={increment!r}: {error}") from None
        self.stream: Made_co
        self._number, self.stream = relay(scope, schema, name, summary, scope.depth)

    def connect(self, stream: Stream) -> None:
        """Lead `stream` around. Once; a second call, another scope's stream or other columns raise GraphError or
        SchemaError.
        """
        scope = self._scope
        scope.require_open()
        spec = scope.graph.operators[self._number]
        scope.require_own(stream, spec.name)
        if spec.inputs:
            raise GraphError(f"{spec.name}: connect was called before; concatenate what goes around into one stream")
        if stream.schema != self.stream.schema:
            raise SchemaError(f"{spec.name} carries {self.stream.schema!r}, not {stream.schema!r}")
        spec.inputs.append(stream.read(Pipeline(), stream.schema))
