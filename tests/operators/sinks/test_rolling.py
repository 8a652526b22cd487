"""Rolling files: each whole or not there, in place once its times are finished, and no row lost or twice."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, settle, simulated
from tests.errors import Fact, raises
from tests.long_form import examples
from tokenring.engine import GraphError, OperatorError, Schema, Scope, UsageError, Worker, WorkerError, execute
from tokenring.operators import HOUR, MINUTE, Roll, read_parquet, to_arrow_files, to_json_lines, to_parquet

ROW = Schema("n", at="timestamp")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name[0] != ".")


def rows(folder: Path) -> list[int]:
    return sorted(n for name in names(folder) for n in pq.read_table(folder / name)["n"].to_pylist())


def test_a_file_is_there_once_its_hour_is_finished_on_all_workers(tmp_path: Path) -> None:
    def program(worker: Worker) -> None:
        with worker.dataflow("live") as scope:
            handle, stream = scope.new_input(ROW)
            probe = to_parquet(stream, tmp_path, roll=Roll("1h"))
        for hour in range(3):
            handle.advance_to(hour * HOUR + worker.index * MINUTE)
            for _ in range(2):
                handle.send({"n": [10 * hour + worker.index], "at": [5]})
            worker.step_while(lambda at=hour * HOUR: probe.less_than(at))
            worker.barrier()
            expected = [f"19700101T{each:02}0000Z-{of:05}-00000.parquet" for each in range(hour) for of in range(2)]
            assert names(tmp_path) == expected
            assert rows(tmp_path) == sorted(2 * [10 * each + of for each in range(hour) for of in range(2)])
            worker.barrier()
        assert probe.frontier == 2 * HOUR

    execute(program, workers=2)
    assert rows(tmp_path) == sorted(2 * [10 * each + of for each in range(3) for of in range(2)])
    assert all(name[0] != "." for name in os.listdir(tmp_path))
    execute(lambda worker: _one_row(worker, tmp_path), workers=1)  # another run adds, and replaces nothing
    assert names(tmp_path)[1] == "19700101T000000Z-00000-00001.parquet"
    assert len(rows(tmp_path)) == 13
    with simulated(1) as group:
        build(group, lambda worker, scope: read_parquet(scope, tmp_path))
        group.run()


def _one_row(worker: Worker, folder: Path) -> None:
    with worker.dataflow("again") as scope:
        handle, stream = scope.new_input(ROW)
        to_parquet(stream, folder, roll=Roll("1h"))
    handle.send({"n": [99], "at": [0]})


def test_a_run_that_is_killed_leaves_whole_files_alone(tmp_path: Path) -> None:
    def program(worker: Worker) -> None:
        with worker.dataflow("live") as scope:
            handle, stream = scope.new_input(ROW)
            probe = to_json_lines(stream, tmp_path, roll=Roll(every=10), rows_at_once=1)
        for time in range(25):
            handle.send({"n": [time], "at": [time]}, time)
        handle.advance_to(25)
        worker.step_while(lambda: probe.less_than(20))
        if worker.index == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        worker.step_while(lambda: True)

    with raises(WorkerError, "worker 0", "SIGKILL"):
        execute(program, workers=2)
    found = names(tmp_path)
    assert {name[:19] for name in found} == {"0" * 19, "0" * 17 + "10"}
    assert all((tmp_path / name).read_bytes().count(b"\n") == 10 for name in found)
    assert len(os.listdir(tmp_path)) > len(found)  # hidden: what was being written
    execute(lambda worker: _one_row(worker, tmp_path), workers=1)
    assert not [name for name in os.listdir(tmp_path) if name[0] == "."]


MESSAGES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 25), st.lists(st.integers(0, 30), max_size=5)), max_size=12
)


@settings(max_examples=examples(40), deadline=None)
@given(messages=MESSAGES, every=st.sampled_from([0, 1, 7]), most=st.integers(0, 3), own=st.booleans())
def test_every_row_is_in_one_file_of_its_interval(
    messages: list[tuple[int, int, list[int]]], every: int, most: int, own: bool, tmp_path_factory: Any
) -> None:
    """Rows of any times, their own or their messages', which come in any order; after each move, what is in place is
    what is finished."""
    folder = tmp_path_factory.mktemp("rolling")
    roll = Roll(every=every, rows=most if every else most + 1, time="at" if own else None)

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(ROW)
        return handle, to_arrow_files(stream, folder, roll=roll)

    sent: list[tuple[int, int, int]] = []
    with simulated(1) as group:
        [(handle, probe)] = build(group, declare)
        for later, ahead, times in messages:
            handle.advance_to(handle.time + later)
            own_times = [handle.time + ahead + time for time in times]
            handle.send({"n": [len(sent) + at for at in range(len(times))], "at": own_times}, handle.time + ahead)
            sent += [(len(sent) + at, handle.time + ahead, time) for at, time in enumerate(own_times)]
            settle(group)
            _check(folder, sent, roll, handle.time, probe.frontier)
        handle.close()
        settle(group)
    assert sorted(n for _, found in _files(folder) for n, _ in found) == [n for n, _, _ in sent]


@pytest.mark.parametrize(
    "roll", [Roll(every=10), Roll(every=10, time="at"), Roll(rows=2), Roll(every=30, rows=2), Roll(rows=1)], ids=str
)
def test_an_earlier_message_that_follows_a_later_one_is_in_a_file(roll: Roll, tmp_path: Path) -> None:
    """What the folder is told to have gets there, though the right to it was taken for a message of a later time."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(ROW)
        return handle, to_arrow_files(stream, tmp_path, roll=roll)

    sent = [(1, 25, 25), (2, 12, 13), (3, 3, 14), (4, 7, 7)]
    with simulated(1) as group:
        [(handle, probe)] = build(group, declare)
        for n, time, at in sent:
            handle.send({"n": [n], "at": [at]}, time)
            settle(group)
        for time in (5, 10, 11, 13, 20, 26, 30):
            handle.advance_to(time)
            settle(group)
            _check(tmp_path, sent, roll, time, probe.frontier)
        assert probe.frontier == 30, "all that was sent is in place"
        handle.close()
        settle(group)
    assert [n for n, _, _ in sorted(sent)] == sorted(n for _, found in _files(tmp_path) for n, _ in found)


def _files(folder: Path) -> list[tuple[str, list[tuple[int, int]]]]:
    found = []
    for name in names(folder):
        table = pa.ipc.open_file(pa.memory_map(str(folder / name)).read_buffer()).read_all()
        found.append((name, list(zip(table["n"].to_pylist(), table["at"].cast(pa.int64()).to_pylist(), strict=True))))
    return found


def _check(folder: Path, sent: list[tuple[int, int, int]], roll: Roll, frontier: int, probed: int) -> None:
    there = set()
    by_number = {n: (time, own) for n, time, own in sent}
    for name, found in _files(folder):
        assert 0 < len(found) <= (roll.rows or len(found))
        start = int(name[:19])
        for n, _ in found:
            time, own = by_number[n]
            assert time < frontier
            told = own if roll.time else time
            if isinstance(roll.every, int) and roll.every:
                assert start <= told < start + roll.every
            there.add(n)
    for n, time, own in sent:
        if isinstance(roll.every, int) and roll.every and time < frontier:
            end = ((own if roll.time else time) // roll.every + 1) * roll.every
            assert n in there or end > frontier
        if time < probed:
            assert n in there


def test_what_cannot_be_rolled_is_refused(tmp_path: Path) -> None:
    def refused(error: type[Exception], says: Fact, roll: Roll, in_loop: bool = False) -> None:
        def declare(worker: Worker, scope: Scope) -> None:
            _, stream = scope.new_input(Schema("n", at="timestamp?", name="string"))
            with scope.loop("inner") as loop, raises(error, "operator 'to_parquet'", says):
                to_parquet(loop.enter(stream) if in_loop else stream, tmp_path, roll=roll)
            raise KeyboardInterrupt

        with simulated(1) as group, pytest.raises(KeyboardInterrupt):
            build(group, declare)

    refused(UsageError, ("roll", "above 0", "'1h'", "not 'hourly'"), Roll("hourly"))
    wrong: tuple[Any, ...] = (Roll(), Roll(rows=-1), Roll(1.5), Roll(5, rows="3"), Roll(5, bytes=None), Roll(True))  # type: ignore[arg-type]
    for roll in wrong:
        refused(UsageError, ("roll", "every=, rows= or bytes=", "whole numbers above 0", repr(roll)), roll)
    refused(Exception, ("roll", "column 'day'", "n, at, name"), Roll(every=1, time="day"))
    refused(Exception, ("roll", "int64, uint64, timestamp", "'name' is string"), Roll(every=1, time="name"))
    refused(GraphError, ("loop 'inner'", "leave"), Roll(rows=1), in_loop=True)

    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(Schema(at="timestamp?"))
            to_parquet(stream, tmp_path, roll=Roll("1d", time="at"))
        handle.send({"at": [5, None]})

    with raises(OperatorError, "operator 'to_parquet'", "column 'at'", "null", "(filter)", "fill"):
        execute(program, workers=1)


def test_a_file_goes_on_until_it_has_its_rows(tmp_path: Path) -> None:
    """Whatever times pass meanwhile, where there are no intervals; the last one is shorter."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(Schema("n"))
        return handle, to_parquet(stream, tmp_path, roll=Roll(rows=3))

    with simulated(1) as group:
        [(handle, probe)] = build(group, declare)
        for time in range(10):
            handle.send({"n": [time]})
            handle.advance_to(time + 1)
            settle(group)
            assert len(names(tmp_path)) == (time + 1) // 3
            assert probe.frontier == (time + 1) // 3 * 3, "the first row that is in no file yet"
        handle.close()
        settle(group)
    assert [pq.read_table(tmp_path / name)["n"].to_pylist() for name in names(tmp_path)] == [
        [0, 1, 2], [3, 4, 5], [6, 7, 8], [9],
    ]  # fmt: skip


def test_files_are_rolled_by_their_size(tmp_path: Path) -> None:
    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(Schema("n"))
            to_parquet(stream, tmp_path, row_group_rows=100, compression="none", roll=Roll(bytes=4000))
        for time in range(10):
            handle.send({"n": numbers[100 * time : 100 * time + 100]}, time)

    dice = random.Random(1)
    numbers = [dice.randrange(2**63) for _ in range(1000)]  # which no encoding makes small
    execute(program, workers=1)
    assert 1 < len(names(tmp_path)) < 10
    assert rows(tmp_path) == sorted(numbers)
