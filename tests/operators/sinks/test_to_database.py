"""to_database: all kinds of values, whatever connects to the database; what it refuses, and how it says so."""

from __future__ import annotations

import resource
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from types import ModuleType
from typing import Any

import duckdb
import pytest

import tokenring as tr
from tests.engine.helpers import build, simulated
from tests.errors import Fact, raises
from tokenring import OperatorError, Schema, SchemaError, UsageError
from tokenring.operators import fluent

KINDS = Schema.of(
    {
        "id": "int64", "score": "float64?", "on": "bool?", "order": "string?", "raw": "bytes", "at": "timestamp?",
        "day": "date?", "price%": "decimal(18, 2)?",
    }
)  # fmt: skip
MANY: dict[str, list[Any]] = {
    "id": [2**63 - 1, -(2**62)], "score": [0.1, None], "on": [True, None], "order": ['é "\n', None],
    "raw": [b"\x00\xff", b""], "at": ["2026-01-01T00:00:00.000001", None], "day": ["2026-02-28", None],
    "price%": ["9999999999999999.99", None],
}  # fmt: skip
AS_SQLITE_HAS_THEM = [
    (2**63 - 1, 0.1, 1, 'é "\n', b"\x00\xff", "2026-01-01 00:00:00.000001000", "2026-02-28", "9999999999999999.99"),
    (-(2**62), None, None, None, b"", None, None, None),
]
NUMBER = Schema("number")


def in_sqlite(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def rows(schema: Schema, *batches: dict[str, Any]) -> Callable[[Any], Any]:
    """A source of one worker's."""
    return lambda scope: scope.from_generator(schema, lambda: iter(batches))


def write(schema: Schema, database: Any, *batches: dict[str, Any], table: str = "rows", **options: Any) -> None:
    """A run of one worker in this process that writes a table."""
    run(lambda scope: rows(schema, *batches)(scope).to_database(database, table, **options))


def run(declare: Callable[[Any], Any]) -> None:
    with simulated(1, worker_class=fluent.Worker) as group:
        build(group, lambda worker, scope: declare(scope))
        while not group.workers[0].complete:
            group.workers[0].step()


def test_small_decimals_have_no_exponent_in_sqlite(tmp_path: Path) -> None:
    write(Schema.of({"x": "decimal(10, 7)"}), tmp_path / "it.db", {"x": [0, Decimal("0.0000001")]})
    assert in_sqlite(tmp_path / "it.db", "SELECT x FROM rows") == [("0.0000000",), ("0.0000001",)]


def test_values_of_all_kinds_in_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "it.db"
    write(KINDS, path, MANY)
    assert in_sqlite(path, 'SELECT * FROM "rows" ORDER BY id DESC') == AS_SQLITE_HAS_THEM
    kinds = 'SELECT typeof(id), typeof(score), typeof("at"), typeof("price%") FROM "rows" WHERE id > 0'
    assert in_sqlite(path, kinds) == [("integer", "real", "text", "text")]
    assert in_sqlite(path, """SELECT count(*) FROM "rows" WHERE "at" > datetime('2025-12-31 23:59:59')""") == [(1,)]


def test_values_of_all_kinds_in_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")  # which is nothing to them
    path = tmp_path / "it.duckdb"
    write(KINDS, partial(duckdb.connect, path), MANY)
    with duckdb.connect(path) as connection:
        assert connection.execute('SELECT * FROM "rows" ORDER BY id DESC').fetchall() == [
            (
                2**63 - 1, 0.1, True, 'é "\n', b"\x00\xff", datetime(2026, 1, 1, 0, 0, 0, 1), date(2026, 2, 28),
                Decimal("9999999999999999.99"),
            ),
            (-(2**62), None, None, None, b"", None, None, None),
        ]  # fmt: skip


def test_times_that_a_database_does_not_have_are_told_of(tmp_path: Path) -> None:
    schema, row = Schema(at="timestamp"), {"at": ["2026-01-01T00:00:00.000000001"]}
    with raises(OperatorError, "to_database", "rows", "microseconds"):
        write(schema, partial(duckdb.connect, tmp_path / "it.duckdb"), row)
    write(schema, tmp_path / "it.db", row)
    assert in_sqlite(tmp_path / "it.db", "SELECT * FROM rows") == [("2026-01-01 00:00:00.000000001",)]


@pytest.mark.skipif(find_spec("adbc_driver_sqlite") is None, reason="needs adbc_driver_sqlite")
def test_arrow_goes_as_it_is_by_adbc(tmp_path: Path) -> None:
    path = tmp_path / "it.db"
    source = rows(Schema(b="string?", a="int64", at="timestamp"), {"b": ["x", None], "a": [1, 2], "at": [1_000, 2_000]})

    def connect() -> Any:  # in a worker alone: it starts a thread
        from adbc_driver_sqlite import dbapi

        return dbapi.connect(str(path))

    tr.run(lambda scope: source(scope).to_database(connect, "rows"), workers=1)
    assert in_sqlite(path, "SELECT a, b, at FROM rows") == [
        (1, "x", "1970-01-01T00:00:00.000001"),
        (2, None, "1970-01-01T00:00:00.000002"),
    ]


class Translated:
    """A connection, or a cursor, of a module of another paramstyle: SQLite's, which is told what it understands."""

    def __init__(self, inner: Any, understood: Callable[[str], str]) -> None:
        self._inner, self._understood = inner, understood

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def executemany(self, statement: str, values: Any) -> None:
        self._inner.executemany(self._understood(statement), values)


class TranslatedConnection(Translated):
    def cursor(self) -> Translated:
        return Translated(self._inner.cursor(), self._understood)


STYLES: dict[str, Callable[[str], str]] = {
    "qmark": lambda text: text,
    "format": lambda text: text % ("?", "?"),
    "numeric": lambda text: text.replace(":1", "?1").replace(":2", "?2"),
    "named": lambda text: text,
    "pyformat": lambda text: text % {"c1": ":c1", "c2": ":c2"},
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("is_said", [True, False])
def test_statements_have_parameters_as_the_module_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: str, is_said: bool
) -> None:
    path = tmp_path / "it.db"
    module = ModuleType("driver")
    if not is_said:
        module.paramstyle = style  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "driver", module)
    kind = type("Connection", (TranslatedConnection,), {"__module__": "driver.of.something"})

    def connect() -> Any:
        return kind(sqlite3.connect(path), STYLES[style])

    schema = Schema(**{"a%": "int64", "b": "string"})
    write(schema, connect, {"a%": [1, 2], "b": ["x", "y"]}, paramstyle=style if is_said else "")
    assert in_sqlite(path, 'SELECT "a%", b FROM rows') == [(1, "x"), (2, "y")]


def test_a_module_that_does_not_say_how_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "driver", ModuleType("driver"))
    kind = type("Connection", (TranslatedConnection,), {"__module__": "driver"})
    with raises(UsageError, "to_database", "driver", "paramstyle=", "pyformat"):
        write(NUMBER, lambda: kind(sqlite3.connect(tmp_path / "it.db"), str))


@pytest.mark.parametrize("connect", [sqlite3.connect, duckdb.connect])
def test_all_workers_rows_come(tmp_path: Path, connect: Callable[[Path], Any]) -> None:
    """By one worker: of DuckDB's files one process alone has a connection."""
    path = tmp_path / "it.db"

    def flow(scope: tr.Scope) -> tr.Probe:
        def share(worker: int, peers: int) -> Iterator[dict[str, Any]]:
            for first in range(100 * worker, 3000, 100 * peers):
                yield {"number": range(first, first + 100)}

        return scope.from_generator(NUMBER, share, time="number").to_database(partial(connect, path), "main.numbers")

    for workers in (2, 1):
        tr.run(flow, workers=workers)
    with closing(connect(path)) as connection:
        found = connection.cursor().execute("SELECT number, count(*) FROM numbers GROUP BY number ORDER BY number")
        assert found.fetchall() == [(number, 2) for number in range(3000)]


def test_a_stream_without_rows_makes_the_table(tmp_path: Path) -> None:
    write(KINDS, tmp_path / "it.db")
    assert in_sqlite(tmp_path / "it.db", "SELECT count(*), count(id) FROM rows") == [(0, 0)]


def test_a_table_that_is_there_may_have_more_columns_in_another_order(tmp_path: Path) -> None:
    path = tmp_path / "it.db"
    in_sqlite(path, "CREATE TABLE rows (made TEXT DEFAULT 'now', b TEXT, a INTEGER)")
    write(Schema(a="int64", b="string"), path, {"a": [1], "b": ["x"]})
    assert in_sqlite(path, "SELECT * FROM rows") == [("now", "x", 1)]


def test_a_table_that_lacks_a_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "it.db"
    in_sqlite(path, "CREATE TABLE rows (nummer INTEGER, text TEXT)")
    with raises(SchemaError, "to_database", "rows", "without a column 'number'", "nummer"):
        write(NUMBER, path, {"number": [1]})
    assert in_sqlite(path, "SELECT * FROM rows") == []


@pytest.mark.parametrize(
    ("module", "names", "facts"),
    [
        (sqlite3, ("A", "a"), ("columns 'A' and 'a'", "SQLite", "rename")),
        (duckdb, ("A", "a"), ("columns 'A' and 'a'", "DuckDB", "rename")),
        (duckdb, ("a", ""), ("column ''", "DuckDB", "rename")),
    ],
)
def test_names_that_a_database_does_not_take_are_refused(
    tmp_path: Path, module: Any, names: tuple[str, str], facts: tuple[str, ...]
) -> None:
    with raises(SchemaError, "to_database", *facts):
        write(Schema.of(dict.fromkeys(names, "int64")), lambda: module.connect(tmp_path / "it.db"))


def test_names_of_all_other_kinds_are_taken(tmp_path: Path) -> None:
    for module, names in ((sqlite3, ("", "É", "é", "a.b", 'q"q')), (duckdb, ("É", "é", "a.b", 'q"q'))):
        path = tmp_path / module.__name__
        write(Schema.of(dict.fromkeys(names, "int64")), partial(module.connect, path), {name: [1] for name in names})
        with closing(module.connect(path)) as connection:
            assert connection.execute("SELECT * FROM rows").fetchall() == [(1,) * len(names)]


def test_a_disk_that_refuses_is_told_of(tmp_path: Path) -> None:
    """A limit of files stands for a full disk."""

    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(Schema(s="string"))
            stream.to_database(tmp_path / "it.db", "rows")
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        handle.send({"s": ["x" * 1000] * 100})
        handle.close()
        worker.run()

    with raises(OperatorError, "'to_database'", "table 'rows'", str(tmp_path), "make room", "ulimit -f"):
        tr.execute(program, workers=1)


def test_rows_are_in_the_table_once_the_probe_has_passed_their_time(tmp_path: Path) -> None:
    path = tmp_path / "it.db"
    with simulated(2, worker_class=fluent.Worker) as group:

        def declare(worker: Any, scope: Any) -> Any:
            handle, stream = scope.new_input(NUMBER)
            return handle, stream.to_database(path, "rows")

        made = build(group, declare)
        for time in range(5):
            for handle, _ in made:
                handle.send({"number": [time]})
                handle.advance_to(time + 1)
            while any(probe.less_than(time + 1) for _, probe in made):
                for worker in group.workers:
                    worker.step()
            assert in_sqlite(path, "SELECT count(*), max(number) FROM rows") == [(2 * time + 2, time)]


def test_many_small_messages_share_a_transaction(tmp_path: Path) -> None:
    commits = []

    class Counting(sqlite3.Connection):
        def commit(self) -> None:
            commits.append(self.total_changes)
            super().commit()

    numbers = [{"number": [number]} for number in range(500)]
    write(NUMBER, partial(sqlite3.connect, tmp_path / "it.db", factory=Counting), *numbers)
    assert in_sqlite(tmp_path / "it.db", "SELECT count(*) FROM rows") == [(500,)]
    assert len(commits) < 100


def test_a_database_that_is_locked_for_a_while_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "it.db"
    in_sqlite(path, "CREATE TABLE rows (number INTEGER)")
    with closing(sqlite3.connect(path, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        timer = Timer(0.3, other.rollback)
        timer.start()
        write(NUMBER, path, {"number": [1]})
        timer.join()
    assert in_sqlite(path, "SELECT * FROM rows") == [(1,)]


def test_a_database_that_stays_locked_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "it.db"
    in_sqlite(path, "CREATE TABLE rows (number INTEGER)")
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with raises(OperatorError, "writer", "table 'main.rows'", "locked", "another process"):
            connect = partial(sqlite3.connect, path, timeout=0.01)
            write(NUMBER, connect, {"number": [1]}, table="main.rows", name="writer")
    assert in_sqlite(path, "SELECT * FROM rows") == []


def readonly(path: Path) -> Any:
    in_sqlite(path, "CREATE TABLE rows (number INTEGER)")
    return partial(sqlite3.connect, f"file:{path}?mode=ro", uri=True)


def failing() -> Any:
    raise OSError("nobody answers")


UNUSABLE: dict[str, tuple[Callable[[Path], Any], tuple[Fact, ...]]] = {
    "no folder": (lambda path: path / "of" / "it.db", ("unable to open", "make its folder")),
    "may not be written": (lambda path: readonly(path / "it.db"), ("readonly", "let this user write")),
    "no connection": (lambda path: failing, ("OSError", "nobody answers", "mend that", "what was committed stays")),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_database_that_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    database, facts = UNUSABLE[name]
    with raises(OperatorError, "to_database", "table 'rows'", *facts):
        write(NUMBER, database(tmp_path), {"number": [1]})


REFUSED: dict[str, tuple[type[UsageError], Callable[[Any, Path], Any], tuple[Fact, ...]]] = {
    "uint64": (
        SchemaError,
        lambda scope, path: rows(Schema(id="uint64"))(scope).to_database(path, "rows", name="mine"),
        ("mine", "'id'", "uint64", '.cast("int64")'),
    ),
    "a URL": (
        UsageError,
        lambda scope, path: rows(NUMBER)(scope).to_database("postgresql://localhost", "rows"),
        ("to_database", "postgresql://localhost", "a function that connects"),
    ),
    "a name with a NUL": (
        SchemaError,
        lambda scope, path: rows(Schema.of({"a": "int64", "b\0": "int64"}))(scope).to_database(lambda: None, "rows"),
        ("to_database", "column 'b\\x00'", "NUL", "rename"),
    ),
    "a table with a NUL": (
        UsageError,
        lambda scope, path: rows(NUMBER)(scope).to_database(path, "a\0b"),
        ("to_database", "'a\\x00b'", "such as 'totals'"),
    ),
    "names that differ in case": (
        SchemaError,
        lambda scope, path: rows(Schema("A b a"))(scope).to_database(path, "rows"),
        ("to_database", "'A'", "'a'", "SQLite", "rename"),
    ),
    "in memory": (
        UsageError,
        lambda scope, path: rows(NUMBER)(scope).to_database(":memory:", "rows"),
        ("to_database", ":memory:", "give a path"),
    ),
    "what does not connect": (
        UsageError,
        lambda scope, path: rows(NUMBER)(scope).to_database(lambda: None, "rows"),
        ("to_database", "None is no connection", "connect()"),
    ),
    "a connection": (
        UsageError,
        lambda scope, path: rows(NUMBER)(scope).to_database(sqlite3.connect(":memory:"), "rows"),
        ("to_database", "a function that connects", "not Connection"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_when_it_is_declared(tmp_path: Path, name: str) -> None:
    kind, declare, facts = REFUSED[name]
    with simulated(1, worker_class=fluent.Worker) as group, raises(kind, *facts):
        build(group, lambda worker, scope: declare(scope, tmp_path / "it.db"))
    assert not list(tmp_path.iterdir())
