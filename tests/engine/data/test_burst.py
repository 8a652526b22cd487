"""Bursts: whoever gets them, and whoever counts, sees single messages, each with its own time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, Recorder, build, settle, simulated
from tests.engine.native.scripted import BY_VALUE, forward, later, operate
from tests.errors import Fact, raises
from tokenring.engine import (
    COMPLETE,
    Batch,
    Broadcast,
    Exchange,
    InputPort,
    OperatorContext,
    OperatorError,
    OutputPort,
    Pact,
    Schema,
    Scope,
    Token,
    Worker,
)
from tokenring.engine.worker.simulation import SimulatedGroup

TIMES = np.array([3, 3, 4, 7, 7, 7, 8, 12, 90, 90, 91], np.int64)
VALUES = np.arange(len(TIMES), dtype=np.int64) * 5


def source(sends: Callable[[OutputPort, Token], None]) -> Callable[..., Any]:
    """A source's constructor: worker 0 sends once and is done, the others have nothing."""

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        def logic(output: OutputPort) -> None:
            if token.live:
                if context.worker_index == 0:
                    sends(output, token)
                token.drop()

        return logic

    return construct


def as_burst(output: OutputPort, token: Token) -> None:
    output.give_each(token, Batch(VALUE, {"value": VALUES}), TIMES)


def one_by_one(output: OutputPort, token: Token) -> None:
    for time in np.unique(TIMES).tolist():
        output.give(token, Batch(VALUE, {"value": VALUES[time == TIMES]}), time)


def received(
    sends: Callable[[OutputPort, Token], None], workers: int, pact: Pact | None, through: str = "", **settings: Any
) -> list[list[tuple[int, list[int]]]]:
    """(time, values) of each message on each worker, the group run to its end under exhaustive checks."""
    recorders = []

    def declare(worker: Worker, scope: Scope) -> None:
        (stream,) = scope.source("source", (VALUE,), source(sends))
        if through == "stage":
            stream = stream.apply("odd", VALUE, lambda batch: batch.filter(batch["value"] % 2 == 1))
        recorder = Recorder()
        if through == "loop":
            with scope.loop() as loop:
                loop.enter(stream).sink("record", recorder.sink, pact)
        else:
            stream.sink("record", recorder.sink, pact)
        recorders.append(recorder)

    with simulated(workers, checks="exhaustive", **settings) as group:
        build(group, declare)
        settle(group, 20_000)
        assert all(worker.complete for worker in group.workers)
    return [sorted((time, values) for time, values, _ in recorder.seen) for recorder in recorders]


@pytest.mark.parametrize("through", ["", "stage", "loop"])
@pytest.mark.parametrize("pact", [None, Exchange("value"), Broadcast()], ids=["pipeline", "exchange", "broadcast"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_burst_comes_as_the_messages_that_it_is(workers: int, pact: Pact | None, through: str) -> None:
    found = received(as_burst, workers, pact, through)
    assert found == received(one_by_one, workers, pact, through)
    rows = list(zip(TIMES.tolist(), VALUES.tolist(), strict=True))
    sent = [(time, value) for time, value in rows if through != "stage" or value % 2 == 1]
    copies = workers if isinstance(pact, Broadcast) else 1
    came = [
        (time if isinstance(time, int) else time[0], value)
        for of_worker in found
        for time, values in of_worker
        for value in values
    ]
    assert sorted(came) == sorted(copies * sent)


@pytest.mark.parametrize("pact", [None, BY_VALUE], ids=["pipeline", "exchange"])
@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_burst_waits_at_a_compiled_operator_with_its_keys(workers: int, timed: bool, pact: Pact | None) -> None:
    """For rounds in which the memory of those before is used anew; it goes on as the messages that it was."""
    rows = 500
    times, values = np.arange(rows) // 3, np.arange(rows) * 7
    states: list[np.ndarray] = []
    recorder = Recorder()

    def send(output: OutputPort, token: Token) -> None:
        output.give_each(token, Batch(VALUE, {"value": values}), times, timed)

    def declare(worker: Worker, scope: Scope) -> None:
        (stream,) = scope.source("source", (VALUE,), source(send))
        other = scope.source("other", (VALUE,), source(send))[0]
        for number in range(2):
            (stream,) = operate(stream, later(), f"waits {number}", pact=pact, states=states)
            (other,) = operate(other, forward(), f"goes on {number}", pact=pact)
        stream.sink("record", recorder.sink)
        other.sink("nothing", Recorder().sink)

    with simulated(workers, checks="exhaustive") as group:
        build(group, declare)
        for state in states:
            state[2] = -9
        settle(group, 20_000)
        assert all(worker.complete for worker in group.workers)
    assert recorder.rows == sorted(zip(times.tolist() if timed else [0] * rows, values.tolist(), strict=True))
    for _, of_message, _ in recorder.seen:
        assert len({value // 7 // 3 for value in of_message}) == 1, "a message is of one key"


def test_text_and_full_queues_are_no_hindrance() -> None:
    rows = 3_000  # a queue of 4 KiB takes some 60 at a time
    times = np.sort(np.random.default_rng(5).integers(0, 900, rows))
    values = np.arange(rows)

    def many(output: OutputPort, token: Token) -> None:
        output.give_each(token, Batch(VALUE, {"value": values}), times)

    found = received(many, 2, Exchange("value"))
    rows_found = Counter((time, value) for of_worker in found for time, of_time in of_worker for value in of_time)
    assert rows_found == Counter(zip(times.tolist(), values.tolist(), strict=True))

    schema = Schema(name="string")
    seen: list[tuple[int, str]] = []

    def declare(worker: Worker, scope: Scope) -> None:
        def texts(output: OutputPort, token: Token) -> None:
            output.give_each(token, Batch(schema, {"name": ["a", "bb", "a"]}), np.array([1, 1, 2]))

        def note(context: OperatorContext) -> Callable[..., None]:
            def logic(messages: InputPort) -> None:
                for reference, batch in messages:
                    seen.extend((reference.time, name) for name in batch["name"].tolist())

            return logic

        (stream,) = scope.source("source", (schema,), source(texts))
        stream.sink("note", note, Exchange("name"))

    with simulated(2) as group:
        build(group, declare)
        settle(group)
    assert sorted(seen) == [(1, "a"), (1, "bb"), (2, "a")]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_message_holds_the_frontier_at_its_own_time(workers: int) -> None:
    """One message is taken a run: the probe behind never passes one that was not, and alone stops at each."""
    moves: list[tuple[int, list[int]]] = []  # a frontier, and what had been taken by then
    found: list[int] = []

    def one_a_run(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()

        def logic(messages: InputPort, output: OutputPort) -> None:
            for reference, _ in messages:
                found.append(reference.time)
                context.activate()
                break

        return logic

    def declare(worker: Worker, scope: Scope) -> Any:
        (stream,) = scope.source("source", (VALUE,), source(as_burst))
        return stream.unary("slow", VALUE, one_a_run, Exchange("value")).probe()

    with simulated(workers, checks="exhaustive") as group:
        probe = build(group, declare)[0]
        probe.on_advance(lambda: moves.append((probe.frontier, found.copy())))
        for _ in range(200):
            for worker in group.workers:
                worker.step()
        assert probe.done()
    assert sorted(set(found)) == np.unique(TIMES).tolist()
    for frontier, taken in moves:
        assert sorted(time for time in taken if time < frontier) == sorted(time for time in found if time < frontier)
    if workers == 1:
        assert [frontier for frontier, _ in moves] == [*np.unique(TIMES).tolist(), COMPLETE]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("timed", [True, False])
def test_who_asks_takes_a_burst_at_once(workers: int, timed: bool) -> None:
    taken: list[tuple[int, int]] = []

    def construct(context: OperatorContext) -> Callable[..., None]:
        def logic(messages: InputPort) -> None:
            for reference, batch in messages.in_bursts():
                taken.append((reference.time, batch.rows))

        return logic

    def send(output: OutputPort, token: Token) -> None:
        output.give_each(token, Batch(VALUE, {"value": np.full(len(TIMES), 5)}), TIMES, timed)

    def declare(worker: Worker, scope: Scope) -> Any:
        (stream,) = scope.source("source", (VALUE,), source(send))
        stream.sink("take", construct, Exchange("value"))

    with simulated(workers, checks="exhaustive") as group:
        build(group, declare)
        settle(group)
        assert all(worker.complete for worker in group.workers)
    assert taken == [(3 if timed else 0, len(TIMES))]


def test_a_burst_kept_beyond_its_step_is_no_view() -> None:
    """An operator that leaves its messages for later finds the same rows and times then, whatever came in between."""
    seen: list[tuple[int, list[int]]] = []

    def late(context: OperatorContext) -> Callable[..., None]:
        calls = [0]

        def logic(messages: InputPort) -> None:
            calls[0] += 1
            if calls[0] < 5:
                context.activate()
                return
            seen.extend((reference.time, batch["value"].tolist()) for reference, batch in messages)

        return logic

    def declare(worker: Worker, scope: Scope) -> None:
        (stream,) = scope.source("source", (VALUE,), source(as_burst))
        stream.sink("late", late, Exchange("value"))

    with simulated(2, checks="exhaustive") as group:
        build(group, declare)
        settle(group)
    rows = sorted((time, value) for time, values in seen for value in values)
    assert rows == sorted(zip(TIMES.tolist(), VALUES.tolist(), strict=True))


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (np.array([5, 4]), ("output 0", "ascending", "sort")),
        (np.array([1]), ("output 0", "each row")),
        (np.array([1, 9]), ("token at 2", "at 1")),
        (None, ("output 0", "each row")),
        (np.int64(7), ("output 0", "each row")),
    ],
)
def test_keys_that_do_not_fit_are_refused(times: Any, said: Fact) -> None:
    def send(output: OutputPort, token: Token) -> None:
        token.downgrade(2)
        output.give_each(token, {"value": [1, 2]}, times)

    def declare(worker: Worker, scope: Scope) -> None:
        (stream,) = scope.source("source", (VALUE,), source(send))
        stream.sink("record", Recorder().sink)

    def run(group: SimulatedGroup) -> None:
        build(group, declare)
        settle(group)

    with simulated() as group, raises(OperatorError, said):
        run(group)
