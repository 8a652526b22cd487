"""Parquet from elsewhere: each fault is refused before Spark starts, in one line with file, column and row."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.nexmark.helpers import auction, bid, table, tokenring
from tokenring.nexmark.events.schema import TIME_LIMIT_NS
from tokenring.nexmark.staging.foreign.foreign import find_source, normalise
from tokenring.nexmark.staging.foreign.parquet import BATCH_ROWS
from tokenring.nexmark.staging.foreign.raw_rows import rows_of

INT64_MAX = 2**63 - 1


def write(source: Path, **tables: pa.Table) -> Path:
    source.mkdir(exist_ok=True)
    whole = {"bid": table("bid", [bid(price=300 + row) for row in range(5)]), "auction": table("auction", [auction()])}
    for name, rows in (whole | tables).items():
        pq.write_table(rows, source / f"{name}.parquet")
    return source


def with_column(stream: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return stream.set_column(stream.schema.get_field_index(name), name, values)


def refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, source: Path, *options: str) -> str:
    """The one line of a refusal; nothing but the source may be there afterwards."""
    before = sorted(tmp_path.rglob("*"))
    outcome = tokenring(capsys, "stage", "--out", tmp_path / "events", "--from", source, *options)
    assert outcome.status == 2, outcome
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
    return outcome.err


def accepted(source: Path, tmp_path: Path, unit: str = "ns") -> dict[str, pa.Table]:
    """The checked rows in their plain shape."""
    folder = tmp_path / "normal"
    folder.mkdir()
    streams = normalise(find_source(source, tmp_path / "events"), unit, folder, lambda _: None)
    return {raw.stream.name: pa.Table.from_batches(rows_of(raw.path), raw.schema) for raw in streams}


BIDS = table("bid", [bid(price=300 + row) for row in range(5)])
AUCTIONS = table("auction", [auction(id=row) for row in range(5)])
FIVE = [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("bids", "column", "told"),
    [
        (BIDS.drop_columns(["price"]), "price", "is missing"),
        (with_column(BIDS, "price", pa.array(["1", "2", "3", "4", "5"])), "price", "has the type string"),
        (with_column(BIDS, "price", pa.array([1.0, 2, 3, 4, 5])), "price", "has the type double"),
        (with_column(BIDS, "price", pa.array([1.0, 2, np.nan, 4, 5])), "price", "row 2 (counted from 0) is NaN"),
        (with_column(BIDS, "price", pa.array([1.0, 2, 3, None, 5])), "price", "row 3 (counted from 0) is null"),
        (with_column(BIDS, "price", pa.array(FIVE, pa.timestamp("us"))), "price", "has the type timestamp"),
        (with_column(BIDS, "price", pa.array([True] * 5)), "price", "has the type bool"),
        (with_column(BIDS, "price", pa.array([1, 2, 3, 4, 2**63], pa.uint64())), "price", "row 4"),
        (with_column(BIDS, "auction", pa.array([1, None, 3, None, 5])), "auction", "row 1 (counted from 0): the value"),
        (with_column(BIDS, "bidder", pa.nulls(5)), "bidder", "has the type null"),
        (with_column(BIDS, "date_time", pa.array([1, 2, 3, -4, 5])), "date_time", "row 3"),
        (with_column(BIDS, "date_time", pa.array([1, 2, TIME_LIMIT_NS, 4, 5])), "date_time", "row 2"),
        (with_column(BIDS, "date_time", pa.array([1, 2, 3, -4, 5], pa.timestamp("us"))), "date_time", "is negative"),
        (with_column(BIDS, "date_time", pa.array([1, INT64_MAX, 3, 4, 5], pa.timestamp("ms"))), "date_time", "row 1"),
        (with_column(BIDS, "date_time", pa.array([1, None, 3, 4, 5], pa.timestamp("ns"))), "date_time", "null"),
        (with_column(BIDS, "date_time", pa.array([1.5] * 5)), "date_time", "an integer or a timestamp"),
        (with_column(BIDS, "date_time", pa.array(FIVE, pa.int32()).cast(pa.date32())),
         "date_time", "has the type date32"),
        (BIDS.append_column("price", BIDS["price"]), "price", "appears 2 times"),
    ],
)  # fmt: skip
def test_a_wrong_bid_column(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, bids: pa.Table, column: str, told: str
) -> None:
    error = refused(capsys, tmp_path, write(tmp_path / "src", bid=bids))
    assert f"{tmp_path}/src/bid.parquet: column {column}" in error
    assert told in error


@pytest.mark.parametrize(
    ("changes", "column", "told"),
    [
        ({"expires": [9, 9, 0, 9, 9], "date_time": [1] * 5}, "expires", "row 2 (counted from 0): the auction"),
        ({"expires": [9_000, -1, 9_000, 9_000, 9_000]}, "expires", "row 1"),
        ({"id": [1, 2, 3, 2, 3]}, "id", "row 1 (counted from 0) and row 3 (counted from 0): two auctions"),
        ({"reserve": [1, 2, None, 4, 5]}, "reserve", "row 2"),
        ({"category": [1.5] * 5}, "category", "double"),
    ],
)  # fmt: skip
def test_a_wrong_auction_column(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, changes: dict[str, list[Any]], column: str, told: str
) -> None:
    auctions = AUCTIONS
    for name, values in changes.items():
        auctions = with_column(auctions, name, pa.array(values))
    error = refused(capsys, tmp_path, write(tmp_path / "src", auction=auctions))
    assert f"{tmp_path}/src/auction.parquet: column {column}" in error
    assert told in error


def test_a_wrong_person_column(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error = refused(capsys, tmp_path, write(tmp_path / "src", person=pa.table({"id": [1], "name": ["Ann"]})))
    assert f"{tmp_path}/src/person.parquet: column date_time is missing" in error
    twice = pa.table({"id": [4, 7, 4], "date_time": [1, 2, 3]})
    error = refused(capsys, tmp_path, write(tmp_path / "other", person=twice))
    assert "column id, row 0 (counted from 0) and row 2 (counted from 0): two people have the id 4" in error


@pytest.mark.parametrize("unit", ["us", "ms"])
def test_a_time_that_overflows_in_its_unit(capsys: pytest.CaptureFixture[str], tmp_path: Path, unit: str) -> None:
    factor = {"us": 10**3, "ms": 10**6}[unit]
    times = [1, (TIME_LIMIT_NS - 1) // factor, (TIME_LIMIT_NS - 1) // factor + 1, 4, 5]
    source = write(tmp_path / "src", bid=with_column(BIDS, "date_time", pa.array(times)))
    error = refused(capsys, tmp_path, source, "--time-unit", unit)
    assert "column date_time, row 2 (counted from 0)" in error
    assert "overflows" in error


def test_the_row_of_a_later_batch_and_the_file_of_a_later_part(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = BATCH_ROWS + 100
    times = np.arange(rows)
    times[BATCH_ROWS + 7] = -1
    columns = {name: np.ones(rows, np.int64) for name in ("auction", "bidder", "price")}
    source = write(tmp_path / "src")
    (source / "bid.parquet").unlink()
    (source / "bid.parquet").mkdir()
    pq.write_table(BIDS, source / "bid.parquet" / "part-0.parquet")
    pq.write_table(pa.table(columns | {"date_time": times}), source / "bid.parquet" / "part-1.parquet")
    error = refused(capsys, tmp_path, source)
    assert f"bid.parquet/part-1.parquet: column date_time, row {BATCH_ROWS + 7} (counted from 0)" in error


def test_duplicate_ids_in_two_part_files_name_both(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = write(tmp_path / "src")
    (source / "auction.parquet").unlink()
    (source / "auction.parquet").mkdir()
    for part, ids in enumerate([[5, 6], [7, 8, 6]]):
        rows = table("auction", [auction(id=number) for number in ids])
        pq.write_table(rows, source / "auction.parquet" / f"{part}.parquet")
    error = refused(capsys, tmp_path, source)
    assert "auction.parquet/0.parquet: column id, row 1 (counted from 0) and " in error
    assert "auction.parquet/1.parquet row 2 (counted from 0): two auctions have the id 6" in error


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def garble_pages(path: Path) -> None:
    octets = bytearray(path.read_bytes())
    octets[4:200] = b"\xff" * 196
    path.write_bytes(octets)


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [truncate, garble_pages, empty])
def test_a_damaged_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, damage: Callable[[Path], None]) -> None:
    source = write(tmp_path / "src")
    damage(source / "bid.parquet")
    error = refused(capsys, tmp_path, source)
    assert f"{tmp_path}/src/bid.parquet: " in error
    assert "truncated or damaged" in error or "damaged after row" in error


def test_files_that_are_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = write(tmp_path / "src")
    (source / "auction.parquet").unlink()
    assert f"{tmp_path}/src/auction.parquet: the file is missing" in refused(capsys, tmp_path, source)
    (source / "auction.parquet").mkdir()
    assert "holds no *.parquet part files" in refused(capsys, tmp_path, source)
    assert "no such file or folder" in refused(capsys, tmp_path, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "holds neither bid.parquet" in refused(capsys, tmp_path, tmp_path / "empty")
    assert "must be JSON lines" in refused(capsys, tmp_path, source / "bid.parquet")
    os.mkfifo(tmp_path / "rows.jsonl")
    assert "neither a folder nor a plain file" in refused(capsys, tmp_path, tmp_path / "rows.jsonl")
    assert "neither a folder nor a plain file" in refused(capsys, tmp_path, Path("/dev/null"))


def test_a_limit_of_files_that_is_too_small(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = write(tmp_path / "src")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, limits[1]))
    try:
        said = refused(capsys, tmp_path, source)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "raise `ulimit -f`" in said


def test_a_folder_of_two_kinds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = write(tmp_path / "src")
    (source / "bids.jsonl").write_text("{}")
    assert "holds both auction.parquet and bids.jsonl" in refused(capsys, tmp_path, source)


def test_source_and_target_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = write(tmp_path / "src")
    (tmp_path / "link").symlink_to(source)
    for out in (source, tmp_path / "link", tmp_path / "x" / ".." / "src"):
        outcome = tokenring(capsys, "stage", "--out", out, "--from", source, "--force")
        assert (outcome.status, "the same folder" in outcome.err) == (2, True)
    outcome = tokenring(capsys, "stage", "--out", tmp_path, "--from", source, "--force")
    assert (outcome.status, "lies within --out" in outcome.err) == (2, True)
    assert sorted(path.name for path in source.iterdir()) == ["auction.parquet", "bid.parquet"]


# ---- what is fine


def test_integers_of_any_width_and_timestamps_of_any_unit(tmp_path: Path) -> None:
    times_ns = [0, 1_000_000, 2_000_000_000, TIME_LIMIT_NS // 10**9 * 10**9 - 10**9, 5_000_000]
    bids = BIDS
    for name, kind in (("auction", pa.int8()), ("bidder", pa.uint32()), ("price", pa.uint64())):
        bids = with_column(bids, name, pa.array(FIVE, kind))
    kinds = [pa.timestamp("ns"), pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "Europe/Berlin")]
    for index, kind in enumerate(kinds):
        factor = {"ns": 1, "us": 10**3, "ms": 10**6}[kind.unit]
        times = pa.array([time // factor for time in times_ns], pa.int64()).cast(kind)
        source = write(tmp_path / f"src{index}", bid=with_column(bids, "date_time", times))
        (tmp_path / str(index)).mkdir()
        read = accepted(source, tmp_path / str(index), "ms")["bid"]
        assert read["date_time"].to_pylist() == times_ns
        assert read["price"].to_pylist() == FIVE


def test_extra_columns_and_strings_of_any_kind(tmp_path: Path) -> None:
    auctions = AUCTIONS.append_column("description", pa.array(["a", None, "c", "d", "e"]).dictionary_encode())
    auctions = auctions.append_column("item_name", pa.array(FIVE)).append_column("extra", pa.array([[1]] * 5))
    persons = pa.table({"id": [3], "date_time": [4], "city": pa.array(["Bern"], pa.large_string()), "age": [5]})
    read = accepted(write(tmp_path / "src", auction=auctions, person=persons), tmp_path)
    assert read["auction"]["description"].to_pylist() == ["a", None, "c", "d", "e"]
    assert read["auction"]["item_name"].null_count == 5
    assert read["person"].to_pylist() == [
        {
            "id": 3,
            "name": None,
            "email_address": None,
            "credit_card": None,
            "city": "Bern",
            "state": None,
            "date_time": 4,
        }
    ]


def test_zero_rows_and_no_persons(tmp_path: Path) -> None:
    read = accepted(write(tmp_path / "src", bid=table("bid", []), auction=table("auction", [])), tmp_path)
    assert [read[name].num_rows for name in ("bid", "auction", "person")] == [0, 0, 0]


def test_extreme_ids_and_an_auction_that_ends_as_it_starts(tmp_path: Path) -> None:
    auctions = table("auction", [auction(id=number, date_time=5, expires=5) for number in (-(2**63), INT64_MAX, 0)])
    read = accepted(write(tmp_path / "src", auction=auctions), tmp_path)
    assert read["auction"]["id"].to_pylist() == [-(2**63), INT64_MAX, 0]


def test_hidden_and_foreign_files_in_a_part_folder_are_no_parts(tmp_path: Path) -> None:
    source = write(tmp_path / "src")
    (source / "bid.parquet").unlink()
    parts = source / "bid.parquet"
    (parts / "_temporary").mkdir(parents=True)
    (parts / "year=2015").mkdir()
    for name in ("b.parquet", "a.parquet", "year=2015/c.parquet"):
        pq.write_table(BIDS, parts / name)
    for name in ("_SUCCESS", ".b.parquet.crc", "_temporary/x.parquet", "._a.parquet"):
        (parts / name).write_bytes(b"x")
    assert accepted(source, tmp_path)["bid"].num_rows == 15
