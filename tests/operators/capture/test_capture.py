"""capture and replay: the same messages between the same frontiers, on as many workers or other ones."""

from __future__ import annotations

import os
import shutil
import signal
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenring as tr
from tests.engine.helpers import build, settle, simulated
from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tokenring.engine import (
    COMPLETE,
    GraphError,
    InputPort,
    OperatorContext,
    OperatorError,
    Schema,
    Scope,
    Stream,
    Updates,
    UsageError,
    Worker,
    WorkerError,
    execute,
)
from tokenring.engine.whole_files import hidden
from tokenring.operators import Count, Sum, aggregate, capture, replay
from tokenring.operators.capture.replay import _events

SCHEMA = Schema("value", name="string?")
Seen = list[list[Any]]
"""For each worker: what it saw, messages as (time, rows), frontiers as integers."""


def watch(stream: Stream, seen: list[Any]) -> None:
    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        frontier = 0

        def logic(rows: InputPort) -> None:
            nonlocal frontier
            for reference, batch in rows:
                seen.append((reference.time, list(zip(batch["value"].tolist(), batch["name"].tolist(), strict=True))))
            if rows.frontier > frontier:
                frontier = rows.frontier
                seen.append(frontier)

        return logic

    stream.sink("watch", construct)


def captured(folder: Path) -> Seen:
    """What the parts say, as `watch` puts it."""
    said: Seen = []
    for part in sorted(folder.iterdir()):
        said.append([])
        for frontier, time, rows in _events(part, False):
            event = (time, [tuple(row.values()) for row in rows.to_pylist()]) if frontier is None else frontier
            said[-1].append(event)
    return said


def messages(seen: Seen) -> list[Any]:
    return sorted([event for events in seen for event in events if isinstance(event, tuple)], key=repr)


def frontiers(seen: Seen) -> set[int]:
    return {event for events in seen for event in events if isinstance(event, int)}


def record(folder: Path, workers: int, moves: list[tuple[int, int, int]]) -> Seen:
    """Moves: a worker, how much later its input goes, and how many rows it then sends."""
    seen: Seen = [[] for _ in range(workers)]

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(SCHEMA)
        watch(stream, seen[worker.index])
        capture(stream, folder)
        return handle

    with simulated(workers) as group:
        handles = build(group, declare)
        for number, (worker, later, rows) in enumerate(moves):
            handle = handles[worker % workers]
            handle.advance_to(handle.time + later)
            if rows:
                names = [None, *["x" * number] * (rows - 1)]
                handle.send({"value": [number] * rows, "name": names}, handle.time + rows)
            settle(group)
        for handle in handles:
            handle.close()
        settle(group)
    return seen


def play(folder: Path, workers: int) -> Seen:
    seen: Seen = [[] for _ in range(workers)]
    with simulated(workers) as group:
        build(group, lambda worker, scope: watch(replay(scope, folder), seen[worker.index]))
        group.run()
        settle(group)
    return seen


MOVES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), max_size=12)


@settings(max_examples=examples(8), deadline=None)
@given(moves=MOVES)
def test_one_worker_sees_exactly_what_was_seen(moves: list[tuple[int, int, int]], tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("capture") / "one"
    before = record(folder, 1, moves)
    assert before[0][-1] == COMPLETE
    after = play(folder, 1)
    said = captured(folder)
    # A message at hand holds its operator's frontier at its own time, whatever was promised of what comes behind it.
    assert [event for event in after[0] if isinstance(event, tuple) or event in frontiers(said)] == said[0]
    # Two operators need not have seen the same moves of the frontier, but the same messages in the same order.
    assert [event for event in after[0] if isinstance(event, tuple)] == [
        event for event in before[0] if isinstance(event, tuple)
    ]


@settings(max_examples=examples(8), deadline=None)
@given(moves=MOVES, workers=st.integers(1, 4))
def test_any_workers_see_the_same_rows_and_no_other_frontiers(
    moves: list[tuple[int, int, int]], workers: int, tmp_path_factory: Any
) -> None:
    folder = tmp_path_factory.mktemp("capture") / "three"
    before = record(folder, 3, moves)
    after = play(folder, workers)

    assert messages(after) == messages(before)
    assert frontiers(after) <= frontiers(captured(folder)) | {time for time, _ in messages(before)}
    for events in after:  # nothing comes that a frontier had excluded
        frontier = 0
        for event in events:
            if isinstance(event, int):
                assert event >= frontier
                frontier = event
            else:
                assert event[0] >= frontier


def test_what_a_killed_run_captured_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "killed"

    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(SCHEMA)
            capture(stream, folder)
        handle.send({"value": [worker.index], "name": ["a"]})
        handle.advance_to(5)
        part = hidden(folder, worker.index)
        worker.step_while(lambda: 5 not in [frontier for frontier, *_ in _events(part, True)])
        worker.barrier()
        if worker.index == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        worker.step_while(lambda: True)

    with raises(WorkerError, "worker 0", "SIGKILL"):
        execute(program, workers=2)
    with raises(UsageError, str(folder), "finished", "unfinished=True"):
        play(folder, 1)
    seen: Seen = [[]]
    with simulated(1) as group:
        build(group, lambda worker, scope: watch(replay(scope, folder, unfinished=True), seen[0]))
        group.run()
        settle(group)
    assert sorted(seen[0][:2]) == [(0, [(0, "a")]), (0, [(1, "a")])]
    assert 5 in seen[0]


def test_mistakes_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    record(folder, 1, [(0, 1, 2)])
    with raises(UsageError, "operator 'capture'", str(folder), "exists already", "another folder"):
        record(folder, 1, [])
    part = folder / "part-00000.capture"
    part.write_bytes(part.read_bytes()[:-200])
    with raises(OperatorError, "part-00000.capture", "damaged", "capture again"):
        play(folder, 1)

    def in_a_loop(worker: Worker, scope: Scope) -> None:
        _, stream = scope.new_input(SCHEMA)
        with scope.loop("inner") as loop:
            capture(loop.enter(stream), tmp_path / "loop")

    with simulated(1) as group, raises(GraphError, "operator 'capture'", "loop 'inner'", "leave"):
        build(group, in_a_loop)


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        (struct.pack("<4q", 0, 5, 9, 9), struct.pack("<4q", 0, 1 << 40, 9, 9)),
        (struct.pack("<4q", 0, 5, 9, 9), struct.pack("<4q", 0, 9, 5, 9)),
        (b"\4\0\0\0time", b"\4\0\0\0tame"),
        (b"\2\0\0\00077", b"\2\0\0\0007x"),
        (b"\2\0\0\00077", b"\2\0\0\00078"),
        (struct.pack("<3q", 1, 2, 3), struct.pack("<3q", 1, 4, 3)),
        (b"abouttext", b"aboutTEXT"),
    ],
)
def test_a_part_that_was_damaged_is_named(tmp_path: Path, there: bytes, instead: bytes) -> None:
    folder = tmp_path / "damaged"
    rows = pa.table({"value": [1, 2, 3], "name": ["about", "text", None], "at": [77, 77, 77]})
    tr.run(lambda scope: scope.read_arrow(rows, time="at").capture(folder), workers=1)
    part = folder / "part-00000.capture"
    assert there in part.read_bytes()
    part.write_bytes(part.read_bytes().replace(there, instead))
    with raises(OperatorError, str(part), "damaged", "capture again"):
        tr.run(lambda scope: tr.replay(scope, folder).collect(), workers=1)


@pytest.mark.parametrize("lost", ["part-00001.capture", "part-00002.capture"])
def test_a_part_that_is_not_there_is_missed(lost: str, tmp_path: Path) -> None:
    record(tmp_path / "three", 3, [(0, 1, 2), (1, 1, 2), (2, 1, 2)])
    (tmp_path / "three" / lost).unlink()
    with raises(UsageError, "source 'replay'", f"{tmp_path / 'three'} lacks {lost}"):
        play(tmp_path / "three", 1)


def test_a_copy_of_a_part_is_none(tmp_path: Path) -> None:
    record(tmp_path / "one", 1, [(0, 1, 2)])
    shutil.copy(tmp_path / "one" / "part-00000.capture", tmp_path / "one" / "part-00000 (copy).capture")
    with raises(UsageError, "source 'replay'", "has 1 parts", "part-00000 (copy).capture is none", "remove it"):
        play(tmp_path / "one", 1)


def test_a_part_of_another_capture_is_refused(tmp_path: Path) -> None:
    """Though it has the same columns."""
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        record(folder, 2, [(0, 1, 2), (1, 1, 2)])
    os.replace(other / "part-00001.capture", one / "part-00001.capture")
    with raises(UsageError, f"{one / 'part-00001.capture'} is of another capture", "a folder of its own"):
        play(one, 1)


def test_a_run_that_fails_when_all_was_captured_publishes_nothing(tmp_path: Path) -> None:
    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(SCHEMA)
            probe = capture(stream, tmp_path / "it")
        handle.send({"value": [worker.index], "name": [None]})
        handle.close()
        worker.step_while(lambda: not probe.done())
        worker.barrier()
        if worker.index == 0:
            raise UsageError("failed late")

    with raises(UsageError, "failed late"):
        execute(program, workers=2)
    assert not (tmp_path / "it").exists()
    seen: list[Any] = []
    with simulated(1) as group:
        build(group, lambda worker, scope: watch(replay(scope, tmp_path / "it", unfinished=True), seen))
        group.run()
    assert messages([seen]) == [(0, [(0, None)]), (0, [(1, None)])]


def test_updates_are_updates_again(tmp_path: Path) -> None:
    """Rows of which each takes the place of one before: what takes each for a new one refuses them."""
    folder = tmp_path / "counts"
    with bench([SCHEMA], lambda stream: _told(aggregate(stream, "value", n=Count()), folder)) as made:
        made.send({"value": [7, 7], "name": ["a", None]})
        made.close()

    def again(worker: Worker, scope: Scope) -> None:
        stream = replay(scope, folder)
        assert stream.updates == Updates("aggregate", ("value",))
        with raises(GraphError, "are updates", "'aggregate'"):
            aggregate(stream, "value", total=Sum("n"), name="sums")
        stream.sink("rest", lambda context: lambda port: None)

    with simulated() as group:
        build(group, again)
        settle(group)


def _told(stream: Stream, folder: Path) -> Stream:
    capture(stream, folder)
    return stream
