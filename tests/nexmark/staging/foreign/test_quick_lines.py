"""Blocks of JSON lines by pyarrow's reader say what line after line says, of rows and of faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tokenring.nexmark.errors import ForeignDataError
from tokenring.nexmark.events import Stream
from tokenring.nexmark.staging.foreign import json_lines, quick_lines

BID = {"auction": 1, "bidder": 2, "price": 3, "channel": "Apple", "url": None, "date_time": 4, "extra": "x"}


class Seen:
    """Notes what a reader hands on, row by row."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = {}

    def take(self, path: Path, stream: Stream, columns: dict[str, Any], where: Any) -> None:
        values = [list(map(_plain, columns[column.name])) for column in stream.columns]
        rows = list(zip(*values, map(where, range(len(values[0]))), strict=True))
        self.rows.setdefault(stream.name, []).extend(rows)


def _plain(value: Any) -> Any:
    return value.as_py() if hasattr(value, "as_py") else int(value)


def read(path: Path, tries: int, block_bytes: int = 1 << 23) -> Any:
    """The rows of a file with the lines they come from, or what is said of its fault."""
    seen = Seen()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quick_lines, "_TRIES", tries)
        patch.setattr(json_lines, "BLOCK_BYTES", block_bytes)
        try:
            json_lines.read_json_lines(path, "s", seen, lambda count: None)  # type: ignore[arg-type]
        except ForeignDataError as error:
            return str(error)
    return seen.rows


odd = st.sampled_from(
    [
        *(None, True, 1.5, 1e3, -0.0, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, "7", "", "äö", "a{b", 'a"b\\'),
        *("\u2028", [1], {"a": 1}, "2020-01-01T00:00:00Z", "bid", 0, 1, 2, 10**12),
    ]
)
names = st.sampled_from([*BID, "dateTime", "type", "event", "Bid", "auction", "other", "kind", "newPerson"])
bids = st.dictionaries(names, odd, max_size=2).map(lambda changed: BID | changed)
missing = st.sampled_from([*BID]).map(lambda name: {key: value for key, value in BID.items() if key != name})
objects = st.one_of(st.just(BID), bids, missing)
raw = st.sampled_from(
    [
        *(b"", b" ", b"\t", b"{", b"{}", b"null", b"[1]", b'{"auction":1,"auction":2}', b"{} {}", b"\xff"),
        b'{"Bid":{}}',
        b'{"auction":1,"bidder":2,"price":3,"date_time":4,"price":5}',
        b'{"auction":1,"bidder":2,"price":3,"d\\u0061te_time":4}',
        b'{"auction":1,"bidder":2,"price":NaN,"date_time":4}',
        b'{"auction":1,"bidder":2,"price":-0,"date_time":4}',
        b'{"auction":1,"bidder":2,"price":007,"date_time":4}',
        b'{"auction":1,"bidder":2,"price":3,"date_time":4}\r',
        b' {"auction":1,"bidder":2,"price":3,"date_time":4}',
        b'{"Bid":{"auction":1,"bidder":2,"price":3,"date_time":4},"x":1}',
        b'{"Bid": {"auction":1,"bidder":2,"price":3,"date_time":4}}',
        b'{"Bid":{"auction":1,"bidder":2,"price":3,"date_time":4}} ',
        b'{"bid":{"auction":1,"bidder":2,"price":3,"date_time":4}',
    ]
)
plain = st.just(orjson.dumps(BID))
within = st.just(orjson.dumps({"Bid": BID}))
lines = st.lists(
    st.one_of(plain, within, plain, objects.map(lambda each: _dumped(each)), raw),
    min_size=1,
    max_size=6,
)


def _dumped(each: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(each)
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(each).encode()


@settings(max_examples=examples(300), deadline=None)
@given(lines, st.booleans(), st.booleans(), st.booleans(), st.sampled_from([1, 200, 1 << 20]))
def test_both_readers_say_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    given_lines: list[bytes],
    is_named: bool,
    ends: bool,
    wraps: bool,
    block: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / ("bid.jsonl" if is_named else "events.jsonl")
    if wraps:
        given_lines = [b'{"Bid":' + line + b"}" for line in given_lines]
    path.write_bytes(b"\n".join(given_lines) + b"\n" * ends)
    quick, each = read(path, 100, block), read(path, 0, block)
    if isinstance(quick, str) and isinstance(each, str) and _faults(path, given_lines) > 1:
        return  # which of several faults is told depends on when rows are checked
    assert quick == each


def _faults(path: Path, given_lines: list[bytes]) -> int:
    """How many lines are refused when they are alone."""
    count = 0
    for line in given_lines:
        path.write_bytes(line)
        count += isinstance(read(path, 0), str)
    return count


def test_plain_blocks_are_read_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "_read_each", None)
    person = {"id": 5, "name": "N", "email_address": None, "city": "C", "state": "S", "date_time": 9}
    mixed = [{"Bid": BID}, {"person": person}, {"Bid": BID | {"price": 8}}]
    for name, given_lines in {"events.jsonl": mixed, "bid.jsonl": [BID | {"extra": 'a"b\\ä', "more": 1.5}] * 3}.items():
        (tmp_path / name).write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in given_lines))
        rows = read(tmp_path / name, 4)
        assert len(rows["bid"]) == (2 if name == "events.jsonl" else 3)
        assert rows["bid"][0][:3] == (1, 2, 3) and rows["bid"][-1][-1] == "line 3"
        assert np.all([row[5] == 4 * 10**9 for row in rows["bid"]])
    assert [row[-1] for row in read(tmp_path / "events.jsonl", 4)["person"]] == ["line 2"]


def test_rows_keep_their_order_where_some_blocks_are_read_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "bid.jsonl"
    bids = [BID | {"price": price} for price in range(40)]
    for at in range(0, 40, 7):
        bids[at] |= {"date_time": "1970-01-01T00:00:01Z"}  # beside numbers, such times are not quick
    file.write_bytes(b"".join([orjson.dumps(one) + b"\n" for one in bids]))
    for block_bytes in (1, 300, 1 << 20):
        rows = read(file, 1_000, block_bytes)["bid"]
        assert [row[-1] for row in rows] == [f"line {at + 1}" for at in range(40)]
