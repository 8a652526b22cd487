"""Assent: whatever the order in which workers see, vote and look, all do what is proposed, or none; nobody waits on."""

from __future__ import annotations

import random

import pytest

from tokenring.engine.worker.agreement import HAS_RETURNED, IS_IN_RUN
from tokenring.engine.worker.assent import Assent
from tokenring.shm.memory.layout import Layout
from tokenring.shm.memory.segment import Segment


class _Agreement:
    """Of a worker whose program has returned, or has not: it must not be finished while it has promised."""

    finished = 0

    def finish(self, how_far: int) -> None:
        self.finished = how_far


class _Worker:
    """One that votes and looks when the test says so."""

    def __init__(self, segment: Segment, index: int) -> None:
        self.schedule = self
        self.agreement = _Agreement()
        self.complete = False
        self.is_settling = False
        self.done: set[int] = set()
        self.seen = 0
        self.assent = Assent(segment, index, self)  # type: ignore[arg-type]

    def look_outside_after(self, _: int) -> None:
        """It looks anyway."""

    def settle_after_steps(self, is_wanted: bool) -> None:
        self.is_settling = is_wanted

    def settle(self) -> None:
        if self.is_settling:
            self.assent.settle()


def _play(seed: int) -> None:
    chosen = random.Random(seed)
    segment = Segment.create(Layout(chosen.randint(1, 4), 64, 256))
    segment.unlink()
    workers = [_Worker(segment, index) for index in range(segment.layout.workers)]
    first, asked = workers[0], 0
    for _ in range(chosen.randint(20, 120)):
        worker = chosen.choice(workers)
        action = chosen.random()
        if action < 0.4:
            worker.settle()
        elif action < 0.42:
            worker.assent.finish(chosen.choice([0, IS_IN_RUN, HAS_RETURNED]))
        elif worker is first:
            if all(first.done <= each.done for each in workers) and not worker.assent.promised:  # to do it is to wait
                asked += 1  # until all do: so no worker is behind what was decided
                number = asked
                assert worker.assent.propose(lambda number=number: first.done.add(number)) == number
            elif action < 0.5:
                worker.assent.abandon(chosen.choice([asked, asked - 1]))
        elif worker.seen < asked and not worker.assent.promised:
            worker.seen = number = chosen.choice([asked, max(1, asked - 1)])  # an old request may still lie there
            if action < 0.55:
                worker.assent.refuse(number)
            elif action < 0.9:
                worker.assent.promise(number, lambda number=number, worker=worker: worker.done.add(number))
        for each in workers:
            assert not (each.assent.promised and each.agreement.finished)
    first.assent.abandon(first.assent.promised)
    for worker in workers:
        worker.settle()
        assert worker.agreement.finished == worker.assent.finished
    assert not any(worker.assent.promised or worker.is_settling for worker in workers), "somebody waits for ever"
    for number in range(1, asked + 1):
        who = [number in worker.done for worker in workers]
        assert all(who) or not any(who), f"number {number} was done by some: {who}"
    segment.close()


@pytest.mark.parametrize("seeds", [range(start, start + 500) for start in range(0, 2_000, 500)], ids=str)
def test_all_do_what_is_proposed_or_none(seeds: range) -> None:
    for seed in seeds:
        try:
            _play(seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def test_some_of_it_is_done() -> None:
    """All who see it promise: it is done by all, once each has looked."""
    segment = Segment.create(Layout(3, 64, 256))
    segment.unlink()
    workers = [_Worker(segment, index) for index in range(3)]
    done = []
    workers[0].assent.propose(lambda: done.append(0))
    for index in (1, 2):
        workers[0].settle()
        assert not done
        workers[index].assent.promise(1, lambda index=index: done.append(index))  # type: ignore[misc]
    for worker in workers:
        worker.settle()
    assert done == [0, 1, 2]
    segment.close()
