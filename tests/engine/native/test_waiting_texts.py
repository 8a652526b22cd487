"""Texts of messages that wait, for room or for their operator: counted, moved together, whole when they come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests.engine.data.test_text_channels import keeper, rows_of
from tests.engine.helpers import build, settle, simulated
from tests.engine.native.scripted import forward, later, operate
from tests.errors import raises
from tokenring.engine import Batch, Exchange, OperatorError, Schema, Scope, Worker
from tokenring.engine.native.memory import MOST_KEPT_BYTES

TEXTS = Schema("to", name="string?")
TO = Exchange("to")
LONG = 1 << 19
QUEUE_BYTES = 1 << 22  # a row of LONG fits


class Made:
    """Two workers; the first sends texts through a compiled operator, and another behind an exchange gets them."""

    def __init__(self, group: Any, handles: list[Any], states: list[np.ndarray], kept: list[list[Batch]]) -> None:
        self.group, self.handles, self.states, self.kept = group, handles, states, kept
        self.sender, self.receiver = group.workers
        self.sent: list[tuple[int, str | None]] = []

    def send(self, names: list[str | None]) -> None:
        rows = [(len(self.sent) + at, name) for at, name in enumerate(names)]
        self.sent += rows
        once = list(dict.fromkeys(names))
        chosen = np.array([once.index(name) for name in names])
        batch = Batch(TEXTS, {"to": range(len(once)), "name": once}).take(chosen)
        batch.columns[0][:] = [to for to, _ in rows]
        self.handles[0].send(batch)
        self.sender.step()

    def finish(self) -> None:
        """Let all of it come, and compare."""
        for handle in self.handles:
            handle.close()
        settle(self.group, 20_000)
        got = sorted(row for batches in self.kept for row in rows_of(batches))
        assert [row for row, _ in got] == [row for row, _ in self.sent]
        assert got == self.sent, "no assertion of pytest: it would write megabytes"
        assert all(worker.complete for worker in self.group.workers)


@contextmanager
def exchanging(behind: list[tuple[int, ...]], **settings: Any) -> Iterator[Made]:
    states: list[np.ndarray] = []
    kept: list[list[Batch]] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        kept.append([])
        handle, stream = scope.new_input(TEXTS)
        (stream,) = operate(stream, forward(), "sender", texts=True)
        (stream,) = operate(stream, behind, "behind", pact=TO, texts=True, states=states)
        stream.sink("keep", keeper(kept[-1]))
        return handle

    with simulated(2, **settings) as group:
        yield Made(group, build(group, declare), states, kept)


def texts(first: int, count: int, length: int) -> list[str | None]:
    """Each is told from every other by each hundred characters."""
    return [f"{number:<100}" * (length // 100) for number in range(first, first + count)]


@pytest.mark.parametrize(("length", "is_too_much"), [(0, False), (700, True)])
def test_what_waits_for_room_is_counted_with_its_texts(length: int, is_too_much: bool) -> None:
    with exchanging(forward(), backlog_bytes=20_000) as made:
        backlog = made.sender.world.state
        grown = []
        for number in range(40):
            before = int(backlog.backlog_bytes)
            made.send([None, *texts(number, 1, length) * 3])  # one that repeats the one before it is there once
            grown.append(int(backlog.backlog_bytes) - before)
        assert set(grown) == {0, 4 * 2 * 8 + length}
        assert made.sender.plane.stops_sources == is_too_much
        while is_too_much and backlog.backlog_bytes > 10_000:  # half of what is let be
            assert made.sender.plane.stops_sources
            made.receiver.step()
            made.sender.step()
        assert not made.sender.plane.stops_sources
        made.finish()
        assert backlog.backlog_bytes == 0
        assert not made.sender.plane.stops_sources


def _texts_kept(worker: Any) -> tuple[int, int]:
    return worker.world.state.waiting_text, worker.world.state.waiting_text_at


def test_texts_that_wait_for_room_move_together_and_stay_whole() -> None:
    """More than is let be: what was sent on goes, the rest moves, and more comes behind it."""
    with exchanging(forward(), queue_bytes=QUEUE_BYTES, backlog_bytes=1 << 30) as made:
        moved, before, number = 0, _texts_kept(made.sender)[0], 0
        while moved < 3:
            limit = made.sender.world.state.waiting_text_limit
            assert limit >= MOST_KEPT_BYTES
            made.send(texts(number, 4, LONG))
            number += 4
            place, end = _texts_kept(made.sender)
            moved, before = moved + (place != before), place
            assert end - place <= limit
            if number % 16 == 0:
                made.receiver.step()  # takes in half of what comes meanwhile
            assert number < 2000
        assert made.sender.world.state.pending_edges > 0
        made.finish()
        place, end = _texts_kept(made.sender)
        assert place == end


def test_texts_that_wait_for_their_operator_move_together_and_stay_whole() -> None:
    with exchanging(later(), queue_bytes=QUEUE_BYTES, backlog_bytes=1 << 30) as made:
        made.states[1][2] = -(1 << 40)  # so many runs before it begins to take
        first, _ = _texts_kept(made.receiver)
        number = 0
        while _texts_kept(made.receiver)[0] == first:
            made.send(texts(number, 4, LONG))
            number += 4
            made.receiver.step()
            assert number < 4000
        assert made.receiver.world.state.waiting > 0
        made.send(texts(number, 4, LONG))
        for state in made.states:
            state[2] = -1
        made.finish()
        place, end = _texts_kept(made.receiver)
        assert place == end


@pytest.mark.parametrize("before", [0, 3])
def test_a_row_that_fits_no_message_names_the_operator_and_the_cure(before: int) -> None:
    with (
        exchanging(forward()) as made,
        raises(OperatorError, "operator 'sender' on worker 0: ConfigError", "text", "4096 bytes", "Config.queue_bytes"),
    ):
        made.send(["y"] * before + ["x" * 1000])
    with exchanging(forward(), queue_bytes=8192) as made:
        made.send(["y"] * before + ["x" * 1000])
        made.finish()


def test_the_longest_row_that_fits_is_sent() -> None:
    """One byte more, and it is refused: no row between them waits for ever."""

    def ends(length: int) -> bool:
        with exchanging(forward()) as made:
            try:
                made.send(["x" * length])
            except OperatorError:
                return False
            made.finish()
            return True

    shortest, longest = 0, 1000
    assert ends(shortest) and not ends(longest)
    while longest - shortest > 1:
        middle = (shortest + longest) // 2
        shortest, longest = (middle, longest) if ends(middle) else (shortest, middle)
    assert 800 < longest < 1024


def test_texts_that_nobody_reads_come_as_nulls() -> None:
    kept: list[Batch] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(TEXTS)
        (stream,) = operate(stream, forward(), "unread", texts=True, reads_texts=False)
        stream.sink("keep", keeper(kept))
        return handle

    with simulated(1) as group:
        (handle,) = build(group, declare)
        sent = 0
        for count in (3, 50, 2_000, 7):  # in one round
            handle.send({"to": range(sent, sent + count), "name": texts(sent, count, 100)})
            sent += count
        handle.close()
        settle(group)
    assert sorted(rows_of(kept)) == [(to, None) for to in range(sent)]
