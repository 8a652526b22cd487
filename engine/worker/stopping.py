"""How a run stops: sources are kept where they are, what is under way comes to rest, and what is open then is told, and
dropped.

All workers stop at once. Each says at which position of the ring it has nothing to do; if all say the same one, nothing
is under way: who sent a row has published that it did, before the position that it says, and who is to take it has read
that, and looked. Each then lets no operator run any more, and says so; who sees that all have lets go of what there is
(engine/explain/left_open.py). To be at rest is no condition of being right: a worker may let no operator run at any
instant, and nothing unfinished is sent. It is waited for, so long and no longer, so that what is finished comes out.
"""

from collections.abc import Collection
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from tokenring.engine.explain import as_plain, ending_with, keep_times, left_open, let_go, stop
from tokenring.engine.running import Phase, RunningDataflow, RunningOperator
from tokenring.shm.memory import Segment, peek, poke

if TYPE_CHECKING:
    from tokenring.engine.worker.worker import Worker

_LOOK_NS = 2_000_000
_REST_NS = 30_000_000  # that nothing moves: operators may ask to be run a little later
_LONGEST_NS = 20_000_000_000  # that what is under way may take to come to rest


class Stopping:
    """One worker's side of a stop. Where a program builds other dataflows after it, they are stopped as well."""

    def __init__(self, segment: Segment, worker: "Worker") -> None:
        self._segment, self._worker = segment, worker
        self._layout = segment.layout
        self._kept: dict[RunningDataflow, list[Any]] = {}
        self._cut: list[tuple[RunningDataflow, list[RunningOperator]]] = []  # that run no more
        self._cut_upto = 0  # so many dataflows, the first that were built
        self._position = -1
        self._rests_since_ns = self._until_ns = self._look_ns = 0

    def keep_times(self, closing: Collection[RunningOperator]) -> None:
        """Let no source go on, nor a time finish because one ends: of all dataflows that are there. closing: sources
        that close themselves."""
        worker = self._worker
        for dataflow in worker.dataflows.running:
            if dataflow not in self._kept and dataflow.is_whole and dataflow.phase is Phase.RUNS:
                self._kept[dataflow] = keep_times(worker.inspection, dataflow, closing)
                self._until_ns = monotonic_ns() + _LONGEST_NS
                self._rest(-1)

    def look(self, closing: Collection[RunningOperator]) -> None:
        """Go on with it."""
        if self._cut:
            if all([cut >= self._cut_upto for cut in self._cuts()]):
                self._let_go()
        else:
            self.keep_times(closing)
            self._kept = {dataflow: kept for dataflow, kept in self._kept.items() if not dataflow.done}
            if not self._kept or self._is_time():
                self._cut_all()
        now_ns = monotonic_ns()
        if now_ns >= self._look_ns:
            self._look_ns = now_ns + _LOOK_NS
            self._worker.schedule.look_outside_after(_LOOK_NS)

    def _peers(self) -> range:
        return range(self._worker.peers)

    def _cuts(self) -> list[int]:
        """How many dataflows each worker lets run no more."""
        return [peek(self._address(self._layout.cut(peer))) for peer in self._peers()]  # SYNC cut: acquire

    def _address(self, offset: int) -> int:
        return self._segment.address(offset)

    def _rest(self, position: int) -> None:
        """Say at which position of the ring nothing is to be done here; -1: something is."""
        poke(self._address(self._layout.at_rest(self._worker.index)), position + 1)  # SYNC rest: release

    def _is_time(self) -> bool:
        """Whether no operator is to run here any more."""
        worker, now_ns = self._worker, monotonic_ns()
        if now_ns > self._until_ns or any([cut > self._cut_upto for cut in self._cuts()]):
            return True
        position = worker.progress.position
        if worker.parting.is_at_work or not worker.progress.nothing_new or not self._waits():
            self._position = -1
            self._rest(-1)
            return False
        if position != self._position:
            self._position, self._rests_since_ns = position, now_ns
        if now_ns - self._rests_since_ns < _REST_NS:
            return False
        self._rest(position)
        rests = [peek(self._address(self._layout.at_rest(peer))) for peer in self._peers()]  # SYNC rest: acquire
        return all([one == position + 1 for one in rests]) and not worker.parting.is_at_work

    def _waits(self) -> bool:
        """Whether this worker's program feeds no input any more, or waits for something before it goes on."""
        worker = self._worker
        return worker.waits > 0 or worker.parting.may_end or worker.agreement.is_waiting or not worker.feeds

    def _cut_all(self) -> None:
        """Let no operator run any more, and tell what is open."""
        worker = self._worker
        told = []
        for dataflow, kept in self._kept.items():
            if dataflow.phase is not Phase.RUNS:  # it has failed, or is removed
                continue
            ending = ending_with(worker.inspection, dataflow)
            told.append(left_open(worker.inspection, dataflow, ending))
            kept += [handle.cut() for handle in dataflow.inputs if not handle.closed]
            stop(dataflow, worker.runtime, worker.schedule, ending)
            self._cut.append((dataflow, ending))
        if told:
            worker.tell_dropped(as_plain(told))
        if self._cut_upto != worker.agreement.graphs_built:
            self._cut_upto = worker.agreement.graphs_built
            poke(self._address(self._layout.cut(worker.index)), self._cut_upto)  # SYNC cut: release
            worker.parking.wake_peers()

    def _let_go(self) -> None:
        """No operator runs on any worker."""
        worker = self._worker
        for dataflow, ending in self._cut:
            let_go(dataflow, worker.runtime, worker.schedule, worker.flush, ending)
        self._cut, self._kept, self._position = [], {}, -1
