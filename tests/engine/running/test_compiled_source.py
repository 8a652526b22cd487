"""Compiled operators without inputs: their tokens are words of their own, and a probe's moves run them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.helpers import VALUE, Recorder, build, nothing_left, settle, simulated
from tokenring.engine import Exchange, Notify, OperatorContext, Probe, Scope, Worker
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    Compiled,
    column_of,
    downgrade,
    drop,
    entry,
    frontier_of,
    is_ending,
    new_message,
    send,
    send_each,
    state_of,
    world_at,
)

_LAST = 5
_PROBE, _NEXT, _RUNS, _CLOSED, _WORDS = range(2, 7)


@entry
def _one_at_a_time(world, me):  # type: ignore[no-untyped-def]
    """Send the times 0 to _LAST at both outputs, each once the probe has passed the one before."""
    state = state_of(world, me, _WORDS)
    state[_RUNS] += 1
    if state[_CLOSED]:
        return DONE
    time = state[_NEXT]
    if time > 0 and frontier_of(world_at(world), state[_PROBE]) < time:
        return DONE
    for output in range(2):
        if time > _LAST or is_ending(world):
            drop(world, me, state[output])
            state[_CLOSED] = 1
        else:
            message = new_message(world, me, output, 1)
            column_of(message, 0)[0] = 10 * output + time
            send(world, me, state[output], message, time)
            downgrade(world, me, state[output], time + 1)
    state[_NEXT] += 1
    return AGAIN if state[_CLOSED] else DONE


class _Made:
    """One worker's dataflow: two streams of which the source follows a probe."""

    def __init__(self, listens: str = "") -> None:
        self.state = np.zeros(_WORDS, np.int64)
        self.records = Recorder(), Recorder()
        self.heard: list[int] = []
        self.listens = listens
        self.probe: Probe

    def declare(self, worker: Worker, scope: Scope) -> _Made:
        builder = scope.operator("times", Notify.NEVER)
        streams = [builder.output(VALUE) for _ in self.records]

        def construct(context: OperatorContext) -> Compiled:
            if self.listens == "before":
                self._listen()
            self.state[_PROBE] = self.probe.location
            context.run_on_advance(self.probe)
            if self.listens == "after":
                self._listen()
            return Compiled(_one_at_a_time, self.state)

        builder.build_compiled(construct)
        pairs = zip(streams, self.records, strict=True)
        passed = [stream.unary("record", VALUE, recorder.unary) for stream, recorder in pairs]
        self.probe = passed[1].probe()
        return self

    def _listen(self) -> None:
        self.probe.on_advance(lambda: self.heard.append(self.probe.frontier))


@pytest.mark.parametrize("listens", ["", "before", "after"])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("checks", ["", "exhaustive"])
def test_a_probe_runs_a_compiled_source_and_whoever_listens(listens: str, workers: int, checks: str) -> None:
    with simulated(workers, checks=checks) as group:
        made = build(group, lambda worker, scope: _Made(listens).declare(worker, scope))
        settle(group)
        for one in made:
            for output, recorder in enumerate(one.records):
                assert recorder.rows == [(time, 10 * output + time) for time in range(_LAST + 1)]
            assert (one.heard == sorted(set(one.heard)) and len(one.heard) > _LAST) == bool(listens)
        nothing_left(group)


def test_what_the_probe_does_is_the_only_reason_to_run() -> None:
    """A run a time, one to close, and no more than another few at both ends."""
    with simulated() as group:
        (made,) = build(group, _Made().declare)
        settle(group)
        assert _LAST + 1 < made.state[_RUNS] <= _LAST + 5


def test_a_probe_of_a_later_dataflow_does_not_run_what_is_forgotten() -> None:
    """The numbers of what has ended are given to others."""
    with simulated() as group:
        first, again = _Made(), _Made()
        build(group, first.declare, "first")
        settle(group)
        runs = int(first.state[_RUNS])
        build(group, again.declare, "again")
        settle(group)
        assert again.probe.done() and again.records[0].rows == first.records[0].rows
        assert first.state[_RUNS] == runs
        again.probe.on_advance(lambda: None)  # late, and without effect
        nothing_left(group)


def test_an_end_that_is_asked_for_is_seen() -> None:
    with simulated() as group:
        group.workers[0].ending.ask()
        (made,) = build(group, _Made().declare)
        settle(group)
        assert made.records[0].rows == []
        nothing_left(group)


@entry
def _burst(world, me):  # type: ignore[no-untyped-def]
    """Send one burst, of two rows a time, and close."""
    state = state_of(world, me, 2)
    message = new_message(world, me, 0, state[1])
    values = column_of(message, 0)
    for i in range(len(values)):
        values[i] = i // 2
    send_each(world, me, state[0], message, 0)
    drop(world, me, state[0])
    return DONE


@pytest.mark.parametrize(("rows", "is_one"), [(20, True), (2_000, False)])
def test_a_burst_goes_to_a_peer_as_one_message_where_it_fits(rows: int, is_one: bool) -> None:
    """Else in pieces, and single messages where a queue is full; each with its time and its count in any case."""
    recorders, arrived = [Recorder(), Recorder()], [0]

    def declare(worker: Worker, scope: Scope) -> None:
        builder = scope.operator("burst", Notify.NEVER)
        stream = builder.output(VALUE)
        builder.build_compiled(lambda _: Compiled(_burst, np.array([0, rows], np.int64)))
        stream.unary("record", VALUE, recorders[worker.index].unary, Exchange("value"))
        deliver = worker.plane.deliver

        def counting(found: int) -> None:
            arrived[0] += found
            deliver(found)

        worker.plane.deliver = counting  # type: ignore[method-assign]

    with simulated(2, ring_records=1 << 12) as group:
        build(group, declare)
        settle(group, 5_000)
        nothing_left(group)
    found = sorted(row for recorder in recorders for row in recorder.rows)
    assert found == sorted([(i // 2, i // 2) for i in range(rows)] * 2)
    assert {len(values) for recorder in recorders for _, values, _ in recorder.seen} == {2}, "a message a time"
    assert (arrived[0] == 4) == is_one, "two senders, two receivers"
