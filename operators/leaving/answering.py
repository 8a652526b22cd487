"""A worker's side of the end of one of them: its bins go to the others, then all go on without it."""

import os
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Any

from tokenring.engine import Broadcast, Pact, Pipeline, UsageError
from tokenring.engine.ask import write_whole
from tokenring.engine.install import Together
from tokenring.operators.migrate import Led, Placement, Placements, Step

PROGRESS = "progress.json"
"""Where worker 0 says how many steps are still to be done."""


class Leaving(Together):
    """The end of the worker of this number."""

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Refuse what cannot be; if that is not all that is asked, worker 0 lets bins move."""
        worker = self.worker
        if getattr(worker, "saving", None) is not None:
            raise UsageError(
                "a run with recovery= keeps its workers: end it, and go on with another number (--workers)"
            )
        self._leaver, self._limit_s = int(question["worker"]), float(question["timeout_s"])
        self.name = f"the end of worker {self._leaver}"
        worker.parting.require(self._leaver)
        self._peers, self._channels = worker.peers, worker.plane.channels_made
        self._placements = [*worker.kept(Placements).named().values()]
        self._require_bins()
        self._steps: list[tuple[Placement, list[Step]]] = []
        self._told, self._has_acted = -1, False
        self._deadline = 0.0 if worker.index else monotonic() + self._limit_s
        if question["only_checks"]:
            self._is_over = True
            self.tell()
        elif worker.index == 0:
            plans = [(one, one.steps_to_drain(self._leaver, question["plan"])) for one in self._placements]
            for placement, steps in plans:
                placement.move(steps)
                self._steps.append((placement, steps))
            self._pause_balancing(True)

    def _require_bins(self) -> None:
        """Raise UsageError unless all rows that go from one worker to another follow bins."""
        led = {id(one.scope.running.instance): one for one in self._placements}
        for dataflow in self.worker.dataflows.running:
            placement = led.get(id(dataflow))
            if placement is not None:
                self._require_led(placement)
            elif dataflow.channels:
                raise UsageError(
                    f"worker {self._leaver} cannot be ended: dataflow {dataflow.name!r} sends rows to all workers and "
                    f"has no bins, which could be moved; declare it by worker.dataflow(name, bins=256), or remove it"
                )

    def _require_led(self, placement: Placement) -> None:
        graph = placement.scope.graph
        for spec in graph.operators:
            for port in spec.inputs:
                if not _is_led(port.pact, port.origin.operator == placement.changes.source.operator):
                    raise UsageError(
                        f"worker {self._leaver} cannot be ended: operator {spec.name!r} of dataflow {graph.name!r} "
                        f"gets rows from all workers that do not go by bins"
                    )
            if any([signal.everywhere for _, signal in spec.signals]):
                raise UsageError(
                    f"worker {self._leaver} cannot be ended: operator {spec.name!r} of dataflow {graph.name!r} waits "
                    f"for signals of all workers"
                )
        if placement.scheduled:
            raise UsageError(
                f"worker {self._leaver} cannot be ended: bins of dataflow {graph.name!r} are still to move, "
                f"at times that were given by moves="
            )

    @property
    def digest(self) -> int:
        """That all speak of the same worker."""
        return self._leaver

    def is_ready(self) -> bool:
        """Whether no bins are there, and nothing is to be done there."""
        worker = self.worker
        if worker.parting.is_declaring:
            return False
        if worker.peers != self._peers:
            self.fail(f"worker {self._leaver} is ended by somebody else")
            return False
        if worker.plane.channels_made != self._channels:
            self.fail(f"worker {self._leaver} is not ended: a dataflow was declared meanwhile; try again")
            return False
        if worker.index == 0:
            return self._is_drained()
        if worker.index == self._leaver:
            return self._is_quiet()
        return True

    def _is_drained(self) -> bool:
        """On worker 0: whether all bins have gone. Says how far that is, and fails where nothing moves."""
        kept = [one for one in self._placements if _uses(one, self._leaver)]
        left = sum([placement.left_of(steps) for placement, steps in self._steps])
        if left != self._told:
            self._told, self._deadline = left, monotonic() + self._limit_s
            with suppress(OSError):
                write_whole(self.folder / PROGRESS, {"left": left, "steps": sum([len(s) for _, s in self._steps])})
        if kept and monotonic() > self._deadline:
            name = kept[0].scope.graph.name
            why = "all its rows have come" if kept[0].is_over else "no step was done for a while"
            if kept[0].waiting is not None:
                why = f"bins move at time {kept[0].waiting.time}, and its rows stand at {kept[0].waiting.frontier}"
            self.fail(f"worker {self._leaver} cannot be ended: bins of dataflow {name!r} are still there, since {why}")
        return not kept

    def _is_quiet(self) -> bool:
        """On the worker that is to end: whether nothing is to be done here. Fails where that does not come."""
        counting = [one.scope.running.instance.operators[one.counter] for one in self._placements if one.counter >= 0]
        hindrance = self.worker.parting.hindrance(counting)
        if not hindrance:
            self._deadline = 0.0
        elif not self._deadline:
            self._deadline = monotonic() + self._limit_s
        elif monotonic() > self._deadline:
            self.fail(f"worker {self._leaver} cannot be ended: {hindrance}")
        return not hindrance

    def act(self) -> None:
        """Go on without the worker, or leave."""
        self._has_acted = True
        self._pause_balancing(False)
        for placement in self._placements:
            placement.peers = self._leaver

        def tell() -> None:
            self.tell(peers=self._peers, process=os.getpid())

        self.worker.parting.part(self._leaver, self._count_no_more, tell)

    def _pause_balancing(self, is_paused: bool) -> None:
        """Keep bins from coming back by themselves, as long as it is not decided."""
        for placement in self._placements:
            if placement.balancing is not None:
                placement.balancing.is_paused = is_paused

    def _count_no_more(self) -> None:
        for placement in self._placements:
            placement.counts = False
            placement.woken()

    def leave(self) -> None:
        """Who asked is gone: if nobody has decided yet, it is not done, and what has not begun to move stays."""
        super().leave()
        if self._steps and not self._has_acted:
            self._pause_balancing(False)
            for placement, steps in self._steps:
                placement.forget(steps)


def _uses(placement: Placement, worker: int) -> bool:
    """Whether a worker has bins, or is to have some, or state of bins is on its way, as worker 0 knows."""
    if not placement.movers or placement.scope.running.done:
        return False
    return worker in placement.planned or worker in placement.workers or placement.is_moving


def _is_led(pact: Pact, is_of_control: bool) -> bool:
    """Whether none but who has bins gets rows by it, or what they are told of the bins."""
    return isinstance(pact, Led | Pipeline) or (isinstance(pact, Broadcast) and is_of_control)
