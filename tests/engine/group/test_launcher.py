"""Whole groups of real processes: results, notes, two dataflows, tiny queues with bounded memory."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, Recorder
from tests.errors import raises
from tokenring.engine import (
    Batch,
    Config,
    Exchange,
    InputPort,
    OperatorContext,
    OutputPort,
    Schema,
    Token,
    Worker,
    execute,
)
from tokenring.shm.queues.data_queue import route

SCHEMA = Schema("key value")


def test_results_come_in_the_order_of_workers() -> None:
    def program(worker: Worker) -> dict[str, Any]:
        return {"index": worker.index, "peers": worker.peers, "array": list(range(worker.index)), "pid": os.getpid()}

    results = execute(program, workers=3)
    assert [(result["index"], result["peers"], result["array"]) for result in results] == [
        (0, 3, []),
        (1, 3, [0]),
        (2, 3, [0, 1]),
    ]
    assert len({result["pid"] for result in results} | {os.getpid()}) == 4


@pytest.mark.parametrize("how", ["returns", "steps", "sends", "raises", "logic"])
def test_a_process_that_the_program_forks_is_no_second_worker(how: str, capfd: pytest.CaptureFixture[str]) -> None:
    def program(worker: Worker) -> Any:
        copies: list[int] = []

        def fork() -> bool:
            """Whether this is the copy."""
            copy = os.fork()
            if copy:
                copies.append(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]))
            return copy == 0

        taken: list[int] = []

        def take(_: OperatorContext) -> Callable[[InputPort], None]:
            def logic(messages: InputPort) -> None:
                for _, batch in messages:
                    taken.extend(batch["value"].tolist())
                    if how == "logic" and worker.index == 0:
                        fork()

            return logic

        with worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)
            stream.sink("take", take, Exchange("value"))
        if how != "logic" and worker.index == 0 and fork():
            if how == "steps":
                worker.step()
            elif how == "sends":
                handle.send({"value": [7]})
            elif how == "raises":
                raise ArithmeticError("the copy's own")
            return ["never told"]
        handle.send({"value": [2 + worker.index]})
        worker.run()
        return taken, copies

    (first, copies), (second, _) = execute(program, workers=2)
    assert sorted(first + second) == [2, 3]
    assert copies == [1] * len(copies) and copies
    told = capfd.readouterr().err
    assert told.count("tokenring: worker 0: ") == len(copies)
    assert "os._exit()" in told
    assert ("the copy's own" in told) == (how == "raises")


def test_notes_and_pids_reach_the_launcher() -> None:
    notes: list[tuple[int, Any]] = []
    pids: list[int] = []

    def program(worker: Worker) -> int:
        for number in range(3):
            worker.report({"number": number})
        return os.getpid()

    results = execute(program, workers=2, on_note=lambda index, note: notes.append((index, note)), on_start=pids.extend)
    assert results == pids
    for index in range(2):
        assert [note for at, note in notes if at == index] == [{"number": number} for number in range(3)]


def test_what_a_callback_raises_ends_the_group() -> None:
    def angry(index: int, note: Any) -> None:
        raise ArithmeticError(note)

    def program(worker: Worker) -> None:
        worker.report("note")
        worker.barrier()
        worker.step_while(lambda: True)

    with raises(ArithmeticError, "note"):
        execute(program, workers=2, on_note=angry)


def test_workers_do_not_share_python_objects() -> None:
    shared: list[int] = []

    def program(worker: Worker) -> list[int]:
        shared.append(worker.index)
        return shared

    assert execute(program, workers=2) == [[0], [1]]
    assert shared == []


def test_barriers_give_everybody_one_instant() -> None:
    def program(worker: Worker) -> list[int]:
        return [worker.barrier() for _ in range(20)]

    instants = execute(program, workers=3)
    assert instants[0] == instants[1] == instants[2]
    assert instants[0] == sorted(instants[0])


def _sums(worker: Worker, name: str, rounds: int) -> dict[int, int]:
    """A keyed sum over what every worker sends, then a broadcast of nothing but its frontier."""
    sums: dict[int, int] = {}

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()

        def logic(messages: InputPort, output: OutputPort) -> None:
            for reference, batch in messages:
                assert reference.time >= messages.frontier
                for key, value in zip(batch["key"].tolist(), batch["value"].tolist(), strict=True):
                    assert route(key, context.peers) == context.worker_index
                    sums[key] = sums.get(key, 0) + value
                output.give(reference, batch)

        return logic

    with worker.dataflow(name) as scope:
        handle, stream = scope.new_input(SCHEMA)
        probe = stream.unary("sum", SCHEMA, construct, Exchange("key")).probe()
    for number in range(rounds):
        handle.send({"key": [number % 13, number % 7, -1], "value": [1, worker.index, number]})
        handle.advance_to(number + 1)
        if number % 20 == 0:
            worker.step_while(lambda: probe.less_than(handle.time - 10))
    handle.close()
    worker.step_while(lambda: not probe.done())
    return sums


def _expected(workers: int, rounds: int) -> dict[int, int]:
    sums: dict[int, int] = {}
    for index in range(workers):
        for number in range(rounds):
            for key, value in ((number % 13, 1), (number % 7, index), (-1, number)):
                sums[key] = sums.get(key, 0) + value
    return sums


def _merged(results: list[dict[int, int]]) -> dict[int, int]:
    merged: dict[int, int] = {}
    for result in results:
        for key, value in result.items():
            assert key not in merged, "a key has one owner"
            merged[key] = value
    return merged


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize(("queue_bytes", "ring_records"), [(4096, 64), (1 << 16, 1 << 14)])
def test_the_answer_does_not_depend_on_workers_or_room(workers: int, queue_bytes: int, ring_records: int) -> None:
    config = Config(workers=workers, queue_bytes=queue_bytes, ring_records=ring_records, pin=False)
    results = execute(lambda worker: _sums(worker, "sums", 300), config=config)
    assert _merged(results) == _expected(workers, 300)


def test_two_dataflows_declared_at_different_moments() -> None:
    """A slow operator of the first dataflow runs while the peers declare, build and use the second."""

    def program(worker: Worker) -> dict[int, int]:
        busy = Recorder()
        with worker.dataflow("first") as scope:
            handle, stream = scope.new_input(VALUE)
            stream.unary("busy", VALUE, busy.unary, Exchange("value")).probe()
        for number in range(200 * (1 + worker.index)):
            handle.send({"value": list(range(50))})
            handle.advance_to(number + 1)
            worker.step()
        second = _sums(worker, "second", 100)
        handle.close()
        return second

    for _ in range(3):
        assert _merged(execute(program, config=Config(workers=3, pin=False))) == _expected(3, 100)


def test_memory_stays_bounded_behind_a_slow_receiver() -> None:
    """Sources that look at `congested` send far more than memory could hold; little of it is ever waiting."""
    rows, batches = 4096, 300

    def program(worker: Worker) -> tuple[int, int]:
        def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
            sent = 0
            column = np.full(rows, next(key for key in range(99) if route(key, 2) == 1))
            batch_schema = Schema("key value")

            def logic(output: OutputPort) -> None:
                nonlocal sent
                if not token.live:
                    return
                if context.worker_index == 1 or sent == batches:
                    token.drop()
                    return
                if context.congested:
                    context.activate_after(1_000_000)
                    return
                output.give(token, Batch(batch_schema, {"key": column, "value": column}))
                sent += 1
                token.downgrade(sent)
                context.activate()

            return logic

        got = 0

        def receive(context: OperatorContext) -> Callable[..., None]:
            def logic(messages: InputPort) -> None:
                nonlocal got
                for _, batch in messages:
                    got += batch.rows

            return logic

        with worker.dataflow("flood") as scope:
            (stream,) = scope.source("flood", (SCHEMA,), construct)
            stream.sink("receive", receive, Exchange("key"))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        worker.run()
        return got, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    config = Config(workers=2, queue_bytes=4096, ring_records=64, backlog_bytes=1 << 20, pin=False)
    (_, sender_kib), (got, receiver_kib) = execute(program, config=config)
    assert got == rows * batches
    sent_kib = rows * batches * 16 // 1024
    assert max(sender_kib, receiver_kib) < sent_kib / 3, (sender_kib, receiver_kib, sent_kib)
