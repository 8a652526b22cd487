"""to_delta: all kinds of values, whole commits; what it refuses, and how it says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module, util
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokenring as tr
from tests.engine.helpers import build, simulated
from tests.errors import Fact, raises
from tests.imports import ROOT
from tests.operators.sinks.delta_log import files_of, log_of
from tests.operators.sinks.test_to_database import KINDS, MANY, NUMBER
from tokenring import OperatorError, Schema, SchemaError, UsageError
from tokenring.operators import fluent
from tokenring.operators.sinks.delta_table import DeltaTable


def rows_in(folder: Path, *names: str) -> Counter[tuple[Any, ...]]:
    """The rows of the table, how often each; nothing of deltalake reads them."""
    found: Counter[tuple[Any, ...]] = Counter()
    for path in files_of(folder):
        table = pq.ParquetFile(path).read()  # type: ignore[no-untyped-call]
        found.update(zip(*[table[name].to_pylist() for name in names or table.column_names], strict=True))
    return found


def by_deltalake(code: str, *arguments: object) -> Any:
    """What a program of deltalake's prints as JSON. In a process of its own: its threads would be here for good, and
    one that still reads when Python ends aborts the process."""
    program = f"import json, os, sys\nfrom deltalake import *\n{code}\nsys.stdout.flush()\nos._exit(0)"
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout) if done.stdout else None


def make(folder: Path, *columns: tuple[str, str, bool], partition_by: str = "") -> None:
    """A table that somebody else has made."""
    code = """
from deltalake.schema import PrimitiveType, StructType
_, folder, columns, partition_by = sys.argv
kinds = lambda name: StructType([Field("x", PrimitiveType("long"))]) if name == "struct" else PrimitiveType(name)
fields = [Field(name, kinds(kind), nullable=nullable) for name, kind, nullable in json.loads(columns)]
DeltaTable.create(folder, Schema(fields), partition_by=partition_by or None)
"""
    by_deltalake(code, folder, json.dumps(columns), partition_by)


def rows(schema: Schema, *batches: dict[str, Any]) -> Callable[[Any], Any]:
    """A source of one worker's."""
    return lambda scope: scope.from_generator(schema, lambda: iter(batches))


def write(schema: Schema, table: Any, *batches: dict[str, Any], **options: Any) -> None:
    """A run of one worker that writes a table."""
    tr.run(lambda scope: rows(schema, *batches)(scope).to_delta(table, **options), workers=1)


def hidden_in(folder: Path) -> list[Path]:
    return list(folder.glob(".*"))


def test_values_of_all_kinds(tmp_path: Path) -> None:
    folder = tmp_path / "it"
    write(KINDS, folder, MANY)
    code = """
import pyarrow
table = pyarrow.table(DeltaTable(sys.argv[1]).to_pyarrow_table())
print(json.dumps([sorted(map(str, table.to_pylist())), {f.name: str(f.type) for f in table.schema}]))
"""
    rows, kinds = by_deltalake(code, folder)
    expected = KINDS.to_arrow()
    wanted = tr.Batch(KINDS, MANY).to_arrow()
    us = [pa.timestamp("us", "UTC") if pa.types.is_timestamp(field.type) else field.type for field in expected]
    cast = pa.table([column.cast(kind) for column, kind in zip(wanted.columns, us, strict=True)], names=expected.names)
    assert rows == sorted(map(str, cast.to_pylist()))
    assert kinds == {
        "id": "int64", "score": "double", "on": "bool", "order": "string", "raw": "binary",
        "at": "timestamp[us, tz=UTC]", "day": "date32[day]", "price%": "decimal128(18, 2)",
    }  # fmt: skip
    assert not hidden_in(tmp_path)
    with duckdb.connect() as connection:
        (path,) = map(str, files_of(folder))
        found = connection.execute('SELECT id, "order", "price%"::VARCHAR FROM read_parquet(?)', [path])
        assert found.fetchall() == [(2**63 - 1, 'é "\n', "9999999999999999.99"), (-(2**62), None, None)]


def share(worker: int, peers: int) -> Iterator[dict[str, Any]]:
    for first in range(100 * worker, 3000, 100 * peers):
        yield {"number": range(first, first + 100)}


def test_all_workers_rows_come_in_one_commit(tmp_path: Path) -> None:
    """And those of a second run behind them."""
    folder = tmp_path / "of" / "it"
    for workers in (3, 1):
        tr.run(
            lambda scope: scope.from_generator(NUMBER, share, time="number").to_delta(folder), workers=workers
        )
    assert rows_in(folder) == Counter({(number,): 2 for number in range(3000)})
    assert [sum("add" in action for action in commit) > 0 for commit in log_of(folder)] == [False, True, True]
    assert not hidden_in(folder.parent)


def test_a_stream_without_rows_makes_the_table(tmp_path: Path) -> None:
    tr.run(lambda scope: rows(KINDS)(scope).to_delta(tmp_path / "it"), workers=2)
    (commit,) = log_of(tmp_path / "it")
    schema = next(json.loads(action["metaData"]["schemaString"]) for action in commit if "metaData" in action)
    assert [field["name"] for field in schema["fields"]] == [*KINDS.names]
    assert not hidden_in(tmp_path)


def test_a_run_that_fails_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "it"
    write(NUMBER, folder, {"number": [1]})

    def fails(worker: int, peers: int) -> Iterator[dict[str, Any]]:
        yield from share(worker, peers)
        if worker:
            raise ZeroDivisionError("a fault of the data")

    with raises(OperatorError, "a fault of the data"):
        tr.run(lambda scope: scope.from_generator(NUMBER, fails, time="number").to_delta(folder), workers=2)
    assert rows_in(folder) == Counter({(1,): 1})
    write(NUMBER, folder, {"number": [2]})
    assert rows_in(folder) == Counter({(1,): 1, (2,): 1})
    assert not hidden_in(tmp_path)


def test_the_probe_is_done_once_the_commit_is(tmp_path: Path) -> None:
    with simulated(2, worker_class=fluent.Worker) as group:

        def declare(worker: Any, scope: Any) -> Any:
            handle, stream = scope.new_input(NUMBER)
            return handle, stream.to_delta(tmp_path / "it")

        made = build(group, declare)
        for handle, _ in made:
            handle.send({"number": [1]})
            handle.close()
        while not all(probe.done() for _, probe in made):
            assert not any(probe.done() for _, probe in made) or files_of(tmp_path / "it")
            for worker in group.workers:
                worker.step()
        assert rows_in(tmp_path / "it") == Counter({(1,): 2})


def test_workers_have_no_threads_of_it(tmp_path: Path) -> None:
    def program(worker: tr.Worker) -> tuple[bool, int]:
        before = len(os.listdir("/proc/self/task"))
        with worker.dataflow("it") as scope:
            scope.from_generator(NUMBER, share, time="number").to_delta(tmp_path / "it")
        worker.run()
        return "deltalake" in sys.modules, len(os.listdir("/proc/self/task")) - before

    assert tr.execute(program, workers=2) == [(False, 0)] * 2
    assert sum(rows_in(tmp_path / "it").values()) == 3000


def test_a_table_is_partitioned_as_it_is_said_when_it_is_made(tmp_path: Path) -> None:
    schema, folder = Schema(key="string?", number="int64"), tmp_path / "it"
    write(schema, folder, {"key": ["a", "b", None], "number": [1, 2, 3]}, partition_by=["key"])
    write(schema, folder, {"key": ["a"], "number": [4]})  # by what it is
    write(schema, folder, partition_by="key key")  # words of a text are names, as elsewhere
    found = Counter(path.parent.name for path in files_of(folder))
    assert found == {"key=a": 2, "key=b": 1, "key=__HIVE_DEFAULT_PARTITION__": 1}
    assert rows_in(folder, "number") == Counter([(1,), (2,), (3,), (4,)])
    with raises(UsageError, "to_delta", str(folder), "partitioned by key", "partition_by="):
        write(schema, folder, {"key": ["a"], "number": [5]}, partition_by=["number"])
    with raises(SchemaError, "to_delta", "partition_by=", "nummer", "'number'"):
        write(schema, tmp_path / "other", partition_by=["nummer"])
    with raises(UsageError, "to_delta", "partition_by=", "all columns"):
        write(schema, tmp_path / "other", partition_by=["number", "key"])


@pytest.mark.parametrize(
    ("kind", "right", "wrong", "facts"),
    [
        ("string?", ["a", None], "", ("empty text", "null", "filter")),
        ("string?", ["a" * 251], "a" * 252, ("252 characters", "255 bytes", "another column")),
        ("string?", ["é" * 41], "é" * 42, ("42 characters", "255 bytes", "another column")),
        ("float64?", [1e249, -0.5, float("nan"), float("inf")], 1e300, ("301 characters", "another column")),
        ("decimal(9, 2)?", ["-3.00", "0.25", None], "-0.25", ("-0.25", "fraction", '.cast("string")')),
    ],
)  # fmt: skip
def test_values_that_no_table_is_partitioned_by(
    tmp_path: Path, kind: str, right: list[Any], wrong: Any, facts: tuple[Fact, ...]
) -> None:
    schema = Schema(key=kind, number="int64")
    write(schema, tmp_path / "it", {"key": right, "number": range(len(right))}, partition_by=["key"])
    assert sum(rows_in(tmp_path / "it", "number").values()) == len(right)
    with raises(OperatorError, "to_delta", "column 'key'", *facts):
        write(schema, tmp_path / "other", {"key": [wrong], "number": [1]}, partition_by=["key"])
    assert not files_of(tmp_path / "other")


def test_a_table_is_partitioned_by_no_bytes(tmp_path: Path) -> None:
    """deltalake reads b"a" back as b"\\u0061"."""
    schema = Schema(key="bytes?", number="int64")
    with raises(SchemaError, "to_delta", "column 'key'", "bytes", "another column"):
        write(schema, tmp_path / "it", partition_by=["key"])
    assert not list(tmp_path.iterdir())
    make(tmp_path / "it", ("key", "binary", True), ("number", "long", True), partition_by="key")
    with raises(SchemaError, "to_delta", "column 'key'", "bytes", "another column"):
        write(schema, tmp_path / "it", {"key": [b"a"], "number": [1]})
    assert not files_of(tmp_path / "it")


def test_a_table_that_is_there_may_have_more_columns_in_another_order(tmp_path: Path) -> None:
    folder = tmp_path / "it"
    make(folder, ("made", "integer", True), ("b", "string", True), ("a", "long", False), ("t", "timestamp_ntz", True))
    write(Schema(a="int64", t="timestamp", b="string"), folder, {"a": [1], "t": [1000], "b": ["x"]})
    assert rows_in(folder, "a", "b", "made") == Counter([(1, "x", None)])
    (path,) = files_of(folder)
    found = pq.ParquetFile(path).read()  # type: ignore[no-untyped-call]
    assert found.schema.field("t").type == pa.timestamp("us")
    assert found["t"].cast("int64").to_pylist() == [1]


WRONG: dict[str, tuple[tuple[tuple[str, str, bool], ...], tuple[Fact, ...]]] = {
    "no such column": ((("nummer", "long", True),), ("without a column 'number'", "nummer", "rename")),
    "another type": ((("number", "integer", True),), ("'number'", "is integer", "long", "cast")),
    "a struct": ((("number", "struct", True),), ("'number'", "a struct", "long")),
    "no null in it": ((("number", "long", False),), ("'number'", "takes no null", "fill")),
    "no null in another": (
        (("number", "long", True), ("more", "string", False)), ("'more'", "string", "takes no null", "with_columns"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_table_that_cannot_take_the_rows_is_refused(tmp_path: Path, name: str) -> None:
    columns, facts = WRONG[name]
    make(tmp_path / "it", *columns)
    with raises(SchemaError, "to_delta", str(tmp_path / "it"), "choose another table", *facts):
        write(Schema(number="int64?"), tmp_path / "it", {"number": [1]})
    assert not files_of(tmp_path / "it")


def test_times_that_delta_does_not_have_are_told_of(tmp_path: Path) -> None:
    with raises(OperatorError, "mine", "'at'", "microseconds", '.cast("int64")'):
        write(Schema(at="timestamp"), tmp_path / "it", {"at": ["2026-01-01T00:00:00.000000001"]}, name="mine")
    assert not files_of(tmp_path / "it")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with raises(UsageError, "to_delta", str(tmp_path / "file"), "cannot write"):
        write(NUMBER, tmp_path / "file" / "it", {"number": [1]})
    with raises(UsageError, "to_delta", "cannot write to /proc:", "choose another folder"):
        write(NUMBER, "/proc/it", {"number": [1]})
    with raises(OperatorError, "to_delta", str(tmp_path / "file"), "choose a folder"):
        write(NUMBER, tmp_path / "file", {"number": [1]})


def test_what_deltalake_says_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make(tmp_path / "it", ("number", "long", True))
    (tmp_path / "it" / "_delta_log" / f"{0:020}.json").write_text("{}")
    with raises(OperatorError, "to_delta", str(tmp_path / "it"), "mend that"):
        write(NUMBER, tmp_path / "it", {"number": [1]})
    with raises(OperatorError, "to_delta", "nowhere://x/y", "mend that"):
        write(NUMBER, "nowhere://x/y", {"number": [1]}, storage_options={"a": "b"})


def test_a_commit_whose_process_is_killed_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = DeltaTable.begin_append

    def begins(table: DeltaTable, *arguments: Any) -> None:
        begin(table, *arguments)
        assert table._process is not None
        table._process.kill()

    monkeypatch.setattr(DeltaTable, "begin_append", begins)
    with raises(OperatorError, "to_delta", str(tmp_path / "it"), "killed by SIGKILL"):
        write(NUMBER, tmp_path / "it", {"number": [1]})
    monkeypatch.undo()
    write(NUMBER, tmp_path / "it", {"number": [2]})
    assert rows_in(tmp_path / "it") == Counter([(2,)])
    assert not hidden_in(tmp_path)


def test_a_url_of_a_file_is_a_folder(tmp_path: Path) -> None:
    write(NUMBER, f"file://{tmp_path}/a%20b", {"number": [1]})
    assert rows_in(tmp_path / "a b") == Counter([(1,)])
    table = DeltaTable(f"file://{tmp_path}/a%20b", NUMBER, "mine", (), {})
    assert (table.uri, table.is_local) == (str(tmp_path / "a b"), True)


def test_what_is_committed_is_brought_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of one commit, and nothing of those before."""
    schema, folder = Schema(key="string", number="int64"), tmp_path / "it"
    for number in (1, 2):
        write(schema, folder, {"key": ["a b"], "number": [number]}, partition_by=["key"])
    module = import_module("tokenring.operators.sinks.delta_process")
    synced: list[Path] = []
    monkeypatch.setattr(module, "sync", synced.append)
    module._sync(str(folder), 1)
    path, log = files_of(folder)[1], folder / "_delta_log"
    assert {*synced} == {path, log / f"{2:020}.json", path.parent, log, folder, tmp_path}


REFUSED: dict[str, tuple[type[UsageError], Callable[[Any, Path], Any], tuple[Fact, ...]]] = {
    "uint64": (
        SchemaError,
        lambda scope, path: rows(Schema(id="uint64"))(scope).to_delta(path, name="mine"),
        ("mine", "'id'", "uint64", '.cast("int64")'),
    ),
    "names that differ in case": (
        SchemaError,
        lambda scope, path: rows(Schema("id ID"))(scope).to_delta(path),
        ("to_delta", "'id' and 'ID'", "case", "rename one"),
    ),
    "no columns": (
        SchemaError,
        lambda scope, path: rows(NUMBER)(scope).to_delta(path, partition_by=5),
        ("to_delta", "partition_by=", "not by 5"),
    ),
    "options that are none": (
        UsageError,
        lambda scope, path: rows(NUMBER)(scope).to_delta(path, storage_options="secret"),
        ("to_delta", "storage_options=", "no mapping, but str"),
    ),
    "an option that is no text": (
        UsageError,
        lambda scope, path: rows(NUMBER)(scope).to_delta(path, storage_options={"port": 5}),
        ("to_delta", "storage_options=", "'port' is given as int"),
    ),
    "no path": (UsageError, lambda scope, path: rows(NUMBER)(scope).to_delta(7), ("to_delta", "a folder", "not 7")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_when_it_is_declared(tmp_path: Path, name: str) -> None:
    kind, declare, facts = REFUSED[name]
    with simulated(1, worker_class=fluent.Worker) as group, raises(kind, *facts):
        build(group, lambda worker, scope: declare(scope, tmp_path / "it"))
    assert not list(tmp_path.iterdir())


def test_without_deltalake_it_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("tokenring.operators.sinks.delta_table")
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "deltalake" else util.find_spec(name))
    with raises(UsageError, "to_delta", "deltalake", f"pip install -e '{ROOT}[delta]'"):
        write(NUMBER, tmp_path / "it", {"number": [1]})
    assert not list(tmp_path.iterdir())
