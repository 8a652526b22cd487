"""What becomes of an output, as far as the graph says: which columns anybody looks at, and whether its rows stay."""

from collections.abc import Collection, Iterable
from typing import Any

from tokenring.engine.graph.graph import Graph
from tokenring.engine.graph.location import Source
from tokenring.engine.graph.pact import Broadcast, Exchange, Route
from tokenring.engine.graph.spec import InputSpec
from tokenring.engine.graph.stage import Stage


def columns_read(graph: Graph, origins: Collection[Source]) -> set[str] | None:
    """The columns that are looked at of outputs of one schema, once all is declared; None if that may be all of them.
    """
    read: set[str] = set()
    for spec in graph.operators:
        for port in spec.inputs:
            if port.origin in origins:
                columns = _read_by(port)
                if columns is None:
                    return None
                read |= columns
    return read


def functions_behind(graph: Graph, origins: Collection[Source]) -> list[list[Any]]:
    """For each input that reads these outputs, the functions of the stages before it, in order."""
    ports = [port for spec in graph.operators for port in spec.inputs if port.origin in origins]
    return [[stage.function for stage in _stages_before(port)][::-1] for port in ports]


def _stages_before(port: InputSpec) -> Iterable[Stage]:
    return () if port.stage is None else port.stage.back()


def rows_cross(graph: Graph, origins: Collection[Source]) -> bool:
    """Whether rows of these outputs go to other workers, if there are any, as many as there are."""
    pacts = [port.pact for spec in graph.operators for port in spec.inputs if port.origin in origins]
    return any(isinstance(pact, Exchange | Broadcast | Route) for pact in pacts)


def _read_by(port: InputSpec) -> set[str] | None:
    """What an input, and the stages before it, look at."""
    pact = port.pact
    columns: set[str] | None = None
    if isinstance(pact, Exchange | Broadcast) and pact.columns is not None:
        columns = {*pact.columns, *(pact.keys if isinstance(pact, Exchange) else ())}
    for stage in _stages_before(port):
        if stage.rejects is not None:  # who takes the rows that it fails at shows them whole
            return None
        wanted = set(stage.schema.names) if columns is None else columns
        function: Any = stage.function
        columns = function.reads(wanted) if hasattr(function, "fused") else None
    return columns
