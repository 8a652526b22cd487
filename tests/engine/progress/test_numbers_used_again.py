"""Many short dataflows, one after another: their numbers and tables are used again, alike on all workers, and nothing
that is kept of one that is forgotten sees another under its number.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.helpers import VALUE, Recorder, build, nothing_left, settle, simulated
from tests.engine.native.scripted import forward, operate
from tokenring.engine import (
    COMPLETE,
    Exchange,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    ProbeGroup,
    Scope,
    Token,
    Worker,
)
from tokenring.engine.times.intervals import Intervals
from tokenring.engine.worker.simulation import SimulatedGroup


def of_length(length: int) -> Callable[[Worker, Scope], Any]:
    """A dataflow of so many operators; returns (scope, handle, probe, recorder)."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        recorder = Recorder()
        for at in range(length):
            stream = stream.unary(f"pass {at}", VALUE, Recorder().unary, Exchange("value") if at % 2 else None)
        return scope, handle, stream.unary("last", VALUE, recorder.unary, Exchange("value")).probe(), recorder

    return declare


def sizes(group: SimulatedGroup) -> list[list[int]]:
    """The words of each worker's tables."""
    return [
        [
            len(array)
            for array in (tables.locations, tables.graphs, tables.operators, tables.pool, tables.lists)
        ]
        for tables in (worker.tracker.tables for worker in group.workers)
    ]


def numbers(group: SimulatedGroup) -> list[list[Any]]:
    """What is numbered with what, by worker."""
    return [
        [(dataflow.numbers, dataflow.graph, dataflow.number) for dataflow in worker.dataflows.running]
        for worker in group.workers
    ]


def step_at_random(group: SimulatedGroup, rng: Random, steps: int) -> None:
    """Some workers step and others lag."""
    for _ in range(steps):
        group.workers[min(rng.randrange(len(group.workers)), rng.randrange(len(group.workers)))].step()


def rows_of(made: list[Any]) -> list[tuple[int, int]]:
    """What arrived in a dataflow, on all workers."""
    return sorted(row for *_, recorder in made for row in recorder.rows)


@pytest.mark.parametrize(("workers", "checks"), [(1, "normal"), (2, "normal"), (3, "normal"), (2, "exhaustive")])
def test_tables_stay_as_large_as_what_runs_needs(workers: int, checks: str) -> None:
    rng = Random(workers)
    seen = []
    with simulated(workers, checks=checks) as group:
        lasting = build(group, of_length(2))
        running: list[list[Any]] = []
        count = 300 if checks == "normal" else 60
        for ordinal in range(count):
            made = build(group, of_length(rng.randrange(4)))
            running.append(made)
            assert all(one[-1] == numbers(group)[0][-1] for one in numbers(group)), "alike on all workers"
            for _, handle, _, _ in made:
                handle.send({"value": range(7)})
                handle.advance_to(2)
                handle.send({"value": [ordinal]})
            if len(running) > 3:  # they end in another order than they began
                ended = running.pop(rng.randrange(len(running)))
                for _, handle, _, _ in ended:
                    handle.close()
                step_at_random(group, rng, 30)
            if ordinal % 10 == 0:
                settle(group)
            seen.append(sizes(group))
        for early, late in zip(seen[count // 5], seen[-1], strict=True):
            assert all(after <= 2 * before for before, after in zip(early, late, strict=True)), (early, late)
        for made in [lasting, *running]:
            for _, handle, _, _ in made:
                handle.close()
        settle(group)
        assert rows_of(lasting) == []
        for made in running:
            assert len(rows_of(made)) == 8 * workers
        nothing_left(group)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_what_is_kept_of_one_that_is_forgotten_sees_no_other(workers: int) -> None:
    ports: list[InputPort] = []
    runs: list[str] = []

    def restless(name: str) -> Callable[[Worker, Scope], Any]:
        def declare(worker: Worker, scope: Scope) -> Any:
            handle, stream = scope.new_input(VALUE)

            def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
                token.drop()

                def logic(messages: InputPort, output: OutputPort) -> None:
                    runs.append(name)
                    ports.append(messages)
                    for _ in messages:
                        pass
                    if name == "first":
                        context.activate_after(3600 * 10**9)

                return logic

            return handle, stream.unary("restless", VALUE, construct, Exchange("value"), Notify.NEVER).probe()

        return declare

    with simulated(workers) as group:
        first = build(group, restless("first"))
        probes = [ProbeGroup([probe]) for _, probe in first]
        places = numbers(group)
        for handle, _ in first:
            handle.send({"value": [0]})
            handle.close()
        settle(group)
        nothing_left(group)
        ports_before, runs_before = list(ports), len(runs)
        assert ports_before
        second = build(group, restless("second"))
        assert numbers(group) == places
        for worker in group.workers:
            assert len(worker.schedule.timers) == 1, "the logic ran, and an hour is long"
            worker.schedule.timers[:] = [(0, *timer[1:]) for timer in worker.schedule.timers]  # now it is over
        settle(group)
        assert not any(worker.schedule.timers for worker in group.workers)
        assert runs[runs_before:] == ["second"] * (len(runs) - runs_before)
        assert len(runs) - runs_before == workers, "the constructor's run, and none for another's timer"
        for (_, probe), probe_group, (_, other) in zip(first, probes, second, strict=True):
            assert (probe.frontier, probe.done(), probe.less_than(9)) == (COMPLETE, True, False)
            assert probe_group.done()
            assert not other.done()
        assert all(port.frontier == COMPLETE for port in ports_before)


@given(st.lists(st.integers(1, 5), max_size=40), st.randoms(use_true_random=False))
def test_intervals_are_free_only_once_and_do_not_scatter(counts: list[int], rng: Random) -> None:
    intervals = Intervals()
    taken: list[tuple[int, int]] = []
    for count in counts:
        first = intervals.take(count)
        assert all(first + count <= other or other + size <= first for other, size in taken)
        taken.append((first, count))
        if rng.random() < 0.5:
            intervals.give_back(*taken.pop(rng.randrange(len(taken))))
    for one in taken:
        intervals.give_back(*one)
    used = intervals.used
    assert used == 0 or intervals.take(used) == 0


def test_rows_of_compiled_operators_are_used_again() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        (stream,) = operate(stream, forward(), "first", pact=Exchange("value"))
        (stream,) = operate(stream, forward(), "second", pact=Exchange("value"))
        return handle, stream.probe()

    lengths = []
    with simulated(2) as group:
        for _ in range(40):
            for handle, _ in build(group, declare):
                handle.send({"value": [1, 2, 3]})
                handle.close()
            settle(group, 20_000)
            worlds = [worker.world for worker in group.workers]
            lengths.append([(len(one.operators), len(one.inputs), len(one.outputs), len(one.edges)) for one in worlds])
    assert lengths[4:] == [lengths[4]] * 36
