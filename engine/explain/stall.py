"""Says on stderr when a run stands still for good: nothing moves, and an operator keeps a token for which nothing more
can arrive, or leaves messages where they are; or the program waits for a probe that an input holds back.

Looked at by a worker that has slept in vain, and now and then by one that steps, so that it costs a run nothing.
"""

import gc
import os
import sys
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from tokenring.engine.data import Operator, OutputPort
from tokenring.engine.explain.asked import Asked
from tokenring.engine.explain.hold import HeldToken
from tokenring.engine.explain.inspection import Inspection
from tokenring.engine.explain.place import of_port
from tokenring.engine.explain.why import compiled_tokens, explain, live_tokens, tokens_of
from tokenring.engine.progress import ProgressChannel
from tokenring.engine.running import Phase, Probe, Schedule
from tokenring.engine.times import MAX_TIME, coordinates, from_coordinates
from tokenring.engine.tokens import LostTokens

if TYPE_CHECKING:
    from tokenring.engine.running import RunningDataflow

STALLED_S = 10.0
"""How long nothing moves before a worker looks for tokens that were forgotten."""

_NAMED = 3  # operators
_LISTEN_NS = 10**9  # how long a program has to ask what it asks


class StallWatch:
    """One worker's watch. It speaks once of either; until it has something to say it looks again every STALLED_S."""

    __slots__ = (
        *("_asked", "_inspection", "_lost", "_position", "_progress", "_said", "_said_who_waits", "_schedule"),
        "_since_ns",
    )

    def __init__(
        self, inspection: Inspection, schedule: Schedule, progress: ProgressChannel, lost: LostTokens
    ) -> None:
        self._inspection = inspection
        self._schedule = schedule
        self._progress = progress
        self._lost = lost
        self._position = -1
        self._since_ns = 0
        self._said = False
        self._said_who_waits = False
        self._asked = Asked()

    def look(self) -> None:
        """Between steps: is it time to speak? Progress is a number that grows with whatever moves."""
        position = self._progress.position
        if position != self._position:
            self._position, self._since_ns = position, monotonic_ns()
            if self._asked.listening:
                self._asked.stop()
        elif self._asked.listening:
            if self._asked.heard or monotonic_ns() - self._since_ns > _LISTEN_NS:
                self._said_who_waits = _say(_held_up(self._inspection, self._asked.stop()))
        elif not self._said and monotonic_ns() - self._since_ns > STALLED_S * 1e9:
            self._since_ns = monotonic_ns()
            if self._schedule.idle_for(STALLED_S) <= 0:
                return  # somebody is about to run, and may use his token yet: late, on a loaded machine, not forgotten
            gc.collect()
            if self._lost.waiting:
                return  # what was lost is told of and released, and time goes on
            if forgotten := self._forgotten():
                self._said = _say(_told(self._inspection.index, forgotten))
            elif untaken := self._untaken():
                self._said = _say(_told_of_untaken(self._inspection.index, untaken))
            elif not self._said_who_waits:
                self._asked.listen()

    def _forgotten(self) -> dict[OutputPort, list[tuple[Any, str]]]:
        """Tokens of operators that nothing runs any more, or that no message at their time can reach: their times, and
        where they were made."""
        inspection, tokens = self._inspection, live_tokens()
        timers = {id(operator) for _, _, operator in self._schedule.timers}
        found: dict[OutputPort, list[tuple[Any, str]]] = {}
        for dataflow in inspection.dataflows.running:
            if dataflow.phase is not Phase.RUNS:
                continue  # it has failed, and its tokens wait for a worker that takes no step
            manual = {id(handle.token) for handle in dataflow.inputs}
            # A source that follows another dataflow is moved by it, whose own tokens are looked at.
            moved = timers | {id(one) for one in dataflow.operators if not one.inputs and not one.halts}
            for token, _, time in tokens_of(dataflow, tokens):
                port = token._port
                assert isinstance(port, OutputPort)
                if isinstance(token, HeldToken) or id(token) in manual or id(port.operator) in moved:
                    continue
                if _is_forgotten(inspection, dataflow, port, time):
                    found.setdefault(port, []).append((time, token.origin))
            for operator, location, time in compiled_tokens(inspection.world, dataflow):
                if inspection.world.operators["wake_ns"][operator.compiled] or id(operator) in timers:
                    continue
                port = next(output for output in operator.outputs if output.location == location)
                if _is_forgotten(inspection, dataflow, port, time):
                    found.setdefault(port, []).append((time, operator.declared_at))
        return found

    def _untaken(self) -> list[str]:
        """Messages that operators leave at their inputs though nothing else can come to them, in words."""
        inspection, found = self._inspection, []
        for dataflow in inspection.dataflows.running:
            for operator in dataflow.operators:
                left = [port for port in operator.inputs if len(port.inbox.queue)]
                if not left or dataflow.phase is not Phase.RUNS:
                    continue
                own = {port.location for ports in (operator.inputs, operator.outputs) for port in ports}
                last = from_coordinates((MAX_TIME,) * left[0].depth)
                if _comes_from(inspection, dataflow, operator, last, own):
                    what = ", ".join([f"{len(port.inbox.queue)} at input {port.index}" for port in left])
                    found.append(f"  operator {operator.name!r} does not take the messages that wait: {what}")
        return found


def _comes_from(
    inspection: Inspection, dataflow: "RunningDataflow", operator: Operator, last: Any, own: set[int]
) -> bool:
    """Whether all that can still come to an operator up to a time is from locations of its own."""
    return all(
        {held.location for held in explain(inspection, of_port(dataflow, port), last, ()).pointstamps} <= own
        for port in operator.inputs
    )


def _is_forgotten(inspection: Inspection, dataflow: "RunningDataflow", port: OutputPort, time: Any) -> bool:
    operator = port.operator
    if not operator.inputs:  # a source: what else could activate it is somebody's progress
        sources = {output.location for other in dataflow.operators if not other.inputs for output in other.outputs}
        counted = {location for other in dataflow.operators for location in _counted(inspection, other)}
        return counted <= sources
    own = {output.location for output in operator.outputs}
    # In a loop it may wait for later rounds, of which nobody but itself may be the cause.
    last = time if operator.inputs[0].depth == 1 else (time[0], *[MAX_TIME] * (len(time) - 1))
    return _comes_from(inspection, dataflow, operator, last, own)


def _say(text: str) -> bool:
    """Whether there was anything to say."""
    sys.stderr.write(text)
    sys.stderr.flush()
    return bool(text)


def _held_up(inspection: Inspection, probes: list[Probe]) -> str:
    """What holds back the probes that the program waits for, if inputs do; "" otherwise."""
    inputs = {handle.port.location for handle in inspection.dataflows.inputs if handle.port is not None}
    for probe in probes:
        found = inspection.why(probe)
        if any(held.location in inputs for held in found.pointstamps):
            told = str(found).replace("\n", "\n  ")
            return (
                f"tokenring: worker {inspection.index}: nothing has moved for {STALLED_S:g} s, and the program waits "
                f"for {told}\n  An input holds back its time on all workers until its handle on each is moved: "
                f"advance_to(time), or close().\n  All that is held: tokenring why {os.getppid()}\n"
            )
    return ""


def _counted(inspection: Inspection, operator: Any) -> list[int]:
    ports = [*operator.inputs, *operator.outputs]
    entries = inspection.tracker.entries
    return [port.location for port in ports if any(count > 0 for _, count in entries.at(port.location))]


def _told_of_untaken(worker: int, untaken: list[str]) -> str:
    lines = [f"tokenring: worker {worker}: nothing has moved for {STALLED_S:g} s, and nothing more can arrive at:"]
    lines += [*untaken[:_NAMED], *([f"  and {len(untaken) - _NAMED} operators more"] if untaken[_NAMED:] else [])]
    lines.append("  Later operators wait, and the run cannot end. A logic takes all messages of its inputs in the end,")
    lines.append("  those that it needs no more, too: for reference, batch in rows; compiled, take() until it gives 0.")
    lines.append(f"  All that is held: tokenring why {os.getppid()}\n")
    return "\n".join(lines)


def _told(worker: int, forgotten: dict[OutputPort, list[tuple[Any, str]]]) -> str:
    lines = [
        f"tokenring: worker {worker}: nothing has moved for {STALLED_S:g} s, and tokens are held for which nothing "
        "more can arrive:"
    ]
    for port, tokens in list(forgotten.items())[:_NAMED]:
        least, made_at = min(tokens, key=lambda token: coordinates(token[0]))
        many = f"{len(tokens)} tokens, the least" if len(tokens) > 1 else "a token"
        lines.append(
            f"  operator {port.operator.name!r} output {port.index} holds {many} at time {least}, made at "
            f"{made_at}"
        )
    if len(forgotten) > _NAMED:
        lines.append(f"  and {len(forgotten) - _NAMED} outputs more")
    cure = "Drop a token when it is not needed any more: at the latest when its time is finished at the inputs"
    if not any(port.operator.inputs for port in forgotten):
        cure = "A source drops its token when it has no more to send; until then it asks to be run: context.activate()"
    lines.append(f"  Later operators wait, and the run cannot end. {cure}.")
    lines.append(f"  All that is held: tokenring why {os.getppid()}\n")
    return "\n".join(lines)
