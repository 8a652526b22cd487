"""read_columns, read_arrow, read_parquet: every row to one worker, in any order of times, none promised away."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import tokenring as tr
from tests.errors import Fact, assert_named, raises
from tests.operators.sources.helpers import run
from tokenring.engine import COMPLETE, MAX_TIME, OperatorError, Schema, SchemaError, Scope, Stream, UsageError
from tokenring.operators import Throttle, ZoneWarning, read_arrow, read_columns, read_csv, read_json_lines, read_parquet
from tokenring.operators.sources import files_of

ROWS = 1000
RANDOM = np.random.default_rng(7)
AT = np.arange(ROWS) * 10 + RANDOM.integers(0, 95, ROWS)  # up to 94 early
TABLE = pa.table(
    {
        "id": np.arange(ROWS),
        "at": AT,
        "name": pa.array([None if row % 7 == 0 else f"n{row}" for row in range(ROWS)]),
    }
)
EXPECTED = sorted(TABLE.to_pylist(), key=lambda row: row["id"])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    half = ROWS // 2 + 3
    pq.write_table(TABLE.slice(0, half), folder / "a.parquet", row_group_size=100)
    pq.write_table(TABLE.slice(half), folder / "b.parquet", row_group_size=100)
    with pa.ipc.new_file(folder / "whole.arrow", TABLE.schema) as file:
        file.write_table(TABLE, max_chunksize=300)
    AT.astype("<i8").tofile(folder / "at.i64")
    np.save(folder / "id.npy", np.arange(ROWS))
    np.minimum.accumulate(AT[::-1])[::-1].astype("<i8").tofile(folder / "floor.i64")
    return folder


def test_patterns_folders_and_files_are_taken_in_their_order(tmp_path: Path) -> None:
    for name in ("b.csv", "a.CSV", ".c.csv", "_d.csv", "e.txt", "_x/h.csv", "in/f.csv", "in/g.csv", "in/x.csv/h.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def found(*paths: str) -> list[str]:
        given = files_of("read", [str(tmp_path / path) for path in paths], (".csv",))
        return [str(Path(path).relative_to(tmp_path)) for path in given]

    assert found("*.csv") == ["_d.csv", "b.csv"]
    assert found("in/[fg].csv", "e.txt", "[ab].csv") == ["in/f.csv", "in/g.csv", "e.txt", "b.csv"]
    assert found("**/g.csv", "in/x.csv") == ["in/g.csv", "in/x.csv/h.csv"]
    whole = found("[!_]*/**/*.csv")
    assert whole == ["in/f.csv", "in/g.csv", "in/x.csv/h.csv"]
    assert found("", *whole) == ["a.CSV", "b.csv", *whole]
    with raises(UsageError, "source 'read'", "no file", "x*.csv"):
        found("*.csv", "x*.csv")
    for path, left in (("", "in/f.csv"), ("in", "in/x.csv/h.csv"), ("in/*", "in/x.csv/h.csv"), ("i*", "in/f.csv")):
        with raises(UsageError, "source 'read'", str(tmp_path / left), f"{tmp_path}/", "**/*.csv"):
            found(path)
    (tmp_path / "of/city=Oslo/day=1").mkdir(parents=True)
    (tmp_path / "of/city=Oslo/day=1/i.csv").touch()
    with raises(UsageError, "source 'read'", "**/*.csv", "city=Oslo", ".with_columns(city=lit('Oslo'))"):
        found("of")
    with raises(UsageError, "source 'read'", "cannot read", "x" * 300, "name too long"):
        found("x" * 300)
    (tmp_path / "no").mkdir()
    with raises(UsageError, "source 'read'", ".csv", str(tmp_path / "no"), str(tmp_path / "no/*")):
        found("no")
    (tmp_path / "in/x.csv/h.csv").unlink()
    assert found("in") == ["in/f.csv", "in/g.csv"], "what is in no file is no loss"


def test_what_comes_into_a_folder_meanwhile_is_not_called_deeper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def walk(top: str, **more: Any) -> Any:
        (tmp_path / "b.csv").touch()
        return walked(top, **more)

    walked = os.walk
    monkeypatch.setattr(os, "walk", walk)
    (tmp_path / "a.csv").touch()
    assert files_of("read", tmp_path, (".csv",)) == [str(tmp_path / "a.csv")]


@pytest.mark.parametrize("path", ["**/*.parquet", "deep"])
@pytest.mark.parametrize("locked", ["locked", "lost+found", ".hidden"])
def test_a_folder_that_may_not_be_listed_is_no_empty_one(
    path: str, locked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As everybody but root sees it: what is in it would be left out without a word."""
    (tmp_path / "deep" / locked).mkdir(parents=True)
    (tmp_path / "a.parquet").touch()
    (tmp_path / "deep" / "c.parquet").touch()
    scandir = os.scandir

    def listed(folder: Any = ".") -> Any:
        if isinstance(folder, str | Path) and os.path.basename(folder) == locked:
            raise PermissionError(13, os.strerror(13), str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", listed)
    if locked != "locked":
        assert files_of("s", tmp_path / path, (".parquet",))[-1] == str(tmp_path / "deep" / "c.parquet")
        return
    with raises(UsageError, "source 's'", str(tmp_path / "deep" / "locked"), os.strerror(13)):
        files_of("s", tmp_path / path, (".parquet",))


@pytest.mark.parametrize("how", ["given", "in a folder", "by a pattern"])
def test_what_is_read_once_is_no_file(how: str, tmp_path: Path) -> None:
    """Before anything is opened: nobody writes into this one, so who opens it waits for ever."""
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    path = {"given": pipe, "in a folder": tmp_path, "by a pattern": tmp_path / "*.csv"}[how]
    with raises(UsageError, "source 'read'", str(pipe), "no regular file", "from_generator"):
        files_of("read", path, (".csv",))


def parquet(scope: Scope, folder: Path, **more: Any) -> Stream:
    return read_parquet(scope, folder, batch_rows=40, **more)


def arrow(scope: Scope, folder: Path, **more: Any) -> Stream:
    return read_arrow(scope, folder / "whole.arrow", batch_rows=40, **more)


def raw(scope: Scope, folder: Path, **more: Any) -> Stream:
    columns = {"id": folder / "id.npy", "at": folder / "at.i64"}
    return read_columns(scope, Schema("id at"), columns, floor=folder / "floor.i64", batch_rows=40, **more)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("read", [parquet, arrow, raw])
def test_every_row_arrives_once_at_or_after_its_message_s_time(
    read: Callable[..., Stream], workers: int, files: Path
) -> None:
    sent = run(lambda scope: read(scope, files, time="at"), workers)
    expected = [tuple(row.values()) for row in EXPECTED]
    assert sorted(sent.values) == [row[:2] if read is raw else row for row in expected]
    assert {worker for worker, _, _ in sent.rows} == set(range(workers))
    assert all(time <= at for _, time, (_, at, *_) in sent.rows)
    # The frontier follows: it does not wait for the end, nor for row groups.
    assert max(at - time for _, time, (_, at, *_) in sent.rows) < 800 * workers
    assert len(set(sent.frontiers)) > 5


def test_columns_are_chosen_and_nulls_found_in_the_data(files: Path) -> None:
    schemas = []

    def declare(scope: Scope) -> Stream:
        stream = read_parquet(scope, [files / "b.parquet"], columns=("name", "id"))
        schemas.append(stream.schema)
        return stream

    sent = run(declare)
    assert schemas == [Schema.of({"name": "string?", "id": "int64"})]
    assert sent.values[:1] == [(EXPECTED[503]["name"], 503)]
    assert {time for _, time, _ in sent.rows} == {0}


def test_timestamps_of_any_unit_are_times_in_ns(tmp_path: Path) -> None:
    units = {pa.date32(): 86_400 * 10**9, pa.timestamp("ms"): 10**6, pa.timestamp("us"): 10**3}
    for unit, factor in (units | {pa.timestamp("us", "UTC"): 10**3, pa.timestamp("ns", "UTC"): 1}).items():
        at = pa.array([30, 10, 20], unit)
        pq.write_table(pa.table({"at": at}), tmp_path / "t.parquet", row_group_size=1)
        schema = Schema(at="timestamp") if unit == pa.date32() else None
        sent = run(lambda scope, schema=schema: read_parquet(scope, tmp_path, time="at", schema=schema))
        assert [time for _, time, _ in sent.rows] == [10 * factor, 10 * factor, 20 * factor]
    pq.write_table(pa.table({"at": pa.array([30], pa.date32())}), tmp_path / "t.parquet")
    with raises(SchemaError, "'at' is date", "timestamp", "schema="):
        run(lambda scope: read_parquet(scope, tmp_path, time="at"))


@pytest.mark.parametrize(
    ("kind", "beyond"), [("timestamp?", "9999-12-31"), ("timestamp?", "0001-01-01"), ("date?", "2300-01-01")]
)
def test_times_of_96_bits_are_what_they_are_or_an_error(tmp_path: Path, kind: str, beyond: str) -> None:
    instants = [None, -1, 2**63 - 1, -(2**63) + 1, 0, -1_000_001]
    written = partial(pq.write_table, where=tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    written(pa.table({"at": pa.array(instants, pa.timestamp("ns"))}))
    collected = tr.run(lambda scope: scope.read_parquet(tmp_path).collect(), workers=1)
    assert collected["at"].cast(pa.int64()).to_pylist() == instants
    fits = np.datetime64("2024-01-01", "us")
    written(pa.table({"at": pa.array([None, fits, np.datetime64(beyond, "us"), fits])}), row_group_size=2)
    with raises(OperatorError, "t.parquet row 2", "column 'at'", f"{beyond}T00:00:00.000", "1677 to 2262"):
        run(lambda scope: read_parquet(scope, tmp_path, schema=Schema(at=kind)))


def test_without_statistics_order_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"at": [10, 40, 25, 50]}), file, row_group_size=2, write_statistics=False)
    sent = run(lambda scope: read_parquet(scope, file, schema=Schema("at"), time="at", disorder=15))
    assert sorted(sent.values) == [(10,), (25,), (40,), (50,)]
    late = ("t.parquet row 2", "column 'at'", "25", "before 40", "disorder=15", "late=True")
    with raises(OperatorError, *late):
        run(lambda scope: read_parquet(scope, file, schema=Schema("at"), time="at"))


def test_a_file_without_rows_asks_for_no_order(tmp_path: Path) -> None:
    """As its one row group is written, statistics say nothing of it, neither of times nor of nulls."""
    for name, times in (("a", [40, 10]), ("b", []), ("c", [30, 20])):
        pq.write_table(pa.table({"at": pa.array(times, pa.int64())}), tmp_path / f"{name}.parquet", row_group_size=1)
    assert pq.read_metadata(tmp_path / "b.parquet").num_row_groups == 1
    schemas = []

    def declare(scope: Scope) -> Stream:
        stream = read_parquet(scope, tmp_path, time="at")
        schemas.append(stream.schema)
        return stream

    assert run(declare).values == [(40,), (10,), (30,), (20,)]
    assert schemas == [Schema("at")]


def test_a_throttle_bounds_what_is_under_way() -> None:
    """An operator that lets nothing through before nothing has come for a while sees how much comes until then."""
    table = pa.table({"at": np.arange(64)})
    under_way = []

    def declare(scope: Scope) -> Stream:
        throttle = Throttle(batches=3)
        stream = read_arrow(scope, table, time="at", batch_rows=2, throttle=throttle)

        def construct(context: Any, token: Any) -> Callable[..., None]:
            kept: list[Any] = []
            calls = came = 0
            token.drop()

            def logic(rows: Any, output: Any) -> None:
                nonlocal calls, came
                calls += 1
                before = len(kept)
                kept.extend((reference.retain(), batch.copy()) for reference, batch in rows)
                came = calls if len(kept) > before else came
                if kept and calls > came + 10:
                    under_way.append(len(kept))
                    for held, batch in kept:
                        output.give(held, batch)
                        held.drop()
                    kept.clear()
                elif kept:
                    context.activate()

            return logic

        late = stream.unary("slow", stream.schema, construct)
        throttle.watch(late.probe())
        return late

    assert [row for (row,) in run(declare).values] == list(range(64))
    assert max(under_way) == 3


@pytest.mark.parametrize(("most", "at_most"), [({"batches": 16}, 16), ({"size_bytes": 8 * 6}, 3), ({}, 64)])
@pytest.mark.parametrize("times", ["at", 0])
def test_what_is_not_taken_holds_a_source_back_at_whatever_times(
    monkeypatch: pytest.MonkeyPatch, most: dict[str, int], at_most: int, times: str | int
) -> None:
    """An operator takes nothing for a while, though it is run: it sees how much comes until then."""
    # A source whose rows nobody takes for some hundredths of a second sends one more; a busy machine may take so long.
    monkeypatch.setattr("tokenring.operators.sources.throttle._PATIENCE_NS", 60_000_000_000)
    table = pa.table({"at": np.arange(400)})
    waiting: list[int] = []

    def construct(context: Any, token: Any) -> Callable[..., None]:
        calls = seen = 0
        token.drop()

        def logic(rows: Any, output: Any) -> None:
            nonlocal calls, seen
            calls += 1
            here = len(rows.inbox.queue)
            calls, seen = (0 if here > seen else calls), here
            if calls > 10 or rows.frontier == COMPLETE:
                waiting.append(here)
                seen = 0
                for reference, batch in rows:
                    output.give(reference, batch)
            elif here:
                context.activate()

        return logic

    def declare(scope: Scope) -> Stream:
        chosen = Throttle(**most) if most else None
        stream = read_arrow(scope, table, time=times, batch_rows=2, throttle=chosen)
        return stream.unary("slow", stream.schema, construct)

    assert [row for (row,) in run(declare).values] == list(range(400))
    assert max(waiting) == at_most


def test_mistakes_are_named(files: Path, tmp_path: Path) -> None:
    def refused(kind: type[Exception], text: Fact, declare: Callable[[Scope], Stream]) -> None:
        with raises(kind, text):
            run(declare)

    (tmp_path / "bad.parquet").write_bytes(b"no parquet")
    (tmp_path / "short.i64").write_bytes(b"123")
    columns = {"id": files / "id.npy", "at": tmp_path / "short.i64"}
    none, bad = str(tmp_path / "none.parquet"), str(tmp_path / "bad.parquet")
    refused(UsageError, ("source 'read_parquet'", none), lambda scope: read_parquet(scope, none))
    refused(UsageError, ("source 'read_parquet'", bad, "no Parquet file"), lambda scope: read_parquet(scope, tmp_path))
    no_price = ("source 'read_parquet'", "column 'price'", "a.parquet", "id, at, name")
    refused(SchemaError, no_price, lambda scope: parquet(scope, files, columns=["price"]))
    of_arrow = "source 'read_arrow'"
    then = (of_arrow, "column 'then'", "id, at, name")
    refused(SchemaError, then, lambda scope: arrow(scope, files, time="then"))
    text = (of_arrow, "int64, uint64, timestamp", "'name' is string?")
    refused(SchemaError, text, lambda scope: arrow(scope, files, time="name"))
    nulls = ("row 0", "column 'name'", "null", "string?")
    refused(OperatorError, nulls, lambda scope: read_arrow(scope, TABLE, schema=Schema(name="string")))
    short = ("source 'read_columns'", "short.i64", "3 bytes", "words of 8")
    refused(UsageError, short, lambda scope: read_columns(scope, Schema("id at"), columns))
    for kind, row in (("bool", 2), ("bool?", 3)):
        np.array([0, 1, 2, 5]).tofile(tmp_path / "some.b")
        words, some = ("source 'read_columns'", f"some.b row {row}", "is no boolean"), {"a": tmp_path / "some.b"}
        refused(OperatorError, words, lambda scope, kind=kind, some=some: read_columns(scope, Schema(a=kind), some))
    negative = (of_arrow, "time", f"0 to {MAX_TIME}", "not -1")
    refused(UsageError, negative, lambda scope: arrow(scope, files, time=-1))


def _saved(values: Any) -> bytes:
    """As np.save writes them."""
    out = BytesIO()
    np.save(out, np.array(values))
    return out.getvalue()


INT64 = ("column 'a'", "a.npy", "np.save", "int64", "(rows,)")


@pytest.mark.parametrize(
    ("octets", "kind", "said"),
    [
        (b"", UsageError, INT64),
        (_saved([1])[:20], UsageError, INT64),
        (_saved([1])[:-8], UsageError, INT64),
        (b"PK\x03\x04" + bytes(12), UsageError, INT64),
        (_saved([None]), UsageError, INT64),
        (_saved([1.5]), SchemaError, (*INT64, "float64")),
        (_saved([[1]]), SchemaError, (*INT64, "(1, 1)")),
        (_saved(np.zeros(1, "M8[s]")), SchemaError, (*INT64, "datetime64[s]", "in ns")),
        (_saved([1, 2]), UsageError, ("a.npy", "2 rows", "b.i64", "1")),
    ],
)
def test_a_file_of_numpy_s_that_is_no_column_is_named(
    octets: bytes, kind: type[Exception], said: Fact, tmp_path: Path
) -> None:
    columns = {"b": tmp_path / "b.i64", "a": tmp_path / "a.npy"}
    columns["a"].write_bytes(octets)
    columns["b"].write_bytes(bytes(8))
    with raises(kind, "source 'read_columns'", said):
        run(lambda scope: read_columns(scope, Schema("b a"), columns))


def test_a_file_of_numpy_s_is_one_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "a.i64").write_bytes(_saved([1, 2]))
    assert run(lambda scope: read_columns(scope, Schema("a"), {"a": tmp_path / "a.i64"})).values == [(1,), (2,)]


@pytest.mark.parametrize(
    ("files", "floor", "said"),
    [
        (["a.npy"], None, ("files=", "{'a': 'a.npy'}", "not list")),
        ("a.npy", None, ("files=", "{'a': 'a.npy'}", "not str")),
        ({"a": np.arange(3)}, None, ("column 'a'", "path", "not ndarray", "read_arrow")),
        ({"a": b"a.npy"}, None, ("column 'a'", "path", "not bytes")),
        ({"a": ""}, None, ("column 'a'", "no file ''")),
        ({"a": "none.npy"}, None, ("column 'a'", "no file 'none.npy'")),
        ({"a": "a\0b"}, None, ("column 'a'", "no file", "a\\x00b")),
        ({"a": __file__}, 5, ("floor=", "path", "not int")),
    ],
)
def test_what_is_no_file_of_a_column_is_named(files: Any, floor: Any, said: Fact) -> None:
    with raises(UsageError, "source 'read_columns'", said):
        read_columns(Scope("rows"), Schema("a"), files, time=0 if floor is None else "a", floor=floor)


@pytest.mark.parametrize(("files", "given"), [({}, "no column"), ({"a": "a.npy", 5: "b.npy"}, "a, 5")])
def test_files_of_other_columns_are_named(files: Any, given: str) -> None:
    with raises(SchemaError, "source 'read_columns'", given, "where a, b are read"):
        read_columns(Scope("rows"), Schema("a b"), files)


def _written(file: Path) -> Callable[[Scope], Stream]:
    """A source of a file with one row, 1, which is written now."""
    table = pa.table({"a": [1]})
    if file.suffix in (".csv", ".jsonl"):
        file.write_text("a\n1\n" if file.suffix == ".csv" else '{"a":1}\n')
        read = read_csv if file.suffix == ".csv" else read_json_lines
        return lambda scope: read(scope, file, Schema("a"))
    with open(file, "wb") as out:
        if file.suffix == ".parquet":
            pq.write_table(table, out)
            return lambda scope: read_parquet(scope, file)
        with pa.ipc.new_file(out, table.schema) as rows:
            rows.write_table(table)
    return lambda scope: read_arrow(scope, file)


@pytest.mark.usefixtures("arrow_reads_csv")
@pytest.mark.parametrize("suffix", ["arrow", "csv", "jsonl", "parquet"])
def test_a_file_s_name_may_be_of_any_bytes(tmp_path: Path, suffix: str) -> None:
    assert run(_written(tmp_path / os.fsdecode(b"\xff.%s" % suffix.encode()))).values == [(1,)]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "with a mark"])
@pytest.mark.parametrize(("read", "rows"), [(read_csv, b"a\n1"), (read_json_lines, b'{"a": 1}')])
def test_a_file_that_is_named_twice_is_read_twice(
    read: Callable[..., Stream], rows: bytes, mark: bytes, tmp_path: Path
) -> None:
    """Its last line ends without a newline, and is not one with the first of what is read next."""
    (tmp_path / "rows").write_bytes(mark + rows)
    for workers in (1, 2):
        assert run(lambda scope: read(scope, [tmp_path / "rows"] * 2, Schema("a")), workers).values == [(1,), (1,)]


def test_an_empty_path_is_no_folder() -> None:
    for paths in ("", [""]):
        with raises(UsageError, "source 'read_csv'", "a path is empty", "'.'"):
            run(lambda scope, paths=paths: read_csv(scope, paths, Schema("a")))


def test_a_page_that_its_checksum_disowns_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    pq.write_table(pa.table({"id": [0x0123456789ABCDEF]}), file, compression="none", use_dictionary=False,
                   write_statistics=False, write_page_checksum=True)  # fmt: skip
    octets = bytearray(file.read_bytes())
    octets[octets.index((0x0123456789ABCDEF).to_bytes(8, "little"))] ^= 1
    file.write_bytes(octets)
    with raises(OperatorError, "source 'read_parquet'", "events.parquet", "row group 0", "CRC"):
        run(lambda scope: read_parquet(scope, file))


LENGTH = len("text number 0000 of many")
OFFSETS, INDICES = (10 * LENGTH, 11 * LENGTH, 12 * LENGTH), (10, 11, 12)


@pytest.mark.parametrize(
    ("kind", "layout", "there", "instead"),
    [
        *[(pa.string(), "<3i", OFFSETS, (offset, *OFFSETS[1:])) for offset in (-100, 4, 600, 7300, 1 << 30)],
        (pa.large_binary(), "<3q", OFFSETS, (1 << 60, *OFFSETS[1:])),
        (pa.string_view(), "<i4sii", (LENGTH, b"text", 0, OFFSETS[0]), (LENGTH, b"text", 0, 1 << 30)),
        *[(pa.dictionary(pa.int32(), pa.string()), "<3i", INDICES, (index, 11, 12)) for index in (-5, 400)],
        (pa.dictionary(pa.int32(), pa.string()), "<3i", OFFSETS, (1 << 30, *OFFSETS[1:])),
        (pa.run_end_encoded(pa.int32(), pa.string()), "<3i", INDICES, (10, 1 << 30, 12)),
    ],
)
def test_arrow_files_that_point_out_of_themselves_are_errors(
    tmp_path: Path, kind: pa.DataType, layout: str, there: tuple[Any, ...], instead: tuple[Any, ...]
) -> None:
    """Each in place of what it is: text, row and process are at stake."""
    texts = pa.array([f"text number {row:04} of many" for row in range(300)], kind)
    table, file = pa.table({"text": texts, "id": range(300)}), tmp_path / "damaged.arrow"
    with pa.ipc.new_file(file, table.schema) as written:
        written.write_table(table)
    octets = file.read_bytes()
    assert octets.count(struct.pack(layout, *there)) == 1
    file.write_bytes(octets.replace(struct.pack(layout, *there), struct.pack(layout, *instead)))
    with raises(OperatorError, "'read_arrow'", "row", "column 'text' is damaged"):
        run(lambda scope: read_arrow(scope, file, batch_rows=70))
    assert len(run(lambda scope: read_arrow(scope, file, columns=["id"])).rows) == 300, "what is read is looked at"


@pytest.mark.parametrize("read", [read_arrow, read_parquet])
def test_text_that_is_not_in_utf_8_is_handed_on_as_it_is_or_told(read: Callable[..., Stream], tmp_path: Path) -> None:
    octets = pa.array([b"a", b"\xff\xfe", b"b\xc3"])
    table = pa.table({"text": octets.view(pa.string())})
    if read is read_parquet:
        pq.write_table(table, file := tmp_path / "rows.parquet")
    else:
        with pa.ipc.new_file(file := tmp_path / "rows.arrow", table.schema) as written:
            written.write_table(table)

    with raises(OperatorError, "operator 'lower'", "UnicodeDecodeError", "read the column as bytes (schema=)"):
        tr.run(lambda scope: read(scope, file).filter(tr.col("text").lower() == "a", name="lower").collect(), workers=1)
    tr.run(lambda scope: read(scope, file).to_parquet(tmp_path / "as text"), workers=1)
    assert pq.read_table(tmp_path / "as text")["text"].cast(pa.binary()).to_pylist() == octets.to_pylist()
    kept = tr.run(lambda scope: read(scope, file, schema=Schema(text="bytes")).collect(), workers=1)
    assert kept["text"].to_pylist() == octets.to_pylist()


def test_arrow_files_whose_buffers_are_too_short_are_no_sources(tmp_path: Path) -> None:
    file, table = tmp_path / "short.arrow", pa.table({"at": range(300)})
    with pa.ipc.new_file(file, table.schema) as written:
        written.write_table(table)
    there, instead = struct.pack("<4q", 0, 0, 0, 2400), struct.pack("<4q", 0, 0, 0, 8)
    assert there in file.read_bytes(), "where its buffers of nulls and of numbers lie"
    file.write_bytes(file.read_bytes().replace(there, instead))
    with raises(UsageError, "source 'read_arrow'", str(file), "damaged", "too small"):
        run(lambda scope: read_arrow(scope, file, time="at"))


@pytest.mark.parametrize(
    ("becomes", "said"),
    [
        ("none", ("source 'read_parquet'", "is gone")),
        ("a folder", ("source 'read_parquet'", "is gone")),
        ("another file", ("replaced", "other names")),
        ("other bytes", ("replaced, or changed", "leave files as they are")),
    ],
)
@pytest.mark.parametrize("beside", [[], ["beside.parquet"]])
def test_a_parquet_file_that_is_another_or_gone_is_not_read_or_called_damaged(
    beside: list[str], becomes: str, said: Fact, tmp_path: Path
) -> None:
    """Its footer would tell of rows that are not in there. beside: small files with which it is read at once."""
    file, other = tmp_path / "events.parquet", tmp_path / "other"
    files = [*map(tmp_path.joinpath, beside), file]
    for each in files:
        pq.write_table(TABLE, each)
    pq.write_table(TABLE.slice(1), other)

    def declare(scope: Scope) -> Stream:
        rows = read_parquet(scope, files)
        if becomes == "another file":
            other.replace(file)
        elif becomes == "other bytes":
            file.write_bytes(other.read_bytes())
        else:
            file.unlink()
            if becomes == "a folder":
                file.mkdir()
        return rows

    with raises(OperatorError, str(file), said):
        run(declare)


@pytest.mark.parametrize(
    ("row", "value", "schema", "more", "said"),
    [
        (0, None, Schema("a"), {}, ("null", "int64?")),
        (997, None, Schema("a"), {}, ("null", "int64?")),
        (1, None, Schema("a"), {"batch_rows": 1}, ("null", "int64?")),
        (700, 1.5, Schema("a"), {}, ("int64",)),
        (998, None, Schema("a"), {"time": "a"}, ("null", "int64?")),
    ],
)
def test_the_row_that_does_not_fit_is_named(
    tmp_path: Path, row: int, value: Any, schema: Schema, more: dict[str, Any], said: Fact
) -> None:
    values = [7] * ROWS
    values[row] = value
    values[999] = None
    table = pa.table({"a": values})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=600)
    with raises(OperatorError, f"t.parquet row {row}", "column 'a'", said):
        run(lambda scope: read_parquet(scope, tmp_path, schema=schema, **more))
    with raises(OperatorError, "'read_arrow'", f"row {row}: column 'a'", said):
        run(lambda scope: read_arrow(scope, table, schema=schema, **{"batch_rows": 300} | more))


def write_arrow(tables: list[pa.Table], folder: Path) -> list[Path]:
    """Tables as files, in order."""
    files = [folder / f"{number}.arrow" for number in range(len(tables))]
    for file, table in zip(files, tables, strict=True):
        with pa.ipc.new_file(file, table.schema) as written:
            written.write_table(table)
    return files


OF_TYPES = {
    "order": (pa.table({"b": ["z"], "a": [3]}), False),
    "nullable": (pa.table({"a": [3], "b": ["z"]}, pa.schema([pa.field("a", "int64", False), ("b", "string")])), True),
    "width": (pa.table({"a": pa.array([3], "int32"), "b": pa.array(["z"], "large_string")}), True),
    "dictionary": (pa.table({"a": [3], "b": pa.array(["z"]).dictionary_encode()}), True),
    "nothing but nulls": (pa.table({"a": [3], "b": pa.nulls(1)}), False),
    "more": (pa.table({"a": [3], "c": [1], "b": ["z"]}), False),
}


@pytest.mark.parametrize("difference", OF_TYPES)
@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_arrow_files_of_other_types_have_the_columns_of_one_schema(
    tmp_path: Path, difference: str, batch_rows: int
) -> None:
    """Without schema= where they are of the same kinds, and with it else, whichever comes first."""
    other, is_alike = OF_TYPES[difference]
    usual, empty = pa.table({"a": [1, 2], "b": ["x", "y"]}), pa.table({"a": [1], "b": ["x"]}).slice(0, 0)
    rows = [(1, "x"), (2, "y"), (3, other["b"][0].as_py())]
    for tables, expected in (([usual, empty, other], rows), ([other, usual, empty], [*rows[2:], *rows[:2]])):
        files = write_arrow(tables, tmp_path)

        def read(scope: Scope, files: list[Path] = files, **more: Any) -> Stream:
            return read_arrow(scope, files, time="a", batch_rows=batch_rows, **more)

        sent = run(lambda scope, read=read: read(scope, schema=Schema(a="int64", b="string?")))
        assert sent.values == expected
        if is_alike:
            assert run(read).values == expected
        else:
            with raises(SchemaError, "source 'read_arrow'", ".arrow", "schema"):
                run(read)


def test_rows_of_arrow_files_are_those_of_a_file(tmp_path: Path) -> None:
    files = write_arrow([pa.table({"a": pa.array(of, "int64")}) for of in ([1, 2], [], [3, 4, None])], tmp_path)
    with raises(OperatorError, f"{files[2]} row 2: column 'a'", "null"):
        run(lambda scope: read_arrow(scope, files, schema=Schema("a")))


@pytest.mark.parametrize("read", [read_arrow, read_parquet])
def test_the_file_whose_column_is_of_no_kind_is_named(tmp_path: Path, read: Callable[..., Stream]) -> None:
    tables = [pa.table({"a": [3], "b": ["x"]}), pa.table({"a": [3], "b": pa.nulls(1)})]
    files = write_arrow(tables, tmp_path)
    if read is read_parquet:
        for file, table in zip(files, tables, strict=True):
            pq.write_table(table, file)
    with raises(SchemaError, f"{files[1]} column 'b'", "null", "columns="):
        run(lambda scope: read(scope, files))


def test_a_zone_that_is_lost_is_said(tmp_path: Path) -> None:
    noon = pa.array(["2026-06-01 12:00:00Z"]).cast(pa.timestamp("us", "Europe/Oslo"))
    table = pa.table({"at": noon, "utc": noon.cast(pa.timestamp("ms", "UTC")), "n": pa.array([1])})
    for file in ("zoned.parquet", "alike.parquet"):
        pq.write_table(table, tmp_path / file)
    for read in (lambda scope: read_arrow(scope, table), lambda scope: read_parquet(scope, tmp_path)):
        with pytest.warns(ZoneWarning) as said:
            at, utc, _ = run(read).values[0]
        (warning,) = said
        assert_named(warning.message, "column 'at'", "Europe/Oslo", "UTC")
        assert at == utc == 1780315200 * 10**9


def test_nulls_in_dictionaries_and_runs_are_seen() -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([None, "a"]))
    table = pa.table({"coded": coded, "runs": pc.run_end_encode(pa.array([None, 7])), "n": [1, 2]})
    assert run(lambda scope: read_arrow(scope, table)).values == [(None, None, 1), ("a", 7, 2)]


GIVEN_UP = {"dictionary_pagesize_limit": 64, "data_page_size": 256}


@pytest.mark.parametrize("write", [{}, {"use_dictionary": False}, GIVEN_UP])
def test_text_as_files_have_it(tmp_path: Path, write: dict[str, Any]) -> None:
    """By dictionary, without, and by one that was given up in the middle of a row group."""
    few, many = [f"few {row % 5}" for row in range(ROWS)], [f"many {row * row}" for row in range(ROWS)]
    columns = {"id": np.arange(ROWS), "name": TABLE["name"], "few": few, "many": many, "raw": pa.array(many, "binary")}
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "texts.parquet", row_group_size=300, **write)
    column = pq.read_metadata(tmp_path / "texts.parquet").row_group(0).column(3)
    assert column.has_dictionary_page == write.get("use_dictionary", True)
    sent = run(lambda scope: read_parquet(scope, tmp_path, batch_rows=70))
    assert sorted(row for _, _, row in sent.rows) == [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("schema", [None, Schema(u="bytes?", j="string")])
def test_uuids_are_bytes_and_json_is_text(tmp_path: Path, schema: Schema | None) -> None:
    uuids, texts = pa.array([b"0123456789abcdef", None], pa.binary(16)), pa.array(['{"a": 1}', "[]"])
    made = zip((pa.uuid(), pa.json_(pa.string())), (uuids, texts), strict=True)
    table = pa.table([pa.ExtensionArray.from_storage(*column) for column in made], names=["u", "j"])
    pq.write_table(table, tmp_path / "own.parquet")
    pq.write_table(table, tmp_path / "foreign.parquet", store_schema=False)
    for file in ("own.parquet", "foreign.parquet"):
        found = run(lambda scope, file=file: read_parquet(scope, tmp_path / file, schema=schema)).values
        assert found == [(b"0123456789abcdef", '{"a": 1}'), (None, "[]")]
    assert run(lambda scope: read_arrow(scope, table, schema=schema)).values == found
