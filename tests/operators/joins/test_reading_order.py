"""Of a join's two tables the one that is kept is read first, whole, where that cannot make anything wait for itself."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import tokenring as tr
from tokenring.operators.staging import stage_files

FEW, MANY, PIECE = 300, 3_000, 20

class Log:
    """Which pieces were sent by sources, on whatever workers, in what order."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "log"

    def of(self, name: str) -> Callable[[tr.Batch], tr.Batch]:
        def noted(batch: tr.Batch) -> tr.Batch:
            if len(batch):
                file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
                os.write(file, f"{name}\n".encode())
                os.close(file)
            return batch

        return noted

    @property
    def names(self) -> list[str]:
        return self._path.read_text().split()

    def comes_whole_before(self, first: str, then: str) -> bool:
        names = self.names
        assert first in names and then in names
        return max(at for at, name in enumerate(names) if name == first) < names.index(then)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def table_of(rows: int) -> pa.Table:
    return pa.table({"k": [row % 101 for row in range(rows)], "n": list(range(rows))})


def read(scope: tr.Scope, log: Log, name: str, rows: int, time: Any = 0) -> tr.Stream:
    source = scope.read_arrow(table_of(rows), time=time, batch_rows=PIECE, name=name)
    return source.map_batches(source.schema, log.of(name))


PAIRS = Counter((left, right) for left in range(MANY) for right in range(left % 101, FEW, 101))
COLUMNS = {"many": "left.n", "few": "right.n"}


def rows_of(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*table.to_pydict().values(), strict=True))


@pytest.mark.parametrize("time", [0, "n"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_smaller_table_comes_first(workers: int, time: Any, log: Log) -> None:
    """Whether rows of the other side are of one time or not."""

    def dataflow(scope: tr.Scope) -> Any:
        many = read(scope, log, "many", MANY, time)
        return many.join(read(scope, log, "few", FEW), on="k", columns=COLUMNS).collect()

    assert rows_of(tr.run(dataflow, workers=workers)) == PAIRS
    assert log.comes_whole_before("few", "many")


def test_it_may_be_the_left_one(log: Log) -> None:
    def dataflow(scope: tr.Scope) -> Any:
        few, many = read(scope, log, "few", FEW), read(scope, log, "many", MANY)
        return few.join(many, on="k", how="left", columns={"many": "right.n", "few": "left.n"}).collect()

    assert rows_of(tr.run(dataflow, workers=2)) == PAIRS
    assert log.comes_whole_before("few", "many")


def test_the_filtered_side_comes_first_whose_keys_are_asked_for(log: Log) -> None:
    def dataflow(scope: tr.Scope) -> Any:
        many = read(scope, log, "many", MANY)
        source = scope.read_arrow(table_of(2 * MANY), time=0, batch_rows=PIECE, name="few")
        few = source.filter(tr.col("n") < FEW).map_batches(source.schema, log.of("few"))
        return many.join(few, on="k", columns=COLUMNS).collect()

    assert rows_of(tr.run(dataflow, workers=2)) == PAIRS
    assert log.comes_whole_before("few", "many")


def test_a_side_whose_rows_have_times_is_not_waited_for(log: Log) -> None:
    """What is behind it may go on meanwhile, and is to keep no more than it must."""

    def dataflow(scope: tr.Scope) -> Any:
        many = read(scope, log, "many", MANY)
        return many.join(read(scope, log, "few", FEW, "n"), on="k", columns=COLUMNS).collect()

    assert rows_of(tr.run(dataflow, workers=1)) == PAIRS
    assert not log.comes_whole_before("few", "many")


def test_who_waits_for_two_waits_for_both(log: Log) -> None:
    def dataflow(scope: tr.Scope) -> Any:
        many, few = read(scope, log, "many", MANY), read(scope, log, "few", FEW)
        pairs = many.join(few, on="k", columns={"k": "left.k", **COLUMNS})
        return pairs.join(read(scope, log, "fewer", 101), on="k", columns="many few").collect()

    assert rows_of(tr.run(dataflow, workers=2)) == PAIRS
    assert log.comes_whole_before("few", "many") and log.comes_whole_before("fewer", "many")


@pytest.mark.parametrize("workers", [1, 2])
def test_nobody_waits_for_who_waits_for_him(workers: int, log: Log) -> None:
    """Each table is the one that another join would read first: in a ring of three, and with itself."""

    def dataflow(scope: tr.Scope) -> Any:
        one, two, three = (scope.read_arrow(table_of(FEW), time=0, batch_rows=PIECE, name=name) for name in "abc")
        cut = tr.col("n") < 200
        made = [
            left.join(right.filter(cut), on="k", columns={"l": "left.n", "r": "right.n"})
            for left, right in ((one, two), (two, three), (three, one), (one, one))
        ]
        return made[0].union(*made[1:]).collect()

    wanted = Counter({(left, right): 4 for left in range(FEW) for right in range(left % 101, 200, 101)})
    assert rows_of(tr.run(dataflow, workers=workers)) == wanted


def test_rows_that_somebody_makes_wait_for_nothing(log: Log) -> None:
    """A generator may be waiting for something itself, and its rows cannot be counted beforehand."""
    def dataflow(scope: tr.Scope) -> Any:
        def pieces() -> Any:
            for start in range(0, MANY, PIECE):
                yield table_of(MANY).slice(start, PIECE)

        source = scope.from_generator(tr.Schema("k n"), pieces)
        many = source.map_batches(source.schema, log.of("many"))
        return many.join(read(scope, log, "few", FEW), on="k", columns=COLUMNS).collect()

    assert rows_of(tr.run(dataflow, workers=1)) == PAIRS
    assert not log.comes_whole_before("few", "many")


@pytest.mark.parametrize("form", ["parquet", "csv", "json", "columns", "staged"])
def test_files_of_every_kind_wait_and_are_waited_for(form: str, tmp_path: Path, log: Log) -> None:
    read_many, read_few = (
        written(tmp_path / name, form, table_of(rows)) for name, rows in (("many", MANY), ("few", FEW))
    )

    def dataflow(scope: tr.Scope) -> Any:
        many, few = (
            stream.map_batches(stream.schema, log.of(name))
            for name, stream in (("many", read_many(scope)), ("few", read_few(scope)))
        )
        return many.join(few, on="k", columns=COLUMNS).collect()

    assert rows_of(tr.run(dataflow, workers=2)) == PAIRS
    assert log.comes_whole_before("few", "many")


def written(path: Path, form: str, table: pa.Table) -> Callable[[tr.Scope], tr.Stream]:
    """Write the rows to files of a form; what reads them, in pieces."""
    schema = tr.Schema.of({"k": "int64", "n": "int64"})
    if form == "parquet":
        pyarrow.parquet.write_table(table, path)
        return lambda scope: scope.read_parquet(path, time=0, batch_rows=PIECE)
    if form == "csv":
        pyarrow.csv.write_csv(table, path)
        return lambda scope: scope.read_csv(path, schema, time=0, block_bytes=200)
    if form == "json":
        path.write_text("".join(f'{{"k": {row["k"]}, "n": {row["n"]}}}\n' for row in table.to_pylist()))
        return lambda scope: scope.read_json_lines(path, schema, time=0, block_bytes=200)
    if form == "columns":
        files = {column: path.with_name(f"{path.name}.{column}") for column in ("k", "n")}
        for column, file in files.items():
            file.write_bytes(table[column].to_numpy().tobytes())
        return lambda scope: scope.read_columns(schema, files, time=0, batch_rows=PIECE)
    pyarrow.parquet.write_table(table, f"{path}.parquet")
    stage_files(f"{path}.parquet", path, time="n", table="rows")
    return lambda scope: scope.read_staged(path, "rows", time=0, batch_rows=PIECE)
