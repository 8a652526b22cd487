"""What callers of sources give, and files that are not as they should be: each mistake is named with its cure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.operators.sources.helpers import run
from tokenring.engine import OperatorError, Schema, SchemaError, Scope, Stream, UsageError
from tokenring.operators import from_generator, read_arrow, read_parquet

Declare = Callable[[Scope], Stream]


def refused(error: type[Exception], says: str, declare: Declare) -> None:
    with pytest.raises(error, match=says):
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
    refused(SchemaError, r"no column 'prise'; .*a.parquet are .*; did you mean 'price'\?", read("n prise"))
    refused(SchemaError, "a column is named twice: n, n", read(["n", "n"]))
    refused(SchemaError, "columns= names none", read([]))
    refused(UsageError, r"must be a Schema, such as Schema\('id'", parquet(tmp_path, schema={}))
    refused(UsageError, "batch_rows must be an integer above 0, not 0", parquet(tmp_path, batch_rows=0))
    refused(SchemaError, "disorder is .1s. of a column of int64", parquet(tmp_path, time="n", disorder="1s"))
    refused(UsageError, "a path is text or a Path, or a list of them, not Table", parquet(pa.table({"n": [1]})))


def test_files_that_are_damaged_or_unlike_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(UsageError, r"no file that ends in .parquet, .pq in .*empty", parquet(tmp_path / "empty"))
    for name, values in (("a", [1, 2]), ("b", [1.5, 2.0])):
        pq.write_table(pa.table({"n": values}), tmp_path / f"{name}.parquet", write_page_checksum=False)
        with pa.ipc.new_file(tmp_path / f"{name}.arrow", pa.table({"n": values}).schema) as file:
            file.write_table(pa.table({"n": values}))
    refused(SchemaError, r"b.parquet has Schema\(n=float64\), .*\(n=int64\); give schema=", parquet(tmp_path))
    refused(SchemaError, r"b.arrow has other columns \(n double\) than .*a.arrow \(n int64\)", arrow(tmp_path))
    with pytest.raises(OperatorError, match=r"b.parquet row 0 and the 1 after it: column 'n': .* is not int64"):
        run(parquet(tmp_path, schema=Schema("n")))
    arrow_bytes, octets = (tmp_path / "a.arrow").read_bytes(), bytearray((tmp_path / "a.parquet").read_bytes())
    (tmp_path / "a.arrow").write_bytes(arrow_bytes[:-30])
    refused(UsageError, "a.arrow is damaged, or was cut off", arrow(tmp_path / "a.arrow"))
    (tmp_path / "cut.parquet").write_bytes(octets[:-20])
    refused(UsageError, "cut.parquet is no Parquet file", parquet(tmp_path / "cut.parquet"))
    octets[4:30] = b"\xff" * 26
    (tmp_path / "a.parquet").write_bytes(octets)
    with pytest.raises(OperatorError, match=r"a.parquet is damaged in row group 0: "):
        run(parquet(tmp_path / "a.parquet"))


def test_what_is_no_generator_of_rows_is_named() -> None:
    def source(function: Any) -> Declare:
        return lambda scope: from_generator(scope, Schema("a"), function)

    with pytest.raises(UsageError, match=r"give the function itself, function\(worker_index, peers\), not what it"):
        run(source(iter([])))
    with pytest.raises(OperatorError, match="the function returned int; it must yield, or return an iterator of"):
        run(source(lambda worker, peers: 5))
    with pytest.raises(OperatorError, match=r"item 1 of worker 0's generator: rows are given as a mapping .* not list"):
        run(source(lambda worker, peers: iter([{"a": [1]}, [2]])))
    with pytest.raises(OperatorError, match="item 0 of worker 0's generator: column 'a' has dtype float64"):
        run(source(lambda worker, peers: iter([{"a": [1.5]}])))
