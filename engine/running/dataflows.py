"""What runs on a worker, dataflow by dataflow: found by number, and forgotten once it is finished.

A dataflow is finished here when all counts of its locations are zero: every token is dropped and every message
consumed, on all workers, and since nothing comes of nothing that is final. Other workers may not know it yet; what they
still do needs nothing of ours. The numbers it had in the tables are given to others once it is forgotten everywhere:
when the next dataflow is declared, the workers tell each other how far they are (engine/worker/agreement.py).
"""

from collections.abc import Callable
from enum import Enum
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol

from tokenring.engine.data import DataPlane, NearSignal
from tokenring.engine.progress import Numbers, Tracker
from tokenring.engine.running.input import InputHandle
from tokenring.engine.running.operator import RunningOperator
from tokenring.engine.running.probe import Probe


class Phase(Enum):
    """How far one worker's instance of a dataflow is on its way out (engine/explain/cancel.py)."""

    RUNS = "runs"
    """Or is finished."""
    STOPPED = "stopped"
    """None of its operators runs any more, but others' may."""
    LET_GO = "let go"
    """None runs on any worker: its tokens and messages have gone."""


class RunningDataflow:
    """One worker's instance of a dataflow."""

    __slots__ = (
        "_all",
        "_is_complete",
        "channels",
        "done",
        "failure",
        "graph",
        "inputs",
        "is_whole",
        "kept",
        "name",
        "number",
        "numbers",
        "operators",
        "owed",
        "phase",
        "probes",
        "signals",
        "when_failed",
        "when_forgotten",
    )

    def __init__(self, everything: "Dataflows", name: str) -> None:
        self.name = name
        self.operators: list[RunningOperator] = []
        self.probes: list[Probe] = []
        self.inputs: list[InputHandle] = []
        self.channels: range = range(0)  # its numbers in the data plane
        self.signals: list[NearSignal] = []
        self.number = -1  # by which the tracker tells that all its counts are zero
        self.graph = -1  # the tracker's number for its tables
        self.numbers = Numbers(0, 0, 0, 0)  # those of its operators and locations
        self.is_whole = False
        """Whether all its operators are made."""
        self.done = False
        """Whether it is forgotten."""
        self.when_failed: Callable[[str], None] | None = None
        """Told what an operator raised, where that ends this dataflow alone; None: it ends the run."""
        self.failure = ""
        """What an operator raised, here or on another worker, where that ended this dataflow alone."""
        self.phase = Phase.RUNS
        """How far it is on its way out."""
        self.kept: Any = None
        """While it is stopped: its tokens, and what keeps them."""
        self.owed: list[tuple[int, tuple[int, ...], int]] = []
        """What it consumed and gave up here, and nobody is told before all have stopped: location, the coordinates of
        the time, how often."""
        self.when_forgotten: Callable[[], None] = _nothing
        """Called once it is forgotten."""
        self._is_complete = False
        self._all = everything

    def frontier_moved(self) -> None:
        """All counts are zero (said by the tracker): forget it as soon as none of its operators is due."""
        if not self._is_complete:
            self._is_complete = True
            self._all.finished.append(self)


def _nothing() -> None:
    """Nobody is told."""


class Failure(NamedTuple):
    """What is known of an installed dataflow that has failed, until it is removed."""

    text: str
    operators: frozenset[str]
    """Their names."""


class Watcher(Protocol):
    """Who is told which dataflows run."""

    def watch(self, dataflow: RunningDataflow) -> None:
        """A dataflow was built, and has not run yet."""

    def forget(self, dataflow: RunningDataflow) -> None:
        """A dataflow is finished, and what is known of it goes."""


class Dataflows:
    """All dataflows of a worker that are not forgotten."""

    def __init__(self) -> None:
        self.operators: dict[int, RunningOperator] = {}
        """By the tracker's numbers, which are in topological order."""
        self.by_number: dict[int, Probe | RunningDataflow] = {}
        """Who else is told of a frontier's move, by the tracker's numbers."""
        self.inputs: list[InputHandle] = []
        self.finished: list[RunningDataflow] = []
        """Those to be forgotten."""
        self.watchers: list[Watcher] = []
        """None but where somebody checks or notes what the engine does."""
        self.forget_compiled: Callable[[RunningOperator], None] = lambda _: None
        """Whom to tell of compiled operators that go."""
        self.failed: dict[str, Failure] = {}
        """By the names of dataflows."""
        self._gone: list[tuple[int, Numbers, int]] = []  # a heap, of what is forgotten: its ending, numbers, graph

    @property
    def running(self) -> list[RunningDataflow]:
        """Those that are not forgotten, in the order they were declared."""
        return [found for found in self.by_number.values() if isinstance(found, RunningDataflow)]

    def owner(self, number: int) -> RunningDataflow | None:
        """The one with this number among those that the tracker gave to its operators and itself."""
        for dataflow in self.running:
            first, count, _, _ = dataflow.numbers
            if first <= number < first + count:
                return dataflow
        return None

    def add(self, dataflow: RunningDataflow) -> None:
        """Let a dataflow that has been built be found."""
        for operator in dataflow.operators:
            self.operators[operator.number] = operator
        for probe in dataflow.probes:
            self.by_number[probe.number] = probe
        self.by_number[dataflow.number] = dataflow
        self.inputs += dataflow.inputs

    def built(self, dataflow: RunningDataflow) -> None:
        """A dataflow that was added is whole."""
        dataflow.is_whole = True
        for watcher in self.watchers:
            watcher.watch(dataflow)

    def forget_finished(self, tracker: Tracker, plane: DataPlane) -> None:
        """Release what finished dataflows kept: operators with their state, channels, counts. Those whose operators are
        still due, since they have yet to learn that their frontiers are complete, come later.
        """
        waiting = []
        for dataflow in self.finished:
            if any(operator.is_due for operator in dataflow.operators):
                waiting.append(dataflow)
                continue
            for watcher in self.watchers:
                watcher.forget(dataflow)
            for operator in dataflow.operators:
                del self.operators[operator.number]
                if operator.compiled >= 0:
                    self.forget_compiled(operator)
                operator.release()
            for probe in dataflow.probes:
                del self.by_number[probe.number]
                probe.finish()
            del self.by_number[dataflow.number]
            for signal in dataflow.signals:
                signal.forget()
            plane.forget(dataflow.channels)
            heappush(self._gone, (tracker.ending(dataflow.graph), dataflow.numbers, dataflow.graph))
            tracker.remove_graph(dataflow.graph)
            dataflow.done = True
            dataflow.when_forgotten()
        if len(waiting) < len(self.finished):
            self.inputs[:] = [handle for handle in self.inputs if not handle.closed]
        self.finished = waiting

    def forgotten(self, tracker: Tracker) -> int:
        """All dataflows with this `Tracker.ending`, or an earlier one, are forgotten here."""
        return min([tracker.endings + 1, *(tracker.ending(dataflow.graph) for dataflow in self.finished)]) - 1

    def reuse(self, tracker: Tracker, upto: int) -> None:
        """Let dataflows to come have the numbers of those that were the first to end, up to the ending that is
        forgotten on every worker: so all give the same ones back, in one order.
        """
        while self._gone and self._gone[0][0] <= upto:
            _, numbers, graph = heappop(self._gone)
            tracker.tables.reuse(numbers, graph)
