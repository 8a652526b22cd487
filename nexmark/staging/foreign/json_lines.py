"""Reads nexmark JSON lines in the shapes that generators write them; a malformed line is named by its number.

Accepted, one event a line, fields in snake_case or camelCase, times as integers or ISO 8601 strings:
    {"Bid": {"auction": 1, …}}                                   the stream's name as a key, any case
    {"event_type": 2, "bid": {"auction": 1, …}, "person": null}   0 person, 1 auction, 2 bid
    {"type": "bid", "auction": 1, …}                             flat, a tag in type, kind, stream, event or event_type
    {"auction": 1, …}                                            flat without a tag, in bid.jsonl
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tokenring.nexmark.errors import ForeignDataError
from tokenring.nexmark.events import I64, STREAMS, TIME_LIMIT_NS, Column, Stream
from tokenring.nexmark.staging.foreign.checks import TIME_UNITS_NS, Intake, check_texts, refuse, time_to_ns
from tokenring.nexmark.staging.foreign.quick_lines import TAGS, QuickLines, camel

SUFFIXES: Final = (".jsonl", ".ndjson")
FLUSH_ROWS: Final = 1 << 16
FLUSH_BYTES: Final = 1 << 28
BLOCK_BYTES: Final = 1 << 21
_OWN_KEYS: Final = STREAMS | {f"new{name}": stream for name, stream in STREAMS.items()}  # Beam says newPerson
_BY_NUMBER: Final = {stream.rank: stream for stream in STREAMS.values()}
_ISO: Final = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?\s*(Z|[+-]\d\d:?\d\d)?", re.I)
_INT64: Final = np.iinfo(np.int64)


def json_files(path: Path) -> list[Path]:
    """The JSON-lines files of a folder, or the one file."""
    if path.is_file():
        return [path]
    return sorted(entry for entry in path.iterdir() if entry.suffix in SUFFIXES and entry.is_file())


_FIELDS: Final = {
    stream.name: [(column, column.name, camel(column.name)) for column in stream.columns]
    for stream in STREAMS.values()
}


class _Rows:
    """Rows of one stream under way, column by column, with their line numbers."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.lines: list[int] = []
        self.bytes = 0
        self.values: dict[str, list[Any]] = {column.name: [] for column in stream.columns}

    def flush(self, path: Path, unit: str, intake: Intake) -> None:
        if not self.lines:
            return
        lines = np.array(self.lines, dtype=np.int64)

        def where(row: int) -> str:
            return f"line {lines[row]}"

        columns: dict[str, Any] = {}
        for column in self.stream.columns:
            values = self.values[column.name]
            if column.kind == "string":
                texts = pa.array(values, pa.string())
                check_texts(path, column.name, pc.binary_length(texts).fill_null(0).to_numpy(), where)
                columns[column.name] = texts
            elif column.kind == "int64":
                columns[column.name] = np.array(values, dtype=np.int64)
            else:
                columns[column.name] = _times(path, column, values, unit, where)
        intake.take(path, self.stream, columns, where)
        self.__init__(self.stream)  # type: ignore[misc]


def read_json_lines(path: Path, unit: str, intake: Intake, advanced: Callable[[int], None]) -> None:
    """Checks the rows of one file and hands them to the intake; `advanced` is told of bytes."""
    rows = {name: _Rows(stream) for name, stream in STREAMS.items()}
    by_stem = STREAMS.get(path.stem.lower())
    quick, first = QuickLines(by_stem), 1
    with open(path, "rb") as file:
        while block := file.read(BLOCK_BYTES) + file.readline():
            found = quick.read(block)
            if found is None:
                _read_each(path, block, first, by_stem, rows, unit, intake)
            else:
                for into in rows.values():
                    into.flush(path, unit, intake)
                for stream, columns, numbers in found:
                    _take(path, stream, columns, numbers + first, unit, intake)
            first += block.count(b"\n")
            advanced(len(block))
    for into in rows.values():
        into.flush(path, unit, intake)


def _take(path: Path, stream: Stream, columns: dict[str, Any], lines: I64, unit: str, intake: Intake) -> None:
    """Check columns of integers and texts, and hand them on."""

    def where(row: int) -> str:
        return f"line {lines[row]}"

    for column in stream.columns:
        values = columns[column.name]
        if column.is_integer:
            is_time = column.kind != "int64"
            columns[column.name] = time_to_ns(path, column.name, values, unit, where) if is_time else values
        else:
            check_texts(path, column.name, pc.binary_length(values).fill_null(0).to_numpy(), where)
    intake.take(path, stream, columns, where)


def _read_each(
    path: Path, block: bytes, first: int, by_stem: Stream | None, rows: dict[str, _Rows], unit: str, intake: Intake
) -> None:
    """Add a block's rows to those under way, line after line; `first`: the first line's number."""
    for number, line in enumerate(block.split(b"\n"), first):
        if not line or line.isspace():
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise ForeignDataError(f"{path}: line {number}: malformed JSON ({error})") from None
        stream, row = _classify(path, number, record, by_stem)
        into = rows[stream.name]
        _append(path, number, stream, row, into.values)
        into.lines.append(number)
        into.bytes += len(line) + 1
        if len(into.lines) >= FLUSH_ROWS or into.bytes >= FLUSH_BYTES:
            into.flush(path, unit, intake)


def _classify(path: Path, line: int, record: Any, by_stem: Stream | None) -> tuple[Stream, dict[str, Any]]:
    """The stream of a line, and the object that holds its fields."""
    if not isinstance(record, dict):
        raise ForeignDataError(f"{path}: line {line}: not a JSON object but {_kind(record)}")
    own = [
        (stream, row) for key, row in record.items() if isinstance(row, dict) and (stream := _OWN_KEYS.get(key.lower()))
    ]
    for tag in TAGS:
        if tag not in record:
            continue
        stream = _tagged(record[tag])
        if stream is None:
            # It may be a plain column, when something else says what the row is.
            if by_stem is not None or (own and tag == "event"):
                break
            raise ForeignDataError(
                f"{path}: line {line}: column {tag} is {record[tag]!r}; it must be person, auction or bid, or 0, 1 or 2"
            )
        if (row := next((row for other, row in own if other is stream), None)) is not None:
            return stream, row
        if own or record.get(stream.name, 0) is None:
            refuse(
                path, stream.name, f"line {line}", f"{tag} is {record[tag]!r}, but the event's own object is missing"
            )
        return stream, record
    if len(own) == 1:
        return own[0]
    if by_stem is not None:
        return by_stem, record
    raise ForeignDataError(
        f'{path}: line {line}: no telling which stream it belongs to; write {{"Bid": {{…}}}}, '
        f'or a tag such as "type": "bid", or call the file bid.jsonl'
    )


def _tagged(tag: Any) -> Stream | None:
    if isinstance(tag, str):
        return STREAMS.get(tag.lower())
    return _BY_NUMBER.get(tag) if isinstance(tag, int) and not isinstance(tag, bool) else None


def _append(path: Path, line: int, stream: Stream, row: dict[str, Any], values: dict[str, list[Any]]) -> None:
    for column, snake, other in _FIELDS[stream.name]:
        value = row.get(snake)
        if value is None:
            value = row.get(other)
        if column.kind == "string":
            values[snake].append(value if isinstance(value, str) else None)
            continue
        if type(value) is int:
            if not _INT64.min <= value <= _INT64.max:
                refuse(path, snake, f"line {line}", f"{value} overflows a 64-bit signed integer")
        elif not (column.kind == "time" and isinstance(value, str)):
            present = snake in row or other in row
            wanted = "an integer or an ISO 8601 string" if column.kind == "time" else "an integer"
            fault = "the value is null" if present and value is None else f"{_kind(value)}, but must be {wanted}"
            refuse(path, snake, f"line {line}", fault if present else "the column is missing")
        values[snake].append(value)


def _kind(value: Any) -> str:
    kinds = {
        float: "a fraction",
        str: "a string",
        bool: "a boolean",
        list: "a list",
        dict: "an object",
        int: "an integer",
    }
    return f"{kinds.get(type(value), 'null')} ({str(value)[:40]})"


def _times(path: Path, column: Column, values: list[Any], unit: str, where: Callable[[int], str]) -> I64:
    """Times in ns: integers in the given unit, strings in their own."""
    texts = [row for row, value in enumerate(values) if isinstance(value, str)]
    if not texts:
        return time_to_ns(path, column.name, np.array(values, dtype=np.int64), unit, where)
    parsed = np.zeros(len(values), dtype=np.int64)
    for row in texts:
        time_ns = iso_to_ns(values[row])
        if time_ns is None:
            refuse(path, column.name, where(row), f"{values[row][:60]!r} is not an ISO 8601 time")
        if not 0 <= time_ns < TIME_LIMIT_NS:
            fault = "is before 1970" if time_ns < 0 else "overflows: valid times are below 2**62 ns"
            refuse(path, column.name, where(row), f"the time {values[row]} {fault}")
        parsed[row] = time_ns
    whole = np.array([0 if isinstance(value, str) else value for value in values], dtype=np.int64)
    return parsed + time_to_ns(path, column.name, whole, unit, where)


def iso_to_ns(text: str) -> int | None:
    """Nanoseconds of an ISO 8601 time with up to nine decimals; without a zone it is UTC."""
    found = _ISO.fullmatch(text.strip())
    if found is None:
        return None
    day, clock, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{'' if zone is None or zone in 'zZ' else zone}")
    except ValueError:
        return None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * TIME_UNITS_NS["s"] + int((fraction or "0").ljust(9, "0"))
