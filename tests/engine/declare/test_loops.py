"""Rows go round loops: at the times they should, in any order of steps; and frontiers pass what is over."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.engine.declare.loops import EXCHANGE, Witness, nested, walk
from tests.engine.helpers import VALUE, Recorder, build, settle, simulated
from tests.errors import raises
from tokenring.engine import (
    MAX_TIME,
    Broadcast,
    InputPort,
    Notify,
    OperatorContext,
    OperatorError,
    OutputPort,
    Pact,
    Pipeline,
    Scope,
    Worker,
    execute,
)
from tokenring.engine.worker.config import EXHAUSTIVE
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.operators import union

EPOCHS = 3


def run_in_any_order(group: SimulatedGroup, rng: Random) -> None:
    """Step workers in random turns, now and then one many times, until all are complete."""
    for _ in range(20_000):
        if all(worker.complete for worker in group.workers):
            return
        worker = rng.choice(group.workers)
        for _ in range(rng.choice([1, 1, 1, 5])):
            worker.step()
    raise AssertionError("still not complete")


def seeds(levels: int, workers: int) -> list[Any]:
    """Of many rounds between workers one seed is enough in the short form."""
    marks = [pytest.mark.slow] if levels == 3 and workers > 1 else []
    return [pytest.param(levels, workers, 0, marks=marks), (levels, workers, 1)]


@pytest.mark.parametrize(
    ("levels", "workers", "seed"),
    [one for levels in (1, 2, 3) for workers in (1, 2, 4) for one in seeds(levels, workers)],
)
def test_rows_go_round_loops_of_every_depth(levels: int, workers: int, seed: int) -> None:
    """Through tiny queues, in random turns, with every check of the progress protocol."""
    rng = Random(f"{levels} {workers} {seed}")
    fed = [[rng.randrange(3**levels) for _ in range(rng.choice([1, 20, 200 // levels]))] for _ in range(EPOCHS)]
    seen: list[tuple[Any, int]] = []
    out = [(epoch, walk((epoch,), value, levels, seen)) for epoch, values in enumerate(fed) for value in values]
    watched = sorted({time for time, _ in seen})

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        witness, left, probes = Witness(watched), Recorder(), []  # type: ignore[var-annotated]
        end = nested(scope, stream, levels, witness, EXCHANGE, probes)
        probes.append(end.sink("left", left.sink))
        return handle, witness, left, probes

    with simulated(workers, checks=EXHAUSTIVE, ring_records=128) as group:
        made = build(group, declare)
        for epoch, values in enumerate(fed):
            for index, (handle, *_) in enumerate(made):
                handle.advance_to(epoch)
                handle.send({"value": values[index::workers]})
            for _ in range(rng.randrange(20)):
                rng.choice(group.workers).step()
        for handle, *_ in made:
            handle.close()
        run_in_any_order(group, rng)
        settle(group)
        assert sorted(row for _, witness, *_ in made for row in witness.rows) == sorted(seen)
        assert sorted(row for *_, left, _ in made for row in left.rows) == sorted(out)
        for _, witness, _, probes in made:
            assert witness.finished == set(watched)
            assert len(probes) == levels + 1
            assert all(probe.done() for probe in probes)


@pytest.mark.parametrize("seed", range(3))
def test_queues_that_are_full_within_a_loop(seed: int) -> None:
    """What finds no room waits with a token, and no frontier passes it."""
    rng = Random(seed)
    fed = [rng.randrange(9) for _ in range(4000)]
    seen: list[tuple[Any, int]] = []
    for value in fed:
        walk((0,), value, 2, seen)

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        witness = Witness(sorted({time for time, _ in seen}))
        nested(scope, stream, 2, witness, EXCHANGE)
        return handle, witness

    with simulated(2) as group:
        made = build(group, declare)
        made[0][0].send({"value": fed})
        for handle, _ in made:
            handle.close()
        waited = 0
        for _ in range(20_000):
            waited += any(worker.plane.waiting for worker in group.workers)
            rng.choice(group.workers).step()
            if all(worker.complete for worker in group.workers):
                break
        assert waited > 5
        assert sorted(row for _, witness in made for row in witness.rows) == sorted(seen)


@pytest.mark.parametrize("workers", [2, 3])
def test_loops_in_processes(workers: int) -> None:
    values = list(range(3**3)) * 20
    seen: list[tuple[Any, int]] = []
    for value in values:
        walk((0,), value, 3, seen)

    def program(worker: Worker) -> Any:
        witness = Witness([])
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)
            probe = nested(scope, stream, 3, witness, EXCHANGE).probe()
        handle.send({"value": values[worker.index :: worker.peers]})
        handle.advance_to(1)
        worker.step_while(lambda: probe.less_than(1))
        return witness.rows

    parts = execute(program, workers=workers)
    assert sorted((tuple(time), value) for part in parts for time, value in part) == sorted(seen)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_broadcast_within_a_loop(workers: int, seed: int) -> None:
    """Each row comes to all workers; one of them, by turns, passes it on."""
    rng = Random(seed)
    fed = [rng.randrange(30) for _ in range(200)]

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        rows: list[tuple[Any, int]] = []

        def construct(context: OperatorContext, token: Any) -> Callable[..., None]:
            token.drop()

            def logic(messages: InputPort, output: OutputPort) -> None:
                for reference, batch in messages:
                    rows.extend((reference.time, value) for value in batch["value"].tolist())
                    left = batch["value"] - 1
                    mine = (left >= 0) & (left % context.peers == context.worker_index)
                    output.give(reference, {"value": left[mine]})

            return logic

        with scope.loop() as loop:
            back = loop.feedback(VALUE)
            head = union(loop.enter(stream), back.stream)
            again = head.unary("everywhere", VALUE, construct, Broadcast(), Notify.NEVER)
            back.connect(again)
        return handle, rows

    with simulated(workers) as group:
        made = build(group, declare)
        made[0][0].send({"value": fed})
        for handle, _ in made:
            handle.close()
        run_in_any_order(group, rng)
        expected = sorted(((0, at_round), value - at_round) for value in fed for at_round in range(value + 1))
        for _, rows in made:
            assert sorted(rows) == expected


@pytest.mark.parametrize("pact", [Pipeline(), EXCHANGE], ids=str)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_where_a_counter_would_overflow_that_is_told(depth: int, pact: Pact) -> None:
    """Rows that come round no more would be missing."""
    step = MAX_TIME // 2

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        inner: Any = scope
        for _ in range(depth - 1):
            with inner.loop() as loop:
                stream = loop.enter(stream)
            inner = loop
        back = inner.feedback(VALUE, step)
        witness = Witness([])
        head = union(stream, back.stream)
        back.connect(head.unary("witness", VALUE, witness.construct, pact))
        return handle, witness, head.probe()

    with simulated(2) as group:
        made = build(group, declare)
        made[1][0].send({"value": [1, 2, 3]})
        for handle, *_ in made:
            handle.close()
        facts = ("operator 'witness'", "around a loop", str(2 * step), str(MAX_TIME), "leave the loop")
        with raises(OperatorError, *facts):
            settle(group)
        before = (0,) * (depth - 1)
        times = {(*before, turn * step) if before else turn * step for turn in range(3)}
        assert {time for _, witness, _ in made for time, _ in witness.rows} == times


def test_a_stream_may_enter_after_its_reader_was_begun() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        with scope.loop("late") as loop:
            builder = loop.operator("reader", Notify.NEVER)
            builder.input(loop.enter(stream))
            recorder = Recorder()
            builder.output(VALUE)
            builder.build(recorder.unary)
        return handle, recorder

    with simulated(1) as group:
        ((handle, recorder),) = build(group, declare)
        handle.send({"value": [1, 2]})
        settle(group)
        assert recorder.rows == [((0, 0), 1), ((0, 0), 2)]
        handle.close()
