"""What somebody outside may ask of a running worker: why time stands still, a breakpoint, a look at the state."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tokenring.engine.data import OutputPort, Runtime
from tokenring.engine.errors import DataflowFailedError, GraphError, TimeRegressionError, TokenError
from tokenring.engine.explain.explanation import Explanation
from tokenring.engine.explain.hold import HeldToken, Hold
from tokenring.engine.explain.place import Named, Place, find, in_words, of_port, operator_called
from tokenring.engine.explain.why import compiled_tokens, explain, live_tokens, tokens_of
from tokenring.engine.running import Dataflows, Phase, RunningDataflow
from tokenring.engine.times import COMPLETE, as_time, less_equal, representable
from tokenring.engine.tokens import GRANTED

if TYPE_CHECKING:
    from tokenring.engine.running import RunningOperator


class Inspection:
    """The part of a worker that answers questions about all its dataflows; `Dataflow` answers about one."""

    def __init__(self, runtime: Runtime, dataflows: Dataflows, flush: Callable[[], None]) -> None:
        self.runtime = runtime
        self.index = runtime.index
        self.tracker = runtime.tracker
        self.log = runtime.log
        self.plane = runtime.plane
        self.world = runtime.world
        self.dataflows = dataflows
        self.flush = flush
        """Publishes logged changes."""

    @property
    def peers(self) -> int:
        """How many workers the group has."""
        return self.runtime.peers

    @property
    def operators(self) -> list["RunningOperator"]:
        """All operators of dataflows that are not finished, in topological order."""
        return list(self.dataflows.operators.values())

    def why(self, place: Named, time: Any = None) -> Explanation:
        """What keeps `time` from passing at the place, or, without a time, holds its frontier where it is: see
        `Dataflow.why`. Operators' names are looked for in all dataflows.
        """
        return why(self, self.dataflows.running, place, time)

    def hold(self, place: Named, time: Any) -> Hold:
        """Keep the frontier of the place from passing `time`: see `Dataflow.hold`."""
        return take_hold(self, self.dataflows.running, place, time)

    def inspect(self, operator: str) -> Any:
        """What an operator shows of its state on this worker: see `Dataflow.inspect`."""
        return inspect(self.dataflows.running, operator)

    def describe_frontiers(self) -> str:
        """A line for each operator: the tokens it holds, and the frontiers of its inputs."""
        lines = []
        for operator in self.operators:
            ports = [
                f"input {port.index} {'done' if port.frontier == COMPLETE else port.frontier}"
                for port in operator.inputs
            ]
            lines.append(f"{operator.name}: holds {operator.held} token(s); {', '.join(ports) or 'no inputs'}")
        return "\n".join(lines)


def why(worker: Inspection, dataflows: Sequence[RunningDataflow], named: Named, time: Any) -> Explanation:
    """See `Dataflow.why`."""
    place = _find(worker, dataflows, named)
    if place is None:
        return Explanation("", in_words(named), -1, time, (), (), 0, (worker.index,), worker.peers)
    return explain(worker, place, None if time is None else _time_at(place, time))


def take_hold(worker: Inspection, dataflows: Sequence[RunningDataflow], named: Named, time: Any) -> Hold:
    """See `Dataflow.hold`, through which it is to be called: the hold is said to be taken where that was called."""
    place = _find(worker, dataflows, named)
    if place is None:
        raise TimeRegressionError(
            f"cannot hold {in_words(named)} at {time} on worker {worker.index}: its dataflow is finished"
        )
    time = _time_at(place, time)
    port = _source_of(worker, place)
    paths = worker.tracker.paths.to(port.location)
    if not any(
        (result := summary.results_in(at)) is not None and less_equal(result, time)
        for _, origin, at in (
            *tokens_of(place.dataflow, live_tokens()),
            *compiled_tokens(worker.world, place.dataflow),
        )
        for summary in paths.get(origin, ())
    ):
        _refuse_hold(worker, of_port(place.dataflow, port), time)
    token = HeldToken(port, time, 3, GRANTED)
    port.held += 1
    worker.log.add(port.location, time, 1)
    worker.flush()
    return Hold(token, place.name, worker.flush)


def _find(worker: Inspection, dataflows: Sequence[RunningDataflow], named: Named) -> Place | None:
    """See `find`; DataflowFailedError for an operator of an installed dataflow that has failed."""
    try:
        return find([dataflow for dataflow in dataflows if dataflow.phase is Phase.RUNS], named)
    except GraphError:
        name = named[0] if isinstance(named, tuple) else named
        for failure in worker.dataflows.failed.values():
            if name in failure.operators:
                raise DataflowFailedError(failure.text) from None
        raise


def _source_of(worker: Inspection, place: Place) -> OutputPort:
    """The output where a token holds the place: itself, or the one that feeds it."""
    outputs = {port.location: port for operator in place.dataflow.operators for port in operator.outputs}
    location = place.location
    while location not in outputs:  # a probe watches one port, and an input is fed by one output
        location = worker.tracker.paths.feeding(location)
    return outputs[location]


def _refuse_hold(worker: Inspection, place: Place, time: Any) -> None:
    explanation = explain(worker, place, time)
    who = f"cannot hold {place.name} at {time} on worker {worker.index}"
    if explanation.passed:
        frontier = ", ".join(map(str, explanation.frontier)) or "complete"
        raise TimeRegressionError(f"{who}: the time has passed, the frontier there is {frontier}; hold a later time")
    raise TokenError(
        f"{who}: this worker has no token that leads there by then, to derive the right from; take the hold on a "
        f"worker that has one, or earlier, and advance_to this time"
    )


def _time_at(place: Place, time: Any) -> Any:
    try:
        time = as_time(time, place.depth)
    except TypeError as error:
        raise TokenError(f"{place.name}: {error}") from None
    if not representable(time):
        raise TimeRegressionError(f"{place.name}: {time} is no time")
    return time


def inspect(dataflows: Sequence[RunningDataflow], name: str) -> Any:
    """See `Dataflow.inspect`."""
    _, operator = operator_called([dataflow for dataflow in dataflows if not dataflow.done], name)
    if operator.view is None:
        raise GraphError(f"operator {name!r} shows no state; its constructor may call context.inspectable(function)")
    return operator.view()
