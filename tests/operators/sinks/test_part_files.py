"""Sinks of files, and gather: what was written is what arrived; a failed run shows nothing."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.errors import raises
from tokenring.engine import (
    Batch,
    GraphError,
    OperatorError,
    Schema,
    SchemaError,
    Scope,
    Stream,
    UsageError,
    Worker,
    execute,
)
from tokenring.operators import (
    Roll,
    collect,
    gather,
    read_arrow,
    read_csv,
    read_parquet,
    to_arrow_files,
    to_csv,
    to_json_lines,
    to_parquet,
)
from tokenring.operators.fluent import run
from tokenring.operators.sinks.part_files import parquet_parts
from tokenring.shm.memory import process_start_ticks

SCHEMA = Schema("id", at="timestamp?", name="string?", on="bool?", score="float64")
AT = "2026-01-01T00:00:00.000000001"


def rows_of(worker: int) -> dict[str, Any]:
    return {
        "id": [worker, 10 + worker],
        "at": [AT, None],
        "name": ["é\n  },\n  {\n    ", None],
        "on": [None, True],
        "score": [0.5, 1.5],
    }


def write_all(folder: Path, break_off: bool = False, fail_late: bool = False) -> Callable[[Worker], None]:
    """Each worker sends its rows to all sinks, in two messages; or dies behind them, or when all is written."""

    def program(worker: Worker) -> None:
        with worker.dataflow("write") as scope:
            handle, stream = scope.new_input(SCHEMA)
            probes = [
                to_parquet(stream, folder / "parquet", row_group_rows=1),
                to_arrow_files(stream, folder / "arrow"),
                to_csv(stream, folder / "csv", rows_at_once=1),
                to_json_lines(stream, folder / "json", rows_at_once=3),
            ]
        for _ in range(2):
            handle.send(rows_of(worker.index))
        handle.advance_to(5)
        worker.step_while(worker.step)  # so that it is taken
        assert not (folder / "parquet").exists()
        if break_off:
            raise UsageError("broken off")
        handle.close()
        worker.step_while(lambda: not all(probe.done() for probe in probes))
        assert not (folder / "parquet").exists()  # the run is not over, and may yet fail
        if fail_late and worker.index == 1:
            raise UsageError("failed late")
        assert len(os.listdir("/proc/self/task")) == 1  # a worker has one core, and Arrow would gladly use more

    return program


def test_integers_and_times_are_differences_in_parquet_and_others_have_dictionaries(tmp_path: Path) -> None:
    whole = {"low": "int64", "high.est": "uint64?", "at": "timestamp?", "day": "date"}
    schema = Schema(**whole, name="string?", score="float64")
    rows = {
        "low": [-(2**63), 2**63 - 1, 0],
        "high.est": [2**64 - 2, None, 0],
        "at": [AT, None, "1700-01-01"],
        "day": ["2026-01-01", "0001-01-01", "9999-12-31"],
        "name": ["é", None, ""],
        "score": [0.5, -1.5, 0.0],
    }
    batch, file = Batch(schema, rows), tmp_path / "part.parquet"
    part = parquet_parts()(file, schema)
    part.write(0, batch)
    part.close()
    assert pq.read_table(file).equals(pa.Table.from_batches([batch.to_arrow()]))
    group = pq.read_metadata(file).row_group(0)
    encodings = {column: {*group.column(number).encodings} for number, column in enumerate(schema.names)}
    assert {name for name, found in encodings.items() if "DELTA_BINARY_PACKED" in found} == {*whole}
    assert {name for name, found in encodings.items() if "RLE_DICTIONARY" in found} == {"name", "score"}


def test_folders_appear_whole_with_what_arrived(tmp_path: Path) -> None:
    dead = tmp_path / f".json.tokenring-1-{process_start_ticks(1) + 1}-0"
    dead.touch()  # left by a process that had another one's pid
    with raises(UsageError, "broken off"):
        execute(write_all(tmp_path, break_off=True), workers=2)
    left = sorted(tmp_path.iterdir())
    assert len(left) >= 3  # at least one worker's
    assert all(path.name.startswith(".") and path != dead for path in left)
    with raises(UsageError, "failed late"):
        execute(write_all(tmp_path, fail_late=True), workers=2)
    assert all(path.name.startswith(".") for path in tmp_path.iterdir())
    execute(write_all(tmp_path), workers=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arrow", "csv", "json", "parquet"]
    expected = []
    for worker in range(2):
        columns = rows_of(worker)
        expected += 2 * [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    texts = [part.read_bytes() for part in sorted((tmp_path / "json").iterdir())]
    lines = [orjson.loads(line) for text in texts for line in text.splitlines()]
    assert lines == [row | {"at": row["at"] and row["at"] + "Z"} for row in expected]
    parquet = pq.read_table(tmp_path / "parquet")
    assert [field.type for field in parquet.schema] == [field.type for field in SCHEMA.to_arrow()]
    assert parquet.drop(["at"]).to_pylist() == [{name: row[name] for name in row if name != "at"} for row in expected]
    assert parquet["at"].cast(pa.int64()).to_pylist() == [1767225600000000001, None] * 4
    parts = [pa.ipc.open_file(path).read_all() for path in sorted((tmp_path / "arrow").iterdir())]
    assert pa.concat_tables(parts).to_pylist() == parquet.to_pylist()
    read = partial(read_csv, path=tmp_path / "csv", schema=SCHEMA, quoted_newlines=True)
    assert run(lambda scope: collect(read(scope)), workers=1) == parquet
    with raises(UsageError, "operator 'to_parquet'", str(tmp_path / "parquet"), "exists already", "another folder"):
        execute(write_all(tmp_path), workers=2)


def test_parts_are_whole_on_the_disk_once_the_probes_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on: nothing has its name yet, nor has a process ended."""
    synced: dict[str, int] = {}
    real = os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        synced[os.readlink(f"/proc/self/fd/{descriptor}")] = os.fstat(descriptor).st_size

    def program(worker: Worker) -> None:
        write_all(tmp_path)(worker)
        parts = {name: [*tmp_path.glob(f".{name}.*/*")] for name in ("parquet", "arrow", "json")}
        assert [len(some) for some in parts.values()] == [1, 1, 1]
        assert pq.read_table(parts["parquet"][0])["id"].to_pylist() == [0, 10] * 2
        assert pa.ipc.open_file(parts["arrow"][0]).read_all()["id"].to_pylist() == [0, 10] * 2
        assert [orjson.loads(line)["id"] for line in parts["json"][0].read_bytes().splitlines()] == [0, 10] * 2
        for (part,) in parts.values():
            assert part.stat().st_size in synced.values()

    monkeypatch.setattr(os, "fsync", fsync)
    execute(program, workers=1)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    def program(sink: Callable[[Stream], Any], in_loop: bool) -> Callable[[Worker], None]:
        def run(worker: Worker) -> None:
            with worker.dataflow() as scope:
                _, stream = scope.new_input(Schema(raw="bytes"))
                with scope.loop("inner") as loop:
                    sink(loop.enter(stream) if in_loop else stream)

        return run

    with raises(GraphError, "operator 'to_parquet'", "loop 'inner'", "leave"):
        execute(program(lambda stream: to_parquet(stream, tmp_path / "new"), True), workers=1)
    for wrong in ({"compression": "nope"}, {"compression": 3}, {"row_group_rows": 0}, {"row_group_rows": 1.5}):
        ((called, value),) = wrong.items()
        with raises(UsageError, "operator 'to_parquet'", called, repr(value)):
            execute(program(partial(to_parquet, folder=tmp_path / "new", **wrong), False), workers=1)
    (tmp_path / "file").touch()
    for folder in (Path("/proc/it"), tmp_path / "file" / "it"):
        with raises(UsageError, "operator 'to_parquet'", f"cannot write to {folder.parent}:", "choose another folder"):
            execute(program(partial(to_parquet, folder=folder), False), workers=1)
    for sink, form in ((to_csv, "CSV"), (to_json_lines, "JSON")):
        with raises(SchemaError, f"operator '{sink.__name__}'", "column 'raw'", "bytes", form, "leave it out"):
            execute(program(partial(sink, folder=tmp_path / "new"), False), workers=1)


@pytest.mark.parametrize("sink", [to_parquet, to_arrow_files, to_csv, to_json_lines])
@pytest.mark.parametrize(
    ("folder", "roll", "facts"),
    [
        ("n" * 300, None, ("name too long", "n" * 300, "shorter")),
        ("n" * 230, None, ("name too long", "n" * 230, "shorter")),  # what is hidden has a longer one
        ("n" * 300, Roll(rows=1), ("name too long", "n" * 300, "choose another folder")),
        ("file/it", None, ("cannot write", "choose another folder")),
        ("/proc/it", None, ("/proc: no file or folder can be made in it", "choose another folder")),
    ],
    ids=["long", "long when hidden", "long and rolled", "in a file", "in none"],
)
def test_a_folder_that_cannot_be_made_is_refused(
    sink: Callable[..., Any], folder: str, roll: Roll | None, facts: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()

    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            sink(scope.new_input(Schema("n"))[1], tmp_path / folder, roll=roll)

    with raises(UsageError, f"operator {sink.__name__!r}", *facts):
        execute(program, workers=1)


def test_files_are_read_without_threads(tmp_path: Path) -> None:
    table = pa.table({"at": list(range(1000)), "name": ["x"] * 1000})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)

    def program(worker: Worker) -> tuple[int, int]:
        with worker.dataflow() as scope:
            rows = [collect(read_parquet(scope, tmp_path, time="at")), collect(read_arrow(scope, tmp_path, time="at"))]
        worker.run()
        return sum(map(len, rows)), len(os.listdir("/proc/self/task"))

    assert execute(program, workers=1) == [(2000, 1)]


def test_results_are_gathered_as_one_table() -> None:
    def program(worker: Worker) -> Any:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(SCHEMA)
            collected = collect(stream)
        if worker.index == 0:
            handle.send(rows_of(7))
        return collected

    table = gather(program, workers=2)
    assert table.schema == SCHEMA.to_arrow()
    assert table["id"].to_pylist() == [7, 17]
    assert table["name"].to_pylist() == rows_of(7)["name"]
    with raises(OperatorError, "worker 0", "ZeroDivisionError"):
        gather(lambda worker: 1 / 0, workers=1)  # type: ignore[arg-type,return-value]
    with raises(UsageError, "worker 0", "collect(stream)", "not int"):
        gather(lambda worker: 5, workers=1)  # type: ignore[arg-type,return-value]


def test_what_appears_meanwhile_is_left_alone_and_the_rest_is_published(tmp_path: Path) -> None:
    def program(worker: Worker) -> None:
        write_all(tmp_path)(worker)
        if worker.index == 0:
            (tmp_path / "arrow").mkdir()
            (tmp_path / "arrow" / "mine").touch()

    with raises(UsageError, "to_arrow_files", str(tmp_path / "arrow"), "another folder"):
        execute(program, workers=2)
    assert [path.name for path in (tmp_path / "arrow").iterdir()] == ["mine"]
    assert len(list((tmp_path / "parquet").iterdir())) == len(list((tmp_path / "json").iterdir())) == 2


@pytest.mark.parametrize("options", [{}, {"roll": Roll("1h")}])
def test_two_sinks_of_a_folder_are_refused(options: dict[str, Any], tmp_path: Path) -> None:
    """When they are declared: they would take each other's files away."""
    _, rows = Scope("twice").new_input(Schema("id"))
    to_parquet(rows, tmp_path / "out", **options)
    with raises(GraphError, "'to_arrow_files'", "another sink", str(tmp_path / "out"), "folder of its own"):
        to_arrow_files(rows, tmp_path / "x" / ".." / "out", **options)
    to_arrow_files(rows, tmp_path / "other", **options)


@pytest.mark.parametrize("sink", [to_parquet, to_arrow_files, to_csv, to_json_lines])
@pytest.mark.parametrize("roll", [None, Roll(rows=1)])
@pytest.mark.parametrize("limit_bytes", [0, 1000])
def test_a_disk_that_refuses_is_named(
    sink: Callable[..., Any], roll: Roll | None, limit_bytes: int, tmp_path: Path
) -> None:
    """A limit of files stands for a full disk: from the first byte on, or later."""

    def program(worker: Worker) -> None:
        with worker.dataflow("write") as scope:
            handle, stream = scope.new_input(Schema("n", s="string"))
            sink(stream, tmp_path / "out", roll=roll)
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        handle.send({"n": [1], "s": ["".join(map(chr, range(0x100, 0x3000)))]})
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit))
        handle.close()
        worker.run()

    with raises(OperatorError, f"operator {sink.__name__!r} on worker 0", str(tmp_path), "File too large", "ulimit -f"):
        execute(program, workers=1)
