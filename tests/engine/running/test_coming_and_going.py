"""Dataflows are added, run and finish beside each other, in any order, and leave nothing behind."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, build, nothing_left, settle, simulated
from tokenring.engine import Exchange, InputPort, OperatorContext, Scope, Worker, execute


def _summing(seen: list[int]) -> Any:
    def construct(context: OperatorContext) -> Callable[..., None]:
        def logic(rows: InputPort) -> None:
            for _, batch in rows:
                seen.extend(batch["value"].tolist())

        return logic

    return construct


def _counting(seen: list[int]) -> Any:
    """An input, an exchange, a sum: (handle, probe); what arrives is added to `seen`."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        return handle, stream.sink("see", _summing(seen), Exchange("value"))

    return declare


@pytest.mark.parametrize("seed", range(25))
def test_dataflows_come_and_go_in_any_order(seed: int) -> None:
    rng = random.Random(seed)
    with simulated(3, checks="normal" if seed % 5 else "exhaustive") as group:
        live: list[tuple[list[int], list[int], Any]] = []
        finished = []
        for round_ in range(12):
            seen: list[int] = []
            live.append(([], seen, build(group, _counting(seen))))
            for _ in range(rng.randrange(12)):
                sent, _, made = rng.choice(live)
                handle, _ = rng.choice(made)
                if not handle.closed:
                    rows = [rng.randrange(1000) for _ in range(rng.randrange(1, 80))]
                    handle.send({"value": rows})
                    sent.extend(rows)
                    handle.advance_to(handle.time + rng.randrange(3))
                group.workers[rng.randrange(3)].step()
            if round_ % 2:
                closing = live.pop(rng.randrange(len(live)))
                for handle, _ in rng.sample(closing[2], 3):
                    handle.close()
                    group.workers[rng.randrange(3)].step()
                finished.append(closing)
        for _, _, made in live:
            for handle, _ in made:
                handle.close()
        settle(group, 5000)
        for sent, seen, made in live + finished:
            assert sorted(seen) == sorted(sent)
            assert all(probe.done() for _, probe in made)
        nothing_left(group)


def test_nothing_grows_with_the_number_of_dataflows() -> None:
    with simulated() as group:
        worker = group.workers[0]
        sizes = []
        for _ in range(60):
            ((handle, probe),) = build(group, _counting([]))
            handle.send({"value": [1]})
            handle.close()
            settle(group)
            assert probe.done()
            kept = (worker.dataflows.operators, worker.dataflows.by_number, worker.inputs, worker.plane.channels)
            sizes.append(sum(len(table) for table in kept))
        assert set(sizes) == {0}


def test_a_group_of_processes_adds_and_finishes_dataflows() -> None:
    def program(worker: Worker) -> list[int]:
        totals = []
        standing: list[int] = []
        with worker.dataflow("standing") as scope:
            handle, stream = scope.new_input(VALUE)
            probe = stream.sink("see", _summing(standing), Exchange("value"))
        for number in range(20):
            passing: list[int] = []
            with worker.dataflow(f"passing {number}") as other:
                feed, rows = other.new_input(VALUE)
                rows.sink("see", _summing(passing), Exchange("value"))
            feed.send({"value": np.arange(number)})
            feed.close()
            handle.send({"value": [number]})
            handle.advance_to(number + 1)
            worker.step_while(lambda: not other.running.done or probe.less_than(number + 1))  # noqa: B023
            totals.append(sum(passing))
        assert len(worker.inspection.operators) == 2
        return [*totals, sum(standing)]

    parts = execute(program, workers=2)
    assert [sum(both) for both in zip(*parts, strict=True)] == [
        *[2 * sum(range(number)) for number in range(20)],
        2 * sum(range(20)),
    ]
