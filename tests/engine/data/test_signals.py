"""Signals: words come behind the rows sent before them, to whom they are meant for, and never count as messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import VALUE, build, key_for, nothing_left, settle, simulated
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
from tokenring.engine.compiled import (
    DONE,
    Compiled,
    Record,
    Words,
    address_of,
    column_of,
    drop,
    entry,
    new_message,
    room,
    rows_of,
    send,
    send_word,
    state_as,
    take,
    words_at,
)

PAIR = Schema("key value")
FORMS = [(sender, receiver) for sender in (False, True) for receiver in (False, True)]
"""Which of them are compiled."""
_MOST = 1 << 10


class Sending(Record):
    """What a compiled sender sends, as the test tells it: `rows` for each of `keys`, and words on `signal`."""

    token: int
    signal: int
    sent: int
    wanted: int
    closes: int
    rows: int
    workers: int
    keys: Words = room(3)


class Receiving(Record):
    """How many rows of each value have come, and the words at the last run: where the engine has them, and copied."""

    token: int
    taken: int
    latest: int
    senders: int
    seen: Words = room(3)


@entry
def _send(world: int, me: int) -> int:
    state = state_as(world, me, Sending)
    while state.sent < state.wanted:
        state.sent += 1
        message = new_message(world, me, 0, state.rows * state.workers)
        for row in range(rows_of(message)):
            column_of(message, 0)[row] = state.keys[row % state.workers]
        column_of(message, 1)[:] = state.sent
        send(world, me, state.token, message, 0)
        send_word(world, state.signal, state.sent)
    if state.closes == 1:
        drop(world, me, state.token)
        state.closes = 2
    return DONE


@entry
def _receive(world: int, me: int) -> int:
    state = state_as(world, me, Receiving)
    if state.token >= 0:
        drop(world, me, state.token)
        state.token = -1
    taken = words_at(state.taken, _MOST)
    while True:
        message = take(world, me, 0)
        if message == 0:
            break
        for value in column_of(message, 1):
            taken[value] += 1
    state.seen[: state.senders] = words_at(state.latest, state.senders)
    return DONE


class CompiledSender:
    """Sender, in the inner loop."""

    def __init__(self, workers: int) -> None:
        self.signals: list[Any] = []
        self._state = Sending()
        self._state.rows, self._state.workers = 1, workers
        self._state.keys[:workers] = [key_for(worker, workers) for worker in range(workers)]

    @property
    def sent(self) -> int:
        return self._state.sent

    @property
    def wanted(self) -> int:
        return self._state.wanted

    @wanted.setter
    def wanted(self, count: int) -> None:
        self._state.wanted = count

    @property
    def rows(self) -> int:
        return self._state.rows

    @rows.setter
    def rows(self, count: int) -> None:
        self._state.rows = count

    def construct(self, context: OperatorContext) -> Compiled:
        (signal,) = self.signals
        self._state.signal = signal.row
        self._run = context.activate
        return Compiled(_send, self._state.words)

    def close(self) -> None:
        self._state.closes = 1
        self._run()


class CompiledReceiver:
    """Receiver, in the inner loop."""

    def __init__(self) -> None:
        self._state, self._taken = Receiving(), np.zeros(_MOST, np.int64)

    @property
    def taken(self) -> dict[int, int]:
        return dict(enumerate(self._taken.tolist()))

    @property
    def words(self) -> list[list[int]]:
        return [self._state.seen[: self._state.senders].tolist()]

    def construct(self, signal: Any, senders: int) -> Any:
        def constructor(context: OperatorContext) -> Compiled:
            state, received = self._state, np.asarray(signal.received)
            state.taken, state.latest, state.senders = address_of(self._taken), address_of(received), len(received)
            return Compiled(_receive, state.words, (received,))

        return constructor


class Sender:
    """A source that sends rows and words as the test tells it: from 1 on, each word behind the row of its number."""

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


def _group(
    group: Any, workers: int, everywhere: bool = True, compiled: tuple[bool, bool] = (False, False)
) -> tuple[list[Any], list[Any], list[Any]]:
    senders, receivers, signals = [], [], []

    def declare(worker: Worker, scope: Scope) -> None:
        sender: Any = CompiledSender(workers) if compiled[0] else Sender(workers)
        receiver: Any = CompiledReceiver() if compiled[1] else Receiver()
        builder = scope.operator("sender", Notify.NEVER)
        stream = builder.output(PAIR)
        (builder.build_compiled if compiled[0] else builder.build)(sender.construct)
        builder = scope.operator("receiver", Notify.NEVER)
        builder.input(stream, Exchange("key") if everywhere else None)
        signal = builder.listen(stream, everywhere)
        builder.output(VALUE)
        (builder.build_compiled if compiled[1] else builder.build)(receiver.construct(signal, workers))
        sender.signals.append(signal)
        senders.append(sender)
        receivers.append(receiver)
        signals.append(signal)

    build(group, declare)
    return senders, receivers, signals


@pytest.mark.parametrize("compiled", FORMS)
@settings(max_examples=examples(60), deadline=None)
@given(
    workers=st.integers(1, 3),
    rows=st.sampled_from([1, 40, 400]),
    script=st.lists(st.tuples(st.sampled_from(["send", "step"]), st.integers(0, 2), st.integers(1, 4)), max_size=40),
)
def test_no_word_overtakes_rows_of_its_output(
    compiled: tuple[bool, bool], workers: int, rows: int, script: list[tuple[str, int, int]]
) -> None:
    """Queues of 4 KiB, so that rows and words wait for room, in whatever order workers step."""
    with simulated(workers) as group:
        senders, receivers, _ = _group(group, workers, compiled=compiled)
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


@pytest.mark.parametrize("compiled", FORMS)
def test_words_stay_on_their_worker_where_told_so(compiled: tuple[bool, bool]) -> None:
    with simulated(2) as group:
        senders, receivers, signals = _group(group, 2, everywhere=False, compiled=compiled)
        settle(group)
        senders[1].wanted = 3
        group.workers[1].schedule.activate(group.workers[1].inspection.operators[0])
        settle(group)
        assert [list(signal.received) for signal in signals] == [[0], [3]]
        assert receivers[1].words[-1] == [3]
        for sender in senders:
            sender.close()
        group.run()


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_word_from_outside_runs_its_receiver(is_compiled: bool) -> None:
    """Not from an operator's run: what a manual input's handle does."""
    with simulated(2) as group:
        senders, receivers, signals = _group(group, 2, compiled=(False, is_compiled))
        settle(group)
        signals[0].send(-5)
        settle(group)
        assert [receiver.words[-1] for receiver in receivers] == [[-5, 0], [-5, 0]]
        for sender in senders:
            sender.close()
        group.run()


@pytest.mark.parametrize("compiled", FORMS)
def test_nothing_of_signals_is_left_when_a_dataflow_ends(compiled: tuple[bool, bool]) -> None:
    """And what comes late for one that is gone runs nobody: its row is another's by then."""
    with simulated(2) as group:
        for _ in range(3):
            senders, _, signals = _group(group, 2, compiled=compiled)
            assert [signal.row for signal in signals] == [0, 0]
            settle(group)
            for sender in senders:
                sender.close()
            group.run()
            nothing_left(group)
            signals[0].send(7)
            settle(group)
            for worker in group.workers:
                assert not worker.world.signals["received"].any()
                assert worker.world.state.due_count == 0


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
