"""What a collection's changes say: of each row and time one, in order of times."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.collections.harness import TIMES, UPDATE, at, made_up, run_several


def test_what_comes_and_goes_at_one_time_is_no_change() -> None:
    def program(worker: tr.Worker) -> list[Any]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k v"))
            even = rows.filter(tr.col("k") % 2 == 0)
            told = rows.concat(rows.negate(), even, even).changes().collect()
        for v in range(3):
            handle.insert({"k": [2, 3], "v": [v, v]})
            handle.remove({"k": [2], "v": [v]})
        handle.insert({"k": [4], "v": [0]}, time=2)
        handle.insert({"k": [4, 4], "v": [9, 9]}, time=1)
        worker.run()
        return list(zip(*[column.tolist() for column in told.columns().values()], strict=True))

    assert tr.execute(program, workers=1) == [[(4, 9, 1, 4), (4, 0, 2, 2)]]


@pytest.mark.parametrize("kind", ["int64", "string?"])
@pytest.mark.parametrize("workers", [1, 2])
def test_changes_are_net_and_in_order_of_times(workers: int, kind: str) -> None:
    updates = made_up(3, 400)
    if kind == "string?":
        given: list[Any] = [(None if k == 0 else f"key {k}", *rest) for k, *rest in updates]
    else:
        given = updates
    schema = tr.Schema.of(UPDATE.spec() | {"k": kind})
    found = run_several(
        [given, given[:100]],
        lambda rows, more: {
            "rows": rows.concat(more),
            "pairs": rows.join(more.rename(v="w"), "k"),
            "total": rows.concat(more).aggregate("k", n=tr.Count()),
            "least": rows.concat(more).aggregate("k", low=tr.Min("v")),
            "distinct": rows.distinct().filter(tr.col("v") > 0),
        },
        workers,
        5,
        schema=schema,
    )
    for name, changes in found.items():
        said = Counter([row[:-1] for row in changes])
        assert set(said.values()) == {1}, name
        assert all(row[-1] for row in changes), name
    for time in range(TIMES):
        expected = at(given, time) + at(given[:100], time)
        assert at(found["rows"], time) == expected


@pytest.mark.parametrize("workers", [1, 2])
def test_times_rise_on_each_worker(workers: int) -> None:
    random = np.random.default_rng(2)

    def program(worker: tr.Worker) -> list[tuple[list[int], set[Any]]]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k v"))
            told = [
                made.changes().collect()
                for made in (rows, rows.distinct(), rows.aggregate("k", low=tr.Min("v")), rows.top("k", "v", 2))
            ]
        for step in range(4):
            at = random.integers(5 * step, 20, 30_000)
            handle.insert({"k": random.integers(0, 10_000, 30_000), "v": random.integers(0, 9, 30_000)}, time=at)
            handle.advance_to(5 * step + 5)
            worker.step()
        worker.run()
        return [
            (times.tolist(), set(zip(*[column.tolist() for column in columns], strict=True)))
            for *columns, times, _ in [each.columns().values() for each in told]
        ]

    parts = tr.execute(program, workers=workers)
    for part in parts:
        for times, _ in part:
            assert times == sorted(times) and len(set(times)) == 20
    for name in range(len(parts[0])):
        assert not set.intersection(*[part[name][1] for part in parts]) or workers == 1, "a row has one worker"


def test_a_column_of_that_name_is_there_already() -> None:
    def program(worker: tr.Worker) -> list[str]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k time"))
            with raises(tr.SchemaError, "column 'time' already", "time="):
                rows.changes()
            told = rows.changes(time="at").collect()
        handle.close()
        worker.run()
        return list(told.columns())

    assert tr.execute(program, workers=1) == [["k", "time", "at", "times"]]


@pytest.mark.parametrize("steps", ["at once", "one by one"])
@pytest.mark.parametrize("lateness", [0, 2])
def test_sessions_are_there_from_their_own_ends_on(lateness: int, steps: str) -> None:
    """However far the frontier goes at once: sessions that it passes together had the first one's time."""

    def program(worker: tr.Worker) -> list[Any]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_input(tr.Schema("at k"))
            window = tr.Session("at", 3)
            sessions = rows.aggregate("k", window=window, lateness=lateness, n=tr.Count(), changes=True)
            told = sessions.changes().collect()
            totals = sessions.aggregate("", sessions=tr.Count(), rows=tr.Sum("n")).changes()
            kept, probe = totals.collect(), totals.probe()
        for when in (6, 7, 20, 24):
            handle.advance_to(when)
            handle.send({"at": [when], "k": [2]})
            if steps == "one by one":
                worker.step_while(lambda when=when: probe.less_than(when))
        handle.close()
        worker.run()
        return [sorted(zip(*[each.columns()[of].tolist() for of in names], strict=True)) for each, names in (
            (told, ("time", "window_start", "window_end", "n", "times")),
            (kept, ("time", "sessions", "rows", "times")),
        )]  # fmt: skip

    (found,) = tr.execute(program, workers=1)
    ends = [end + lateness for end in (10, 23, 27)]
    assert found[0] == [(ends[0], 6, 10, 2, 1), (ends[1], 20, 23, 1, 1), (ends[2], 24, 27, 1, 1)]
    assert found[1] == sorted(
        [(ends[0], 1, 2, 1), (ends[1], 1, 2, -1), (ends[1], 2, 3, 1), (ends[2], 2, 3, -1), (ends[2], 3, 4, 1)]
    )


SIDES = {"k": "left.k", "left": "left.time", "right": "right.time"}
SENT: dict[str, Any] = {
    "changes": lambda rows: rows.changes(),
    "upserts": lambda rows: rows.to_upserts("k"),
    "joined": lambda rows: rows.changes().join(rows.changes(), on="k", columns=SIDES),
    "scanned": lambda rows: rows.changes().scan("k", lambda _, row: (None, {"at": row["time"]}), tr.Schema("at")),
    "delayed": lambda rows: rows.changes().delay(0),
    "versions": lambda rows: rows.changes().enrich(rows.to_upserts("k"), on="k", columns={"time": "left.time"}),
}


@pytest.mark.parametrize("kind", ["int64", "string?"])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", SENT)
def test_who_goes_by_messages_times_has_each_at_its_own(name: str, workers: int, kind: str) -> None:
    """However far the frontier goes at once: changes that it passes together had the first one's time."""

    def program(worker: tr.Worker) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []

        def note(time: int, rows: Any) -> None:
            own = np.max([rows[each] for each in ("time", "at", "left", "right") if each in rows.schema.names], axis=0)
            found.extend((time, each) for each in own.tolist())

        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema.of({"k": kind, "v": "int64"}))
            SENT[name](rows).for_each(note, in_order=True)
        keys = ["a", None, "c"] if kind == "string?" else [7, 8, 9]
        for time in reversed(range(worker.index, 9, workers)):
            handle.insert({"k": keys, "v": [time] * 3}, time=time)
            handle.remove({"k": keys, "v": [time] * 3}, time=time + 1)
        handle.close()
        worker.run()
        return found

    found = [each for part in tr.execute(program, workers=workers) for each in part]
    assert all(time == own for time, own in found)
    assert {time for time, _ in found} == {*range(10)}


@pytest.mark.parametrize("says", [False, True])
def test_an_operator_of_ones_own_says_that_it_goes_by_messages_times(says: bool) -> None:
    def program(worker: tr.Worker) -> list[int]:
        found: list[int] = []
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k"))
            changes = rows.changes()
            if says:
                tr.mechanisms.go_by_message_times("note", changes)
            changes.for_each(lambda time, _: found.append(time), name="note")
        handle.insert({"k": [7, 8, 9]}, time=np.array([4, 5, 6]))
        handle.close()
        worker.run()
        return found

    assert tr.execute(program, workers=1) == [[4, 5, 6] if says else [4]]


SELECTING: dict[str, Any] = {
    "select": lambda rows: rows.collection().select("a", "on_error"),
    "with_columns": lambda rows: rows.collection().with_columns(on_error=tr.col("a") + 1),
    "alias": lambda rows: rows.collection().with_columns((tr.col("a") + 1).alias("on_error")),
    "rename": lambda rows: rows.rename(on_error="b").collection().rename(b="on_error"),
    "join": lambda rows: rows.collection().join(rows.select("a").collection(), "a"),
    "right side": lambda rows: rows.select("a").collection().join(rows.collection(), "a"),
    "by key": lambda rows: rows.collection(key="a"),
    "top": lambda rows: rows.collection().top("a", "on_error"),
    "total": lambda rows: rows.aggregate("a", changes=True, total=tr.Sum("on_error")).rename(total="on_error"),
    "last": lambda rows: rows.last_by("a", order="on_error", changes=True),
    "delay": lambda rows: rows.collection().delay(0),
}


@pytest.mark.parametrize("name", SELECTING)
def test_a_column_may_be_called_as_a_parameter(name: str) -> None:
    value = 2 if name in ("with_columns", "alias") else 5

    def program(scope: Any) -> Any:
        rows = scope.read_arrow(pa.table({"a": [1], "on_error": [5]}))
        return SELECTING[name](rows).changes(time="at").collect()

    assert tr.run(program, workers=1).to_pydict() == {"a": [1], "on_error": [value], "at": [0], "times": [1]}
