"""A stop leaves open what is not finished, and a finish takes it for finished: what comes out is counted in Python."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest

import tokenring as tr
from tests.operators.sinks.test_to_delta import rows_in

WATCHDOG_S = 60
ROWS = tr.Schema("key value t")
LAST = 1045
"""The time that a source comes to, and stays at; 20 for each other worker before it."""
NOTHING = {"key": [], "value": [], "t": []}
Program = Callable[[tr.Worker], Any]


def times_of(index: int) -> range:
    """Of what a worker's source sends."""
    return range(LAST + 1 - 300 * index)


def rows_of(index: int) -> Iterator[dict[str, int]]:
    return ({"key": time % 3, "value": time, "t": time} for time in times_of(index))


def endless(worker: tr.Worker, scope: tr.Scope, columns: tr.Schema = ROWS) -> Any:
    """A source on each worker: rows at each time up to one of its own, and then none, for ever."""

    def numbers(index: int, peers: int) -> Iterator[dict[str, list[int]]]:
        for row in rows_of(index):
            yield {name: [row[name]] for name in row}
        worker.report("there")
        while True:
            yield NOTHING

    return scope.from_generator(columns, numbers, time="t")


def ended(
    program: Program, workers: int, how: str, notes: int | None = None, **options: Any
) -> tuple[list[Any], tr.Stopped | None]:
    """What a program returned that was ended so once it had reported so often (as often as there are workers)."""
    there: list[int] = []
    with tr.start(program, workers, on_note=lambda index, _: there.append(index), **options) as group:
        while len(there) < (workers if notes is None else notes):
            group.poll()
        getattr(group, how)()
        results = group.wait()
    return results, results.stopped


def only(stopped: tr.Stopped | None) -> tr.StoppedDataflow:
    assert stopped is not None
    (one,) = stopped.dataflows
    return one


def collected(results: list[Any]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for rows in results for row in rows)


def rows(kept: Any) -> list[list[Any]]:
    return [list(row.values()) for row in kept.to_arrow().to_pylist()]


def counted(workers: int, before: int) -> list[tuple[int, int, int, int]]:
    """Windows of 100 that end before then, which is their time: what a count by key gives."""
    counts = Counter(
        (row["t"] // 100 * 100, row["key"])
        for index in range(workers)
        for row in rows_of(index)
        if row["t"] // 100 * 100 + 100 < before
    )
    return sorted((start, start + 100, key, count) for (start, key), count in counts.items())


def windowed(worker: tr.Worker) -> Any:
    with worker.dataflow("windows") as scope:
        stream = endless(worker, scope)
        kept = stream.aggregate("key", window=tr.Tumbling("t", 100), n=tr.Count()).collect()
    worker.run()
    return rows(kept)


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_stop_gives_the_finished_windows_and_a_finish_all(workers: int, start: str) -> None:
    results, stopped = ended(windowed, workers, "stop", start=start)
    slowest = LAST - 300 * (workers - 1)
    assert only(stopped).whole_before == slowest
    assert collected(results) == counted(workers, slowest)
    (held,) = only(stopped).open
    assert "aggregate" in held.operator and held.since == slowest // 100 * 100 + 100
    if start == "fork":
        results, nothing = ended(windowed, workers, "finish")
        assert nothing is None
        assert collected(results) == counted(workers, LAST + 200)


def test_workers_whose_state_moves_stop_as_well() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("bins", bins=16) as scope:
            stream = endless(worker, scope)
            kept = stream.aggregate("key", window=tr.Tumbling("t", 100), n=tr.Count()).collect()
        worker.run()
        return rows(kept)

    results, stopped = ended(program, 2, "stop")
    assert only(stopped).whole_before == LAST - 300
    assert collected(results) == counted(2, LAST - 300)


def test_sessions_that_are_open_are_dropped() -> None:
    """Rows at 0 to 4, 100 to 104, ...: gaps of 60 part them, and the last is open until 1064."""

    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("sessions") as scope:
            stream = endless(worker, scope).filter(tr.col("t") % 100 < 5)
            kept = stream.aggregate("key", window=tr.Session("t", 60), n=tr.Count()).collect()
        worker.run()
        return rows(kept)

    whole = sorted((t, count) for t, count in sessions().items() if t < 1000)
    for how, expected in (("stop", whole), ("finish", sorted(sessions().items()))):
        results, stopped = ended(program, 1, how)
        assert sum(count for *_, count in collected(results)) == sum(count for _, count in expected)
        assert (stopped is None) == (how == "finish")


def sessions() -> Counter[int]:
    return Counter(row["t"] // 100 * 100 for row in rows_of(0) if row["t"] % 100 < 5)


def test_rows_that_wait_in_a_join_are_dropped_and_told() -> None:
    """Left rows of key 2 find nobody: a left join would give them out at the end."""

    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("joined") as scope:
            left = endless(worker, scope)
            first = endless(worker, scope).filter((tr.col("key") < 2) & (tr.col("t") < 6))
            right = first.select("key", other=tr.col("t"))
            kept = left.join(right, on="key", how="left").collect()
        worker.run()
        return rows(kept)

    results, stopped = ended(program, 1, "stop", notes=2)
    matched = [(row["key"], row["value"], row["t"], 3 * n + row["key"]) for row in rows_of(0) for n in range(2)]
    assert collected(results) == sorted(row for row in matched if row[0] < 2)
    (held,) = only(stopped).open
    assert "join" in held.operator and held.since == 0
    assert only(stopped).whole_before == 0, "rows of key 2 at the first times are owed still"
    results, _ = ended(program, 1, "finish", notes=2)
    assert sum(map(len, results)) == len([row for row in matched if row[0] < 2]) + len(times_of(0)) // 3


def test_an_inner_join_says_how_many_rows_wait() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("joined") as scope:
            left = endless(worker, scope)
            right = endless(worker, scope).filter(tr.col("t") < 6).select("key", other=tr.col("t"))
            kept = left.join(right, on="key").collect()
        worker.run()
        return len(kept)

    results, stopped = ended(program, 1, "stop", notes=2)
    assert results == [2 * len(times_of(0))]
    (held,) = only(stopped).open
    assert held.rows == {"left": len(times_of(0)), "right": 6} and held.since is None


@pytest.mark.parametrize("how", ["stop", "finish"])
def test_a_final_aggregate_is_given_out_by_a_finish_alone(how: str) -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("final") as scope:
            kept = endless(worker, scope).aggregate("key", emit="final", n=tr.Count()).collect()
        worker.run()
        return rows(kept)

    results, _ = ended(program, 2, how)
    counts = Counter(row["key"] for index in range(2) for row in rows_of(index))
    assert collected(results) == (sorted(counts.items()) if how == "finish" else [])


@pytest.mark.parametrize("bins", [0, 16])
def test_a_sinks_files_are_put_in_place_with_what_is_finished(tmp_path: Path, bins: int) -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow("sunk", bins=bins) as scope:
            windows = endless(worker, scope).aggregate("key", window=tr.Tumbling("t", 100), n=tr.Count())
            windows.to_parquet(tmp_path / "once")
            windows.to_parquet(tmp_path / "rolling", roll=tr.Roll(250, time="window_start"))

    _, stopped = ended(program, 2, "stop")
    expected = counted(2, LAST - 300)
    for name in ("once", "rolling"):
        found = pq.read_table(tmp_path / name).to_pylist()  # type: ignore[no-untyped-call]
        assert sorted(tuple(row.values()) for row in found) == expected, name
    assert only(stopped).whole_before == LAST - 300


def test_a_sink_behind_a_source_has_all_that_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("tokenring.operators.sinks.to_database"), "_WAIT_NS", 3600 * 10**9)

    def program(worker: tr.Worker) -> None:
        with worker.dataflow("sunk") as scope:
            rows = endless(worker, scope)
            rows.to_parquet(tmp_path / "all")
            rows.to_database(tmp_path / "all.db", "rows")
            rows.to_database(tmp_path / "all.db", "rows_by_key", key="t", name="by_key")
            rows.to_delta(tmp_path / "table")

    ended(program, 2, "stop")
    found = pq.read_table(tmp_path / "all").to_pylist()  # type: ignore[no-untyped-call]
    assert sorted(row["t"] for row in found) == sorted([*times_of(0), *times_of(1)])
    with closing(sqlite3.connect(tmp_path / "all.db")) as connection:
        assert sorted(connection.execute("SELECT t FROM rows")) == sorted((row["t"],) for row in found)
        assert sorted(connection.execute("SELECT t FROM rows_by_key")) == [(time,) for time in times_of(0)]
    assert sorted(rows_in(tmp_path / "table", "t").elements()) == sorted((row["t"],) for row in found)


def slow_burst(worker: tr.Worker, scope: tr.Scope) -> Any:
    """Worker 0's rows, all sent at once, of which worker 1 gets a half, and takes 4 ms for each message."""

    def numbers(index: int, peers: int) -> Iterator[dict[str, list[int]]]:
        if index == 0:
            for row in rows_of(0):
                yield {"key": [row["key"]], "value": [1], "t": [row["t"]]}
        worker.report("there")
        while index == 0:
            yield NOTHING

    def slowly(batch: tr.Batch) -> tr.Batch:
        time.sleep(0.004 * worker.index)
        return batch

    return scope.from_generator(ROWS, numbers, time="t").exchange("t").map_batches(ROWS, slowly)


@pytest.mark.parametrize("bins", [0, 16])
def test_a_burst_that_waits_is_taken_before_the_end(bins: int) -> None:
    """The stop comes while rows whose times are finished at the source wait for a slow operator."""

    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("burst", bins=bins) as scope:
            stream = slow_burst(worker, scope)
            kept = stream.aggregate("key", window=tr.Tumbling("t", 100), n=tr.Count()).collect()
        worker.run()
        return rows(kept)

    results, stopped = ended(program, 2, "stop")
    assert only(stopped).whole_before == LAST
    assert collected(results) == counted(1, LAST)


def test_views_of_other_dataflows_come_as_far_as_those() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("base") as scope:
            stream = slow_burst(worker, scope).with_columns(times=tr.col("t") * 0 + 1)
            stream.select("key", "t", "times").collection("t", "times").arrange("key").export("numbers")
        with worker.dataflow("reader") as scope:
            counts = scope.import_arrangement("numbers").collection().aggregate("key", n=tr.Count())
            kept = counts.changes().collect()
        worker.run()
        return [[row["key"], row["n"], row["times"]] for row in kept.to_arrow().to_pylist()]

    results, stopped = ended(program, 2, "stop")
    assert stopped is not None
    assert {one.dataflow: one.whole_before for one in stopped.dataflows} == {"base": LAST, "reader": LAST}
    newest: Counter[tuple[int, int]] = Counter()
    for key, n, times in collected(results):
        newest[key, n] += times
    counts = Counter(row["key"] for row in rows_of(0) if row["t"] < LAST)
    assert {key: n for (key, n), times in newest.items() if times} == counts


def fed(worker: tr.Worker, heeds: bool) -> Any:
    """A program that feeds an input, a time after the other, and waits for each; worker 1 is ahead of the others. It
    asks whether it is to stop, or goes on for some times more."""
    with worker.dataflow("fed") as scope:
        handle, stream = scope.new_input(ROWS)
        kept = stream.aggregate("key", window=tr.Tumbling("t", 10), n=tr.Count()).collect()
        probe = stream.probe()
    at = 0
    while not worker.stopping if heeds else at < 400:
        handle.send({"key": [0], "value": [1], "t": [at]})
        at += 1
        handle.advance_to(at)
        worker.step_while(lambda: probe.less_than(handle.time - worker.index * 5))
        if at == 55:
            worker.report("there")
    handle.close()
    worker.run()
    return at, rows(kept)


@pytest.mark.parametrize("heeds", [True, False])
def test_an_input_keeps_the_time_it_has_whatever_its_program_does(heeds: bool) -> None:
    results, stopped = ended(partial(fed, heeds=heeds), 2, "stop")
    before = only(stopped).whole_before
    assert before is not None and before <= max(at for at, _ in results)
    windows = {(row[0], row[3]) for _, kept in results for row in kept}
    assert windows == {(start, 20) for start in range(0, before, 10) if start + 10 < before}, "their time is their end"


def test_what_is_built_after_a_stop_is_stopped_as_well() -> None:
    def program(worker: tr.Worker) -> Any:
        return [windowed(worker) for _ in range(2)]

    results, stopped = ended(program, 2, "stop")
    assert stopped is not None
    assert collected([first for first, _ in results]) == counted(2, LAST - 300)
    assert [second for _, second in results] == [[], []]


def test_a_program_that_waits_for_a_time_that_never_comes_goes_on() -> None:
    """It feeds an input, never asks whether it is to stop, and waits for what a live source holds back."""

    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("waits") as scope:
            handle, stream = scope.new_input(ROWS)
            merged = stream.union(endless(worker, scope))
            kept = merged.aggregate("key", window=tr.Tumbling("t", 100), n=tr.Count()).collect()
            probe = merged.probe()
        for at in range(LAST + 10):
            handle.send({"key": [7], "value": [1], "t": [at]})
            handle.advance_to(at + 1)
            worker.step_while(lambda: probe.less_than(handle.time))
        return rows(kept), handle.time

    results, stopped = ended(program, 2, "stop", notes=2)
    before = only(stopped).whole_before
    assert before == LAST - 300
    own = [(start, start + 100, 7, 200) for start in range(0, before - 100, 100)]
    assert collected([kept for kept, _ in results]) == sorted([*counted(2, before), *own])
    assert {at for _, at in results} == {LAST - 300 + 1}, "an input that was cut says the time it had"


def test_what_a_stop_says_is_json() -> None:
    _, stopped = ended(windowed, 1, "stop")
    said = json.loads(orjson.dumps(stopped))
    (dataflow,) = said["dataflows"]
    assert dataflow["dataflow"] == "windows" and dataflow["whole_before"] == LAST
    assert dataflow["open"][0]["since"] == 1100
