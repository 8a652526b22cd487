"""Signals: words come behind the rows sent before them, to whom they are meant for, and never count as messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import VALUE, build, key_for, settle, simulated
from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import (
    Exchange,
    GraphError,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Schema,
    Scope,
    Token,
    Worker,
)

PAIR = Schema("key value")


class Sender:
    """A source that sends rows and words as the test tells it: numbered from 1, each word behind the row of its number.
    """

    def __init__(self, workers: int) -> None:
        self.signals: list[Any] = []
        self.sent = 0
        self.wanted = 0
        self.rows = 1
        self.context: OperatorContext | None = None
        self._keys = [key_for(worker, workers) for worker in range(workers)]

    def construct(self, context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
        self.context, self._token = context, token

        def logic(output: OutputPort) -> None:
            while self.sent < self.wanted:
                self.sent += 1
                keys = self._keys * self.rows
                output.give(token, {"key": keys, "value": [self.sent] * len(keys)})
                for signal in self.signals:
                    signal.send(self.sent)

        return logic

    def close(self) -> None:
        self._token.drop()


class Receiver:
    """Takes rows, and looks at the words at each run: no word may be ahead of its row."""

    def __init__(self) -> None:
        self.taken: dict[int, int] = {}  # by sender is not known, so: number of rows of each value
        self.words: list[list[int]] = []

    def construct(self, signal: Any, senders: int) -> Any:
        def constructor(context: OperatorContext, token: Token) -> Callable[..., None]:
            token.drop()

            def logic(rows: InputPort, output: OutputPort) -> None:
                for _, batch in rows:
                    for value in set(batch["value"].tolist()):
                        self.taken[value] = self.taken.get(value, 0) + int((batch["value"] == value).sum())
                self.words.append(list(signal.received))

            return logic

        return constructor


def _group(group: Any, workers: int, everywhere: bool = True) -> tuple[list[Sender], list[Receiver], list[Any]]:
    senders, receivers, signals = [], [], []

    def declare(worker: Worker, scope: Scope) -> None:
        sender, receiver = Sender(workers), Receiver()
        (stream,) = scope.source("sender", (PAIR,), sender.construct)
        builder = scope.operator("receiver", Notify.NEVER)
        builder.input(stream, Exchange("key") if everywhere else None)
        signal = builder.listen(stream, everywhere)
        builder.output(VALUE)
        builder.build(receiver.construct(signal, workers))
        sender.signals.append(signal)
        senders.append(sender)
        receivers.append(receiver)
        signals.append(signal)

    build(group, declare)
    return senders, receivers, signals


@settings(max_examples=examples(60), deadline=None)
@given(
    workers=st.integers(1, 3),
    rows=st.sampled_from([1, 40, 400]),
    script=st.lists(st.tuples(st.sampled_from(["send", "step"]), st.integers(0, 2), st.integers(1, 4)), max_size=40),
)
def test_no_word_overtakes_rows_of_its_output(workers: int, rows: int, script: list[tuple[str, int, int]]) -> None:
    """Queues of 4 KiB, so that rows and words wait for room, in whatever order workers step."""
    with simulated(workers) as group:
        senders, receivers, _ = _group(group, workers)
        for sender in senders:
            sender.rows = rows
        settle(group)
        for what, at, count in script:
            worker = at % workers
            if what == "send":
                senders[worker].wanted += count
                group.workers[worker].schedule.activate(group.workers[worker].inspection.operators[0])
            for _ in range(count):
                group.workers[worker].step()
                _check(receivers, rows)
        settle(group, 5000)
        _check(receivers, rows)
        expected = [sender.sent for sender in senders]
        assert all(receiver.words[-1] == expected for receiver in receivers)
        for sender in senders:
            sender.close()
        group.run()


def _check(receivers: list[Receiver], rows: int) -> None:
    """Senders count alike, so row n has come `rows` times from each whose word is n or beyond, on each worker."""
    for receiver in receivers:
        for number in range(1, max([0, *(word for words in receiver.words[-1:] for word in words)]) + 1):
            ahead = sum(word >= number for word in receiver.words[-1])
            assert receiver.taken.get(number, 0) >= ahead * rows


def test_words_stay_on_their_worker_where_told_so() -> None:
    with simulated(2) as group:
        senders, receivers, signals = _group(group, 2, everywhere=False)
        settle(group)
        senders[1].wanted = 3
        group.workers[1].schedule.activate(group.workers[1].inspection.operators[0])
        settle(group)
        assert [list(signal.received) for signal in signals] == [[0], [3]]
        assert receivers[1].words[-1] == [3]
        for sender in senders:
            sender.close()
        group.run()


def test_a_word_from_outside_runs_its_receiver() -> None:
    """Not from an operator's run: what a manual input's handle does."""
    with simulated(2) as group:
        senders, receivers, signals = _group(group, 2)
        settle(group)
        signals[0].send(-5)
        settle(group)
        assert [receiver.words[-1] for receiver in receivers] == [[-5, 0], [-5, 0]]
        for sender in senders:
            sender.close()
        group.run()


def test_a_stream_of_another_dataflow_has_no_signal_here() -> None:
    with simulated() as group:
        worker = group.workers[0]
        with group.building(worker), worker.dataflow("one") as scope:
            _, stream = scope.new_input(VALUE)
        with (
            raises(GraphError, "operator 'deaf'", "'input' output 0 of dataflow 'one'", "another dataflow"),
            group.building(worker),
            worker.dataflow("two") as scope,
        ):
            scope.operator("deaf").listen(stream)


def test_workers_must_agree_on_signals() -> None:
    def digest(everywhere: bool) -> int:
        scope = Scope("one")
        _, stream = scope.new_input(VALUE)
        builder = scope.operator("listener")
        builder.listen(stream, everywhere)
        builder.build(lambda context: lambda: None)
        return scope.graph.digest()

    assert digest(True) == digest(True) != digest(False)
