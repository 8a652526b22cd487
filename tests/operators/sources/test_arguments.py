"""What callers of sources give, and files that are not as they should be: each mistake is named with its cure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.sources.helpers import run
from tokenring.engine import OperatorError, Schema, SchemaError, Scope, Stream, UsageError
from tokenring.operators import from_generator, read_arrow, read_parquet

Declare = Callable[[Scope], Stream]


def refused(error: type[Exception], says: Fact, declare: Declare) -> None:
    with raises(error, says):
        run(declare)


def parquet(path: Any, **options: Any) -> Declare:
    return lambda scope: read_parquet(scope, path, **options)


def arrow(path: Any) -> Declare:
    return lambda scope: read_arrow(scope, path)


def test_columns_are_named_as_elsewhere(tmp_path: Path) -> None:
    pq.write_table(pa.table({"price": [1], "a name": ["x"], "n": [2]}), tmp_path / "a.parquet")

    def read(columns: Any) -> Callable[[Scope], Stream]:
        return parquet(tmp_path, columns=columns)

    assert run(read("n price")).values == [(2, 1)]
    assert run(read("a name")).values == [("x",)]
    refused(
        SchemaError, ("source 'read_parquet'", "column 'prise'", "a.parquet", "did you mean 'price'"), read("n prise")
    )
    refused(SchemaError, ("source 'read_parquet'", "twice", "n, n"), read(["n", "n"]))
    refused(SchemaError, ("source 'read_parquet'", "columns="), read([]))
    refused(
        UsageError, ("source 'read_parquet'", "Schema('id', name='string?')", "not {}"), parquet(tmp_path, schema={})
    )
    refused(UsageError, ("source 'read_parquet'", "batch_rows", "1 or more", "not 0"), parquet(tmp_path, batch_rows=0))
    refused(
        SchemaError,
        ("source 'read_parquet'", "disorder", "'1s'", "int64", "give a number"),
        parquet(tmp_path, time="n", disorder="1s"),
    )
    refused(UsageError, ("source 'read_parquet'", "path", "not Table"), parquet(pa.table({"n": [1]})))


def test_a_column_that_no_kind_holds_may_be_left_out(tmp_path: Path) -> None:
    pq.write_table(table := pa.table({"n": [2], "lists": [[1]]}), tmp_path / "a.parquet")
    facts = ("column 'lists'", "list<", "leave it out", "columns=")
    refused(SchemaError, ("source 'read_parquet'", *facts), parquet(tmp_path))
    refused(SchemaError, ("source 'read_arrow'", *facts), arrow(table))
    assert run(parquet(tmp_path, columns="n")).values == [(2,)]


def test_files_that_are_damaged_or_unlike_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(UsageError, (".parquet, .pq", str(tmp_path / "empty")), parquet(tmp_path / "empty"))
    for name, values in (("a", [1, 2]), ("b", [1.5, 2.0])):
        pq.write_table(pa.table({"n": values}), tmp_path / f"{name}.parquet", write_page_checksum=False)
        with pa.ipc.new_file(tmp_path / f"{name}.arrow", pa.table({"n": values}).schema) as file:
            file.write_table(pa.table({"n": values}))
    refused(
        SchemaError, ("b.parquet has Schema(n=float64)", "a.parquet has Schema(n=int64)", "schema="), parquet(tmp_path)
    )
    refused(SchemaError, ("b.arrow has Schema(n=float64)", "a.arrow has Schema(n=int64)", "schema="), arrow(tmp_path))
    with raises(OperatorError, "b.parquet", "row 0", "column 'n'", "double", "int64"):
        run(parquet(tmp_path, schema=Schema("n")))
    arrow_bytes, octets = (tmp_path / "a.arrow").read_bytes(), bytearray((tmp_path / "a.parquet").read_bytes())
    (tmp_path / "a.arrow").write_bytes(arrow_bytes[:-30])
    refused(UsageError, ("a.arrow", "damaged"), arrow(tmp_path / "a.arrow"))
    (tmp_path / "cut.parquet").write_bytes(octets[:-20])
    refused(UsageError, ("cut.parquet", "no Parquet file"), parquet(tmp_path / "cut.parquet"))
    octets[4:30] = b"\xff" * 26
    (tmp_path / "a.parquet").write_bytes(octets)
    with raises(OperatorError, "a.parquet", "row group 0"):
        run(parquet(tmp_path / "a.parquet"))


@pytest.mark.parametrize("source", ["read_parquet", "read_arrow", "read_csv", "read_json_lines", "new_collection"])
def test_a_source_is_declared_in_a_scope(tmp_path: Path, source: str) -> None:
    pq.write_table(table := pa.table({"n": [1]}), tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("n\n")
    (tmp_path / "a.jsonl").touch()
    of_lines = (tmp_path, Schema("n"))
    arguments = {"read_parquet": (tmp_path,), "read_arrow": (table,), "new_collection": (Schema("n"),)}
    _, stream = Scope("sources").new_input(Schema("n"))
    what = "input 'input'" if source == "new_collection" else f"source '{source}'"
    with raises(UsageError, what, "scope", "not in a Stream"):
        getattr(tr, source)(stream, *arguments.get(source, of_lines))


def test_what_is_no_generator_of_rows_is_named() -> None:
    def source(function: Any) -> Declare:
        return lambda scope: from_generator(scope, Schema("a"), function)

    with raises(UsageError, "source 'from_generator'", "function(worker_index, peers)", "list_iterator"):
        run(source(iter([])))
    with raises(OperatorError, "source 'from_generator'", "returned int", "mappings of columns"):
        run(source(lambda worker, peers: 5))
    with raises(OperatorError, "item 1 of worker 0's generator", "mapping", "not list"):
        run(source(lambda worker, peers: iter([{"a": [1]}, [2]])))
    with raises(OperatorError, "item 0 of worker 0's generator", "column 'a'", "float64"):
        run(source(lambda worker, peers: iter([{"a": [1.5]}])))
