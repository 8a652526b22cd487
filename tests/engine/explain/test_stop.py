"""A dataflow of which an operator raised: nobody who still runs it takes for finished what is not, and it goes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.engine.helpers import VALUE, build, nothing_left, settle, simulated
from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import (
    Broadcast,
    DroppedTokenError,
    Exchange,
    InputGroup,
    InputPort,
    Notify,
    OutputPort,
    Schema,
    Scope,
    Token,
    Worker,
)
from tokenring.engine.explain import Dataflow, let_go, stop
from tokenring.engine.running import RunningDataflow
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.operators import Count, aggregate, col, exchange, filter, map_batches, union, with_columns

TIMES = 12
ROWS = 6
"""Of each worker at each time."""
BAD = 77
"""The row at which an operator raises."""


def ticking(bad_at: int) -> Callable[..., Any]:
    """Rows of each time, in pieces; one of those at `bad_at` is bad."""

    def construct(context: Any, token: Token) -> Callable[[OutputPort], None]:
        random = Random(context.worker_index)

        def logic(output: OutputPort) -> None:
            if not token.live:
                return
            values = [random.randrange(20) for _ in range(ROWS)]
            if context.worker_index == 0 and token.time == bad_at:
                values[ROWS // 2] = BAD
            output.give(token, {"value": values[: ROWS // 3]})
            output.give(token, {"value": values[ROWS // 3 :]})
            if token.time < TIMES:
                token.downgrade(token.time + 1)
                context.activate()
            else:
                token.drop()

        return logic

    return construct


def by_hand(stream: Any) -> Any:
    """Keeps rows for a while with tokens, in its own hands and in lists, and sends half of what it has when it raises.
    """

    def construct(context: Any, token: Token) -> Callable[..., None]:
        token.drop()
        kept: list[tuple[Token, Any]] = []

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                held = reference.retain()
                if BAD in batch["value"]:
                    mine, before = kept.pop(0) if kept else (held.clone(), batch)
                    if kept:
                        other, rows_too = kept.pop()
                        output.give(other, rows_too)
                        other.drop()
                    raise ValueError(f"{before.rows} rows of {mine.time} are bad")
                kept.append((held, batch.copy()))
            while kept and kept[0][0].time < rows.frontier:
                held, batch = kept.pop(0)
                output.give(held, batch)
                held.drop()

        return logic

    return stream.unary("by hand", VALUE, construct, Exchange("value"), Notify.ALWAYS)


def raising(batch: Any) -> Any:
    if BAD in batch["value"]:
        raise ValueError("bad")
    return {"value": batch["value"]}


def in_a_stage(stream: Any) -> Any:
    return map_batches(exchange(stream, "value"), VALUE, raising)


def in_a_compiled_stage(stream: Any) -> Any:
    counted = aggregate(stream, "value", n=Count(), emit="each")
    return with_columns(counted, value=col("value") + 0 // (col("value") - BAD))


def behind_a_compiled_one(stream: Any) -> Any:
    return map_batches(aggregate(stream, "value", n=Count(), emit="each"), VALUE, raising)


def in_a_loop(stream: Any) -> Any:
    """Each row comes out twice, once it has been round: a stage raises on its way around."""
    scope = stream.scope
    with scope.loop("round") as loop:
        back = loop.feedback(Schema("value round"))
        entered = with_columns(loop.enter(stream), round=col("value") * 0)
        head = union(entered, back.stream)
        once = filter(head, col("round") < 1)

        def further(batch: Any) -> Any:
            return raising(batch) | {"round": batch["round"] + 1}

        back.connect(map_batches(exchange(once, "value"), Schema("value round"), further))
        return loop.leave(head)


KINDS = {by_hand: 1, in_a_stage: 1, in_a_compiled_stage: 1, behind_a_compiled_one: 1, in_a_loop: 2}
"""And how many rows each makes of one."""


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_nobody_takes_half_for_whole(
    kind: Callable[[Any], Any], workers: int, capfd: pytest.CaptureFixture[str]
) -> None:
    for seed in range(examples(9)):
        run(kind, workers, Random(f"{kind.__name__} {workers} {seed}"), stop_failed)
    assert capfd.readouterr().err == ""  # no token was lost


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_nobody_takes_half_for_whole_of_what_is_cancelled(
    kind: Callable[[Any], Any], workers: int, capfd: pytest.CaptureFixture[str]
) -> None:
    for seed in range(examples(9)):
        run(kind, workers, Random(f"{kind.__name__} {workers} {seed}"), cancel_all)
    assert capfd.readouterr().err == ""


def stop_failed(group: SimulatedGroup, instances: list[RunningDataflow], failures: list[int], random: Random) -> None:
    """Once an operator has raised, let the others stop the dataflow, too, and all let it go."""
    while not failures:
        random.choice(group.workers).step()
    waiting = [worker for worker in group.workers if worker.index != failures[0]]
    random.shuffle(waiting)
    while waiting:
        step_some(group, random)
        worker = waiting.pop()
        stop(instances[worker.index], worker.runtime, worker.schedule)
    for worker in random.sample(group.workers, len(group.workers)):
        for _ in range(random.randrange(10)):
            random.choice(group.workers).step()
        let_go(instances[worker.index], worker.runtime, worker.schedule, worker.flush)


def cancel_all(group: SimulatedGroup, instances: list[RunningDataflow], failures: list[int], random: Random) -> None:
    """At some time let one after the other cancel the dataflow, and wait for those who have not."""
    waiting = random.sample(group.workers, len(group.workers))

    def others_cancel() -> None:
        step_some(group, random)
        if waiting:
            worker = waiting.pop()
            Dataflow(instances[worker.index], worker.inspection, worker.schedule, others_cancel).cancel()

    others_cancel()
    assert not failures


def step_some(group: SimulatedGroup, random: Random) -> None:
    """They go on meanwhile, each for as long as it likes."""
    for _ in range(random.randrange(60)):
        random.choice(group.workers).step()


Ending = Callable[[SimulatedGroup, list[RunningDataflow], list[int], Random], None]


def run(kind: Callable[[Any], Any], workers: int, random: Random, ends: Ending) -> None:
    failures: list[int] = []
    noted: list[dict[int, int]] = [{} for _ in range(workers)]
    others: list[dict[int, int]] = [{} for _ in range(workers)]
    bad_at, key = random.randrange(TIMES), random.randrange(100)
    if ends is cancel_all:
        bad_at = TIMES + 1  # none is

    def noting(found: list[dict[int, int]]) -> Callable[..., Any]:
        """The rows of each time that is finished."""

        def construct(context: Any) -> Callable[[InputPort], None]:
            came: dict[int, int] = {}

            def logic(rows: InputPort) -> None:
                for reference, batch in rows:
                    came[reference.time] = came.get(reference.time, 0) + batch.rows
                for time in [time for time in came if time < rows.frontier]:
                    found[context.worker_index][time] = came.pop(time)

            return logic

        return construct

    def doomed(worker: Worker, scope: Scope) -> Any:
        scope.when_failed = lambda _: failures.append(worker.index)
        (stream,) = scope.source("ticking", (VALUE,), ticking(bad_at))
        # One of them gets all: where it is not the one that has stopped, nothing that waits there holds its frontier.
        with_columns(kind(stream), all=col("value") * 0 + key).sink("noting", noting(noted), Exchange("all"))
        return scope

    def other(worker: Worker, scope: Scope) -> None:
        (stream,) = scope.source("ticking", (VALUE,), ticking(-1))
        stream.sink("noting", noting(others), Broadcast())

    with simulated(workers, checks="exhaustive") as group:
        scopes = build(group, doomed)
        build(group, other, "other")
        ends(group, [scope.running.instance for scope in scopes], failures, random)
        end(group)
    assert len([found for found in noted if found]) <= 1
    whole = {time: ROWS * workers for time in range(TIMES + 1)}
    for found in noted:
        assert all([rows == KINDS[kind] * whole[time] and time < bad_at for time, rows in found.items()])
    assert others == [whole] * workers


def end(group: SimulatedGroup) -> None:
    """Step until all is forgotten."""
    group.run()
    while any([worker.dataflows.finished or worker.schedule.due for worker in group.workers]):
        for worker in group.workers:
            worker.step()
    nothing_left(group)


def bursting(context: Any, token: Token) -> Callable[[OutputPort], None]:
    """Sends several messages at once, and is never done."""

    def logic(output: OutputPort) -> None:
        for value in range(5):
            output.give(token, {"value": [value]})
        context.activate()

    return logic


def behind_what_is_compiled(stream: Any, stage: Callable[[Any], Any]) -> Any:
    return map_batches(aggregate(stream, "value", n=Count(), emit="each"), VALUE, stage)


def on_the_way_around(stream: Any, stage: Callable[[Any], Any]) -> Any:
    with stream.scope.loop("round") as loop:
        back = loop.feedback(VALUE)
        head = union(loop.enter(stream), back.stream)
        back.connect(head)
        return loop.leave(map_batches(back.stream, VALUE, stage))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("place", [behind_what_is_compiled, on_the_way_around])
def test_no_stage_runs_once_its_dataflow_has_stopped(place: Callable[..., Any], workers: int) -> None:
    came: list[int] = []
    failures: list[str] = []

    def stage(batch: Any) -> Any:
        came.append(batch.rows)
        raise ValueError("this one, too")

    def doomed(worker: Worker, scope: Scope) -> Any:
        scope.when_failed = failures.append
        (stream,) = scope.source("bursting", (VALUE,), bursting)
        place(stream, stage).probe()
        return scope

    with simulated(workers, checks="exhaustive") as group:
        scopes = build(group, doomed)
        failing = group.workers[0]
        while not failures:
            failing.step()
        for worker in group.workers[1:]:
            stop(scopes[worker.index].running.instance, worker.runtime, worker.schedule)
        for _ in range(20):
            for worker in group.workers:
                worker.step()
        for worker in group.workers:
            let_go(scopes[worker.index].running.instance, worker.runtime, worker.schedule, worker.flush)
        end(group)
    assert len(failures) == len(came) == 1


def test_a_manual_input_of_a_dataflow_that_has_stopped_is_closed_and_says_nothing_before_all_have_stopped() -> None:
    def doomed(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        return scope, handle, with_columns(stream, more=col("value")).probe()

    with simulated(2, checks="exhaustive") as group:
        made = build(group, doomed)
        worker = group.workers[0]
        for _, handle, _ in made:
            handle.advance_to(3)
        settle(group)
        group_of_inputs = InputGroup([handle for _, handle, _ in made[:1]])
        scope, handle, _ = made[0]
        stop(scope.running.instance, worker.runtime, worker.schedule)
        group_of_inputs.advance_to(9)
        assert handle.closed
        with raises(DroppedTokenError, "operator 'input' output 0", "worker 0", "closed"):
            handle.send({"value": [1]})
        made[1][1].close()
        settle(group)
        assert [probe.frontier for _, _, probe in made] == [3, 3]
        scope, _, _ = made[1]
        stop(scope.running.instance, group.workers[1].runtime, group.workers[1].schedule)
        for worker, (scope, _, _) in zip(group.workers, made, strict=True):
            let_go(scope.running.instance, worker.runtime, worker.schedule, worker.flush)
        end(group)
