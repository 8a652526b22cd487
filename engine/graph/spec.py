"""What an operator is to the graph: its ports, pacts, path summaries, notify policy and constructor."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokenring.engine.columns import Schema, did_you_mean, names_of
from tokenring.engine.errors import GraphError, SchemaError
from tokenring.engine.graph.location import Notify, Source
from tokenring.engine.graph.pact import Broadcast, Exchange, Pact, Pipeline, Route
from tokenring.engine.graph.paths import Paths, plain
from tokenring.engine.graph.reachability import Link
from tokenring.engine.graph.signal import Signal
from tokenring.engine.graph.stage import Stage
from tokenring.engine.times import PathSummary, identity

Constructor = Callable[..., Callable[..., None]]
"""`constructor(context, *tokens)`, one token a output, called once a worker; returns the logic, `logic(*inputs,
*outputs)`.
"""


@dataclass
class InputSpec:
    """An input port: where its messages come from and how they are spread; `schema` is what arrives.

    `stage` is the last of the stateless operators that lie between the origin and the input, if there are any.
    """

    origin: Source
    pact: Pact
    schema: Schema
    stage: Stage | None = None


@dataclass
class OperatorSpec:
    """One operator of a graph. `summaries[(input, output)]` defaults to the identity; None says that there is no path.
    """

    name: str
    notify: Notify = Notify.ALWAYS
    inputs: list[InputSpec] = field(default_factory=list)
    outputs: list[Schema] = field(default_factory=list)
    summaries: dict[tuple[int, int], PathSummary | None] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)
    """The outputs to which there are no ways but those that `summaries` names."""
    signals: list[tuple[Source, Signal]] = field(default_factory=list)
    """The outputs whose signals it listens to."""
    constructor: Callable[..., Any] | None = None
    """A Constructor; of a compiled operator what returns its compiled logic."""
    is_compiled: bool = False
    """Whether the constructor returns a compiled logic, on every worker."""
    reads_texts: bool = True
    """Whether a compiled logic looks at texts; if not, those that Python made come to it as nulls."""
    manual: Any = None
    """The input handle that acts for an operator without logic."""
    relay: PathSummary | None = None
    """Of an edge across a scope's border or around a loop (it has one input, one output, no logic): what becomes of
    times.
    """
    depth: int = 1
    """The number of coordinates of its times."""
    input_depth: int = 1
    """The same at its inputs, which differs where a scope is entered or left."""
    about: str = ""
    """What else is said of it, on which workers must agree."""
    reads: Sequence[str] = ()
    """The files that a source is cut from, each with how it was found, on which workers must agree."""

    @property
    def paths(self) -> Paths:
        """All its summaries."""
        usual = self.relay or identity(self.depth)
        return Paths(self.summaries, self.closed, usual) if self.summaries or self.closed else plain(usual)

    def summary(self, input_index: int, output_index: int) -> PathSummary | None:
        """What happens at least to a time on the way from an input to an output; None if there is no way."""
        return self.paths.summary(input_index, output_index)

    def links(self, first_input: int, first_output: int, hub: int) -> tuple[list[Link], bool]:
        """The paths from its inputs to its outputs, locations that are numbered from `first_input` and `first_output`
        on; and whether some of them lead through the location `hub`.

        Outputs that depend on all inputs alike have one hub in common where that is fewer links: n and n, not n times
        n.
        """
        inputs, outputs = range(len(self.inputs)), range(len(self.outputs))
        named: dict[int, list[int]] = {}
        for at, output in self.summaries:
            named.setdefault(output, []).append(at)
        links: list[Link] = []
        alike = [output for output in outputs if output not in named and output not in self.closed]
        usual = self.relay or identity(self.depth)
        has_hub = len(inputs) * len(alike) > len(inputs) + len(alike)
        if has_hub:
            links += [(first_input + at, hub, usual) for at in inputs]
            links += [(hub, first_output + output, usual) for output in alike]
        else:
            links += [(first_input + at, first_output + output, usual) for output in alike for at in inputs]
        for output in outputs:
            if output in named or output in self.closed:
                for at in named.get(output, ()) if output in self.closed else inputs:
                    summary = self.summary(at, output)
                    if summary is not None:
                        links.append((first_input + at, first_output + output, summary))
        return links, has_hub


def arriving_schema(schema: Schema, pact: Pact, name: str) -> Schema:
    """The schema of what a pact delivers; SchemaError or GraphError if the pact does not fit the stream."""
    if isinstance(pact, Pipeline):
        return schema
    if not isinstance(pact, Exchange | Broadcast | Route):
        raise GraphError(
            f"operator {name!r}: a pact is Pipeline(), Exchange(key), Broadcast() or Route(to), not {pact!r}"
        )
    if isinstance(pact, Exchange) and not isinstance(pact.key, str | tuple | list):
        raise GraphError(
            f"operator {name!r}: Exchange(key) takes a column, or several, not {pact.key!r}; Route(to) takes a "
            f"function of the batch"
        )
    try:
        arriving = schema if pact.columns is None else schema.select(names_of(pact.columns))
        if isinstance(pact, Exchange) and not pact.key_crosses:
            return _without_key(arriving, schema, pact, name)
    except SchemaError as error:
        raise SchemaError(f"operator {name!r}: {error}") from None
    if isinstance(pact, Route):
        _require_numbers(schema, pact, name)
    if isinstance(pact, Exchange):
        if not pact.keys:
            raise SchemaError(f"operator {name!r}: an exchange needs at least one column as its key")
        for key in pact.keys:
            if key not in arriving.positions:
                raise SchemaError(
                    f"operator {name!r}: exchange key {key!r} is not among the columns {', '.join(arriving.names)}"
                    f"{did_you_mean(key, arriving.names)}"
                )
    return arriving


def _without_key(arriving: Schema, schema: Schema, pact: Exchange, name: str) -> Schema:
    """What arrives where the key is left behind; GraphError for a key that would have to be hashed."""
    kinds = [schema.kind(key) for key in pact.keys]
    if len(kinds) != 1 or kinds[0].is_text or kinds[0].is_float:
        raise GraphError(
            f"operator {name!r}: the key of an exchange that leaves it behind is one column of integers, booleans or "
            f"timestamps, not {pact.key!r}"
        )
    return arriving.select(tuple([column for column in arriving.names if column != pact.keys[0]]))


def _require_numbers(schema: Schema, pact: Route, name: str) -> None:
    """SchemaError, or GraphError, for a route by what cannot say a worker's number."""
    if not isinstance(pact.to, str):
        if not callable(pact.to):
            raise GraphError(f"operator {name!r}: Route(to) takes a column or a function of the batch, not {pact.to!r}")
    elif pact.to not in schema.positions:
        raise SchemaError(f"operator {name!r}: {schema.missing(pact.to, 'to route by')}")
    elif str(schema.kind(pact.to)) not in ("int64", "uint64"):
        raise SchemaError(
            f"operator {name!r}: workers are numbered by int64 or uint64; {pact.to!r} is {schema.kind(pact.to)}"
        )
