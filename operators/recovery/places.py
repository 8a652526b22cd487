"""Where in a dataflow something stands: what its rows come of, in words that are the same wherever it is declared so.

Numbers of operators are not: any other operator that is declared before changes them. So what lies before a place is
told from there backwards, each operator once, in the order in which it is found. Functions of Python's are told by
where they stand alone.
"""

import hashlib
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from tokenring.engine import Pact
from tokenring.engine.graph import Graph, OperatorSpec, Source, Stage
from tokenring.operators.migrate import METER, without_addresses


class Edge(NamedTuple):
    """What an input reads: an output, seen through stateless operators if `stage` is one; `how` in words."""

    origin: Source
    stage: Stage | None
    how: str = ""


def edges_of(spec: OperatorSpec, pacts: Mapping[int, Pact]) -> list[Edge]:
    """What the inputs of an operator read. pacts: see `place_of`."""
    return [Edge(each.origin, each.stage, repr(pacts.get(id(each), each.pact))) for each in spec.inputs]


def place_of(
    graph: Graph,
    edges: Iterable[Edge],
    about: str = "",
    says: Mapping[int, str] = {},
    patches: Set[int] = frozenset(),
    ends: Mapping[Source, str] = {},
    pacts: Mapping[int, Pact] = {},
) -> str:
    """A digest of all that lies before some edges, and of what is said about the place itself. says: of operators, by
    number, what is told in place of their names and columns. patches: those that are there only where a run goes on,
    behind their first input. ends: outputs that are told by a name, and nothing of what lies before them. pacts: of
    inputs, by id, what the program said where something else is in force."""
    numbers: dict[int, int] = {}
    found: list[int] = []

    def told(edge: Edge) -> str:
        origin, stage, how = edge
        passed = []
        while True:
            for each in () if stage is None else stage.back():
                if each.name == METER:  # it counts what passes
                    continue
                function = repr(each.function) if hasattr(each.function, "fused") else ""
                passed.append(f"{each.name} {function} {each.schema!r}")
            if origin in ends:
                return f"{passed} of {ends[origin]}, {how}"
            if origin.operator not in patches:
                break
            before = graph.operators[origin.operator].inputs[0]
            origin, stage = before.origin, before.stage
        if origin.operator not in numbers:
            numbers[origin.operator] = len(found)
            found.append(origin.operator)
        return f"{passed} of {numbers[origin.operator]}.{origin.port}, {how}"

    lines = [about, *map(told, edges)]
    for number in found:  # which grows meanwhile
        spec = graph.operators[number]
        lines.append(says.get(number) or f"{spec.name} {spec.outputs!r}")
        lines += map(told, edges_of(spec, pacts))
    text = without_addresses("\n".join(lines)).encode()
    return hashlib.blake2b(text, digest_size=8).hexdigest()
