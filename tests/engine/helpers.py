"""Simulated groups and small dataflows for tests of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tokenring.engine import (
    Config,
    InputHandle,
    InputPort,
    OperatorContext,
    OutputPort,
    Pact,
    Probe,
    Schema,
    Scope,
    Token,
    TokenRef,
    Worker,
)
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.shm.queues import receive, route

VALUE = Schema("value")


@contextmanager
def simulated(workers: int = 1, *, worker_class: type[Worker] = Worker, **settings: Any) -> Iterator[SimulatedGroup]:
    """A group in this process, closed in the end; small rings and queues unless told otherwise."""
    config = Config(**({"workers": workers, "ring_records": 64, "queue_bytes": 4096, "pin": False} | settings))
    group = SimulatedGroup(config, worker_class)
    try:
        yield group
    finally:
        for worker in group.workers:
            worker.lost.report = lambda *_: None  # type: ignore[method-assign]
            for handle in worker.inputs:
                handle.close()
        group.close()


def build(group: SimulatedGroup, declare: Callable[[Worker, Scope], Any], name: str = "test") -> list[Any]:
    """Declare one dataflow on every worker; returns what `declare` returned on each."""
    made = []
    for worker in group.workers:
        with group.building(worker), worker.dataflow(name) as scope:
            made.append(declare(worker, scope))
    return made


def take_in(worker: Worker) -> int:
    """Let messages from peers arrive, and nothing else happen; how many came."""
    found: int = receive(worker.plane.incoming, worker.plane.inbox)
    worker.plane.deliver(found)
    worker.world.state.lent = worker.world.state.taken = 1
    return found


def settle(group: SimulatedGroup, rounds: int = 500) -> None:
    """Step everybody in turn until nobody finds anything to do."""
    for _ in range(rounds):
        if not any([worker.step() for worker in group.workers]):
            return
    raise AssertionError(f"still busy after {rounds} rounds")


def nothing_left(group: SimulatedGroup) -> None:
    """Assert that every dataflow is finished and forgotten."""
    for worker in group.workers:
        assert worker.complete
        assert worker.inspection.operators == []
        assert worker.inputs == []
        assert worker.dataflows.by_number == {}
        assert worker.dataflows.finished == []
        assert worker.plane.channels == {}
        worker.tracker.entries.check()


def key_for(worker: int, workers: int) -> int:
    """A key that an exchange sends to `worker`."""
    return next(key for key in range(10_000) if route(key, workers) == worker)


class Recorder:
    """An operator that passes on what it gets and remembers (time, rows of value, frontier) and how often it ran."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, list[int], int]] = []
        self.runs = 0
        self.frontiers: list[int] = []

    def unary(self, context: OperatorContext, token: Token) -> Callable[..., None]:
        """Constructor of an operator with an output."""
        token.drop()

        def logic(messages: InputPort, output: OutputPort) -> None:
            self._note(messages)
            for reference, batch in messages:
                self.seen.append((reference.time, batch["value"].tolist(), messages.frontier))
                output.give(reference, batch)

        return logic

    def sink(self, context: OperatorContext) -> Callable[..., None]:
        """Constructor of an operator without an output."""

        def logic(messages: InputPort) -> None:
            self._note(messages)
            for reference, batch in messages:
                self.seen.append((reference.time, batch["value"].tolist(), messages.frontier))

        return logic

    def _note(self, messages: InputPort) -> None:
        self.runs += 1
        self.frontiers.append(messages.frontier)

    @property
    def rows(self) -> list[tuple[int, int]]:
        """(time, value) of every row, sorted."""
        return sorted((time, value) for time, values, _ in self.seen for value in values)


Edge = tuple[InputHandle, Probe, Recorder]


def edge(pact: Pact | None) -> Callable[[Worker, Scope], Edge]:
    """A dataflow of an input, an edge of this pact to a recorder, and a probe."""

    def declare(worker: Worker, scope: Scope) -> Edge:
        handle, stream = scope.new_input(VALUE)
        recorder = Recorder()
        return handle, stream.unary("record", VALUE, recorder.unary, pact).probe(), recorder

    return declare


def finish(group: SimulatedGroup, edges: list[Edge]) -> None:
    """Close the inputs and run to the end: everything complete."""
    for handle, _, _ in edges:
        handle.close()
    settle(group, 20_000)
    assert all(worker.complete for worker in group.workers)
    assert all(probe.done() for _, probe, _ in edges)


def with_message(act: Callable[[Token, TokenRef, InputPort, OutputPort], Any], message_time: int = 3) -> Any:
    """Run `act` once inside an operator's call that holds its initial token (time 0) and takes a message at
    `message_time`."""
    results: list[Any] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)

        def constructor(context: OperatorContext, token: Token) -> Callable[..., None]:
            def logic(messages: InputPort, output: OutputPort) -> None:
                for reference, _ in messages:
                    results.append(act(token, reference, messages, output))
                    if token.live:
                        token.drop()

            return logic

        stream.unary("actor", VALUE, constructor).probe()
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        handle.advance_to(message_time)
        handle.send({"value": [1]})
        handle.close()
        settle(group)
        assert group.workers[0].complete
    assert len(results) == 1
    return results[0]
