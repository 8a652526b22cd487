"""Random programs of a step, as in tests/random_programs, while workers end: for each at its own instant."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.engine.helpers import simulated
from tests.random_programs import EPOCHS, INPUTS, Found, drawn, together
from tokenring.engine import Worker
from tokenring.operators.leaving.answering import _is_led, _uses
from tokenring.operators.migrate import Placement, Placements

_MOST_STEPS = 200_000


class Ending:
    """The end of the last worker of those that there still are: what assent brings about, as far as it matters."""

    def __init__(self, workers: list[Worker], placements: list[Placement], random: Random) -> None:
        self._workers, self._placements, self._random = workers, placements, random
        self._leaver = len(workers) - 1
        self._is_drained = self._has_promised = self._is_decided = False
        self._acting: list[int] = []
        self.ended = 0

    def look(self, index: int) -> None:
        """It is worker `index`'s turn: what it does of it, if anything, between two of its steps."""
        leaver, first = self._leaver, self._placements[0]
        if leaver == 0 or self._random.random() < 0.5:
            return
        if self._is_decided:
            if index in self._acting:
                self._acting.remove(index)
                self._placements[index].peers = leaver
                self._workers[index].parting.part(leaver, lambda: None, self._told)
        elif self._has_promised:
            if index == 0 and not _uses(first, leaver):
                self._acting = [*range(leaver + 1)]
                self._is_decided = True
        elif not self._is_drained:
            if index == 0 and not first.is_moving and not first.is_over:
                first.drain(leaver, self._random.choice(["fluid", "all_at_once"]))
                self._is_drained = True
        elif index == leaver and not _uses(first, leaver) and not self._workers[0].complete:
            self._has_promised = not self._workers[leaver].parting.hindrance()

    def _told(self) -> None:
        leaver = self._workers[self._leaver]
        if leaver.parting.has_left:
            assert not self._acting and leaver.complete
            self.ended += 1
            self._leaver -= 1
            self._is_drained = self._has_promised = self._is_decided = False


def may_end(placement: Placement) -> bool:
    """Whether there are bins, and rows go by them alone, so that a worker without any is not refused its end."""
    return bool(placement.movers) and all([
        _is_led(port.pact, port.origin.operator == placement.changes.source.operator)
        for spec in placement.scope.graph.operators
        for port in spec.inputs
    ])  # fmt: skip


def ended_while(does: str, seed: object, checks: str) -> tuple[Found, Found, int | None]:
    """What comes of a step of rows that are all worker 0's, what is to come of it, and how many workers ended; None
    where no worker may end."""
    trial = drawn("migration", seed, does, most=1)
    trial = replace(
        trial, bins=trial.bins or 8, sent=tuple([replace(one, worker=0) for one in trial.sent]),
        moves=tuple([(time % 2, number, worker) for time, number, worker in trial.moves]),  # then endings
        steps=tuple([step._replace(limit=None) for step in trial.steps]),
    )  # fmt: skip
    random = Random(f"{does} {seed}")
    due = [(epoch, number) for epoch in range(EPOCHS) for number in range(INPUTS + 1)]
    queue_bytes = trial.queue_bytes(random)
    with trial.as_said(), simulated(trial.workers, queue_bytes=queue_bytes, ring_records=64, checks=checks) as group:
        parts, placements = [], []
        for worker in group.workers:
            with group.building(worker):
                parts.append(trial.declare(worker))
            placements.append(worker.kept(Placements)[-1])
        for handles, _ in parts[1:]:
            for handle in handles:
                handle.close()
        ending = Ending(group.workers, placements, random)
        is_refused = not may_end(placements[0])
        shares, steps = [1.0] * trial.workers, 0
        while not all(worker.complete for worker in group.workers):
            if steps % 50 == 0:
                shares = [random.choice([0.02, 1.0]) for _ in range(trial.workers)]
            steps += 1
            assert steps < _MOST_STEPS, "it does not come to an end"
            (index,) = random.choices(range(trial.workers), shares)
            if index == 0 and due and random.random() < 0.02:
                trial.send(parts[0][0], 0, *due.pop(0))
            else:
                group.workers[index].step()
                if not is_refused:
                    ending.look(index)
        return together([seen for _, seen in parts]), trial.expected(), None if is_refused else ending.ended
