"""Blocks of JSON lines at once, where that gives what a reader of line after line does: rows of one shape.

Shapes: fields alone, in a file called after their stream (bid.jsonl), or within the stream's name as the only key
({"Bid": {...}}), several streams mixed. Whatever else might say what a line is (a tag, another object), a field in
camelCase, a time in text, a brace in a text, and each fault, is for who reads line after line.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tokenring.engine import Batch, Schema
from tokenring.nexmark.events import I64, STREAMS, Column, Stream
from tokenring.operators.sources import JsonRows

TAGS: Final = ("event_type", "eventType", "type", "kind", "stream", "event")
_TRIES: Final = 4
"""Blocks that were for the other reader, one after the other, before no more are tried."""


def camel(name: str) -> str:
    """A column's other name."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


class QuickLines:
    """Reads blocks of one file. by_stem: the stream that the file is called after, if it is."""

    def __init__(self, by_stem: Stream | None) -> None:
        self._by_stem = by_stem
        self._failed = 0
        self._readers = {name: JsonRows("stage", _schema(stream)) for name, stream in STREAMS.items()}

    def read(self, data: bytes) -> list[tuple[Stream, dict[str, Any], I64]] | None:
        """The columns of the rows of each stream in whole lines, and which line each row is from, counted from 0; None
        if they are for the other reader."""
        if self._failed >= _TRIES:
            return None
        found = []
        for stream, lines, numbers in self._parts(data):
            made = None
            if stream is not None and not _has_objects(lines):
                made = self._readers[stream.name].agreed(lines)
            if stream is None or made is None or not _is_plain(made[0], _others(stream)):
                self._failed += 1
                return None
            batch, rows = made
            columns = {column.name: _values(batch, column) for column in stream.columns}
            found.append((stream, columns, rows if numbers is None else numbers[rows]))
        self._failed = 0
        return found

    def _parts(self, data: bytes) -> list[tuple[Stream | None, bytes, I64 | None]]:
        """Lines of fields alone, by stream (None: for the other reader), and their numbers (None: from 0 on)."""
        if data[: data.find(b"{", 1)] not in _WITHIN:
            return [(self._by_stem, data, None)]
        lines: dict[str, list[bytes]] = {}
        numbers: dict[str, list[int]] = {}
        for number, line in enumerate(data.rstrip(b"\n").split(b"\n")):
            at = line.find(b"{", 1)
            key, line = line[:at], line.rstrip(b"\r\t ")
            if at < 0 or key not in _WITHIN or not line.endswith(b"}"):
                return [(None, b"", None)]
            name = _WITHIN[key].name
            lines.setdefault(name, []).append(line[len(key) : -1])
            numbers.setdefault(name, []).append(number)
        return [(STREAMS[name], b"\n".join(lines[name]), np.array(numbers[name])) for name in lines]


_WITHIN: Final = {
    f'{{"{name}":{space}'.encode(): stream
    for key, stream in STREAMS.items()
    for name in (key, key.capitalize())
    for space in ("", " ")
}


def _schema(stream: Stream) -> Schema:
    """A stream's columns as integers and texts (times in text are for the other reader), and what none may be in."""
    columns = {column.name: "int64" if column.is_integer else "string?" for column in stream.columns}
    return Schema.of(dict.fromkeys(_others(stream), "string?") | columns)


def _is_plain(batch: Batch, others: list[str]) -> bool:
    """Whether there is nothing in the other columns."""
    return all([batch.nulls(name).all() for name in others])


def _values(batch: Batch, column: Column) -> Any:
    """Integers as numpy has them, texts as Arrow does."""
    return batch[column.name] if column.is_integer else batch.arrow(column.name)


def _others(stream: Stream) -> list[str]:
    """Names by which a line may say something else than it does by the names of the columns."""
    names = {column.name for column in stream.columns}
    return [name for name in (*TAGS, *map(camel, names)) if name not in names]


def _has_objects(lines: bytes) -> bool:
    """Whether a line may be more than one object: by the braces, those in texts counted too."""
    return lines.count(b"{") != lines.count(b"\n") + (not lines.endswith(b"\n"))
