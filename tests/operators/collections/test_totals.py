"""Counts, sums and least values of very many keys, which come, go, and come again, beside numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tests.errors import raises

ROWS, KEYS, TIMES = 40_000, 20_000, 3


@pytest.mark.parametrize("key", ["a", "a b"])
@pytest.mark.parametrize("workers", [1, 2])
def test_very_many_keys_are_totalled_at_every_time(workers: int, key: str) -> None:
    random = np.random.default_rng(5)
    rows = {
        "a": random.integers(0, KEYS, ROWS),
        "b": random.integers(0, 2, ROWS),
        "v": random.integers(-(1 << 40), 1 << 40, ROWS),
        "time": random.integers(0, TIMES, ROWS),
    }
    ends = rows["time"] + random.integers(1, TIMES, ROWS)  # each goes again; some after the last time
    updates = {name: np.concatenate([column, column]) for name, column in rows.items()}
    updates["time"] = np.concatenate([rows["time"], ends])
    updates["times"] = np.repeat([1, -1], ROWS)
    names = key.split()

    def program(worker: tr.Worker) -> dict[str, Any]:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(tr.Schema("a b v time times"))
            totals = stream.collection("time", "times").aggregate(key, n=tr.Count(), s=tr.Sum("v"))
            made = totals.changes().collect()
        handle.send({name: column[worker.index :: worker.peers] for name, column in updates.items()})
        worker.run()
        return dict(made.columns())

    parts = tr.execute(program, workers=workers)
    found = {name: np.concatenate([part[name] for part in parts]) for name in (*names, "n", "s", "time", "times")}
    for time in range(2 * TIMES):
        there = (updates["time"] <= time).nonzero()[0]
        expected: dict[tuple[int, ...], list[int]] = {}
        keys = np.stack([updates[name][there] for name in names], axis=1)
        different, places = np.unique(keys, axis=0, return_inverse=True)
        counts, sums = np.zeros(len(different), np.int64), np.zeros(len(different), np.int64)
        np.add.at(counts, places.ravel(), updates["times"][there])
        np.add.at(sums, places.ravel(), updates["v"][there] * updates["times"][there])
        expected = {tuple(each): [n, s] for each, n, s in zip(different.tolist(), counts, sums, strict=True) if n}
        told = (found["time"] <= time).nonzero()[0]
        rows_told = np.stack([found[name][told] for name in (*names, "n", "s")], axis=1)
        alike, places = np.unique(rows_told, axis=0, return_inverse=True)
        often = np.zeros(len(alike), np.int64)
        np.add.at(often, places.ravel(), found["times"][told])
        assert set(often.tolist()) <= {0, 1}
        made = {tuple(row[: len(names)]): row[len(names) :] for row, n in zip(alike.tolist(), often, strict=True) if n}
        assert made == expected, time


def test_rows_are_totalled_as_they_come_and_told_when_their_time_is_finished() -> None:
    """Much of one time, in parts; of the next as well before the first is told."""
    random = np.random.default_rng(8)
    parts = [(0, 1, 10_000), (0, 1, 10_000), (0, -1, 10_000), (0, 1, 50), (1, 1, 10_000), (1, -1, 10_000), (2, 1, 9)]
    sent = [{"k": random.integers(0, 7, rows), "v": random.integers(0, 99, rows)} for _, _, rows in parts]
    sent[2], sent[5] = sent[0], sent[4]  # goes again within its time

    def program(worker: tr.Worker) -> list[tuple[int, ...]]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k v"))
            told = rows.aggregate("k", n=tr.Count(), s=tr.Sum("v")).changes()
            made, probe = told.collect(), told.probe()
        for (time, times, _), rows in zip(parts, sent, strict=True):
            if time == 2:
                worker.step_while(lambda: probe.less_than(1))
            handle.advance_to(time)
            (handle.insert if times > 0 else handle.remove)(rows)
            for _ in range(3 * (time == 0)):
                worker.step()
        worker.run()
        return list(zip(*[column.tolist() for column in made.columns().values()], strict=True))

    expected, before = [], set[tuple[int, int, int]]()
    for time, there in ((0, (1, 3)), (2, (1, 3, 6))):
        keys, values = [np.concatenate([sent[part][name] for part in there]) for name in ("k", "v")]
        now = {(k, int((keys == k).sum()), int(values[keys == k].sum())) for k in np.unique(keys).tolist()}
        expected += [(*row, time, -1) for row in before - now] + [(*row, time, 1) for row in now - before]
        before = now
    assert sorted(tr.execute(program, workers=1)[0]) == sorted(expected)


@pytest.mark.parametrize("is_imported", [False, True])
def test_the_least_of_very_many_keys_is_right_at_every_time(is_imported: bool) -> None:
    """Many rows at once, fewer, and a few: what is said of keys together, and apart."""
    random = np.random.default_rng(6)
    epochs = [
        {"k": random.integers(0, KEYS, rows), "v": random.integers(0, 1 << 40, rows), "times": np.ones(rows, np.int64)}
        for rows in (ROWS, ROWS // 3, 50)
    ]
    epochs.append(epochs[0] | {"times": -epochs[0]["times"]})

    def program(worker: tr.Worker) -> dict[str, Any]:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(tr.Schema("k v times"))
            arranged = stream.collection(times="times").arrange("k")
            view = arranged.export("rows")
            made = arranged.aggregate(low=tr.Min("v")).collection().changes().collect()
        for time, epoch in enumerate(epochs):
            handle.advance_to(time)
            handle.send(epoch)
            if time == 1 and is_imported:
                worker.step_while(lambda: view.upper < 1)
                with worker.dataflow("later") as scope:
                    rows = scope.import_arrangement("rows").aggregate(low=tr.Min("v"))
                    made = rows.collection().changes().collect()
        worker.run()
        return dict(made.columns())

    found = tr.execute(program, workers=1)[0]
    for time in range(len(epochs)):
        so_far = [np.concatenate([each[name] for each in epochs[: time + 1]]) for name in ("k", "v", "times")]
        keys, values, times = so_far
        gone = set(zip(keys[times < 0].tolist(), values[times < 0].tolist(), strict=True))
        expected: dict[int, int] = {}
        for key, value in zip(keys[times > 0].tolist(), values[times > 0].tolist(), strict=True):
            if (key, value) not in gone:
                expected[key] = min(value, expected.get(key, value))
        told = found["time"] <= time
        made: dict[tuple[int, int], int] = {}
        for *row, often in zip(*[found[name][told].tolist() for name in ("k", "low", "times")], strict=True):
            made[row[0], row[1]] = made.get((row[0], row[1]), 0) + often
        assert {row: often for row, often in made.items() if often} == dict.fromkeys(expected.items(), 1), time


@pytest.mark.parametrize("name", ["self", "times", "time", "0", "all"])
def test_columns_and_totals_may_be_called_as_operators_call_theirs(name: str) -> None:
    """Those of methods, and those that collections keep for themselves."""
    rows = tr.Batch(tr.Schema.of({"k": "int64", name: "int64"}), {"k": [1, 1, 2], name: [5, 7, -3]})

    def totals(scope: tr.Scope) -> tr.Stream:
        made = scope.read_arrow(rows.to_arrow()).collection().filter(tr.col(name) > 0)
        made = made.with_columns(**{name: tr.col(name) + 1}).distinct()
        made = made.aggregate("k", **{name: tr.Sum(tr.col(name) * 2)})
        return made.changes("@at", "@often").collect()

    assert tr.run(totals, workers=1).select(["k", name]).to_pylist() == [{"k": 1, name: 28}]

    def at_once(scope: tr.Scope) -> tr.Stream:
        stream = scope.read_arrow(rows.to_arrow())
        made = stream.aggregate("k", tr.Count(where=tr.col(name) > 5).alias(name), changes=True)
        return made.changes("@at", "@often").collect()

    found = tr.run(at_once, workers=1).select(["k", name]).to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, [{"k": 1, name: 1}, {"k": 2, name: 0}]))


def test_what_collections_keep_for_themselves_is_not_told() -> None:
    rows = tr.Batch(tr.Schema("k"), {"k": [1]}).to_arrow()

    def no_column(scope: tr.Scope) -> tr.Stream:
        return scope.read_arrow(rows).collection().filter(tr.col("v") > 0).changes().collect()

    with raises(tr.SchemaError, "operator 'filter'", "no column 'v'", "the columns are k") as raised:
        tr.run(no_column, workers=1)
    assert "@" not in str(raised.value).splitlines()[0]

    def no_name(scope: tr.Scope) -> tr.Stream:
        made = scope.read_arrow(rows).collection().aggregate("k", name=tr.Count())  # type: ignore[arg-type]
        return made.changes().collect()

    with raises(tr.SchemaError, "operator 'aggregate'", "name=", ".rename"):
        tr.run(no_name, workers=1)
