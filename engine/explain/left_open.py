"""What a stop leaves open: sources are kept where they are, so that no time finishes which is not; once nothing is
under way any more, what each operator still has is told, and dropped.

A finish is the other end in order: sources close, and whatever waits for their end takes it for the end of all. At a
stop nobody is to take it for that. So

- operators without inputs run no more, unless they follow others of this worker; those that close themselves when they
  are asked to (`context.stopping`) do, and a hold keeps the time that they were at; a manual input that its program
  closes is kept at its time too;
- frontiers come to where sources' times let them, and what finishes by that is sent and taken, as always;
- then no operator runs any more on any worker, and all is let go of, as of a dataflow that is cancelled
  (engine/explain/cancel.py), but for those that are to end with what they were given (WhenStopped.ENDS).

`left_open` is the one place that knows what is open then, operator by operator.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tokenring.engine.explain.cancel import halt
from tokenring.engine.explain.hold import HeldToken
from tokenring.engine.explain.inspection import Inspection
from tokenring.engine.explain.why import compiled_tokens, live_tokens, tokens_of
from tokenring.engine.running import RunningDataflow, RunningOperator, WhenStopped
from tokenring.engine.times import Antichain, AnyTime, coordinates, from_coordinates, time_from_plain
from tokenring.engine.tokens import GRANTED

_SHOWN = 5  # operators that are put into words


@dataclass(frozen=True)
class OpenOperator:
    """What an operator had at a stop, over all workers, that nothing came of."""

    operator: str
    since: Any
    """The least time at which it could still have sent something; None: it holds back no time."""
    tokens: int
    """How many it held: one, often, whatever number of windows is open."""
    messages: int
    """That waited at its inputs."""
    rows: Mapping[str, int]
    """Rows that wait for others, by what the operator calls them: a join's left and right ones."""


@dataclass(frozen=True)
class StoppedDataflow:
    """A dataflow at a stop."""

    dataflow: str
    whole_before: AnyTime | None
    """All that comes of earlier times has come where the dataflow ends, and is whole (of several coordinates: of those
    that are less in one); None: all is."""
    open: tuple[OpenOperator, ...]
    """What was dropped."""


@dataclass(frozen=True)
class Stopped:
    """What a stop left open, and so dropped: `execute(...).stopped`."""

    dataflows: tuple[StoppedDataflow, ...]

    def __str__(self) -> str:
        return "; ".join(map(_in_words, self.dataflows)) or "nothing was open"


def _in_words(stopped: StoppedDataflow) -> str:
    if stopped.whole_before is None:
        return f"{stopped.dataflow!r} is whole"
    told = f"{stopped.dataflow!r} is whole before time {stopped.whole_before}"
    if not stopped.open:
        return f"{told}, and nothing was open"
    names = [_operator_in_words(one) for one in stopped.open[:_SHOWN]]
    more = f" and {len(stopped.open) - _SHOWN} more" if len(stopped.open) > _SHOWN else ""
    many = f"{len(stopped.open)} operators" if len(stopped.open) > 1 else "one operator"
    return f"{told}; dropped is what {many} held: {', '.join(names)}{more}"


def _operator_in_words(one: OpenOperator) -> str:
    said = [f"from time {one.since} on"] if one.since is not None else []
    said += [f"{count} {name} rows" for name, count in one.rows.items() if count]
    said += [f"{one.messages} messages"] if one.messages else []
    return f"{one.operator!r} ({', '.join(said)})"


def keep_times(inspection: Inspection, dataflow: RunningDataflow, closing: Collection[RunningOperator]) -> list[Any]:
    """Let no source of a dataflow go on, nor any time finish because one ends; what has to live until it is let go of.
    closing: those that close themselves."""
    kept = list[Any]()
    sources = [operator for operator in dataflow.operators if operator.halts]
    ports = {port.location: port for operator in sources if operator in closing for port in operator.outputs}
    for token, location, time in tokens_of(dataflow, live_tokens()):
        port = ports.get(location)
        if port is not None and not isinstance(token, HeldToken):
            kept.append(HeldToken(port, time, 1, GRANTED))
            port.held += 1
            inspection.log.add(location, time, 1)
    kept += [halt(operator, inspection.runtime) for operator in sources if operator not in closing]
    for handle in dataflow.inputs:
        handle.keep = kept.append
    return kept


def ending_with(inspection: Inspection, dataflow: RunningDataflow) -> list[RunningOperator]:
    """The operators that end with what they were given, and those between them."""
    ends = [operator for operator in dataflow.operators if operator.when_stopped is WhenStopped.ENDS]
    sent = {port.location for operator in ends for port in operator.outputs}
    taken = [port.location for operator in ends for port in operator.inputs]
    leading = {location for place in taken for location in inspection.tracker.paths.to(place)}
    return [
        operator
        for operator in dataflow.operators
        if operator in ends
        or (
            any(port.location in leading for port in operator.outputs)
            and any(not sent.isdisjoint(inspection.tracker.paths.to(port.location)) for port in operator.inputs)
        )
    ]


def left_open(
    inspection: Inspection, dataflow: RunningDataflow, ending: Collection[RunningOperator]
) -> StoppedDataflow:
    """What this worker's operators have at a stop, and up to where the dataflow has come. ending: those that end with
    what they were given."""
    held: dict[str, list[Any]] = {}
    ports = {port.location: operator for operator in dataflow.operators for port in operator.outputs}
    own = [token for token in live_tokens() if not isinstance(token, HeldToken)]  # a hold is somebody else's
    tokens = [(ports[location], time) for _, location, time in tokens_of(dataflow, own)]
    tokens += [(operator, time) for operator, _, time in compiled_tokens(inspection.world, dataflow)]
    for operator, time in tokens:
        held.setdefault(operator.name, []).append(time)
    found = []
    for operator in dataflow.operators:
        if not operator.inputs or operator.halts or operator.is_relay or operator in ending:
            continue
        times = held.get(operator.name, [])
        messages = sum(len(port.inbox.queue) for port in operator.inputs)
        since = min(times, key=coordinates, default=None)
        one = OpenOperator(operator.name, since, len(times), messages, _rows_of(operator))
        if times or messages or any(one.rows.values()):
            found.append(one)
    return StoppedDataflow(dataflow.name, _whole_before(inspection, dataflow, ending), tuple(found))


def _rows_of(operator: RunningOperator) -> dict[str, int]:
    """What an operator shows of its state, where that is numbers of rows."""
    seen = operator.view() if operator.view is not None else None
    if not isinstance(seen, dict) or not all(isinstance(count, int) for count in seen.values()):
        return {}
    return {str(name): count for name, count in seen.items()}


def _whole_before(
    inspection: Inspection, dataflow: RunningDataflow, ending: Collection[RunningOperator]
) -> AnyTime | None:
    """The least frontier of where the dataflow ends: its sinks and probes, but none that waits for a sink's end."""
    paths, tracker = inspection.tracker.paths, inspection.tracker
    depths = [port.depth for operator in dataflow.operators for port in operator.outputs]
    depth = min(depths + [port.depth for operator in dataflow.operators for port in operator.inputs])  # the root's
    after = {port.location for operator in ending for port in operator.outputs}
    sinks = [operator for operator in dataflow.operators if not operator.outputs or operator in ending]
    ends = {port.location for operator in sinks for port in operator.inputs if port.depth == depth}
    ends |= {probe.location for probe in dataflow.probes if not isinstance(probe.frontier, Antichain)}
    if not ends:
        ends = {port.location for operator in dataflow.operators for port in operator.inputs if port.depth == depth}
    return _least([time for end in ends if after.isdisjoint(paths.to(end)) for time in tracker.frontier_elements(end)])


def _least(times: Iterable[AnyTime]) -> AnyTime | None:
    """The greatest time that none of these is before, in any coordinate; None of none."""
    each = [*zip(*map(coordinates, times), strict=True)]
    return from_coordinates(tuple(map(min, each))) if each else None


def together(told: Iterable[Iterable[StoppedDataflow]]) -> Stopped:
    """What workers say, as one."""
    dataflows: dict[str, list[StoppedDataflow]] = {}
    for one in told:
        for stopped in one:
            dataflows.setdefault(stopped.dataflow, []).append(stopped)
    return Stopped(tuple(map(_dataflow_together, dataflows.values())))


def _dataflow_together(told: list[StoppedDataflow]) -> StoppedDataflow:
    least = _least([one.whole_before for one in told if one.whole_before is not None])
    operators: dict[str, list[OpenOperator]] = {}
    for stopped in told:
        for one in stopped.open:
            operators.setdefault(one.operator, []).append(one)
    return StoppedDataflow(told[0].dataflow, least, tuple(map(_operator_together, operators.values())))


def _operator_together(told: list[OpenOperator]) -> OpenOperator:
    times = [one.since for one in told if one.since is not None]
    rows: dict[str, int] = {}
    for one in told:
        for name, count in one.rows.items():
            rows[name] = rows.get(name, 0) + count
    return OpenOperator(
        told[0].operator,
        min(times, key=coordinates, default=None),
        sum(one.tokens for one in told),
        sum(one.messages for one in told),
        rows,
    )


def as_plain(told: Iterable[StoppedDataflow]) -> list[Any]:
    """As plain values, which cross a pipe."""
    return [[one.dataflow, one.whole_before, [list(vars(operator).values()) for operator in one.open]] for one in told]


def from_plain(told: Iterable[Any]) -> list[StoppedDataflow]:
    """Back from plain values."""
    return [
        StoppedDataflow(
            dataflow, time_from_plain(before),
            tuple(OpenOperator(name, time_from_plain(at), *one) for name, at, *one in open_),
        )
        for dataflow, before, open_ in told
    ]
