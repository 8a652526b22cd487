"""to_database(key=): of each key the table has the row that came last, as a dict would; and what it refuses."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import duckdb
import pytest

import tokenring as tr
from tests.engine.helpers import build, simulated
from tests.errors import Fact, raises
from tests.operators.sinks.test_to_database import STYLES, TranslatedConnection, in_sqlite, rows, write
from tokenring import GraphError, OperatorError, Schema, SchemaError, UsageError
from tokenring.operators import fluent

MODULE = import_module("tokenring.operators.sinks.to_database")
"""The package has the function under that name."""
CONNECTS = pytest.mark.parametrize("connect", [sqlite3.connect, duckdb.connect])
ROW = Schema.of({"key": "int64", "value": "int64", "gone": "bool"})
CITIES = ["Oslo", "Rome", "a city of a long name"]
Table = dict[Any, Any]


def in_table(connect: Callable[[Any], Any], path: Path, *columns: str, table: str = "rows") -> Table:
    """The last of the columns by the others, each of which is there once."""
    named = ", ".join([f'"{name}"' for name in columns])
    with closing(connect(path)) as connection:
        found = connection.cursor().execute(f"SELECT {named} FROM {table}").fetchall()
    by_key = {row[:-1] if len(row) > 2 else row[0]: row[-1] for row in found}
    assert len(by_key) == len(found), "a key has two rows"
    return by_key


def put(table: Table, key: Any, value: Any, gone: bool | None) -> None:
    """What a row does to the table."""
    if gone:
        table.pop(key, None)
    else:
        table[key] = value


KEYS: dict[str, tuple[dict[str, str], Sequence[Any]]] = {
    "int64": ({"k": "int64"}, (-(2**62), 0, 7, 2**63 - 1)),
    "text": ({"k%": "string"}, ("", "é '\"", "a much longer text than a word has", "A", "a")),
    "date": ({"k": "date"}, (date(1969, 12, 31), date(2026, 6, 1))),
    "timestamp": ({"k": "timestamp"}, [datetime(2026, 6, 1, 12, 0, 0, micro) for micro in (0, 1, 999_999)]),
    "decimal": ({"k": "decimal(9, 2)"}, [Decimal(text) for text in ("0.10", "0.01", "-5.00")]),
    "bytes": ({"k": "bytes"}, (b"", b"\x00", b"\x00\xff")),
    "bool and text": ({"on": "bool", "k": "string"}, [(on, k) for on in (True, False) for k in ("x", "y")]),
    "three": (
        {"a": "int64", "b": "string", "c": "date"},
        [(a, b, date(2026, 1, c)) for a in (1, 2) for b in ("1", "2") for c in (1, 2)],
    ),
}


def as_sqlite_has_it(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(map(as_sqlite_has_it, key))
    if isinstance(key, datetime):
        return f"{key.isoformat(' ', 'microseconds')}000"
    return str(key) if isinstance(key, date | Decimal) else key


@CONNECTS
@pytest.mark.parametrize("kind", KEYS)
def test_a_table_has_the_last_row_of_each_key(tmp_path: Path, connect: Callable[[Any], Any], kind: str) -> None:
    """With others of the key in the same message, in the same transaction, in earlier ones, and after it was gone."""
    columns, keys = KEYS[kind]
    schema, random, expected = Schema.of({"value": "int64?", **columns, "gone": "bool?"}), Random(kind), Table()
    for words in (" ".join(columns), [*columns]):
        batches = []
        for batch in range(20):
            chosen = [random.choice(keys) for _ in range(random.choice([1, 9]))]
            gone = [random.choice([None, False, True]) for _ in chosen]
            values = [None if is_gone else 100 * batch + at for at, is_gone in enumerate(gone)]
            parts = zip(*[key if len(columns) > 1 else (key,) for key in chosen], strict=True)
            batches.append({"value": values, "gone": gone, **dict(zip(columns, map(list, parts), strict=True))})
            for each in zip(chosen, values, gone, strict=True):
                put(expected, *each)
        write(schema, partial(connect, tmp_path / "it.db"), *batches, key=words, deleted="gone")
        shown = as_sqlite_has_it if connect is sqlite3.connect else lambda key: key
        found = in_table(connect, tmp_path / "it.db", *columns, "value")
        assert found == {shown(key): value for key, value in expected.items()}
    with closing(connect(tmp_path / "it.db")) as connection:
        names = [one[0] for one in connection.cursor().execute("SELECT * FROM rows").description]
    assert names == ["value", *columns]


Row = tuple[int, int, bool]


def drawn(random: Random, workers: int) -> tuple[list[list[tuple[int, list[Row]]]], Table]:
    """Rows of each time, by worker: all have rows of all keys, and each time of a key is one worker's. And what the
    table has in the end."""
    left: list[list[tuple[int, list[Row]]]] = [[] for _ in range(workers)]
    expected, number = Table(), 0
    for time in range(60):
        rows_of = [list[Row]() for _ in range(workers)]
        for key in range(8):
            worker = random.randrange(workers)
            for _ in range(random.choice([0, 1, 1, 3])):
                number += 1
                rows_of[worker].append((key, number, random.random() < 0.3))
                put(expected, *rows_of[worker][-1])
        for worker in range(workers):
            left[worker].append((time, rows_of[worker]))
    return left, expected


@CONNECTS
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_latest_time_of_any_worker_holds(
    tmp_path: Path, connect: Callable[[Any], Any], workers: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers run ahead of each other."""
    monkeypatch.setattr(MODULE, "_WAIT_NS", 0)
    monkeypatch.setattr(MODULE, "_AT_ONCE", 3)
    random, path = Random(seed), tmp_path / "it.db"
    left, expected = drawn(random, workers)
    with simulated(workers, worker_class=fluent.Worker) as group:

        def declare(worker: Any, scope: Any) -> Any:
            handle, stream = scope.new_input(ROW)
            stream.to_database(partial(connect, path), "rows", key="key", deleted="gone")
            return handle

        handles = build(group, declare)
        while any(left):
            one = random.choice([worker for worker in range(workers) if left[worker]])
            for time, new in left[one][: random.choice([1, 5, 20])]:
                left[one].pop(0)
                handles[one].advance_to(time)
                for row in new:
                    handles[one].send(dict(zip(ROW.names, [[each] for each in row], strict=True)))
            for _ in range(random.choice([0, 3])):
                group.workers[random.randrange(workers)].step()
        for handle in handles:
            handle.close()
        finish(group)
    assert in_table(connect, path, "key", "value") == expected


def finish(group: Any) -> None:
    while not all(worker.complete for worker in group.workers):
        for worker in group.workers:
            worker.step()


def test_rows_wait_for_earlier_times_alone(tmp_path: Path) -> None:
    """And are in the table once the probe has passed theirs."""
    path = tmp_path / "it.db"
    with simulated(2, worker_class=fluent.Worker) as group:

        def declare(worker: Any, scope: Any) -> Any:
            handle, stream = scope.new_input(ROW)
            return handle, stream.to_database(path, "rows", key="key")

        (ahead, probe), (behind, _) = build(group, declare)

        def step(until: int) -> None:
            while probe.less_than(until):
                for worker in group.workers:
                    worker.step()

        ahead.advance_to(10)
        ahead.send({"key": [1, 2], "value": [10, 10], "gone": [False, False]})
        ahead.advance_to(20)
        behind.advance_to(5)
        behind.send({"key": [2, 3], "value": [5, 5], "gone": [False, False]})
        behind.advance_to(6)
        step(6)
        assert in_table(sqlite3.connect, path, "key", "value") == {2: 5, 3: 5}
        behind.advance_to(20)
        step(11)
        assert in_table(sqlite3.connect, path, "key", "value") == {1: 10, 2: 10, 3: 5}


@pytest.mark.parametrize("name", ["count", "sum", "last_by", "top"])
def test_updates_hold_as_they_are_sent(tmp_path: Path, name: str) -> None:
    """A later one may have an earlier time."""
    expected: dict[str, Table] = {"count": {1: 3}, "sum": {1: 9}, "last_by": {1: 7}, "top": {(1, 1): 7, (1, 2): 2}}
    operators: dict[str, Callable[[Any], Any]] = {
        "count": lambda stream: stream.count("key"),
        "sum": lambda stream: stream.aggregate("key", total=tr.Sum("value")),
        "last_by": lambda stream: stream.last_by("key", order="value").select("key", "value"),
        "top": lambda stream: stream.top("key", order="value", k=2).select("key", "rank", "value"),
    }
    key = ["key", "rank"] if name == "top" else "key"
    with simulated(2, worker_class=fluent.Worker) as group:

        def declare(worker: Any, scope: Any) -> Any:
            handle, stream = scope.new_input(ROW)
            operators[name](stream).to_database(tmp_path / "it.db", "rows", key=key)
            return handle

        ahead, behind = build(group, declare)
        ahead.advance_to(10)
        ahead.send({"key": [1], "value": [2], "gone": [False]})
        for _ in range(20):
            for worker in group.workers:
                worker.step()
        behind.advance_to(5)
        behind.send({"key": [1], "value": [7], "gone": [False]})
        if name == "count":
            behind.send({"key": [1], "value": [7], "gone": [False]})
        for handle in (ahead, behind):
            handle.close()
        finish(group)
    columns = {"count": "key count", "sum": "key total", "top": "key rank value"}.get(name, "key value").split()
    assert in_table(sqlite3.connect, tmp_path / "it.db", *columns) == expected[name]


@CONNECTS
def test_a_collection_is_in_the_table_as_it_is(tmp_path: Path, connect: Callable[[Any], Any]) -> None:
    random, path = Random(3), tmp_path / "it.db"
    with simulated(2, worker_class=fluent.Worker) as group:

        def declare(worker: Any, scope: Any) -> Any:
            handle, kept = scope.new_collection(Schema.of({"city": "string", "price": "int64"}), "sales")
            totals = kept.aggregate("city", n=tr.Count(), total=tr.Sum("price"))
            upserts = totals.to_upserts("city").drop_columns("time")
            return handle, upserts.to_database(partial(connect, path), "rows", key="city", deleted="deleted")

        made = build(group, declare)
        sales: list[tuple[str, int]] = []
        for time in range(30):
            for handle, _ in made:
                new = [(random.choice(CITIES), random.randrange(9)) for _ in range(2)]
                handle.insert({"city": [city for city, _ in new], "price": [price for _, price in new]})
                sales += new
                gone = [sales.pop(random.randrange(len(sales))) for _ in range(min(len(sales), random.choice([1, 4])))]
                handle.remove({"city": [city for city, _ in gone], "price": [price for _, price in gone]})
                handle.advance_to(time + 1)
            while any(probe.less_than(time + 1) for _, probe in made):
                for worker in group.workers:
                    worker.step()
            there = {city: [price for each, price in sales if each == city] for city, _ in sales}
            found = in_table(connect, path, "city", "n", "total")
            assert found == {(city, len(prices)): sum(prices) for city, prices in there.items()}


@CONNECTS
def test_a_table_that_is_made_finds_rows_by_their_key(tmp_path: Path, connect: Callable[[Any], Any]) -> None:
    write(ROW, partial(connect, tmp_path / "it.db"), key="value key", table="main.rows")
    with closing(connect(tmp_path / "it.db")) as connection:
        cursor = connection.cursor()
        [(said,)] = cursor.execute("SELECT sql FROM sqlite_master WHERE name = 'rows'").fetchall()
        cursor.execute("INSERT INTO rows VALUES (1, 2, true), (2, 2, true)")
        with pytest.raises((sqlite3.IntegrityError, duckdb.ConstraintException)):
            cursor.execute("INSERT INTO rows VALUES (1, 2, false)")
    assert "PRIMARY KEY" in said


@CONNECTS
def test_a_table_that_is_there_needs_no_index(tmp_path: Path, connect: Callable[[Any], Any]) -> None:
    """And what it has in other columns goes with the row."""
    path = tmp_path / "it.db"
    with closing(connect(path)) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE rows (note TEXT DEFAULT 'new', value INTEGER, key INTEGER)")
        cursor.execute("INSERT INTO rows VALUES ('kept', 1, 1), ('old', 2, 2), ('also old', 3, 2), ('old', 4, 3)")
        connection.commit()
    batch = {"key": [2, 3], "value": [5, 5], "gone": [False, True]}
    write(ROW, partial(connect, path), batch, key="key", deleted="gone")
    assert in_table(connect, path, "key", "value", "note") == {(1, 1): "kept", (2, 5): "new"}


def test_a_table_that_lacks_a_column_of_the_key_is_refused(tmp_path: Path) -> None:
    in_sqlite(tmp_path / "it.db", "CREATE TABLE rows (keys INTEGER, value INTEGER)")
    with raises(SchemaError, "to_database", "rows", "without a column 'key'", "keys"):
        write(ROW, tmp_path / "it.db", key="key", deleted="gone")


@pytest.mark.parametrize("style", [*STYLES, "numeric_dollar"])
def test_statements_have_parameters_as_the_module_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: str
) -> None:
    path, module, seen = tmp_path / "it.db", ModuleType("driver"), list[str]()
    module.paramstyle = style  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "driver", module)
    kind = type("Connection", (TranslatedConnection,), {"__module__": "driver.of.something"})
    spoken = STYLES | {"numeric_dollar": lambda text: text.replace("$1", "?1").replace("$2", "?2")}

    def understood(text: str) -> str:
        seen.append(text)
        return spoken[style](text)

    schema = Schema.of({"a%": "int64", "b": "string"})
    batches = {"a%": [1, 2], "b": ["x", "y"]}, {"a%": [1, 3], "b": ["x", "y"]}
    for batch in batches:
        write(schema, lambda: kind(sqlite3.connect(path), understood), batch, key="b a%")
    assert in_sqlite(path, 'SELECT "a%", b FROM rows ORDER BY "a%"') == [(1, "x"), (2, "y"), (3, "y")]
    assert sum(text.startswith("DELETE") for text in seen) == 2


def test_what_one_transaction_changes_is_seen_at_once(tmp_path: Path) -> None:
    """Nobody sees a table without a row that is on its way to its place."""
    path, counts = tmp_path / "it.db", list[int]()

    class Looking(sqlite3.Connection):
        def cursor(self, *given: Any) -> Any:
            looks = lambda: counts.append(in_sqlite(path, "SELECT count(*) FROM rows")[0][0])  # noqa: E731

            class Cursor(sqlite3.Cursor):
                def executemany(self, *given: Any) -> Any:
                    done = super().executemany(*given)
                    looks()
                    return done

            return super().cursor(Cursor)

    batch = {"key": range(50), "value": range(50), "gone": [False] * 50}
    write(ROW, path, batch, key="key")
    write(ROW, partial(sqlite3.connect, path, factory=Looking), batch, key="key")
    assert counts == [50, 50]


@pytest.mark.skipif(find_spec("adbc_driver_sqlite") is None, reason="needs adbc_driver_sqlite")
def test_rows_go_by_key_by_adbc(tmp_path: Path) -> None:
    path = tmp_path / "it.db"
    schema = Schema.of({"b": "string", "day": "date", "at": "timestamp", "a": "int64?", "gone": "bool"})

    def share() -> Iterator[dict[str, Any]]:
        for a, b, gone in ((1, "x", False), (2, "y", False), (3, "x", False), (None, "y", True), (5, "z", False)):
            yield {"b": [b], "day": ["2026-06-01"], "at": ["2026-06-01T12:00"], "a": [a], "gone": [gone]}

    def connect() -> Any:  # in a worker alone: it starts a thread
        from adbc_driver_sqlite import dbapi

        return dbapi.connect(str(path))

    def flow(scope: tr.Scope) -> None:
        scope.from_generator(schema, share).to_database(connect, "rows", key="b day at", deleted="gone")

    for _ in range(2):
        tr.run(flow, workers=1)
    assert in_table(sqlite3.connect, path, "b", "a") == {"x": 3, "z": 5}


NULLABLE = Schema.of({"city": "string?", "price": "float64", "day": "date", "deleted": "bool", "is_old": "int64"})


def sink(**options: Any) -> Callable[[Any, Path], Any]:
    return lambda scope, path: rows(NULLABLE)(scope).to_database(path, "rows", name="mine", **options)


def counted(scope: Any, path: Path) -> Any:
    return rows(ROW)(scope).count("key").to_database(path, "rows", key="count")


def filtered(scope: Any, path: Path) -> Any:
    return rows(ROW)(scope).count("key").filter("count", ">", 1).to_database(path, "rows", key="key")


def looped(scope: Any, path: Path) -> Any:
    with scope.loop() as loop:
        loop.enter(rows(ROW)(scope)).to_database(path, "rows", key="key")


def changing(scope: Any, path: Path) -> Any:
    return rows(ROW)(scope).count("key", changes=True).changes().to_database(path, "rows", key="key")


REFUSED: dict[str, tuple[type[UsageError], Callable[[Any, Path], Any], tuple[Fact, ...]]] = {
    "no such column": (SchemaError, sink(key="dya"), ("mine", "'dya'", "to be the key", "'day'")),
    "no column": (SchemaError, sink(key=""), ("mine", "names no column")),
    "a column twice": (SchemaError, sink(key="day day"), ("mine", "twice", "day")),
    "nulls": (SchemaError, sink(key="day city"), ("mine", "'city'", "string?", "fill_null")),
    "floats": (SchemaError, sink(key="price"), ("mine", "'price'", "float64", "cast")),
    "deleted alone": (SchemaError, sink(deleted="deleted"), ("mine", "key=", "'deleted'")),
    "no such deleted": (SchemaError, sink(key="day", deleted="delete"), ("mine", "'delete'", "'deleted'")),
    "deleted of numbers": (SchemaError, sink(key="day", deleted="is_old"), ("mine", "'is_old'", "int64", "bool")),
    "deleted of the key": (SchemaError, sink(key="deleted", deleted="deleted"), ("mine", "'deleted'", "of the key")),
    "updates by another key": (GraphError, counted, ("to_database", "by count", "'count'", "same key")),
    "updates that were left out": (GraphError, filtered, ("to_database", "left out")),
    "changes of a collection": (GraphError, changing, ("to_database", "'changes'", ".to_upserts('key')", "deleted")),
    "a loop": (GraphError, looped, ("to_database", "let the stream leave it")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_when_it_is_declared(tmp_path: Path, name: str) -> None:
    kind, declare, facts = REFUSED[name]
    with simulated(1, worker_class=fluent.Worker) as group, raises(kind, *facts):
        build(group, lambda worker, scope: declare(scope, tmp_path / "it.db"))
    assert not list(tmp_path.iterdir())


def test_updates_are_refused_where_state_moves_and_upserts_are_right(tmp_path: Path) -> None:
    def program(worker: tr.Worker, **options: Any) -> None:
        with worker.dataflow("moving", bins=4) as scope:
            counts: Any = scope.read_arrow({"key": [1, 1, 2]}).count("key", **options)
            counts = counts.to_upserts("key").drop_columns("time", "deleted") if options else counts
            counts.to_database(tmp_path / "it.db", "rows", key="key")

    with raises(GraphError, "to_database", "'count'", "bins", "changes=True", "to_upserts('key')"):
        tr.execute(program, workers=2)
    tr.execute(partial(program, changes=True), workers=2)
    assert in_table(sqlite3.connect, tmp_path / "it.db", "key", "count") == {1: 2, 2: 1}


def test_a_table_that_is_unique_by_another_key_is_told_of(tmp_path: Path) -> None:
    in_sqlite(tmp_path / "it.db", "CREATE TABLE rows (key INTEGER, value INTEGER PRIMARY KEY)")
    with raises(OperatorError, "to_database", "table 'rows'", "UNIQUE"):
        write(Schema("key value"), tmp_path / "it.db", {"key": [1, 2], "value": [1, 1]}, key="key")
