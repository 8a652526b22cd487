"""Why a frontier stands where it stands, found on one worker when somebody asks; nothing is kept for it before.

Only reads, so that it may come between any two lines of the engine: a signal's handler asks too.
"""

import gc
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tokenring.engine.data import InputPort, OutputPort, RemoteChannel, messages_of
from tokenring.engine.explain.explanation import (
    HOLD,
    IN_HAND,
    INPUT,
    POSTPONED,
    TOKEN,
    WAITING,
    ActivePointstamp,
    Explanation,
    Holder,
    order,
)
from tokenring.engine.explain.hold import HeldToken
from tokenring.engine.explain.place import Place, port_name
from tokenring.engine.native import BORDER, STAGE, World, postponed_at
from tokenring.engine.times import Antichain, AnyTime, coordinates, less_equal
from tokenring.engine.tokens import Token

if TYPE_CHECKING:
    from tokenring.engine.explain.inspection import Inspection
    from tokenring.engine.running import RunningDataflow, RunningOperator

_LISTED = 100  # counts that one explanation lists
_KINDS = (Token, HeldToken)  # by type, since asking isinstance of any object at all could run its code


def explain(
    worker: "Inspection", place: Place, time: Any = None, tokens: Sequence[Token] | None = None
) -> Explanation:
    """What could still result in `time` at the place (None: in its frontier), by the counts as this worker knows them;
    its own tokens (of `live_tokens()`, if those are known already) and messages by name.
    """
    frontier: Antichain[Any] = Antichain((), less_equal)
    counted = []
    for origin, summaries in worker.tracker.paths.to(place.location).items():
        for at, count in worker.tracker.entries.at(origin):
            results = [result for summary in summaries if (result := summary.results_in(at)) is not None]
            if count > 0 and results:
                counted.append((origin, at, count, results))
                for result in results:
                    frontier.insert(result)
    minimal = list(frontier)
    ports: dict[int, InputPort | OutputPort] = {}
    for operator in place.dataflow.operators:
        ports |= {port.location: port for port in operator.inputs} | {port.location: port for port in operator.outputs}
    mine = _own(worker, place.dataflow, live_tokens() if tokens is None else tokens)
    found = []
    for origin, at, count, results in counted:
        to_blame = [result for result in results if (result in minimal if time is None else less_equal(result, time))]
        if to_blame:
            port, holders = ports[origin], tuple(mine.get((origin, at), ()))
            found.append(
                ActivePointstamp(origin, port.operator.name, port_name(port), at, count, tuple(to_blame), holders)
            )
    found.sort(key=order)
    return Explanation(
        dataflow=place.dataflow.name,
        place=place.name,
        location=place.location,
        time=time,
        frontier=tuple(sorted(minimal, key=coordinates)),
        pointstamps=tuple(found[:_LISTED]),
        more=max(0, len(found) - _LISTED),
        workers=(worker.index,),
        peers=worker.peers,
        notes=_notes(worker, place.dataflow),
    )


def _notes(worker: "Inspection", dataflow: "RunningDataflow") -> tuple[str, ...]:
    """What makes the counts older than the holders."""
    running = [operator.name for operator in dataflow.operators if operator.is_running]
    if running:
        return (f"worker {worker.index} is inside operator {running[0]!r}: what the call does is not counted yet",)
    if worker.log.offset:
        return (f"worker {worker.index} has changes that are not published yet",)
    return ()


def _own(
    worker: "Inspection", dataflow: "RunningDataflow", tokens: Sequence[Token]
) -> dict[tuple[int, Any], list[Holder]]:
    """This worker's tokens and messages of a dataflow, by location and time."""
    alike: Counter[tuple[int, Any, str, str, str]] = Counter()  # location, time, kind, origin, target
    rows: Counter[tuple[int, Any, str, str, str]] = Counter()
    for token, location, time in tokens_of(dataflow, tokens):
        manual = any(token is handle.token for handle in dataflow.inputs)
        kind = HOLD if isinstance(token, HeldToken) else INPUT if manual else TOKEN
        alike[location, time, kind, token.origin, ""] += 1
    for operator, location, time in compiled_tokens(worker.world, dataflow):
        alike[location, time, TOKEN, operator.declared_at, ""] += 1
    for operator in dataflow.operators:
        for port in operator.inputs:
            if port.current is not None:
                alike[port.location, port.current.time, IN_HAND, "", ""] += 1
            for stamp, batch, _ in port.inbox.queue:
                for time, of_time in messages_of(stamp, batch):
                    alike[port.location, time, WAITING, "", ""] += 1
                    rows[port.location, time, WAITING, "", ""] += of_time.rows
    targets = {
        port.location: f"operator {operator.name!r} {port_name(port)}"
        for operator in dataflow.operators
        for port in operator.inputs
    }
    for number in dataflow.channels:
        channel = worker.plane.channels.get(number)
        if isinstance(channel, RemoteChannel):
            target = targets[channel.inbox.location]
            for time, _, start, end in channel.pending:
                alike[channel.source_location, time, POSTPONED, "", target] += 1
                rows[channel.source_location, time, POSTPONED, "", target] += end - start
    for operator in dataflow.operators:
        if operator.compiled >= 0:
            for source, target_at, time, left in _postponed(worker.world, operator):
                alike[source, time, POSTPONED, "", targets[target_at]] += 1
                rows[source, time, POSTPONED, "", targets[target_at]] += left
    found: dict[tuple[int, Any], list[Holder]] = defaultdict(list)
    for key, count in alike.items():
        location, time, kind, origin, target = key
        found[location, time].append(Holder(kind, worker.index, count, origin, rows[key], target))
    return found


def compiled_tokens(world: World, dataflow: "RunningDataflow") -> list[tuple["RunningOperator", int, AnyTime]]:
    """Those of a dataflow's compiled operators: (operator, location, time)."""
    return [
        (operator, int(world.outputs["location"][output]), time)
        for operator in dataflow.operators
        if operator.compiled >= 0
        for _, output, time in world.held_by(operator.compiled)
    ]


def _postponed(world: World, operator: "RunningOperator") -> list[tuple[int, int, AnyTime, int]]:
    """What waits in an operator's compiled edges for room: (origin's location, target's, time, rows)."""
    found = []
    for port in operator.outputs:
        ways = [world.outputs[world.output(operator.compiled, port.index)]]
        while ways:
            way = ways.pop()
            for edge in range(int(way["first_edge"]), int(way["first_edge"] + way["edges"])):
                if world.edges["kind"][edge] in (STAGE, BORDER):
                    ways.append(world.edges[edge])
                origin, target = int(world.edges["origin"][edge]), int(world.edges["location"][edge])
                found += [(origin, target, time, left) for time, left in postponed_at(world.edges, edge)]
    return found


def live_tokens() -> list[Token]:
    """All live tokens of this process. It asks the garbage collector, which knows all objects: slow, and free for those
    who never ask.
    """
    return [found for found in gc.get_objects() if type(found) in _KINDS and found.live]


def tokens_of(dataflow: "RunningDataflow", tokens: Sequence[Token]) -> list[tuple[Token, int, Any]]:
    """Those of a dataflow on this worker: (token, location, time)."""
    ports = {id(port): port.location for operator in dataflow.operators for port in operator.outputs}
    grouped = {
        id(handle.token): handle.group.time(handle.slot) for handle in dataflow.inputs if handle.group is not None
    }
    return [
        (token, ports[id(token._port)], grouped.get(id(token), token._time))
        for token in tokens
        if id(token._port) in ports
    ]
