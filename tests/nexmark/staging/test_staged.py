"""Opening a staged folder: what was sealed is what is read, and every kind of damage is named."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import orjson
import pytest

from tests.errors import Fact, raises
from tests.nexmark.helpers import auction, bid, seal, seal_generated, table
from tokenring.engine import Schema, Strings
from tokenring.nexmark.errors import StagedError
from tokenring.nexmark.events.generator import Generator, GeneratorConfig
from tokenring.nexmark.events.schema import STREAMS
from tokenring.nexmark.manifest import manifest_checksum, read_manifest
from tokenring.nexmark.run.cursors import Cursor
from tokenring.nexmark.spark.jobs.generate import chunk_batch
from tokenring.nexmark.staging.staged import StagedEvents

CONFIG = GeneratorConfig(events=5_000, seed=9)
CHECK = {"bid": ["auction", "price", "date_time", "event"], "auction": ["id"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return seal_generated(tmp_path / "events", CONFIG)


def test_what_was_generated_is_what_is_read(folder: Path) -> None:
    staged = StagedEvents.open(folder, {name: STREAMS[name].integer_columns for name in STREAMS})
    assert staged.events == CONFIG.events
    assert set(staged.streams) == set(STREAMS)
    for name in STREAMS:
        stream, expected = staged.stream(name), Generator(CONFIG).columns(name, 0, 10**6)
        rows = Generator(CONFIG).rows(name)
        assert stream.rows == rows
        assert set(stream.columns) == {column.name for column in STREAMS[name].columns} | {"event"}
        assert not stream.has("floor")
        for column in (*STREAMS[name].integer_columns, "event"):
            values = stream.column(column)
            assert (values.dtype, values.ndim) == (np.dtype("<i8"), 1)
            np.testing.assert_array_equal(values, expected[column][:rows])
            with raises(ValueError, "read-only"):
                values[0] = 1


def test_texts_are_read_and_few_of_them_take_few_bytes(folder: Path) -> None:
    staged = StagedEvents.open(folder, {name: STREAMS[name].string_columns for name in STREAMS})
    for name in STREAMS:
        stream = staged.stream(name)
        expected = chunk_batch(Generator(CONFIG), name, 0, stream.rows)
        for column in STREAMS[name].string_columns:
            heap = stream.heap(column)
            assert Strings(stream.column(column), heap).tolist() == expected[column].to_pylist()
            distinct = {text.encode() for text in expected[column].to_pylist()}
            assert len(heap) == sum(len(text) for text in distinct)
            with raises(ValueError, "read-only"):
                heap[0] = 1


@pytest.mark.parametrize("part", ["str", "heap"])
def test_a_changed_text_is_found_when_it_is_checked(folder: Path, part: str) -> None:
    flip_last_byte(folder / "columns" / f"bid.channel.{part}")
    with raises(StagedError, f"bid.channel.{part}", "column 'channel'", "checksum", "tokenring stage"):
        StagedEvents.open(folder, {"bid": ["channel"]})
    os.truncate(folder / "columns" / f"bid.channel.{part}", 8)
    with raises(StagedError, f"bid.channel.{part}", "column 'channel'", "8 bytes", "manifest", "tokenring stage"):
        StagedEvents.open(folder)


@pytest.mark.parametrize(
    ("name", "said"), [("nowhere", "no such folder"), ("x" * 300, "no such folder"), ("a.csv", "a file")]
)
def test_a_folder_that_is_not_there(name: str, said: str, tmp_path: Path) -> None:
    """However long its name is: an operating system's error says nothing of a cure."""
    (tmp_path / "a.csv").touch()
    with raises(StagedError, name, said, "tokenring stage"):
        StagedEvents.open(tmp_path / name)


def test_texts_that_the_events_do_not_have_are_null(tmp_path: Path) -> None:
    tables = {"person": [], "auction": [auction(event=0)], "bid": [bid(event=1), bid(event=2, channel="Apple")]}
    folder = seal(tmp_path / "few", {name: table(name, rows, event=True) for name, rows in tables.items()})
    bids = StagedEvents.open(folder).stream("bid")
    assert Cursor(StagedEvents.open(folder), "bid", ("price", "url")).schema == Schema("price", url="string?")
    assert bids.column("url").tolist() == [-1, -1]
    words = bids.column("channel")
    assert Strings(words, bids.heap("channel")).tolist() == [None, "Apple"]


def test_disorder_stages_a_floor(tmp_path: Path) -> None:
    mixed = GeneratorConfig(events=5_000, out_of_order_group_size=100)
    staged = StagedEvents.open(seal_generated(tmp_path / "mixed", mixed), {"bid": ["floor"]})
    for name in ("auction", "bid"):
        stream = staged.stream(name)
        times = stream.column("date_time")
        least = [int(times[row:].min()) for row in range(stream.rows)]
        assert stream.column("floor").tolist() == least
        assert (np.diff(times) < 0).any()
    # Groups of 100 hold two persons each, which the permutation of Beam leaves in order or not, but never both.
    persons = staged.stream("person")
    assert persons.has("floor") == bool((np.diff(persons.column("date_time")) < 0).any())


def test_empty_streams(tmp_path: Path) -> None:
    tables = {"person": [], "auction": [auction(event=0)], "bid": []}
    folder = seal(tmp_path / "few", {name: table(name, rows, event=True) for name, rows in tables.items()})
    staged = StagedEvents.open(folder, {"bid": ["price"]})
    assert staged.events == 1
    assert staged.stream("bid").rows == 0
    prices = staged.stream("bid").column("price")
    assert (prices.shape, prices.dtype) == ((0,), np.dtype("<i8"))
    with raises(StagedError, "stream bid", "column 'prize'", "price"):
        staged.stream("bid").column("prize")


def test_the_digest_names_the_events(tmp_path: Path, folder: Path) -> None:
    again = seal_generated(tmp_path / "again", CONFIG)
    other = seal_generated(tmp_path / "other", GeneratorConfig(events=5_000, seed=10))
    digests = [StagedEvents.open(path).digest for path in (folder, again, other)]
    assert digests[0] == digests[1] != digests[2]


def flip_last_byte(path: Path) -> None:
    octets = bytearray(path.read_bytes())
    octets[-1] ^= 1
    path.write_bytes(octets)


def test_a_changed_column_is_found_when_it_is_checked(folder: Path) -> None:
    flip_last_byte(folder / "columns" / "bid.price.i64")
    with raises(StagedError, "bid.price.i64", "column 'price'", "checksum", "tokenring stage"):
        StagedEvents.open(folder, CHECK)
    # A column that nobody reads need not be hashed.
    StagedEvents.open(folder, {"bid": ["auction"]})
    StagedEvents.open(folder)


def test_a_column_of_another_size(folder: Path) -> None:
    path = folder / "columns" / "bid.bidder.i64"
    os.truncate(path, path.stat().st_size - 8)
    with raises(StagedError, "bid.bidder.i64", "column 'bidder'", "36792 bytes", "36800", "manifest"):
        StagedEvents.open(folder)


def test_a_column_that_is_gone(folder: Path) -> None:
    (folder / "columns" / "auction.id.i64").unlink()
    with raises(StagedError, "auction.id.i64", "column 'id'", os.strerror(2), "tokenring stage"):
        StagedEvents.open(folder)


def test_any_changed_byte_of_the_manifest_is_found(folder: Path) -> None:
    path = folder / "manifest.json"
    whole = path.read_bytes()
    for at in range(0, len(whole), 37):
        changed = bytearray(whole)
        changed[at] ^= 4
        path.write_bytes(changed)
        try:
            same = orjson.loads(changed) == orjson.loads(whole)
        except orjson.JSONDecodeError:
            same = False
        if not same:
            with raises(StagedError, "manifest.json", "tokenring stage"):
                StagedEvents.open(folder)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("version", 1, ("version 1", "2")),
        ("format", "other", "'tokenring-nexmark'"),
        ("events", 4_999, "checksum"),
    ],
)
def test_another_manifest(folder: Path, key: str, value: object, told: Fact) -> None:
    path = folder / "manifest.json"
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | {key: value}))
    with raises(StagedError, "manifest.json", "tokenring stage", told):
        StagedEvents.open(folder)


def test_a_consistent_manifest_that_lies_about_a_column(folder: Path) -> None:
    path = folder / "manifest.json"
    manifest = read_manifest(folder)
    manifest["streams"]["bid"]["columns"]["price"]["dtype"] = "<f8"
    manifest["checksum"] = manifest_checksum(manifest)
    path.write_bytes(orjson.dumps(manifest))
    with raises(StagedError, "bid.price.i64", "column 'price'", "<f8", "int64"):
        StagedEvents.open(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff"])
def test_a_manifest_that_is_none(folder: Path, content: bytes) -> None:
    (folder / "manifest.json").write_bytes(content)
    with raises(StagedError, "manifest.json", {"not JSON", "not a manifest"}, "tokenring stage"):
        StagedEvents.open(folder)


def test_folders_that_hold_no_events(tmp_path: Path) -> None:
    with raises(StagedError, "nowhere", "tokenring stage"):
        StagedEvents.open(tmp_path / "nowhere")
    with raises(StagedError, str(tmp_path), "manifest.json", "tokenring stage"):
        StagedEvents.open(tmp_path)


def test_rows_of_several_part_files_are_joined_in_order(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from tokenring.nexmark.staging.staging import seal_streams

    rows = [bid(event=index, price=index * 10) for index in range(10)]
    folder = tmp_path / "parts"
    for name in STREAMS:
        (folder / f"{name}.parquet").mkdir(parents=True)
    for name in ("person", "auction"):
        pq.write_table(table(name, [], event=True), folder / f"{name}.parquet" / "part-00000-x.parquet")
    for part, (start, stop) in enumerate([(0, 3), (3, 3), (3, 10)]):
        path = folder / "bid.parquet" / f"part-{part:05d}-1b2c.snappy.parquet"
        pq.write_table(table("bid", rows[start:stop], event=True), path)
        (folder / "bid.parquet" / f".{path.name}.crc").write_bytes(b"x")
    entries = seal_streams(folder, {"person": 0, "auction": 0, "bid": 10}, lambda _what, _done, _of: None)
    assert entries["bid"]["rows"] == 10
    assert np.fromfile(folder / "columns" / "bid.price.i64", "<i8").tolist() == [index * 10 for index in range(10)]
    names = sorted(path.name for path in (folder / "bid.parquet").iterdir())
    assert names == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
