"""The progress plane with every check there is: `Config(checks="exhaustive")`, for tests and for hunting a bug.

Around each exchange: what is published is what this worker may say (engine/progress/validation.py), the tokens that
operators hold are those reported, the tables are in order, the ring's positions too, and every frontier is what trying
all counts and paths finds. It costs many times the run.
"""

from collections import Counter, deque
from functools import cache
from typing import Any

from tokenring.engine.data import InputPort, OutputPort, RemoteChannel, Runtime, messages_of
from tokenring.engine.errors import BrokenInvariant
from tokenring.engine.progress import (
    NamedLocation,
    PathsTo,
    Pointstamp,
    ProgressChannel,
    Validator,
    differences,
    naive_frontier,
)
from tokenring.engine.running import Dataflows, RunningDataflow
from tokenring.engine.times import first_time, from_coordinates
from tokenring.shm.queues import check as check_ring


class _Arrivals(deque[Any]):
    """An input's queue that tells the validator what comes in (`extend` is `InputPort.by_time` putting back what was
    here, merged, so it tells nothing)."""

    def __init__(self, validator: Validator, location: int) -> None:
        super().__init__()
        self._validator = validator
        self._location = location

    def append(self, message: Any) -> None:
        """A message arrives."""
        for time, _ in messages_of(*message[:2]):
            self._validator.received(self._location, time)
        super().append(message)


class CheckedProgress:
    """Exchanges progress and trusts nothing. Raises BrokenInvariant naming worker, operator, port and time."""

    def __init__(self, honest: ProgressChannel, runtime: Runtime, dataflows: Dataflows) -> None:
        dataflows.watchers.append(self)
        self._honest = honest
        self._dataflows = dataflows
        self._runtime = runtime
        self._me = runtime.index
        self._log = runtime.log
        self._world = runtime.world
        self._tracker = runtime.tracker
        self._validator = Validator(runtime.index)
        self._left: dict[Pointstamp, int] = {}
        self._owed: dict[Pointstamp, int] = {}
        self._depths: dict[int, int] = {}
        self._inputs: list[InputPort] = []
        self._outputs: list[OutputPort] = []
        self._targets: dict[int, tuple[str, PathsTo]] = {}

    def watch(self, dataflow: RunningDataflow) -> None:
        """Remember a new dataflow's locations; each output has its initial token."""
        inputs = [port for operator in dataflow.operators for port in operator.inputs]
        outputs = [port for operator in dataflow.operators for port in operator.outputs]
        places = {port.location: NamedLocation(port.describe(), False) for port in inputs}
        places |= {port.location: NamedLocation(port.describe(), True) for port in outputs}
        places |= {probe.location: NamedLocation(f"a probe on worker {self._me}", False) for probe in dataflow.probes}
        paths_to = cache(self._tracker.paths.to)
        self._validator.watch(places, paths_to)
        self._depths |= {port.location: port.depth for port in inputs}
        self._depths |= {port.location: port.depth for port in outputs}
        for operator in dataflow.operators:
            for output in operator.outputs if not operator.is_relay else ():
                self._validator.grant(output.location, first_time(output.depth))
        for port in inputs:
            if port.operator.compiled < 0:  # else the inner loop notes what comes
                port.inbox.queue = _Arrivals(self._validator, port.location)
        self._inputs += inputs
        self._outputs += outputs
        self._targets |= {at: (place.name, paths_to) for at, place in places.items() if not place.is_source}

    def forget(self, dataflow: RunningDataflow) -> None:
        """Look at a finished dataflow no more: the tracker has forgotten it."""
        gone = {probe.location for probe in dataflow.probes}
        for operator in dataflow.operators:
            gone |= {port.location for port in operator.inputs} | {port.location for port in operator.outputs}
        self._inputs = [port for port in self._inputs if port.location not in gone]
        self._outputs = [port for port in self._outputs if port.location not in gone]
        self._targets = {at: target for at, target in self._targets.items() if at not in gone}

    def exchange(self, sent: bool) -> int:
        """Exchange progress as ever, between a look at what goes out and a look at what came of it."""
        for location, _, *time in self._world.take_table(self._world.arrived_here).tolist():
            self._validator.received(location, from_coordinates(tuple(time[: self._depths[location]])))
        before, unfinished = self._logged(), self._log.unfinished()
        waiting = Counter(
            (port.location, time)
            for port in self._inputs
            for stamp, batch, _ in port.inbox.queue
            for time, _ in messages_of(stamp, batch)
        )
        before_that, self._owed = self._owed, self._counted_owed()
        # What operators did is looked at, not what was made good for it.
        self._validator.check_batch(
            differences(differences(before, self._left), differences(self._owed, before_that)), waiting
        )
        self._check_held()
        flags = self._honest.exchange(sent)
        self._left = self._logged()
        published = differences(before, self._left)
        if self._log.out < len(unfinished):
            self._validator.check_published(published, self._counted(self._log.unfinished()))
        else:  # what had been begun is out; what is left of the log is of one batch with the rest that was published
            self._validator.check_published(differences(published, self._counted(unfinished)), self._left)
        self._check_tables()
        return flags

    def _logged(self) -> dict[Pointstamp, int]:
        return self._counted(self._log.changes())

    def _counted(self, changes: list[tuple[int, tuple[int, ...], int]]) -> dict[Pointstamp, int]:
        counts: Counter[Pointstamp] = Counter()
        for location, time, delta in changes:
            counts[location, from_coordinates(time[: self._depths[location]])] += delta
        return {at: count for at, count in counts.items() if count}

    def _counted_owed(self) -> dict[Pointstamp, int]:
        """What operators that have failed took and gave up, and the log has as if they had not."""
        owed: Counter[Pointstamp] = Counter()
        for dataflow in self._dataflows.running:
            for location, time, count in dataflow.owed:
                owed[location, from_coordinates(time[: self._depths[location]])] += count
        return owed

    def _check_held(self) -> None:
        kept = Counter(
            channel.source_location
            for channel in self._runtime.plane.channels.values()
            if isinstance(channel, RemoteChannel)
            for _ in channel.pending
        )
        for location, held in self._world.outputs[["location", "held"]].tolist():
            kept[location] += held  # of compiled operators, and what waits in their edges, beyond a loop's border too
        held = [(port.location, port.held + kept[port.location]) for port in self._outputs]
        if self._runtime.lost.waiting:
            return  # the collector came by just now; what it took is reported with the next exchange
        for location, tokens in held:
            self._validator.check_held(location, tokens)

    def _check_tables(self) -> None:
        try:
            entries = self._tracker.entries.check()
            check_ring(self._honest.ring)
        except AssertionError as error:
            raise BrokenInvariant(f"worker {self._me}: tables or ring out of order: {error}") from error
        for target, (name, paths_to) in self._targets.items():
            found = naive_frontier(target, paths_to, entries)
            frontier = self._tracker.frontier_elements(target)
            if frontier != found:
                raise BrokenInvariant(
                    f"worker {self._me}: the frontier of {name} is {frontier}, but the counts say {found}"
                )
