"""nexmark JSON lines: every shape in use is read alike, and a bad line is named by its number."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nexmark.helpers import auction, bid, tokenring
from tokenring.nexmark.events.schema import TIME_LIMIT_NS
from tokenring.nexmark.staging.foreign.foreign import find_source, normalise
from tokenring.nexmark.staging.foreign.json_lines import FLUSH_ROWS, iso_to_ns
from tokenring.nexmark.staging.foreign.raw_rows import rows_of

BID = {"auction": 1, "bidder": 8, "price": 300, "date_time": 2_000, "channel": "Apple", "url": "u", "extra": None}
CAMEL_AUCTION = {"id": 1, "itemName": "vase", "description": "old", "initialBid": 100, "reserve": 200}
CAMEL_AUCTION |= {"dateTime": 1_000, "expires": 9_000, "seller": 7, "category": 10, "extra": "xyz"}
PERSON = {"id": 7, "name": "Ann Lee", "emailAddress": "a@b.c", "creditCard": "1 2", "city": "Kent", "state": "WA"}
PERSON |= {"dateTime": 500}


def lines(path: Path, *records: Any) -> Path:
    path.write_bytes(b"".join((r if isinstance(r, bytes) else orjson.dumps(r)) + b"\n" for r in records))
    return path


def read(source: Path, folder: Path, unit: str = "ns") -> dict[str, list[dict[str, Any]]]:
    folder.mkdir()
    streams = normalise(find_source(source, folder / "out"), unit, folder, lambda _: None)
    return {raw.stream.name: pa.Table.from_batches(rows_of(raw.path), raw.schema).to_pylist() for raw in streams}


SHAPES = {
    "only key": [{"Person": PERSON}, {"Auction": CAMEL_AUCTION}, {"Bid": BID}],
    "only key, small": [{"person": PERSON}, {"auction": CAMEL_AUCTION}, {"bid": BID}],
    "numbered": [
        {"event_type": 0, "person": PERSON, "auction": None, "bid": None},
        {"event_type": 1, "person": None, "auction": CAMEL_AUCTION, "bid": None},
        {"event_type": 2, "person": None, "auction": None, "bid": BID},
    ],
    "flat, numbered": [{"event_type": 0} | PERSON, {"event_type": 1} | CAMEL_AUCTION, {"event_type": 2} | BID],
    "flat, type": [{"type": "person"} | PERSON, {"type": "Auction"} | CAMEL_AUCTION, {"type": "BID"} | BID],
    "flat, kind": [{"kind": "person"} | PERSON, {"kind": "auction"} | CAMEL_AUCTION, {"kind": "bid"} | BID],
    "nested, the others null": [
        {"newPerson": PERSON, "newAuction": None, "bid": None},
        {"newPerson": None, "newAuction": CAMEL_AUCTION, "bid": None},
        {"newPerson": None, "newAuction": None, "bid": BID, "event": 7},
    ],
    "nested, event": [
        {"event": "person", "person": PERSON},
        {"event": "auction", "auction": CAMEL_AUCTION},
        {"event": "bid", "bid": BID},
    ],
    "camel tag": [{"eventType": 0} | PERSON, {"eventType": "auction"} | CAMEL_AUCTION, {"eventType": 2} | BID],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_read_alike(tmp_path: Path, shape: str) -> None:
    got = read(lines(tmp_path / "events.jsonl", *SHAPES[shape]), tmp_path / "normal")
    person = {"id": 7, "name": "Ann Lee", "email_address": "a@b.c", "credit_card": "1 2", "city": "Kent", "state": "WA"}
    vase = auction(item_name="vase", description="old", extra="xyz")
    assert got == {"person": [person | {"date_time": 500}], "auction": [vase], "bid": [BID]}


def test_files_named_for_their_stream_need_no_tag(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    lines(source / "bid.jsonl", BID | {"event": 17}, BID)
    lines(source / "auction.jsonl", CAMEL_AUCTION)
    got = read(source, tmp_path / "normal")
    assert [len(rows) for rows in got.values()] == [0, 1, 2]


def test_units_iso_strings_and_both_mixed(tmp_path: Path) -> None:
    times = [5, "1970-01-01T00:00:00.005Z", "1970-01-01 00:00:00.005", "1970-01-01T02:00:00.005+02:00"]
    source = lines(tmp_path / "a.jsonl", *({"Bid": BID | {"date_time": time}} for time in times))
    assert [row["date_time"] for row in read(source, tmp_path / "normal", "ms")["bid"]] == [5_000_000] * 4


def test_blank_lines_and_a_last_line_without_end(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes(b"\n" + orjson.dumps({"Bid": BID}) + b"\r\n  \n" + orjson.dumps({"Bid": BID}))
    assert len(read(source, tmp_path / "normal")["bid"]) == 2


def test_more_lines_than_one_flush(tmp_path: Path) -> None:
    count = FLUSH_ROWS + 10
    source = lines(tmp_path / "a.jsonl", *({"Bid": bid(price=row)} for row in range(count)))
    assert [row["price"] for row in read(source, tmp_path / "normal")["bid"]] == list(range(count))


def without(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"Bid": {', "line 3: malformed JSON"),
        (b'{"Bid": {"price": NaN}}', "line 3: malformed JSON"),
        (b"\xff\xfe", "line 3: malformed JSON"),
        ([1, 2], "line 3: not a JSON object"),
        ({"Bid": without(BID, "price")}, "column price, line 3: the column is missing"),
        ({"Bid": BID | {"price": None}}, "column price, line 3: the value is null"),
        ({"Bid": BID | {"price": 1.5}}, "column price, line 3: a fraction (1.5), but must be an integer"),
        ({"Bid": BID | {"price": "7"}}, "column price, line 3: a string (7)"),
        ({"Bid": BID | {"auction": True}}, "column auction, line 3: a boolean"),
        ({"Bid": BID | {"bidder": 2**63}}, "column bidder, line 3: 9223372036854775808 overflows"),
        ({"Bid": BID | {"date_time": -1}}, "column date_time, line 3: the time -1 ns is negative"),
        ({"Bid": BID | {"date_time": TIME_LIMIT_NS}}, "column date_time, line 3: the time"),
        ({"Bid": BID | {"date_time": "yesterday"}}, "column date_time, line 3: 'yesterday' is not an ISO 8601 time"),
        ({"Bid": BID | {"date_time": "2015-02-30T00:00:00"}}, "is not an ISO 8601 time"),
        ({"Bid": BID | {"date_time": "1969-12-31T23:59:59Z"}}, "column date_time, line 3: the time 1969"),
        ({"Bid": BID | {"date_time": "2200-01-01T00:00:00Z"}}, "column date_time, line 3: the time 2200"),
        ({"Auction": auction(expires=999)}, "column expires, line 3: the auction expires at 999 ns"),
        ({"Auction": auction(id=1)}, "column id, line 1 and line 3: two auctions have the id 1"),
        ({"event_type": 2, "bid": None}, "column bid, line 3: event_type is 2, but the event's own object is missing"),
        ({"event_type": 2, "bid": None, "person": PERSON}, "the event's own object is missing"),
        ({"Bid": BID, "Person": PERSON}, "line 3: no telling which stream"),
        ({"event_type": 3} | BID, "column event_type is 3"),
        ({"type": "offer"} | BID, "column type is 'offer'"),
        (BID, "line 3: no telling which stream"),
    ],
)
def test_a_bad_line(capsys: pytest.CaptureFixture[str], tmp_path: Path, line: Any, told: str) -> None:
    source = lines(tmp_path / "events.jsonl", {"Auction": auction()}, {"Bid": BID}, line, {"Bid": BID})
    outcome = tokenring(capsys, "stage", "--out", tmp_path / "events", "--from", source)
    assert outcome.status == 2
    assert outcome.err.count("\n") == 1
    assert f"{source}: " in outcome.err
    assert told in outcome.err
    assert list(tmp_path.iterdir()) == [source]


@given(st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_iso_times_are_exact(moment: datetime, zone_minutes: int) -> None:
    since = moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    expected = (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1_000
    sign, minutes = "-" if zone_minutes < 0 else "+", abs(zone_minutes)
    zone = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"
    assert iso_to_ns(moment.isoformat()) == expected
    assert iso_to_ns(moment.isoformat(" ") + "Z") == expected
    assert iso_to_ns(moment.isoformat() + zone) == expected - zone_minutes * 60 * 10**9


def test_nine_decimals_and_what_is_no_time() -> None:
    assert iso_to_ns("1970-01-01T00:00:01.123456789Z") == 1_123_456_789
    assert [iso_to_ns(text) for text in ("", "1970-01-01", "12:00", "1970-01-01T25:00Z", "5")] == [None] * 5
