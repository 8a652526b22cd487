"""Damage that only checksums show, and texts too long or too many: refused, or staged right, before Spark runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.nexmark.helpers import auction, bid, table
from tests.nexmark.staging.foreign.test_parquet import accepted, refused, write
from tokenring.engine.raw import LENGTH_MASK
from tokenring.nexmark.events.schema import BID
from tokenring.nexmark.staging.foreign import json_lines as foreign_json
from tokenring.nexmark.staging.foreign import parquet as foreign_parquet

ROWS = 5
BIDS = table("bid", [bid(price=0x0123456789ABCD00 + row) for row in range(ROWS)])
TOO_LONG = "x" * (LENGTH_MASK + 1)


def _with_url(texts: pa.Array) -> pa.Table:
    return BIDS.append_column("url", texts)


def _flip(path: Path, old: bytes) -> None:
    """Change a byte of a value in a data page, and nothing that a reader needs to understand the file."""
    octets = bytearray(path.read_bytes())
    octets[octets.index(old) + 2] ^= 1
    path.write_bytes(octets)


def _write_flipped(path: Path, *, checksums: bool) -> None:
    pq.write_table(BIDS, path, compression="none", use_dictionary=False, write_statistics=False,
                   write_page_checksum=checksums)  # fmt: skip
    _flip(path, (0x0123456789ABCD02).to_bytes(8, "little"))


def test_a_changed_byte_in_a_page_that_has_a_checksum(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = write(tmp_path / "src")
    _write_flipped(source / "bid.parquet", checksums=True)
    error = refused(capsys, tmp_path, source)
    assert f"{source}/bid.parquet: damaged after row 0" in error
    assert "CRC" in error


def test_without_checksums_a_changed_number_is_a_number(tmp_path: Path) -> None:
    """What the documents say cannot be seen."""
    source = write(tmp_path / "src")
    _write_flipped(source / "bid.parquet", checksums=False)
    assert accepted(source, tmp_path)["bid"]["price"][2].as_py() == 0x0123456789AACD02


@pytest.mark.parametrize("kind", ["plain", "dictionary"])
def test_bytes_that_are_no_text(capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str) -> None:
    octets = pa.array([b"fine", "fünf".encode(), b"ab\xff", None, b"\xfe"], pa.binary()).view(pa.string())
    source = write(tmp_path / "src", bid=_with_url(octets.dictionary_encode() if kind == "dictionary" else octets))
    error = refused(capsys, tmp_path, source)
    assert f"{source}/bid.parquet: column url, row 2 (counted from 0): the text is not UTF-8" in error


@pytest.mark.parametrize("kind", ["plain", "dictionary", "large"])
def test_a_text_that_is_too_long(capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str) -> None:
    texts = pa.array(["", None, "x" * LENGTH_MASK, TOO_LONG, TOO_LONG])
    texts = texts.dictionary_encode() if kind == "dictionary" else texts
    source = write(tmp_path / "src", bid=_with_url(texts.cast(pa.large_string()) if kind == "large" else texts))
    error = refused(capsys, tmp_path, source)
    assert f"{source}/bid.parquet: column url, row 3 (counted from 0): the text has 16,777,216 bytes" in error


def test_a_text_that_is_too_long_in_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = tmp_path / "events.jsonl"
    rows = [{"Bid": bid(url="ü" * (LENGTH_MASK // 2))}, {"Auction": auction()}, {"Bid": bid(url="ü" + TOO_LONG[2:])}]
    rows.append({"Bid": bid(url="ü" + TOO_LONG[1:])})
    source.write_bytes(b"\n".join([orjson.dumps(row) for row in rows]))
    error = refused(capsys, tmp_path, source)
    assert f"{source}: column url, line 3: the text has 16,777,216 bytes" in error


def test_a_dictionary_that_says_more_than_two_gibibytes(tmp_path: Path) -> None:
    """A file of kilobytes: its rows are written out in pieces, since no Arrow array of strings holds them all."""
    rows, text = 2_200, "z" * (1 << 20)
    few = table("bid", [bid(price=row) for row in range(rows)])
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))
    source = write(tmp_path / "src", bid=few.append_column("url", texts))
    seen: list[int] = []

    class Intake:
        """Takes what the next step would get, and keeps none of the gigabytes."""

        def take(self, _path: Path, _stream: object, columns: dict[str, pa.Array], _where: object) -> None:
            seen.extend(columns["price"].tolist())
            assert columns["url"].nbytes <= foreign_parquet.TEXT_BYTES + (1 << 21)
            assert set(columns["url"].dictionary_encode().dictionary.to_pylist()) == {text}

    foreign_parquet.read_parquet([source / "bid.parquet"], BID, "ns", cast(Any, Intake()), lambda _: None)
    assert seen == list(range(rows))


def test_rows_are_named_right_in_later_pieces(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_parquet, "TEXT_BYTES", 10)
    monkeypatch.setattr(foreign_json, "FLUSH_BYTES", 10)
    texts = pa.array(["", "four", None, "more than ten letters", "x"])
    source = write(tmp_path / "src", bid=_with_url(texts))
    assert accepted(source, tmp_path)["bid"]["url"].to_pylist() == texts.to_pylist()
    times = pa.array([1, 2, 3, 4, -5])
    late = _with_url(texts).set_column(BIDS.schema.get_field_index("date_time"), "date_time", times)
    error = refused(capsys, tmp_path, write(tmp_path / "src", bid=late))
    assert "column date_time, row 4 (counted from 0)" in error
