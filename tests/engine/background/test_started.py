"""A group that runs while its launcher goes on, and how it ends."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.collections.harness import UPDATE
from tokenring.shm.memory import process_start_ticks
from tokenring.tools.commands.query import _key_in

WATCHDOG_S = 60
ROWS = 1000
HERE = Path(__file__)


def own_names() -> set[str]:
    """What groups of this process have in /dev/shm; other tests run meanwhile."""
    return {name for name in os.listdir("/dev/shm") if f"-{os.getpid()}-" in name}


def serve(worker: tr.Worker) -> int:
    """Rows 0, 1, ... as keys, so many, a hundred at a time; then until it is to stop."""
    with worker.dataflow("base") as scope:
        rows, stream = scope.new_input(UPDATE)
        stream.collection("time", "times").arrange("k").export("rows", history=3)
    time = 0
    while not worker.stopping:
        if time < ROWS // 100 and worker.index == 0:
            keys = np.arange(100 * time, 100 * (time + 1))
            rows.send({"k": keys, "v": keys % 7, "time": np.full(100, time), "times": np.ones(100, np.int64)})
        time += 1
        rows.advance_to(time)
        worker.step_or_park(0.001)
    return worker.index


def by_value(scope: tr.Scope) -> Any:
    return scope.import_arrangement("rows").collection().aggregate("v", n=tr.Count())


def telling(worker: tr.Worker) -> int:
    """A view without rows, and a note at each step: 0, 1, ..."""
    with worker.dataflow("base") as scope:
        rows, stream = scope.new_input(UPDATE)
        stream.collection("time", "times").arrange("k").export("rows", history=3)
    rows.advance_to(1)
    number = 0
    while not worker.stopping:
        worker.step_or_park(0.001)
        worker.report(number)
        number += 1
    return number


def failing(worker: tr.Worker) -> None:
    serve_until(worker, 20)
    raise ValueError("no more")


def serve_until(worker: tr.Worker, steps: int) -> None:
    with worker.dataflow() as scope:
        rows, stream = scope.new_input(UPDATE)
        stream.collect()
    for _ in range(steps):
        worker.step_or_park(0.01)
    rows.close()


def serve_times(worker: tr.Worker) -> None:
    """Rows by their times and by their texts, one of which is null."""
    with worker.dataflow("times") as scope:
        changes, rows = scope.new_collection(tr.Schema("n", at="timestamp?", word="string?", raw="bytes"), "rows")
        rows.arrange("at").export("by at")
        rows.arrange("word").export("by word")
        rows.arrange("raw").export("by raw")
    if worker.index == 0:
        words = [None, "null", "a, b"]
        at = ["2024-01-01T00:00:00", None, "2025-01-01T00:00:00"]
        changes.insert({"n": [1, 2, 3], "at": at, "word": words, "raw": [b"\xff", b"a", b""]})
    changes.advance_to(1)
    while not worker.stopping:
        worker.step_or_park(0.01)
    changes.close()


def test_a_view_is_asked_for_a_time_as_it_is_written_elsewhere() -> None:
    at, ns = datetime(2024, 1, 1), 1_704_067_200 * 10**9
    with tr.start(serve_times, 2) as group:
        while group.query("by at", timeout_s=WATCHDOG_S).rows.num_rows < 3:
            pass
        as_text = at.isoformat(" ") + "Z"
        for key in (at, at.replace(tzinfo=UTC), at.date(), np.datetime64(at), as_text, ns, np.int64(ns)):
            assert group.query("by at", key=key, timeout_s=WATCHDOG_S).rows["n"].to_pylist() == [1], key
        assert group.query("by at", np.int64(0), timeout_s=WATCHDOG_S).rows.num_rows == 3
        for nothing in (None, "null"):
            assert group.query("by at", key=nothing, timeout_s=WATCHDOG_S).rows["n"].to_pylist() == [2]
        for key, row in (("[null]", 1), ("null", 2), ('["null"]', 2), ('["a, b"]', 3)):  # on the command line
            assert group.query("by word", key=_key_in(key), timeout_s=WATCHDOG_S).rows["n"].to_pylist() == [row], key
        for key, row in ((b"\xff", 1), (b"a", 2), ("a", 2), (b"", 3)):
            assert group.query("by raw", key=key, timeout_s=WATCHDOG_S).rows["n"].to_pylist() == [row], key
        for key, facts in (
            ("noon", ("'noon'", "column 'at'", "time")), (b"noon", ("b'noon'", "timestamp", "column 'at'")),
            (object, ("class 'object'", "key", "a time")),
        ):  # fmt: skip
            with raises(tr.TokenRingError, *facts):
                group.query("by at", key=key, timeout_s=WATCHDOG_S)
        group.stop()


def answers(group: tr.RunningGroup) -> Iterator[dict[int, int]]:
    """What there is of each value, again and again."""
    while True:
        yield {row["v"]: row["n"] for row in group.query("by_value", timeout_s=WATCHDOG_S).rows.to_pylist()}


@pytest.mark.parametrize(("workers", "start"), [(1, "fork"), (2, "fork"), (1, "spawn"), (2, "forkserver")])
def test_a_group_is_added_to_and_read_while_it_runs(workers: int, start: str) -> None:
    before = own_names()
    with tr.start(serve, workers, start=start) as group:
        assert group.install(by_value, timeout_s=WATCHDOG_S) == "by_value"
        found = next(found for found in answers(group) if sum(found.values()) == ROWS)
        assert found == {value: len(range(value, ROWS, 7)) for value in range(7)}
        with raises(tr.UsageError, "(None,)", "column 'k'", "nulls", "int64", "int64?"):
            group.query("rows", key=None, timeout_s=WATCHDOG_S)
        of_key = group.query("rows", key=701, timeout_s=WATCHDOG_S).rows.to_pylist()
        assert of_key == [{"k": 701, "v": 1, "times": 1}]
        views, installed = group.views(WATCHDOG_S)
        assert [view["name"] for view in views] == ["by_value", "rows"] and installed == ["by_value"]
        assert views[1]["readers"] == ["by_value"] and views[1]["rows"] == ROWS
        group.remove("by_value", WATCHDOG_S)
        with raises(tr.UsageError, "'by_value'", "'rows'"):
            group.query("by_value", timeout_s=WATCHDOG_S)
        assert group.install(f"{HERE}:by_value", "again", WATCHDOG_S) == "again"
        group.stop()
        assert group.wait() == list(range(workers))
    assert own_names() <= before


def test_an_error_in_the_block_ends_the_group() -> None:
    with pytest.raises(ZeroDivisionError), started_pids() as pids:
        1 / 0  # noqa: B018
    assert not any(process_start_ticks(pid) for pid in pids)


def takes_nothing() -> None:
    pass


def test_what_takes_no_scope_is_not_installed() -> None:
    with tr.start(serve, 1) as group:
        for told in (takes_nothing, f"{HERE}:takes_nothing"):
            with raises(tr.UsageError, "takes_nothing takes nothing", "a scope"):
                group.install(told, timeout_s=WATCHDOG_S)
        group.stop()


def test_what_is_no_name_time_or_key_is_refused() -> None:
    with tr.start(serve, 1) as group:
        group.query("rows", timeout_s=WATCHDOG_S)
        for asked, facts in (
            ({"view": b"rows"}, ("b'rows'", "text")),
            ({"time": "x"}, ("'rows'", "an integer", "'x'")),
            ({"time": 2**70}, ("'rows'", str(2**70), "finished up to")),
            ({"key": 2**70}, (str(2**70), "column 'k'", "int64")),
            ({"key": float("nan")}, ("nan", "int64", "column 'k'")),
            ({"key": True}, ("True", "int64")),
            ({"key": "\ud800"}, (repr("\ud800"), "key")),
            ({"view": "\ud800"}, (repr("\ud800"), "text")),
            ({"time": -1}, ("'rows'", "0 or more", "-1")),
            ({"timeout_s": "x"}, ("timeout_s", "seconds", "'x'")),
            ({"timeout_s": None}, ("timeout_s", "seconds", "None")),
        ):
            with raises(tr.UsageError, *facts):
                group.query(**{"view": "rows", "timeout_s": WATCHDOG_S, **asked})
        for within_s in ("x", None, float("nan")):
            with raises(tr.UsageError, "within_s", "seconds", repr(within_s)):
                group.health(within_s)  # type: ignore[arg-type]
        for name in (b"n", 5, "\ud800"):
            for ask in (partial(group.install, by_value), group.remove):
                with raises(tr.UsageError, repr(name), "text", "not empty"):
                    ask(name, WATCHDOG_S)  # type: ignore[arg-type]
        for worker in (None, "0", 1.0):
            with raises(tr.UsageError, "worker", repr(worker), "whole number"):
                group.end_worker(worker, timeout_s=WATCHDOG_S)  # type: ignore[arg-type]
        group.stop()


@contextmanager
def started_pids() -> Iterator[tuple[int, ...]]:
    with tr.start(serve, 2) as group:
        yield group.asked(WATCHDOG_S).workers


def test_a_program_that_fails_is_told_of_when_the_group_is_asked() -> None:
    with raises(tr.OperatorError, "ValueError", "no more"), tr.start(failing, 2) as group:
        ask_for_ever(group)


def test_an_error_that_was_caught_in_the_block_is_raised_at_its_end() -> None:
    with raises(tr.OperatorError, "ValueError", "no more"), tr.start(failing, 1) as group, suppress(tr.OperatorError):
        ask_for_ever(group)


@pytest.mark.parametrize("is_right", [True, False])
def test_a_group_that_has_ended_is_asked_nothing(is_right: bool) -> None:
    """A timer or a handler that ends it may come too late."""
    with suppress(ZeroDivisionError), tr.start(serve, 2) as group:
        1 / is_right
    group.finish()
    group.stop()
    asks = [group.health, group.poll, group.views, lambda: group.query("rows"), lambda: group.install(by_value)]
    for ask in [*asks, lambda: group.end_worker(1), *([] if is_right else [group.wait])]:
        with raises(tr.UsageError, "the group has ended"):
            ask()
    if is_right:
        assert group.wait() == [0, 1]


@pytest.mark.parametrize("is_waited_for", [True, False])
def test_nor_is_one_that_has_ended_in_the_block(is_waited_for: bool) -> None:
    with tr.start(serve, 2) as group:
        group.health(WATCHDOG_S)
        group.stop()
        while not is_waited_for and group._group.running:
            group.poll()
        assert not is_waited_for or group.wait() == [0, 1]
        for ask in (group.health, group.views, lambda: group.query("rows"), lambda: group.end_worker(1)):
            with raises(tr.UsageError, "the group has ended"):
                ask()
    assert group.wait() == [0, 1]


@pytest.mark.parametrize("start", ["fork", "forkserver"])
def test_a_process_that_is_forked_in_the_block_leaves_the_group_alone(start: str) -> None:
    """Nor does the group's end wait for it."""
    told, tell = os.pipe()
    child = -1
    try:
        with tr.start(serve, 2, start=start) as group:
            child = os.fork()
            if child == 0:
                for ask in (group.finish, group.stop, group.wait, group.health, group.views):
                    with raises(tr.UsageError, "forked", str(os.getppid()), "os._exit()"):
                        ask()
            else:
                os.close(tell)
                assert os.read(told, 8) == b"has left"
                group.views(WATCHDOG_S)
        if child == 0:
            os.write(tell, b"has left")
            time.sleep(WATCHDOG_S)
        assert group.wait() == [0, 1] and os.waitpid(child, os.WNOHANG) == (0, 0)
    finally:
        if child == 0:
            os._exit(1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(told)


def ask_for_ever(group: tr.RunningGroup) -> None:
    while True:
        group.views(WATCHDOG_S)


def test_ctrl_c_in_the_block_is_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), tr.start(serve, 2):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("waits", [False, True])
def test_threads_ask_side_by_side_and_notes_keep_their_order(waits: bool) -> None:
    """Who takes a note may ask the group itself."""
    notes: dict[int, list[int]] = {0: [], 1: []}

    def take(worker: int, note: int) -> None:
        notes[worker].append(note)
        if note == 10:
            group.health()

    with tr.start(telling, 2, on_note=take) as group, ThreadPoolExecutor(4) as threads:
        waiting = threads.submit(group.wait) if waits else None
        rows = threads.map(lambda key: group.query("rows", key=key, timeout_s=WATCHDOG_S).rows.num_rows, range(100))
        assert set(rows) == {0}
        group.stop()
        assert waiting is None or waiting.result() == group.wait()
    assert [list(range(count)) for count in group.wait()] == [notes[0], notes[1]]


def test_a_thread_that_waits_hears_that_the_block_was_left() -> None:
    with ThreadPoolExecutor(1) as threads:
        with suppress(ZeroDivisionError), tr.start(serve, 2) as group:
            waiting = threads.submit(group.wait)
            1 / 0  # noqa: B018
        with raises(tr.UsageError, "the group has ended"):
            waiting.result()


@pytest.mark.parametrize("error", [ValueError("closed"), OSError(errno.EBADF, "Bad file descriptor")], ids=repr)
def test_so_does_one_that_looks_just_then(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of the two it is depends on whether it was to wait before that was closed, or is about to."""
    with suppress(ZeroDivisionError), tr.start(serve, 1) as group:
        1 / 0  # noqa: B018
    monkeypatch.setattr(group._group._selector, "select", Mock(side_effect=error))
    with raises(tr.UsageError, "the group has ended"):
        group._group.poll(0)


@pytest.mark.parametrize("first", [0, 1])
def test_blocks_of_one_process_end_in_any_order(first: int) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    blocks = [tr.start(serve, 1), tr.start(serve, 1)]
    groups = [block.__enter__() for block in blocks]
    blocks[first].__exit__(None, None, None)
    assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL, "it leaves the other block by an exception"
    assert groups[1 - first].health(WATCHDOG_S).live
    blocks[1 - first].__exit__(None, None, None)
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals_are_an_event_loops_in_the_block_and_once_a_run_has_ended(number: int) -> None:
    came: list[int] = []
    launcher = os.getpid()

    async def until(count: int) -> None:
        while len(came) < count:
            await asyncio.sleep(0.01)

    async def served() -> None:
        asyncio.get_running_loop().add_signal_handler(number, came.append, number)
        with tr.start(serve, 1):
            signal.raise_signal(number)
            await asyncio.wait_for(until(1), WATCHDOG_S)
        tr.execute(lambda _: os.kill(launcher, number), workers=1)
        await asyncio.wait_for(until(2), WATCHDOG_S)
        await asyncio.sleep(0.05)

    asyncio.run(served())
    assert came == [number] * 2


def test_a_note_in_the_block_leaves_ctrl_c_to_it() -> None:
    """It comes before the worker says that it heeds a stop: else there is nothing to let through."""

    def program(worker: tr.Worker) -> None:
        worker.report("there")
        time.sleep(0.2)
        serve(worker)

    notes: list[str] = []
    with tr.start(program, 1, on_note=lambda _, note: notes.append(note)) as group:
        while not notes:
            group.poll()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
