"""Places in a running dataflow, as people name them: a probe, a stream, an input handle, an operator, one of its ports.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tokenring.engine.data import InputPort, OutputPort
from tokenring.engine.errors import GraphError
from tokenring.engine.graph import Source
from tokenring.engine.running import InputHandle, Probe

if TYPE_CHECKING:
    from tokenring.engine.running import RunningDataflow, RunningOperator

_NAMES_SHOWN = 50


class DeclaredOutput(Protocol):
    """What a stream is to a place: the output it begins at, and the scope it was declared in."""

    @property
    def source(self) -> Source:
        """The output."""

    @property
    def scope(self) -> Any:
        """The scope."""


Named = Probe | DeclaredOutput | InputHandle | str | tuple[str, str, int]
"""A probe, a stream (the output it begins at), an input handle, an operator's name, or DATAFLOW/NAME (its input, or its
output if it has none), or (operator's name, "input" or "output", number).
"""


class Place(NamedTuple):
    """A location of a running dataflow."""

    dataflow: "RunningDataflow"
    location: int
    depth: int
    name: str


def port_name(port: InputPort | OutputPort) -> str:
    """`input 0` or `output 0`."""
    return f"{'input' if isinstance(port, InputPort) else 'output'} {port.index}"


def of_port(dataflow: "RunningDataflow", port: InputPort | OutputPort) -> Place:
    """The place of a port."""
    return Place(dataflow, port.location, port.depth, f"operator {port.operator.name!r} {port_name(port)}")


def of_probe(dataflow: "RunningDataflow", probe: Probe) -> Place:
    """The place of a probe, named after the port that it watches."""
    return next(place for place in of_probes(dataflow) if place.location == probe.location)


def of_probes(dataflow: "RunningDataflow") -> Iterator[Place]:
    """The places of a dataflow's probes. Those of equal names are told apart by where they were declared, and those of
    one line by their number."""
    ports = [_watched(dataflow, probe) for probe in dataflow.probes]
    names = Counter([port.name for port in ports])
    lines = Counter([(port.name, probe.declared_at) for port, probe in zip(ports, dataflow.probes, strict=True)])
    before: Counter[tuple[str, str]] = Counter()
    for port, probe in zip(ports, dataflow.probes, strict=True):
        name, line = f"the probe of {port.name}", (port.name, probe.declared_at)
        before[line] += 1
        if names[port.name] > 1:
            name += f", declared at {probe.declared_at}"
        if lines[line] > 1:
            name += f", number {before[line]} of {lines[line]}"
        yield Place(dataflow, probe.location, port.depth, name)


def _watched(dataflow: "RunningDataflow", probe: Probe) -> Place:
    operator = dataflow.operators[probe.watched.operator]
    ports = operator.outputs if isinstance(probe.watched, Source) else operator.inputs
    return of_port(dataflow, ports[probe.watched.port])


def find(dataflows: Sequence["RunningDataflow"], named: Named) -> Place | None:
    """The place of that name in one of these dataflows; None if it belonged to one that is finished. Raises GraphError
    if there is none, or several.
    """
    running = [dataflow for dataflow in dataflows if not dataflow.done]
    if dataflows and not running:
        return None
    if isinstance(named, str | tuple):
        return _by_name(running, named)
    if isinstance(named, Probe):
        built, finished = named.location >= 0, named.finished
        place = next((of_probe(found, named) for found in running if named in found.probes), None)
    elif isinstance(named, InputHandle):
        port = named.port
        built, finished = port is not None, port is not None and not port.operator.outputs
        place = next((of_port(found, port) for found in running if port and port.operator in found.operators), None)
    else:
        if not isinstance(getattr(named, "source", None), Source):
            raise GraphError(
                f"{named!r} is no place; give a probe, a stream, an input handle, an operator's name, or (name, "
                f'"input" or "output", number)'
            )
        own = named.scope.running.instance
        built, finished = True, own.done
        place = None
        if own in running:
            place = of_port(own, own.operators[named.source.operator].outputs[named.source.port])
    if not built:
        raise GraphError(f"{in_words(named)} is not built yet; ask after the `with worker.dataflow()` block")
    if place is None and not finished:
        raise GraphError(f"{in_words(named)} belongs to another dataflow or worker than the one that was asked")
    return place


def in_words(named: Named) -> str:
    """What was given, where it is no place of a running dataflow."""
    if isinstance(named, Probe):
        return "a probe"
    return named.describe() if isinstance(named, InputHandle) else repr(named)


def is_called(dataflow: "RunningDataflow", operator: "RunningOperator", name: str) -> bool:
    """Whether an operator has that name, or DATAFLOW/NAME is that."""
    return name in (operator.name, f"{dataflow.name}/{operator.name}")


def operator_called(
    dataflows: Iterable["RunningDataflow"], name: str
) -> tuple["RunningDataflow", "RunningOperator"]:
    """The one operator of that name, or DATAFLOW/NAME, and its dataflow. GraphError if there is none, or several."""
    everywhere = [(dataflow, operator) for dataflow in dataflows for operator in dataflow.operators]
    found = [pair for pair in everywhere if is_called(*pair, name)]
    if not found:
        names = list(dict.fromkeys(operator.name for _, operator in everywhere))
        raise GraphError(f"no operator {name!r} is running; there are: {', '.join(names[:_NAMES_SHOWN]) or 'none'}")
    if len(found) > 1:
        whole = dict.fromkeys([f"{dataflow.name}/{operator.name}" for dataflow, operator in found])
        which = f"say {' or '.join(whole)}" if len(whole) == len(found) else f"all of them are {' or '.join(whole)}"
        raise GraphError(
            f"{len(found)} running operators are called {name!r}: {which}; or give a stream or a probe of it, or let "
            f"each have a name of its own (name=)"
        )
    return found[0]


def _by_name(dataflows: Iterable["RunningDataflow"], named: str | tuple[str, str, int]) -> Place:
    name, side, number = (named, "", 0) if isinstance(named, str) else named
    dataflow, operator = operator_called(dataflows, name)
    return of_port(dataflow, _port(operator, side, number))


def _port(operator: "RunningOperator", side: str, number: int) -> InputPort | OutputPort:
    ports: Sequence[InputPort | OutputPort] = operator.inputs if side == "input" else operator.outputs
    if not side:
        ports = operator.inputs or operator.outputs
    if side not in ("", "input", "output") or not 0 <= number < len(ports) or (not side and len(ports) > 1):
        raise GraphError(
            f"operator {operator.name!r} has {len(operator.inputs)} input(s) and {len(operator.outputs)} output(s); "
            f'name one as ("{operator.name}", "input" or "output", number), or --port input:1'
        )
    return ports[number]
