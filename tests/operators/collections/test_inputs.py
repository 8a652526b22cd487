"""Collections that are fed, from files and from streams of upserts, beside dictionaries; and upserts of them."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.collections.harness import TIMES, Rows, at, made_up

ROW = tr.Schema("v k")
UPSERT = tr.Schema("k v time", gone="bool?")


def rows_of(stream: Any) -> list[tuple[Any, ...]]:
    return list(zip(*[column.tolist() for column in stream.columns().values()], strict=True))


def drawn(seed: int, rows: int = 60, keys: int = 5) -> list[tuple[int, int, int, bool]]:
    """(key, value, time, whether it is gone), no two of one key and time."""
    random = np.random.default_rng(seed)
    found = {}
    for _ in range(rows):
        key, time = random.integers(keys), random.integers(TIMES)
        found[int(key), int(time)] = int(random.integers(3)), bool(random.integers(3) == 0)
    return [(key, value, time, gone) for (key, time), (value, gone) in found.items()]


def held(upserts: list[tuple[int, int, int, bool]], time: int) -> Rows:
    found = {}
    for key, value, when, gone in sorted(upserts, key=lambda each: each[2]):
        if when <= time:
            found[key] = None if gone else value
    return Counter({(key, value): 1 for key, value in found.items() if value is not None})


def of_upserts(upserts: list[tuple[int, int, int, bool]], workers: int, seed: int, by_handle: bool) -> list[Any]:
    """The changes of a collection that is given them shuffled, by any worker, some before they are due."""

    def program(worker: tr.Worker) -> list[Any]:
        random = np.random.default_rng(seed + worker.index)
        with worker.dataflow() as scope:
            if by_handle:
                handle, rows = scope.new_collection(tr.Schema("v k"), key="k")
            else:
                handle, stream = scope.new_input(UPSERT)
                rows = stream.collection("time", key="k", deleted="gone")
            made = rows.select("k", "v").changes().collect()
        due = upserts[worker.index :: worker.peers]
        for time in range(TIMES):
            now = [each for each in due if each[2] == time or (time < each[2] < time + 3 and random.integers(2))]
            due = [each for each in due if each not in now]
            k, v, when, gone = np.array([now[i] for i in random.permutation(len(now))]).reshape(-1, 4).T
            if not by_handle:
                handle.send({"k": k, "v": v, "time": when, "gone": gone.astype(bool)})
            else:
                is_gone = gone == 1
                handle.upsert({"k": k[~is_gone], "v": v[~is_gone]}, when[~is_gone])
                handle.delete({"k": k[is_gone]}, when[is_gone])
            handle.advance_to(time + 1)
            if random.integers(2):
                worker.step()
        worker.run()
        return rows_of(made)

    return [row for part in tr.execute(program, workers=workers) for row in part]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("by_handle", [True, False])
def test_a_key_has_the_row_that_was_said_last(by_handle: bool, workers: int) -> None:
    for seed in range(6):
        upserts = drawn(seed)
        found = of_upserts(upserts, workers, seed, by_handle)
        for time in range(TIMES):
            assert at(found, time) == held(upserts, time), (seed, time)


@pytest.mark.parametrize("workers", [1, 2])
def test_rows_are_inserted_and_removed_at_any_time(workers: int) -> None:
    updates = made_up(3, 60)

    def program(worker: tr.Worker) -> list[Any]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(ROW, "rows")
            made = rows.select("k", "v").changes().collect()
        mine = updates[worker.index :: worker.peers]
        for time in range(TIMES):
            for insert in (True, False):
                now = [each for each in mine if each[2] == time and (each[3] > 0) == insert]
                columns = {"k": [each[0] for each in now], "v": [each[1] for each in now]}
                if time % 2:
                    handle.update(columns, [each[3] for each in now])
                elif insert:
                    handle.insert(columns, time)
                else:
                    handle.remove(pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()}))
            handle.advance_to(time + 1)
        handle.close()
        assert handle.closed
        worker.run()
        return rows_of(made)

    found = [row for part in tr.execute(program, workers=workers) for row in part]
    for time in range(TIMES):
        assert at(found, time) == at(updates, time)


@pytest.mark.parametrize("workers", [1, 2])
def test_upserts_come_out_as_they_came_in(workers: int) -> None:
    upserts = drawn(7)

    def program(worker: tr.Worker) -> list[Any]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(ROW, key="k")
            made = rows.to_upserts("k").collect()
            again = rows.to_upserts("k", name="again").collection("time", key="k", deleted="deleted", name="back")
            back = again.concat(rows.select(*again.schema.names).as_schema(again.schema).negate())
            nothing = back.consolidate().changes().collect()
        for k, v, when, gone in upserts[worker.index :: worker.peers]:
            if gone:
                handle.delete({"k": [k]}, when)
            else:
                handle.upsert({"k": [k], "v": [v]}, when)
        worker.run()
        assert not rows_of(nothing)
        return rows_of(made)

    found = [row for part in tr.execute(program, workers=workers) for row in part]
    for key, value, _, gone in found:
        assert gone == (value is None), key
    for time in range(TIMES):
        assert held([(key, value or 0, when, gone) for key, value, when, gone in found], time) == held(upserts, time)


def test_the_last_of_a_time_holds_and_nothing_is_said_of_what_stays() -> None:
    def program(worker: tr.Worker) -> list[Any]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k v"), key="k")
            made = rows.changes().collect()
        handle.upsert({"k": [1, 1, 2], "v": [5, 6, 7]})
        handle.upsert({"k": [1], "v": [8]})
        handle.delete({"k": [2, 3]})
        handle.upsert({"k": [1, 2], "v": [8, 9]}, [4, 4])
        worker.run()
        return rows_of(made)

    assert sorted(tr.execute(program, workers=1)[0]) == [(1, 8, 0, 1), (2, 9, 4, 1)]


@pytest.mark.parametrize("workers", [1, 2])
def test_keys_and_values_are_of_any_kind(workers: int) -> None:
    schema = tr.Schema("n", name="string", at="timestamp?", weight="float64?", note="string?")

    def program(worker: tr.Worker) -> list[Any]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(schema, key="name n")
            made = rows.to_upserts("name n").collect()
        if worker.index == worker.peers - 1:
            keys = {"n": [1, 2], "name": ["Ada", "Bo"]}
            values = {"at": [np.datetime64("2026-01-01"), None], "weight": [1.5, None], "note": [None, "é"]}
            handle.upsert({**keys, **values})
            handle.upsert({**keys, "at": [None] * 2, "weight": [-0.0, 0.0], "note": ["x", "é"]}, [2, 3])
            handle.upsert({**keys, "at": [None] * 2, "weight": [0.0, -0.0], "note": ["x", "é"]}, [4, 5])  # the same
            handle.delete({"n": [2], "name": ["Bo"]}, 7)
        worker.run()
        return [str(row) for row in rows_of(made)]

    found = [row for part in tr.execute(program, workers=workers) for row in part]
    day = 1_767_225_600_000_000_000
    assert sorted(found) == [
        f"('Ada', 1, {day}, 1.5, None, 0, False)",
        "('Ada', 1, None, 0.0, 'x', 2, False)",
        "('Bo', 2, None, 0.0, 'é', 3, False)",
        "('Bo', 2, None, nan, 'é', 0, False)",
        "('Bo', 2, None, nan, None, 7, True)",
    ]


def test_a_key_that_is_hot_keeps_one_row() -> None:
    def program(worker: tr.Worker) -> tuple[int, list[Any]]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k v"), key="k")
            made = rows.changes().collect()
        for time in range(2_000):
            handle.upsert({"k": [time % 3], "v": [time]})
            handle.advance_to(time + 1)
            worker.step()
        assert rows.kept is not None
        return rows.kept.trace.spine.rows, rows_of(made)

    kept, found = tr.execute(program, workers=1)[0]
    assert kept < 1_000
    assert at(found, 2_000) == Counter({(k, v): 1 for k, v in ((0, 1998), (1, 1999), (2, 1997))})


TABLE = pa.table({"k": [1, 2, 1], "v": [10, 20, 30], "at": [0, 3, 5]})


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_files_are_collections(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{form}"
    if form == "parquet":
        pyarrow.parquet.write_table(TABLE, path)
    elif form == "csv":
        pyarrow.csv.write_csv(TABLE, path)
    else:
        path.write_text("".join([json.dumps(row) + "\n" for row in TABLE.to_pylist()]))

    def pipeline(scope: tr.Scope) -> Any:
        schema = tr.Schema("k v at")
        read = {
            "parquet": lambda: scope.read_parquet(path),
            "csv": lambda: scope.read_csv(path, schema),
            "json": lambda: scope.read_json_lines(path, schema),
        }[form]
        stream = read()
        if form == "parquet":  # what Arrow reads may be null
            stream = stream.select(**{name: tr.col(name).fill_null(0) for name in schema.names})
        return stream.collection(time="at").aggregate("k", s=tr.Sum("v")).changes().collect()

    found = [tuple(row.values()) for row in tr.run(pipeline, workers=2).to_pylist()]
    for time, there in ((0, {(1, 10)}), (3, {(1, 10), (2, 20)}), (5, {(1, 40), (2, 20)})):
        assert at(found, time) == Counter(dict.fromkeys(there, 1))


def fed(worker: tr.Worker, feed: Callable[..., None], key: str | None) -> None:
    with worker.dataflow() as scope:
        handle, rows = scope.new_collection(ROW, "fed", key=key)
        rows.changes().collect()
    handle.advance_to(5)
    feed(handle)
    worker.run()


@pytest.mark.parametrize(
    ("feed", "key", "cure"),
    [
        (
            lambda handle: handle.insert({"k": [1], "v": [2]}, [4]),
            None,
            ("operator 'fed' output 0", "rows at 4", "at 5"),
        ),
        (
            lambda handle: handle.insert({"k": [1], "v": [2]}, 2**62),
            None,
            ("operator 'fed' output 0", f"at {2**62}", f"the last time is {2**62 - 1}"),
        ),
        (
            lambda handle: handle.upsert({"k": [1], "v": [2]}, [2**62]),
            "k",
            ("operator 'fed' output 0", f"at {2**62}", f"the last time is {2**62 - 1}"),
        ),
        (lambda handle: handle.insert({"k": [1]}), None, ("operator 'fed' output 0", "'v' is missing")),
        (
            lambda handle: handle.update({"k": [1], "v": [1]}, [1.5]),
            None,
            ("operator 'fed' output 0", "multiplicities", "whole numbers", "float64"),
        ),
        (
            lambda handle: handle.update({"k": [1], "v": [1]}, [1, 2]),
            None,
            ("operator 'fed' output 0", "multiplicities", "one or 1", "int64 of shape (2,)"),
        ),
        (
            lambda handle: handle.send({"k": [1], "v": [1]}),
            None,
            ("operator 'fed' output 0", "insert, remove or update"),
        ),
        (lambda handle: handle.delete({"k": [1], "v": [1]}), "k", ("operator 'fed' output 0", "'v' is too much")),
        (lambda handle: handle.upsert({"k": [1], "v": [1]}, 4), "k", ("operator 'fed' output 0", "rows at 4", "at 5")),
        (lambda handle: handle.delete({"k": [1]}), None, ("CollectionInput", "'delete'", "key=...", ".delete(")),
        (lambda handle: handle.insert({"k": [1], "v": [1]}), "k", ("UpsertInput", "'insert'", "key=None", ".insert(")),
        (lambda handle: None, "w", ("operator 'fed'", "column 'w'", "columns are v, k")),
        (lambda handle: None, "", ("operator 'fed'", "key= names no column", "key='city'")),
        (
            lambda handle: handle.update({"k": [1, 2], "v": [1, 1]}, [2**63, 1]),
            None,
            ("operator 'fed' output 0", "multiplicities", "to 2**63 - 1"),
        ),
    ],
)
def test_what_cannot_be_fed_is_told_of(feed: Callable[..., None], key: str | None, cure: Fact) -> None:
    with raises(tr.TokenRingError, cure):
        tr.execute(lambda worker: fed(worker, feed, key), workers=1)


def test_times_of_rows_are_none_beyond_the_last() -> None:
    rows = pa.table({"k": [1], "at": [2**62]})
    with raises(tr.OperatorError, "operator 'updates'", f"an update at {2**62}", f"the last time is {2**62 - 1}"):
        tr.run(lambda scope: scope.read_arrow(rows).collection("at").changes().collect(), workers=1)


def test_rows_of_keys_alone_are_upserts() -> None:
    def program(worker: tr.Worker) -> list[Any]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(ROW)
            made = rows.to_upserts("k v").collect()
        handle.insert({"k": [1, 2], "v": [3, 4]})
        handle.remove({"k": [1], "v": [3]}, 2)
        worker.run()
        return sorted(rows_of(made))

    assert tr.execute(program, workers=1) == [[(1, 3, 0, False), (1, 3, 2, True), (2, 4, 0, False)]]


@pytest.mark.parametrize(("kind", "null"), [("int64", -(2**63)), ("uint64", 2**64 - 1)])
def test_the_number_that_would_be_null_is_no_upsert(kind: str, null: int) -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k", v=kind))
            rows.to_upserts("k").collect()
        handle.insert({"k": [3], "v": [7]})
        handle.remove({"k": [3], "v": [7]}, 2)
        handle.insert({"k": [4], "v": np.array([null], kind)}, 5)
        worker.run()

    with raises(tr.OperatorError, "operator 'to_upserts'", "at 5 key k=4", "column 'v'", str(null), f"null in {kind}?"):
        tr.execute(program, workers=1)


def test_a_key_of_several_rows_is_no_upsert() -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k v", day="timestamp"))
            rows.to_upserts("day k").collect()
        handle.insert({"k": [3, 3], "v": [1, 2], "day": ["2026-01-01", "2026-01-01"]}, [0, 4])
        worker.run()

    with raises(
        tr.OperatorError,
        "operator 'to_upserts'",
        "at 4",
        "day=2026-01-01T00:00:00.000000000",
        "k=3",
        "arrange(key).first(1)",
    ):
        tr.execute(program, workers=1)


@pytest.mark.parametrize(
    ("wrong", "cure"),
    [
        (lambda stream: stream.collection(key="k", times="v"), ("operator 'updates'", "key=", "times=")),
        (lambda stream: stream.collection(key="x"), ("operator 'updates'", "column 'x'", "columns are v, k")),
        (lambda stream: stream.collection(deleted="v"), ("operator 'updates'", "key=", "deleted='v'")),
        (
            lambda stream: stream.count("k").collection(key="k"),
            ("operator 'updates'", "'count'", "same k", "as_rows(stream)"),
        ),
        *[
            (
                lambda stream, kind=kind: stream.with_columns(at=tr.col("v").cast(kind)).collection(time="at"),
                ("operator 'updates'", "time='at'", f" {kind};", "int64 or timestamp", *cast),
            )
            for kind, cast in (("float64", []), ("string", []), ("uint64", ['cast("int64")']))
        ],
        *[
            (
                lambda stream, kind=kind: stream.with_columns(n=tr.col("v").cast(kind)).collection(times="n"),
                ("operator 'updates'", "times='n'", f" {kind};", "int64, without nulls", 'cast("int64")'),
            )
            for kind in ("float64", "string", "uint64", "timestamp")
        ],
        (
            lambda stream: stream.select("k", at=tr.when(tr.col("v") > 1).then(tr.col("v"))).collection("at", key="k"),
            ("time='at'", "int64?", "int64 or timestamp", "fill_null"),
        ),
        (
            lambda stream: stream.collection().to_upserts("k", time="v"),
            ("operator 'to_upserts'", "column 'v' already", "time="),
        ),
        (
            lambda stream: stream.collection().to_upserts("k", time="q", deleted="q"),
            ("operator 'to_upserts'", "time= and deleted=", "'q'"),
        ),
        (lambda stream: stream.collection().to_upserts(""), ("operator 'to_upserts'", "no column", "'city'")),
        (lambda stream: stream.collection().to_upserts("x"), ("operator 'to_upserts'", "no column 'x'")),
        (lambda stream: stream.collection().reduce("x", len, ROW), ("operator 'reduce'", "no column 'x'")),
        (lambda stream: stream.collection().arrange(()), ("operator 'arrange'", "no column")),
        (lambda stream: stream.collection().changes("q", "q"), ("operator 'changes'", "time= and times=", "'q'")),
        (lambda stream: stream.collection(time="v", times="v"), ("operator 'updates'", "time= and times=", "'v'")),
        (lambda stream: stream.collection().top("k", tr.col("v") * 2), ("(v * 2)", "with_columns")),
        (lambda stream: stream.collection().aggregate(tr.col("v") * 2, n=tr.Count()), ("(v * 2)", ".alias")),
        (lambda stream: stream.collection().concat(stream), ("'concat'", "no collection", ".collection()")),
        (lambda stream: stream.collection().join(stream, "k"), ("'join'", "no collection", ".collection()")),
        (
            lambda stream: stream.collection().semijoin(stream.collection().arrange("k"), "k"),
            ("'semijoin'", "no collection", ".collection()"),
        ),
        (lambda stream: stream.scope.new_collection("k v"), ("input 'input'", "Schema(", "'k v'")),
        (
            lambda stream: stream.collection().iterate(lambda rows, loop: rows, rounds=0),
            ("'iterate'", "rounds", "0"),
        ),
    ],
)
def test_what_is_no_collection_is_refused(wrong: Callable[..., Any], cure: Fact) -> None:
    stream = tr.Scope("wrong").new_input(ROW)[1]
    with raises(tr.TokenRingError, cure):
        wrong(stream)


@pytest.mark.parametrize("column", ["@times", "@0", "@gone", "@order", "@when"])
def test_a_column_that_is_called_as_one_of_theirs_is_refused(column: str) -> None:
    """Others that begin so, as in what logs send, are columns like any."""
    said = (f"column {column!r} of their own", "call yours otherwise", f".rename({{{column!r}:")

    def declare(scope: tr.Scope) -> Any:
        stream = scope.read_arrow(pa.table({"k": [1], column: [2], "@timestamp": [3]}))
        for key in (None, "k"):
            with raises(tr.SchemaError, "operator 'updates'", *said):
                stream.collection(key=key)
            with raises(tr.SchemaError, "operator 'input'", *said):
                scope.new_collection(stream.schema, key=key)
        return stream.rename({column: "other"}).collection().changes().collect()

    expected = {"k": 1, "other": 2, "@timestamp": 3, "time": 0, "times": 1}
    assert tr.run(declare, workers=1).to_pylist() == [expected]


@pytest.mark.parametrize("column", ["@times", "@0"])
@pytest.mark.parametrize(
    "make",
    [
        lambda rows, column: rows.aggregate("k", **{column: tr.Max("v")}),
        lambda rows, column: rows.map_batches(tr.Schema(f"k {column}"), lambda batch: {"k": batch["k"], column: [1]}),
        lambda rows, column: rows.with_columns(**{column: tr.col("v")}),
        lambda rows, column: rows.select("k", (tr.col("v") * 10).alias(column)),
        lambda rows, column: rows.select("k", column),
        lambda rows, column: rows.rename({"k": column}),
        lambda rows, column: rows.rename(k=column),
    ],
)
def test_a_result_that_is_called_as_a_column_of_theirs_is_refused(make: Callable[..., Any], column: str) -> None:
    """It took that column's place: rows were there at other times, or so often, or a worker died."""
    rows = tr.Scope("names").new_input(ROW)[1].collection()
    with raises(tr.SchemaError, f"column {column!r} of their own", "call yours otherwise"):
        make(rows, column)


def test_a_column_beside_that_of_all_rows() -> None:
    rows = tr.Scope("all").new_input(ROW)[1].collection().rename(k="@all")
    for make in (lambda: rows.aggregate("", m=tr.Max("@all")), lambda: rows.top("", "@all")):
        with raises(tr.SchemaError, "column '@all' of their own"):
            make()


def test_a_time_beyond_64_bits_is_refused() -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            handle, _ = scope.new_collection(ROW)
        for time in (2**63, 2**64, -(2**64), [2**64], np.array([2**63 + 5], np.uint64)):
            with raises(tr.SchemaError, f"times go from 0 to {2**62 - 1}", f"not to {np.ravel(time)[0]}"):
                handle.insert({"k": [1], "v": [1]}, time=time)
        handle.close()

    tr.execute(program, workers=1)


@pytest.mark.parametrize("by_handle", [True, False])
@pytest.mark.parametrize(
    "make",
    [
        lambda rows: rows.select("k", q=1.0 / tr.col("f")),
        lambda rows: rows.select("k", q=tr.col("f").cast("string")),
        lambda rows: rows.with_columns(q=1 // tr.col("k")),
    ],
    ids=["a quotient", "a text", "a row that fails"],
)
def test_a_zero_is_taken_away_by_the_other(make: Callable[[tr.Collection], tr.Collection], by_handle: bool) -> None:
    """They were two for all that stands before the first arrangement."""

    def program(worker: tr.Worker) -> tuple[int, int]:
        with worker.dataflow() as scope:
            if by_handle:
                handle, rows = scope.new_collection(tr.Schema("k", f="float64"))
            else:
                handle, stream = scope.new_input(tr.Schema("k times", f="float64"))
                rows = stream.collection(times="times")
            view = make(rows).arrange("k").export("made")
        for time, (zero, times) in enumerate([(-0.0, 1), (0.0, -1)], 1):
            if by_handle:
                handle.update({"k": [0], "f": [zero]}, times)
            else:
                handle.send({"k": [0], "f": [zero], "times": [times]})
            handle.advance_to(time)
            worker.step_while(lambda time=time: view.upper < time)
        return view.errors().num_rows, view.at().num_rows

    assert tr.execute(program, workers=1) == [(0, 0)]
