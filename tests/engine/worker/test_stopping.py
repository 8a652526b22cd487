"""A stop that cuts workers at whatever instants: what came out is whole, and all of it up to the time that is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.engine.helpers import build, nothing_left, simulated
from tests.long_form import examples
from tokenring.engine import OutputPort, Schema, Scope, StoppedDataflow, Token, Worker
from tokenring.engine.explain import from_plain
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.operators import Collected, Count, Tumbling, aggregate, collect
from tokenring.shm.memory import STOP, poke

ROWS = Schema("key t")
WIDTH = 8


def endless(sent: list[Counter[tuple[int, int]]], is_live: bool) -> Callable[..., Any]:
    """Rows of each time, some of them none, for ever; sent: what was, by key and window. is_live: whether it closes
    itself when it is asked to."""

    def construct(context: Any, token: Token) -> Callable[[OutputPort], None]:
        random = Random(context.worker_index)
        if is_live and context.stopping:
            context.activate()

        def logic(output: OutputPort) -> None:
            if not token.live:
                return
            if is_live and context.stopping:
                token.drop()
                return
            keys = [random.randrange(4) for _ in range(random.randrange(4))]
            output.give(token, {"key": keys, "t": [token.time] * len(keys)})
            sent[context.worker_index].update((token.time // WIDTH * WIDTH, key) for key in keys)
            token.downgrade(token.time + random.randrange(1, 4))
            context.activate()

        return logic

    return construct


@pytest.mark.parametrize("is_live", [True, False])
@pytest.mark.parametrize("rests", [True, False])
def test_nothing_that_is_not_finished_comes_out(monkeypatch: pytest.MonkeyPatch, rests: bool, is_live: bool) -> None:
    monkeypatch.setattr("tokenring.engine.worker.stopping._REST_NS", 0)
    if not rests:
        monkeypatch.setattr("tokenring.engine.worker.stopping._LONGEST_NS", -(10**12))
    for seed in range(examples(40)):
        random = Random(seed)
        workers = random.randrange(1, 4)
        sent = [Counter[tuple[int, int]]() for _ in range(workers)]
        told: list[StoppedDataflow] = []

        def declare(worker: Worker, scope: Scope, sent: Any = sent) -> Collected:
            (stream,) = scope.source("endless", (ROWS,), endless(sent, is_live))
            return collect(aggregate(stream, "key", window=Tumbling("t", WIDTH), n=Count()))

        with simulated(workers) as group:
            kept = build(group, declare)
            for worker in group.workers:
                worker.tell_dropped = lambda plain, told=told: told.extend(from_plain(plain))  # type: ignore[misc]
            for _ in range(random.randrange(200)):
                random.choice(group.workers).step()
            _stop(group, random)
            nothing_left(group)
            rows = [tuple(row) for one in kept for row in zip(*one.columns().values(), strict=True)]
        counts = sum(sent, Counter[tuple[int, int]]())
        found = {(int(start), int(key)): int(n) for start, _, key, n in rows}
        assert len(found) == len(rows), "each window comes once"
        assert found.items() <= counts.items(), "and is whole"
        before = min([one.whole_before for one in told if one.whole_before is not None], default=0)
        expected = {place for place in counts if place[0] + WIDTH < before}
        assert expected <= found.keys()
        if rests:
            assert expected == found.keys()


def _stop(group: SimulatedGroup, random: Random) -> None:
    """Ask for a stop, and see it through, workers in any order."""
    segment = group._segment
    poke(segment.address(segment.layout.ending), STOP)
    for _ in range(100_000):
        if all(worker.complete and not worker.schedule.due for worker in group.workers):
            break
        worker = random.choice(group.workers)
        if random.random() < 0.7:
            worker.step()
        else:
            worker._look_around()
    for worker in group.workers:
        worker.step()
