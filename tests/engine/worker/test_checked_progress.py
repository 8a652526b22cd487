"""`Config(checks="exhaustive")`: honest programs pass, and each broken rule is named by the worker that breaks it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.engine.safety import sabotage
from tests.engine.safety.oracle import Violation
from tests.engine.safety.schedule import Run, run_schedule
from tests.errors import raises
from tokenring.engine import (
    COMPLETE,
    BrokenInvariant,
    Config,
    ConfigError,
    Exchange,
    Notify,
    OperatorError,
    Schema,
    Token,
    Worker,
    execute,
)
from tokenring.engine.progress.exchange import ProgressChannel
from tokenring.engine.worker.checked_progress import CheckedProgress
from tokenring.engine.worker.simulation import SimulatedGroup

VALUE = Schema("value")


@pytest.fixture
def group() -> Iterator[SimulatedGroup]:
    """Two workers that check everything, with queues that are soon full."""
    config = Config(workers=2, ring_records=64, queue_bytes=4096, pin=False, checks="exhaustive")
    group = SimulatedGroup(config)
    for worker in group.workers:
        worker.lost.report = lambda *_: None  # type: ignore[method-assign]
    yield group
    group.close()


def hold(tokens: list[Token]) -> Callable[..., Any]:
    """An operator that passes rows on, and keeps a token of the first message of each call."""

    def construct(context: Any, token: Token) -> Callable[..., None]:
        tokens.append(token)

        def logic(rows: Any, output: Any) -> None:
            for reference, batch in rows:
                output.give(reference, batch)
                tokens.append(reference.retain())

        return logic

    return construct


def build(group: SimulatedGroup) -> tuple[list[Any], list[list[Token]]]:
    """An input, an exchange, an operator that hoards tokens, a sink."""
    handles, tokens = [], []
    for worker in group.workers:
        tokens.append([])
        with group.building(worker), worker.dataflow("held") as scope:
            handle, stream = scope.new_input(VALUE)
            held = stream.unary("hold", VALUE, hold(tokens[-1]), Exchange("value"), Notify.NEVER)
            held.sink("sink", lambda context: lambda rows: [None for _ in rows], Exchange("value"), Notify.NEVER)
            handles.append(handle)
    return handles, tokens


def drain(group: SimulatedGroup, handles: list[Any], tokens: list[list[Token]]) -> None:
    """Run to the end."""
    for handle in handles:
        handle.close()
    for _ in range(200):
        for worker, mine in zip(group.workers, tokens, strict=True):
            worker.step()
            for token in mine:
                if token.live:
                    token.drop()
    assert all(worker.complete for worker in group.workers)


def send_much(handles: list[Any], rounds: int = 6) -> None:
    """More than the queues hold."""
    for time in range(rounds):
        for handle in handles:
            handle.send({"value": range(300)})
            handle.advance_to(time + 1)


def test_an_honest_run_passes(group: SimulatedGroup) -> None:
    handles, tokens = build(group)
    send_much(handles)
    channels = [channel for worker in group.workers for channel in worker.plane.channels.values()]
    assert any(channel.pending for channel in channels), "queues never full"
    drain(group, handles, tokens)


def test_a_group_of_processes_passes() -> None:
    def program(worker: Worker) -> int:
        assert [type(watcher) for watcher in worker.dataflows.watchers] == [CheckedProgress]
        total = 0

        def add(context: Any) -> Callable[..., None]:
            def logic(rows: Any) -> None:
                nonlocal total
                for _, batch in rows:
                    total += int(batch["value"].sum())

            return logic

        with worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)
            stream.sink("add", add, Exchange("value"), Notify.NEVER)
        for time in range(1, 20):
            handle.send({"value": range(100)})
            handle.advance_to(time)
        worker.run()
        return total

    assert sum(execute(program, config=Config(workers=2, checks="exhaustive"))) == 2 * 19 * 4950


def test_the_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKENRING_CHECKS", raising=False)
    assert Config().checks == "normal"
    monkeypatch.setenv("TOKENRING_CHECKS", "exhaustive")
    assert Config().checks == "exhaustive"
    assert Config(checks="normal").checks == "normal"
    with raises(ConfigError, "checks", "TOKENRING_CHECKS", "'normal'", "'exhaustive'", "not 'some'"):
        Config(checks="some")


def test_without_the_switch_nothing_is_there() -> None:
    group = SimulatedGroup(Config(workers=1, pin=False, checks="normal"))
    try:
        assert group.workers[0].dataflows.watchers == []
    finally:
        group.close()


def test_dropping_what_is_not_owned(group: SimulatedGroup) -> None:
    handles, _ = build(group)
    worker = group.workers[1]
    handles[1].advance_to(5)
    output = worker.inspection.operators[0].outputs[0]
    worker.log.add(output.location, 3, -1)
    with raises(BrokenInvariant, "worker 1", "drop 1", "operator 'input' output 0", "time 3", "A6"):
        worker.step()


def test_a_token_out_of_nothing(group: SimulatedGroup) -> None:
    _, tokens = build(group)
    worker = group.workers[0]
    tokens[0][0].downgrade(7)
    worker.inputs[0].close()
    worker.log.add(worker.inspection.operators[1].outputs[0].location, 6, 1)
    with raises(BrokenInvariant, "worker 0", "add 1", "operator 'hold' output 0", "time 6", "A9"):
        worker.step()


def test_a_token_that_no_change_tells_of(group: SimulatedGroup) -> None:
    _, tokens = build(group)
    offset = group.workers[0].log.offset
    tokens[0][0].drop()
    group.workers[0].log.offset = offset
    with raises(BrokenInvariant, "worker 0", "holds 0", "operator 'hold' output 0", "1 at 0"):
        group.workers[0].step()


def test_a_message_consumed_twice(group: SimulatedGroup) -> None:
    build(group)
    worker = group.workers[0]
    worker.log.add(worker.inspection.operators[1].inputs[0].location, 0, -1)
    with raises(BrokenInvariant, "worker 0", "consume 1", "operator 'hold' input 0", "took 0", "A6"):
        worker.step()


def test_a_frontier_that_counts_do_not_imply(group: SimulatedGroup) -> None:
    build(group)
    worker = group.workers[0]
    port = worker.inspection.operators[1].inputs[0]
    worker.tracker.tables.location_view[worker.tracker.frontier_word(port.location)] = COMPLETE
    with raises(BrokenInvariant, "frontier of operator 'hold' input 0", "worker 0", "[]", "[0]"):
        worker.step()


def test_decrements_before_increments(group: SimulatedGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a batch on the ring: what is given up before what it leads to (A8)."""
    honest = ProgressChannel.exchange

    def decrements_first(self: ProgressChannel, sent: bool) -> int:
        changes = self._log.changes()
        self._log.offset = 0
        for location, time, delta in changes:
            if delta < 0:
                self._log.add(location, time, delta)
        flags = honest(self, sent)
        for location, time, delta in changes:
            if delta > 0:
                self._log.add(location, time, delta)
        return flags

    _, tokens = build(group)
    group.workers[0].step()
    monkeypatch.setattr(ProgressChannel, "exchange", decrements_first)
    tokens[0][0].downgrade(3)
    with raises(
        BrokenInvariant,
        "worker 0",
        "end of 1",
        "operator 'hold' output 0 on worker 0, time 0",
        "operator 'hold' output 0 on worker 0, time 3",
    ):
        group.workers[0].step()


def test_publishing_in_the_middle_of_a_call() -> None:
    """Consumption goes out before what it leads to (A8)."""

    def construct(context: Any, token: Token) -> Callable[..., None]:
        token.drop()

        def logic(rows: Any, output: Any) -> None:
            for reference, _ in rows:
                group.workers[0].turns._exchange_progress(False)
                kept.append(reference.retain())

        return logic

    kept: list[Token] = []
    group = SimulatedGroup(Config(workers=1, pin=False, checks="exhaustive"))
    try:
        worker = group.workers[0]
        with group.building(worker), worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)
            stream.unary("impatient", VALUE, construct)
        handle.send({"value": [1]})
        handle.close()
        with raises(BrokenInvariant, "add 1", "operator 'impatient' output 0", "time 0", "A7"):
            worker.step()
        kept.pop().drop()
    finally:
        group.close()


# Rules that take a whole schedule to break. The oracle looks away, so that it cannot be the one who notices.


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        (sabotage.counts_waiting_rows_as_messages, "is about to add .* without a token"),
        (sabotage.loses_the_last_change, r"holds \d+ token"),
        (sabotage.sends_before_the_session, "is about to add .* without a token"),
    ],
)
def test_schedules_that_break_a_rule(
    breaks: Callable[[Run], None], says: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOKENRING_CHECKS", "exhaustive")

    def blindfolded(run: Run) -> None:
        breaks(run)
        run.check = lambda who=None: None  # type: ignore[method-assign]

    caught = 0
    for seed in range(120):
        try:
            run_schedule(seed, sabotage=blindfolded, most_actions_to_end=300)
        except (Violation, OperatorError) as error:
            caught += re.search(says, str(error)) is not None
        if caught == 3:
            return
    pytest.fail(f"{breaks.__name__} was named in {caught} of 120 schedules")
