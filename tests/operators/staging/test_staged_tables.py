"""Any table, staged and read: DuckDB and pyarrow say what must come out, in which order, and what the manifest says."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from datetime import date
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import xxhash

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.sources.helpers import run
from tokenring.engine import MAX_TIME, Schema, SchemaError, Stream, UsageError
from tokenring.operators import Count, aggregate, read_staged, select
from tokenring.operators import filter as filter_rows
from tokenring.operators.staging import ColumnFiles, StagedTable, inputs, stage_files, table_writer
from tokenring.operators.staging import raw_files as raw_files_module

pytestmark = pytest.mark.usefixtures("arrow_reads_csv")

ROWS = 3_000
WATCHDOG_SECONDS = 60


def orders(rows: int = ROWS, seed: int = 3) -> pa.Table:
    """All kinds, with nulls, equal times and no order."""
    dice = random.Random(seed)

    def some(values: list[Any]) -> list[Any]:
        return [None if dice.random() < 0.1 else dice.choice(values) for _ in range(rows)]

    return pa.table(
        {
            "id": pa.array(dice.sample(range(-(10**9), 10**9), rows), pa.int64()),
            "at": pa.array([dice.randrange(rows // 4 + 1) for _ in range(rows)], pa.timestamp("ms")),
            "city": pa.array(some(["Oslo", "Rome", "", "Zürich"])),
            "note": pa.array([f"note {number % 1000}" for number in range(rows)]),
            "price": pa.array(some([1.5, -2.25, float("inf"), float("nan")]), pa.float64()),
            "paid": pa.array(some([True, False])),
            "huge": pa.array(some([0, 2**64 - 2, 7]), pa.uint64()),
            "blob": pa.array(some([b"", b"\xff\x00", b"abc"]), pa.binary()),
            "day": pa.array(some([date(1, 1, 1), date(2024, 2, 29), date(1969, 12, 31)]), pa.date32()),
            "fee": pa.array(some([Decimal("-0.05"), Decimal("9999999.99")]), pa.decimal128(9, 2)),
            "nothing": pa.array([None] * rows, pa.int32()),
        }
    )


def in_order(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as DuckDB sorts them by time, equal ones as they came."""
    numbered = table.append_column("came", pa.array(range(table.num_rows)))
    with duckdb.connect() as connection:
        connection.register("numbered", numbered)
        rows = connection.sql("select * exclude (came) from numbered order by \"at\", came").to_arrow_table()
    return rows.to_pylist()


def staged(tmp_path: Path, table: pa.Table, **more: Any) -> Path:
    """A folder with this table staged in it as `orders`."""
    pq.write_table(table, tmp_path / "orders.parquet", row_group_size=700)
    stage_files(tmp_path / "orders.parquet", tmp_path / "staged", time="at", **more)
    return tmp_path / "staged"


def same(one: Any, other: Any) -> bool:
    """Equal; NaN is NaN, which is how a batch shows a null of float64 as well."""
    return one == other or (one != one and (other is None or other != other))


def comes(folder: Path, workers: int = 1, **more: Any) -> list[tuple[int, int, tuple[Any, ...]]]:
    """What the source sends."""
    return run(lambda scope: read_staged(scope, folder, "orders", batch_rows=64, **more), workers).rows


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_rows_come_back_in_order_of_time(tmp_path: Path, workers: int) -> None:
    table = orders()
    folder = staged(tmp_path, table)
    expected = in_order(table)
    sent = run(lambda scope: read_staged(scope, folder, "orders", batch_rows=64), workers)
    blocks = [expected[start : start + 64] for start in range(0, ROWS, 64)]
    for worker in range(workers):
        own = [row for number, _, row in sent.rows if number == worker]
        wanted = [row for block in blocks[worker::workers] for row in block]
        assert len(own) == len(wanted)
        for mine, row in zip(own, wanted, strict=True):
            told = dict(zip(table.column_names, mine, strict=True))
            assert told.pop("at") == pa.scalar(row["at"], pa.timestamp("ns")).value
            assert all(same(value, row[name]) for name, value in told.items()), (told, row)
    assert sent.frontiers == sorted(sent.frontiers)
    last_begins = pa.scalar(blocks[-1][0]["at"], pa.timestamp("ns")).value
    assert max(frontier for frontier in sent.frontiers if frontier < MAX_TIME) == last_begins


def test_the_manifest_says_what_is_there(tmp_path: Path) -> None:
    table = orders()
    manifest = StagedTable(staged(tmp_path, table, unique=["id"]), "orders").manifest
    columns = manifest["columns"]
    assert (manifest["rows"], manifest["unique"], manifest["source"]["was_in_order"]) == (ROWS, ["id"], False)
    bounds = pc.min_max(table["at"].cast(pa.int64())).as_py()
    assert manifest["time"] == {
        "column": "at", "order": "ascending", "min": bounds["min"] * 10**6, "max": bounds["max"] * 10**6
    }  # fmt: skip
    assert {name: entry["nulls"] for name, entry in columns.items()} == {
        name: table[name].null_count for name in table.column_names
    }
    for name in ("city", "note", "blob"):
        assert columns[name]["distinct"] == pc.count_distinct(table[name]).as_py()
    for name in ("id", "huge"):
        assert {each: columns[name][each] for each in ("min", "max")} == pc.min_max(table[name]).as_py()
    assert (columns["price"]["min"], columns["price"]["max"]) == (-2.25, 1.5)
    assert (columns["nothing"]["min"], columns["nothing"]["kind"]) == (None, "int64?")
    assert (columns["id"]["kind"], columns["paid"]["kind"], columns["at"]["kind"]) == ("int64", "bool?", "timestamp")


def test_equal_texts_are_one_text(tmp_path: Path) -> None:
    table = orders()
    found = StagedTable(staged(tmp_path, table))
    words = found.column("note").words()
    assert len(np.unique(words)) == 1000 == found.manifest["columns"]["note"]["distinct"]
    assert len(found.column("note").heap()) == sum(len(text) for text in set(table["note"].to_pylist()))


def test_more_texts_than_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_files_module, "SHARED_TEXTS", 10)
    table = orders()
    folder = staged(tmp_path, table)
    assert StagedTable(folder).manifest["columns"]["note"]["distinct"] is None
    assert [row[0] for _, _, row in comes(folder, columns="note")] == [row["note"] for row in in_order(table)]
    with raises(SchemaError, "'note'", "orders.parquet row 0", "orders.parquet row 1000", "'note 0'"):
        staged(tmp_path, table, unique=["note"], force=True)


def test_rows_in_order_are_written_once(tmp_path: Path) -> None:
    table = orders().sort_by("at")
    source = StagedTable(staged(tmp_path, table)).manifest["source"]
    assert source["was_in_order"] is True


def test_rows_out_of_order_between_files_alone(tmp_path: Path) -> None:
    """Each batch is in order, and the first time of one lies before the last of the one before."""
    for name, times in (("a", [1, 5, 7]), ("b", [3, 6, 8])):
        pq.write_table(pa.table({"at": times}), tmp_path / f"{name}.parquet", row_group_size=2)
    manifest = stage_files(str(tmp_path / "*.parquet"), tmp_path / "staged", time="at", table="orders")
    assert manifest["source"]["was_in_order"] is False
    assert [row for _, _, row in comes(tmp_path / "staged")] == [(at,) for at in (1, 3, 5, 6, 7, 8)]


def test_several_files_of_several_formats(tmp_path: Path) -> None:
    table = orders().select(["id", "at", "note"])
    table = table.set_column(1, "at", table["at"].cast(pa.int64()))
    pq.write_table(table.slice(0, 1000), tmp_path / "a.parquet")
    pa.csv.write_csv(table.slice(1000, 1000), tmp_path / "b.csv")
    lines = [orjson.dumps(row) for row in table.slice(2000).to_pylist()]
    (tmp_path / "c.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    manifest = stage_files(str(tmp_path / "[abc].*"), tmp_path / "staged", time="at", table="orders")
    assert [Path(file).name for file in manifest["source"]["files"]] == ["a.parquet", "b.csv", "c.jsonl"]
    expected = [tuple(row.values()) for row in in_order(table)]
    assert [row for _, _, row in comes(tmp_path / "staged")] == expected


def test_each_format_alone_gives_the_same_table(tmp_path: Path) -> None:
    table = orders().select(["id", "at", "note"])
    table = table.set_column(1, "at", table["at"].cast(pa.int64()))
    pq.write_table(table, tmp_path / "p.parquet")
    pa.csv.write_csv(table, tmp_path / "c.csv")
    (tmp_path / "j.jsonl").write_bytes(b"\n".join([orjson.dumps(row) for row in table.to_pylist()]))
    made = [
        stage_files(tmp_path / name, tmp_path / name[0], time="at") for name in ("p.parquet", "c.csv", "j.jsonl")
    ]
    columns = [
        {name: (part["kind"], part["checksum"], part.get("heap", {}).get("checksum")) for name, part in parts.items()}
        for parts in (each["columns"] for each in made)
    ]
    assert columns[0] == columns[1] == columns[2]


@pytest.mark.parametrize(("suffix", "octets"), [("csv", b"at\n1\n"), ("jsonl", b'{"at": 1}'), ("parquet", b"")])
def test_a_file_s_name_may_be_of_any_bytes(tmp_path: Path, suffix: str, octets: bytes) -> None:
    file = tmp_path / os.fsdecode(b"\xff.%s" % suffix.encode())
    file.write_bytes(octets)
    if not octets:
        pq.write_table(pa.table({"at": [1]}), tmp_path / "named")
        (tmp_path / "named").rename(file)
    assert stage_files(file, tmp_path / "staged", time="at")["source"]["files"] == [rf"{tmp_path}/\xff.{suffix}"]


def test_uuids_are_staged_as_bytes(tmp_path: Path) -> None:
    uuids = pa.array([b"0123456789abcdef", None], pa.binary(16))
    table = pa.table({"at": [1, 2], "id": pa.ExtensionArray.from_storage(pa.uuid(), uuids)})
    pq.write_table(table, tmp_path / "orders.parquet")
    assert stage_files(tmp_path / "orders.parquet", tmp_path / "staged", time="at")["columns"]["id"]["kind"] == "bytes?"
    assert [row[1] for _, _, row in comes(tmp_path / "staged")] == uuids.to_pylist()


BEHIND = "".join([f"{at},7\n" for at in range(2, 40_000)])
"""More than kinds are found by."""


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["12345678901234567890"], "uint64", [12345678901234567890]),
        (["9007199254740993", "1.5"], "string", ["9007199254740993", "1.5"]),
        (["12345678901234567.89"], "string", ["12345678901234567.89"]),
        (["9007199254740993.5"], "string", ["9007199254740993.5"]),
        (["1e400"], "string", ["1e400"]),
        (["1e-400"], "string", ["1e-400"]),
        (["1e99999999999999999999"], "string", ["1e99999999999999999999"]),
        (["0.30000000000000004", "7"], "float64", [0.1 + 0.2, 7]),
        (["0.10000000000000001", "-1.50E+300", ""], "float64?", [0.1, -1.5e300, None]),
        (["nan", "1"], "float64", [float("nan"), 1]),
        (["", "1"], "int64?", [None, 1]),
        (["NA", "1"], "string", ["NA", "1"]),
        (["nan"], "string", ["nan"]),
        (["0x10"], "string", ["0x10"]),
        (["01234"], "string", ["01234"]),
        (["true", ""], "bool?", [True, None]),
        (["2024-02-29"], "date", [date(2024, 2, 29)]),
        (["2024-02-30"], "string", ["2024-02-30"]),
        (["1970-01-01T01:00:00.5+01:00"], "timestamp", [500_000_000]),
        ([""], "string", [""]),
    ],
)  # fmt: skip
def test_a_value_of_csv_stays_the_value(tmp_path: Path, values: list[str], kind: str, expected: list[Any]) -> None:
    lines = [f"{at},{value}\n" for at, value in enumerate(values)]
    (tmp_path / "orders.csv").write_text("at,v\n" + "".join(lines))
    manifest = stage_files(tmp_path / "orders.csv", tmp_path / "staged", time="at")
    assert manifest["columns"]["v"]["kind"] == kind
    found = [row[1] for _, _, row in comes(tmp_path / "staged")]
    assert all(map(same, found, expected)), found


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["12345678901234567891"], "uint64", [12345678901234567891]),
        (["1", "1.5"], "float64", [1, 1.5]),
        ([str(-(2**63)), str(2**64)], "float64", [-(2.0**63), 2.0**64]),
        (["null"], "string?", [None]),
        (['"01234"', "null"], "string?", ["01234", None]),
        (["true"], "bool", [True]),
        (['"2024-02-30"'], "string", ["2024-02-30"]),
    ],
)
def test_a_value_of_json_stays_the_value(tmp_path: Path, values: list[str], kind: str, expected: list[Any]) -> None:
    lines = [f'{{"at":{at},"v":{value}}}\n' for at, value in enumerate(values)]
    (tmp_path / "orders.jsonl").write_text("".join(lines))
    manifest = stage_files(tmp_path / "orders.jsonl", tmp_path / "staged", time="at")
    assert manifest["columns"]["v"]["kind"] == kind
    assert [row[1] for _, _, row in comes(tmp_path / "staged")] == expected


@pytest.mark.parametrize(
    ("name", "text", "schema", "facts"),
    [
        ("c.csv", f"at,v\n1,7\n{BEHIND}1,1.5\n", None, ("line 40001", "column 'v'", "'1.5'", "schema=", "--schema")),
        ("c.csv", "at,v\n1,7\n3\n", None, ("line 3",)),
        ("c.csv", "at,v\n1,caf\xe9\n", None, ("line 2", "column 'v'", {"UTF8", "UTF-8"})),
        ("c.csv", "at,v\n", None, ("no rows", "schema=")),
        ("c.csv", "", None, ("no rows", "schema=")),
        ("j.jsonl", '{"at":1}\n{"at":\n', None, ("line 2", "bad JSON")),
        ("j.jsonl", '{"at":1,"v":[1]}\n', None, ("line 1", "column 'v'", "a list", "schema=", "columns=")),
        ("j.jsonl", '{"at":1,"v":9007199254740993}\n{"at":2,"v":1.5}\n', None, ("line 1", "'v'", "9007199254740993")),
        *[
            ("j.jsonl", f'{{"at":1}}\n{{"at":2,"v":{number}}}\n', None, ("line 2", "'v'", str(number), "in quotes"))
            for number in (2**64 - 1, 2**64 + 1, -(2**63) - 1)
        ],
        ("c.csv", "at,v\n1,7\n2,\n", Schema("at v"), ("line 3", "column 'v'", "null", "int64?")),
        ("j.jsonl", '{"at":1}\n{"at":"1"}\n', Schema("at"), ("line 2", "column 'at'", "a string (1)")),
        ("c.csv", "at,v\n1,7\n", Schema("at w"), ("no column 'w'",)),
    ],
)
def test_lines_that_do_not_fit_are_named(
    tmp_path: Path, name: str, text: str, schema: Schema | None, facts: tuple[Fact, ...]
) -> None:
    (tmp_path / name).write_text(text, "latin-1")
    with raises(UsageError, str(tmp_path / name), *facts):
        stage_files(tmp_path / name, tmp_path / "staged", time="at", schema=schema)


@pytest.mark.parametrize(
    ("text", "schema", "cure", "others"),
    [
        ('at,v\n1,"a\nb"\n', None, "quoted_newlines=True (--quoted-newlines)", ()),
        ("1,7\n", Schema("at v"), "write a line of names before it", ("header=",)),
        ("at;v\n1;7\n", Schema("at v"), "separate them by ','", ("delimiter=",)),
        ("at,v\n1,NA\n", Schema("at v"), "make it string", ("nulls=",)),
        ("at,v\n1,1.2.24\n", Schema("at", v="date"), "make it string", ("nulls=", "time_formats=")),
        ("at,v\n1,caf\xe9\n", None, "convert the file", ("schema=", "columns=")),
    ],
)
def test_a_cure_is_one_that_staging_has(
    tmp_path: Path, text: str, schema: Schema | None, cure: str, others: tuple[str, ...]
) -> None:
    (tmp_path / "c.csv").write_text(text, "latin-1")
    with raises(SchemaError, cure) as told:
        stage_files(tmp_path / "c.csv", tmp_path / "staged", time="at", schema=schema)
    assert not [other for other in others if other in str(told.value)], told.value


def test_values_in_quotes_may_go_across_lines(tmp_path: Path) -> None:
    """Also across the place to which kinds are looked for, and to which lines are read at once."""
    notes = [f"{number}\n" * 400 for number in range(1_000)]
    lines = [f'{number},"{note}"\n' for number, note in enumerate(notes)]
    (tmp_path / "orders.csv").write_text("at,note\n" + "".join(lines))
    (tmp_path / "orders.jsonl").write_text('{"at":1000,"note":"n"}\n')
    files = [tmp_path / "orders.csv", tmp_path / "orders.jsonl"]
    stage_files(files, tmp_path / "staged", time="at", table="orders", quoted_newlines=True)
    assert [row for _, _, row in comes(tmp_path / "staged")] == [*enumerate(notes), (1000, "n")]


def test_a_schema_says_the_kinds_of_every_format(tmp_path: Path) -> None:
    table = pa.table({"at": [1, 2], "v": pa.array([7, None], pa.int32()), "w": [1, 2]})
    pq.write_table(table, tmp_path / "p.parquet")
    (tmp_path / "c.csv").write_text("v,at,w\n7,1,1\n,2,2\n")
    (tmp_path / "j.jsonl").write_text('{"at":1,"v":7}\n{"at":2}\n')
    schema = Schema("at", v="decimal(9, 2)?")
    for name in ("p.parquet", "c.csv", "j.jsonl"):
        manifest = stage_files(
            tmp_path / name, tmp_path / "staged", time="at", schema=schema, table="orders", force=True
        )
        assert {name: column["kind"] for name, column in manifest["columns"].items()} == schema.spec()
        assert [row for _, _, row in comes(tmp_path / "staged")] == [(1, Decimal(7)), (2, None)]
    with raises(SchemaError, "p.parquet row 1", "column 'v'", "null"):
        stage_files(tmp_path / "p.parquet", tmp_path / "staged", time="at", schema=Schema("at v"))
    with raises(UsageError, "schema=", "columns=", "not both"):
        stage_files(tmp_path / "p.parquet", tmp_path / "staged", time="at", schema=Schema("at v"), columns="at")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_table_without_rows(tmp_path: Path, workers: int) -> None:
    folder = staged(tmp_path, orders().schema.empty_table(), unique=["id", "note"])
    found = StagedTable(folder)
    assert (found.rows, found.manifest["time"]["min"]) == (0, None)
    assert comes(folder, workers) == []


def test_times_at_both_ends_and_all_equal(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2, 3], "at": [MAX_TIME, 0, 0]})
    assert [(when, row) for _, when, row in comes(staged(tmp_path, table))] == [
        (0, (2, 0)), (0, (3, 0)), (0, (1, MAX_TIME))
    ]  # fmt: skip
    equal = pa.table({"id": range(200), "at": [7] * 200})
    folder = staged(tmp_path, equal, force=True)
    assert {when for _, when, _ in comes(folder, 2)} == {7}
    assert sorted(row[0] for _, _, row in comes(folder, 2)) == [*range(200)]


def test_columns_that_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found from the dataflow; the others are neither mapped nor checked."""
    table = orders()
    folder = staged(tmp_path, table)
    checked: set[str] = set()
    proved = ColumnFiles.proved
    monkeypatch.setattr(ColumnFiles, "proved", lambda self: checked.add(self.name) or proved(self))
    mapped: set[str] = set()
    whole = ColumnFiles.words
    monkeypatch.setattr(ColumnFiles, "words", lambda self: mapped.add(self.name) or whole(self))

    def declare(scope: Any) -> Stream:
        return aggregate(select(read_staged(scope, folder), "city"), "city", n=Count(), emit="final")

    made = {row[0]: row[1] for _, _, row in run(declare, 2).rows}
    assert made == {each["values"]: each["counts"] for each in table["city"].value_counts().to_pylist()}
    assert checked == {"at", "city"}
    assert mapped == {"at", "city"}


def test_columns_that_are_named(tmp_path: Path) -> None:
    table = orders()
    folder = staged(tmp_path, table)
    sent = comes(folder, columns="note id")
    expected = in_order(table)
    assert [row for _, _, row in sent] == [(row["note"], row["id"]) for row in expected]
    assert {when for _, when, _ in sent} > {0}, "the time column is not among them and says the times"
    assert {when for _, when, _ in comes(folder, columns="note", time=5)} == {5}
    assert run(lambda scope: read_staged(scope, folder, time=0)).rows[0][1] == 0


# ---- what is wrong


WRONG: dict[str, tuple[pa.Table, dict[str, Any], tuple[Fact, ...]]] = {
    "a null time": (pa.table({"at": [1, None, 3]}), {}, ("orders.parquet row 1", "column 'at'", "null")),
    "a negative time": (pa.table({"at": [1, 2, -3]}), {}, ("orders.parquet row 2", "column 'at'", "-3")),
    "a time before 1970": (
        pa.table({"at": pa.array([-1], pa.timestamp("s"))}), {},
        ("orders.parquet row 0", "1969-12-31T23:59:59.000000000"),
    ),
    "a time beyond all": (
        pa.table({"at": pa.array([2**64 - 1], pa.uint64())}), {}, ("orders.parquet row 0", str(2**64 - 1))
    ),
    "no time": (pa.table({"when": [1]}), {}, ("'at'", "when")),
    "times that are text": (pa.table({"at": ["1"]}), {}, ("'at'", "string", "timestamp")),
    "two of one id": (
        pa.table({"at": [3, 2, 1, 0], "id": [8, 9, 9, 8]}), {"unique": ["id"]},
        ("'id'", "orders.parquet row 1", "orders.parquet row 2", "9"),
    ),
    "two equal texts": (
        pa.table({"at": [3, 2, 1], "id": ["a", "b", "a"]}), {"unique": ["id"]},
        ("'id'", "orders.parquet row 0", "orders.parquet row 2", "'a'"),
    ),
    "two of one day": (
        pa.table({"at": [2, 1], "day": pa.array([date(2024, 2, 29)] * 2)}), {"unique": ["day"]},
        ("'day'", "orders.parquet row 0", "orders.parquet row 1", "2024-02-29"),
    ),
    "two of one price": (
        pa.table({"at": [2, 1], "price": pa.array([Decimal("-0.05")] * 2, pa.decimal128(9, 2))}),
        {"unique": ["price"]}, ("'price'", "orders.parquet row 0", "orders.parquet row 1", "-0.05"),
    ),
    "a null in a key": (
        pa.table({"at": [3, 2], "id": [1, None]}), {"unique": ["id"]}, ("'id'", "orders.parquet row 1", "null")
    ),
    "a key that is not there": (pa.table({"at": [1], "id": [1]}), {"unique": ["it"]}, ("'it'", "at, id")),
    "a key of floats": (pa.table({"at": [1], "x": [1.5]}), {"unique": ["x"]}, ("'x'", "float64")),
    "a decimal of many digits": (
        pa.table({"at": [1], "d": pa.array([1], pa.decimal128(30, 2))}), {}, ("column 'd'", "decimal128(30, 2)")
    ),
    "null's own number": (
        pa.table({"at": [1, 2], "n": [-(2**63), None]}), {}, ("'n'", str(-(2**63)), "null")
    ),
    "a column that is not there": (
        pa.table({"at": [1], "id": [1]}), {"columns": "ids at"},
        ("'ids'", "orders.parquet row 0", "did you mean 'id'"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_staged_is_named_and_leaves_nothing(tmp_path: Path, what: str) -> None:
    table, more, facts = WRONG[what]
    with raises(SchemaError, *facts):
        staged(tmp_path, table, **more)
    assert [path.name for path in tmp_path.iterdir()] == ["orders.parquet"]


def test_rows_are_counted_within_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However they are read."""
    monkeypatch.setattr(inputs, "_BATCH_ROWS", 7)
    for name, ids in (("a", range(50)), ("b", [100, *range(60, 90), 31])):
        pq.write_table(pa.table({"at": [0] * len(ids), "id": ids}), tmp_path / f"{name}.parquet", row_group_size=20)
    with raises(SchemaError, "'id'", "a.parquet row 31", "b.parquet row 31"):
        stage_files(str(tmp_path / "*.parquet"), tmp_path / "staged", time="at", unique=["id"])
    pq.write_table(pa.table({"at": [*range(44), None]}), tmp_path / "c.parquet")
    with raises(SchemaError, "c.parquet row 44", "null"):
        stage_files(tmp_path / "c.parquet", tmp_path / "staged", time="at")


def test_a_number_that_stands_for_null_in_one_file_and_nulls_in_another(tmp_path: Path) -> None:
    for name, value in (("a", -(2**63)), ("b", None)):
        pq.write_table(pa.table({"at": [1], "n": pa.array([value], pa.int64())}), tmp_path / f"{name}.parquet")
    with raises(SchemaError, "'n'", str(-(2**63)), "nulls"):
        stage_files([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "staged", time="at")
    stage_files(tmp_path / "a.parquet", tmp_path / "staged", time="at", table="orders")
    assert [row for _, _, row in comes(tmp_path / "staged")] == [(1, -(2**63))]


def test_files_that_cannot_be_staged(tmp_path: Path) -> None:
    (tmp_path / "orders.xlsx").write_text("")
    (tmp_path / "damaged.parquet").write_text("PAR1")
    (tmp_path / "odd.csv").write_text("at,n\n1,2\n3\n")
    for name, facts in {
        "orders.xlsx": ("orders.xlsx", ".parquet"),
        "damaged.parquet": ("damaged.parquet", "Parquet"),
        "odd.csv": ("odd.csv",),
        "none.csv": ("none.csv", "no file"),
    }.items():
        with raises(UsageError, *facts):
            stage_files(tmp_path / name, tmp_path / "staged", time="at")
    assert not (tmp_path / "staged").exists()


def test_a_table_is_replaced_by_force_alone_and_others_stay(tmp_path: Path) -> None:
    folder = staged(tmp_path, pa.table({"at": [1], "id": [1]}))
    pq.write_table(pa.table({"at": [5]}), tmp_path / "other.parquet")
    stage_files(tmp_path / "other.parquet", folder, time="at")
    with raises(UsageError, "orders", "--force"):
        staged(tmp_path, pa.table({"at": [2], "id": [2]}))
    staged(tmp_path, pa.table({"at": [3], "id": [3]}), force=True)
    assert [row for _, _, row in comes(folder)] == [(3, 3)]
    with raises(UsageError, "2 tables", "orders, other"):
        StagedTable(folder)
    with raises(UsageError, "'order'", "did you mean 'orders'"):
        StagedTable(folder, "order")
    with raises(UsageError, "staged folder itself"):
        stage_files(tmp_path / "other.parquet", folder / "orders", time="at")


def refused(folder: Path, *facts: Fact, kind: type[Exception] = UsageError, **more: Any) -> None:
    with raises(kind, *facts):
        run(lambda scope: read_staged(scope, folder, "orders", **more))


def test_what_cannot_be_read_is_said_in_a_line(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "source 'read_staged'", "nowhere", "no such folder", "tokenring stage")
    refused(tmp_path, "holds no staged table", "tokenring stage")
    folder = staged(tmp_path, orders())
    refused(folder, "'prise'", "did you mean 'price'", kind=SchemaError, columns="prise")
    refused(folder, "'id'", "'at'", "--time id", time="id")
    refused(folder, "batch_rows", "not 0", batch_rows=0)
    refused(folder / "orders", "it is one itself")
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "manifest.json").write_text('{"format": "tokenring-nexmark"}')
    refused(tmp_path / "events", "'tokenring-nexmark'")

    table = folder / "orders"
    manifest = orjson.loads((table / "manifest.json").read_bytes())
    file = table / manifest["columns"]["id"]["file"]
    content = file.read_bytes()
    file.write_bytes(content[:-8])
    refused(folder, str(file), "'id'", str(len(content) - 8), str(len(content)), "tokenring stage")
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with raises(UsageError, str(file), "'id'", "checksum", "tokenring stage"):
        StagedTable(folder, "orders").column("id").require_content()
    os.unlink(file)
    refused(folder, str(file), "'id'", os.strerror(2))
    file.write_bytes(content)
    assert StagedTable(folder, "orders").rows == ROWS

    for changed, facts in (
        (manifest | {"version": 99}, ("version 99", "2")),
        (manifest | {"rows": 1}, ("manifest.json", "checksum")),
        (manifest | {"format": "tokenring-nexmark"}, ("manifest.json", "'tokenring-nexmark'", "'tokenring-table'")),
    ):
        (table / "manifest.json").write_bytes(orjson.dumps(changed))
        refused(folder, *facts, "tokenring stage")
    (table / "manifest.json").write_text("{")
    refused(folder, "manifest.json", "not JSON")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_byte_that_changed_after_staging_ends_the_run(tmp_path: Path, workers: int) -> None:
    folder = staged(tmp_path, orders())
    heap = folder / "orders" / StagedTable(folder).manifest["columns"]["city"]["heap"]["file"]
    heap.write_bytes(heap.read_bytes().replace(b"Rome", b"Roma"))
    with raises(Exception, str(heap), "'city'", "checksum"):
        comes(folder, workers)
    assert len(comes(folder, workers, columns="id")) == ROWS, "what nobody looks at is not checked"


BLOCK_ROWS = 16_384
LONG = 300_000  # bytes of a text that lies in several blocks


def table_of_blocks() -> pa.Table:
    """Four blocks of rows, the last one short, of which each has texts of its own, and the second a long one."""
    rows = 3 * BLOCK_ROWS + 100
    texts = [f"text {number}" for number in range(rows)]
    texts[BLOCK_ROWS + 5] = "x" * LONG
    texts[BLOCK_ROWS + 6] = None
    return pa.table({"id": range(rows), "at": [number // 10 for number in range(rows)], "text": texts})


def damage(folder: Path, column: str, part: str | None, byte: int) -> Path:
    """Change one byte of a file of a column: its words', or of this part of what the manifest says of it."""
    said = StagedTable(folder).manifest["columns"][column]
    for key in (part or "").split():
        said = said[key]
    path = folder / "orders" / said["file"]
    content = bytearray(path.read_bytes())
    content[byte] ^= 1
    path.write_bytes(content)
    return path


def between(folder: Path, first: int, last: int, **more: Any) -> Any:
    """Rows of these times."""

    def declare(scope: Any) -> Stream:
        rows = read_staged(scope, folder, **more)
        return filter_rows(rows, (tr.col("at") >= first) & (tr.col("at") <= last))

    return declare


SECOND_BLOCK = {
    "an integer": ("id", None, 8 * (BLOCK_ROWS + 3)),
    "the last one": ("id", None, 8 * (2 * BLOCK_ROWS) - 1),
    "a time": ("at", None, 8 * BLOCK_ROWS),
    "a text's word": ("text", None, 8 * (BLOCK_ROWS + 3)),
    "within a long text": ("text", "heap", 180_000 + LONG // 2),
    "a checksum": ("id", "sums", 8),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("batch_rows", [1_000, BLOCK_ROWS, 3 * BLOCK_ROWS])
@pytest.mark.parametrize("what", SECOND_BLOCK)
def test_damages_end_a_run_that_reads_their_block(tmp_path: Path, what: str, batch_rows: int, workers: int) -> None:
    """Rows of the first and of the last block come, whatever became of the second: unless messages begin in one block
    and end in another, for which times are looked at, or the sums are no sums."""
    column, part, byte = SECOND_BLOCK[what]
    folder = staged(tmp_path, table_of_blocks())
    path = damage(folder, column, part, byte)
    for first, last in ((0, 1_399), (3_300, 10**6)):
        declare = between(folder, first, last, batch_rows=min(batch_rows, BLOCK_ROWS))
        if part == "sums" or (column == "at" and batch_rows < BLOCK_ROWS):
            with raises(Exception, str(path), "checksum", "tokenring stage"):
                run(declare, workers)
            continue
        rows = table_of_blocks()["id"].to_pylist()
        assert sorted(row[0] for _, _, row in run(declare, workers).rows) == [
            number for number in rows if first <= number // 10 <= last
        ]
    with raises(Exception, str(path), "checksum", "tokenring stage"):
        run(between(folder, 0, 10**6, batch_rows=batch_rows), workers)


def test_each_block_is_proved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small messages are, and however many rows share texts."""
    table = table_of_blocks()
    shared = table.append_column("city", pa.array(["Oslo", None, ""] * (table.num_rows // 3 + 1))[: table.num_rows])
    folder = staged(tmp_path, shared)
    hashed = []
    whole = xxhash.xxh3_64_intdigest
    monkeypatch.setattr(xxhash, "xxh3_64_intdigest", lambda octets: hashed.append(len(octets)) or whole(octets))
    assert len(run(lambda scope: read_staged(scope, folder, batch_rows=100)).rows) == table.num_rows
    files = [path for path in (folder / "orders" / "columns").iterdir() if path.suffix not in (".sums", "")]
    assert sum(hashed) == sum(path.stat().st_size for path in files)
    assert len(hashed) == sum(-(-path.stat().st_size // (1 << 17)) for path in files)


def test_starts_that_were_changed(tmp_path: Path) -> None:
    """By the times of blocks' first rows others are left out."""
    folder = staged(tmp_path, table_of_blocks())
    path = folder / "orders" / StagedTable(folder).manifest["starts"]["file"]
    path.write_bytes(path.read_bytes()[:-1] + b"\1")
    with raises(Exception, str(path), "checksum", "tokenring stage"):
        comes(folder)
    path.unlink()
    with raises(Exception, str(path), os.strerror(2), "tokenring stage"):
        comes(folder)


KILLED = """
import sys
from tokenring.operators.staging import stage_files
def hang(what, done, of):
    print("ready", flush=True)
    import time
    time.sleep(600)
stage_files(sys.argv[1], sys.argv[2], time="at", progress=hang)
"""


def test_a_kill_in_the_middle_leaves_nothing_half_done(tmp_path: Path) -> None:
    pq.write_table(orders(), tmp_path / "orders.parquet")
    folder = tmp_path / "staged"
    arguments = [sys.executable, "-c", KILLED, tmp_path / "orders.parquet", folder]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as builder:
        assert builder.stdout is not None
        assert builder.stdout.readline() == "ready\n"
        builder.send_signal(signal.SIGKILL)
        builder.wait(WATCHDOG_SECONDS)
    (left,) = folder.iterdir()
    assert left.name.startswith(".tokenring-staging-")
    refused(folder, "holds no staged table")
    stage_files(tmp_path / "orders.parquet", folder, time="at")
    assert [path.name for path in folder.iterdir()] == ["orders"]
    assert len(comes(folder)) == ROWS


def test_sorting_a_part_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_writer, "_REORDERED_ROWS", 7)
    table = orders(100)
    told: list[tuple[str, float, float]] = []
    folder = staged(tmp_path, table, progress=lambda *each: told.append(each))
    assert [row[0] for _, _, row in comes(folder, columns="id")] == [row["id"] for row in in_order(table)]
    size = (tmp_path / "orders.parquet").stat().st_size
    columns = len(table.column_names)
    assert ("writing columns", size, size) in told
    assert told[-1] == ("sorting", columns, columns)


def test_a_schema_is_that_of_what_is_there(tmp_path: Path) -> None:
    folder = staged(tmp_path, pa.table({"at": [1, 2], "a": [1, None], "b": ["x", "y"]}))
    assert StagedTable(folder).schema == Schema.of({"at": "int64", "a": "int64?", "b": "string"})


def test_a_folder_of_files_names_its_table(tmp_path: Path) -> None:
    (tmp_path / "my orders.parquet").mkdir()
    pq.write_table(orders(10), tmp_path / "my orders.parquet" / "part-00000.parquet")
    assert stage_files(tmp_path / "my orders.parquet", tmp_path / "staged", time="at")["table"] == "my_orders"
    files = [tmp_path / "my orders.parquet" / "part-00000.parquet"]
    assert stage_files(files, tmp_path / "staged", time="at")["table"] == "part-00000"


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("time", [None, 0])
def test_blocks_of_other_times_are_left_out(
    time: int | None, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of times before, after, and of none, whether rows come at their times or at one."""
    table = orders()
    folder = staged(tmp_path, table)
    instants = sorted(table["at"].cast(pa.int64()).to_pylist())
    least, most = instants[500], instants[900]
    module = import_module("tokenring.operators.staging.read_staged")
    piece = module.Piece

    low, high = (np.datetime64(each, "ms") for each in (least, most))

    def flow(scope: tr.Scope) -> Any:
        rows = scope.read_staged(folder, "orders", batch_rows=64, time=time)
        return rows.filter((tr.col("at") >= low) & (tr.col("at") <= high)).select("id").collect()

    with (tmp_path / "sent").open("ab", buffering=0) as noted:
        monkeypatch.setattr(module, "Piece", lambda batch, *more: (noted.write(b"."), piece(batch, *more))[1])
        found = tr.run(flow, workers=workers)["id"].to_pylist()
    ids, ats = table["id"].to_pylist(), table["at"].cast(pa.int64()).to_pylist()
    assert sorted(found) == sorted(one for one, at in zip(ids, ats, strict=True) if least <= at <= most)
    assert (tmp_path / "sent").stat().st_size <= 400 // 64 + 3
