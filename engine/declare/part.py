"""Parts of a dataflow: the operators that were declared within a block, what comes into them, what is under way there.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from tokenring.engine.columns import Schema
from tokenring.engine.errors import GraphError
from tokenring.engine.graph import BatchFunction, Graph, OperatorSpec, Source, Stage, Target
from tokenring.engine.running import UnderWay

if TYPE_CHECKING:
    from tokenring.engine.declare.scope import Scope


class Part:
    """The operators of a graph that were declared since it was made, up to `close`."""

    def __init__(self, scope: "Scope") -> None:
        self._scope = scope
        self._graph: Graph = scope.graph
        self._first = self._last = len(scope.graph.operators)

    def close(self) -> None:
        """What is declared from now on is no part of it."""
        self._last = len(self._graph.operators)

    @property
    def _operators(self) -> list[tuple[int, OperatorSpec]]:
        return list(enumerate(self._graph.operators[self._first : self._last], self._first))

    def require_fed_by(self, sources: Collection[Source], who: str) -> None:
        """Raise GraphError, on behalf of `who`, unless all that comes into the part comes from these outputs."""
        for number, spec in self._operators:
            made = {Source(number, port) for port in range(len(spec.outputs))}
            if not spec.inputs and spec.relay is None and not made.issubset(sources):
                raise GraphError(
                    f"{who}: {spec.name!r} is a source or an input within it; declare it before, and give its stream"
                )
            for port in spec.inputs:
                if not self._first <= port.origin.operator < self._last and port.origin not in sources:
                    name = self._graph.describe(port.origin)
                    raise GraphError(
                        f"{who}: operator {self._graph.operators[number].name!r} reads {name}, which is declared "
                        f"outside of it; give that stream too"
                    )

    def inputs(self) -> list[Target]:
        """Its operators' inputs, but for the borders of loops, where no message waits."""
        return [
            Target(number, port)
            for number, spec in self._operators
            if spec.relay is None
            for port in range(len(spec.inputs))
        ]

    def put_before_inputs(self, name: str, make: Callable[[Schema], BatchFunction | Any]) -> None:
        """Let a stateless function `make(schema)`, which returns batches of that schema, ride on what comes to each of
        its operators' inputs, last of all before it is spread."""
        graph = self._graph
        for target in self.inputs():
            spec = graph.operators[target.operator].inputs[target.port]
            origin = graph.operators[spec.origin.operator].outputs[spec.origin.port]
            schema = origin if spec.stage is None else spec.stage.schema
            if spec.stage is not None:
                spec.stage.followers -= 1
            stage = Stage(len(graph.stages), graph.region, name, schema, make(schema), spec.origin, spec.stage, schema)
            stage.followers = 1
            graph.stages.append(stage)
            spec.stage = stage

    def under_way(self) -> UnderWay:
        """What is under way within it, on all workers."""
        inputs = self.inputs()
        return self._scope.watch_messages(lambda graph: inputs)
