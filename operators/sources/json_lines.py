"""read_json_lines: files of one JSON object a line, cut into blocks that are dealt to the workers."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from engine import Schema, Scope, Stream, Time
from operators.sources.feeder import Piece, feed
from operators.sources.files import Paths, files_of
from operators.sources.json_rows import JsonRows
from operators.sources.throttle import Throttle
from operators.sources.timing import Timing


class _Block(NamedTuple):
    """Bytes of a file; the lines that begin in them belong to it."""

    file: str
    start: int
    stop: int


def read_json_lines(
    scope: Scope,
    path: Paths,
    schema: Schema,
    *,
    time: str | Time = 0,
    disorder: int = 0,
    block_bytes: int = 1 << 18,
    throttle: Throttle | None = None,
    name: str = "read_json_lines",
) -> Stream:
    """Rows (`schema`; no bytes) of files with a JSON object a line (a file, a folder of .jsonl, .ndjson and .json, a
    pattern, a list). Fields that the schema does not name are left out; one that is missing is null.

    Timestamps are ISO 8601 strings, UTC unless they have an offset, or integers, ns since 1970. Blocks of `block_bytes`
    are dealt to workers in turn, one message each. time: a column of int64, uint64 or timestamp (ns) by which rows come
    in order, up to `disorder`; or one time for all rows. Memory: a block.

    Raises SchemaError for what is no JSON object or does not fit the schema, naming file, line and column; UsageError
    for a file that is missing.
    """
    timing = Timing(name, schema, time, disorder)
    rows = JsonRows(name, schema)
    blocks = [
        _Block(file, start, start + block_bytes)
        for file in files_of(name, path, (".jsonl", ".ndjson", ".json"))
        for start in range(0, Path(file).stat().st_size, block_bytes)
    ]

    def pieces(worker: int, peers: int) -> Iterator[Piece]:
        for block in blocks[worker::peers]:
            at, data = _lines(block)
            lines = data.split(b"\n")

            def where(line: int, block: _Block = block, at: int = at) -> str:
                return f"{block.file} line {_lines_before(block.file, at) + line + 1}"

            batch, numbers = rows.batch(lines, where)

            def place(row: int, numbers: list[int] = numbers, where=where) -> str:  # type: ignore[no-untyped-def]
                return str(where(numbers[row]))

            yield Piece(batch, None, place)

    return feed(scope, schema, timing, pieces, throttle)


def _lines(block: _Block) -> tuple[int, bytes]:
    """Where the block's first line begins, and its lines."""
    with open(block.file, "rb") as file:
        if block.start:
            file.seek(block.start - 1)
            file.readline()  # belongs to the block before, or is the newline just before this one
        at = file.tell()
        data = file.read(max(0, block.stop - at))
        if data and not data.endswith(b"\n"):
            data += file.readline()
    return at, data


def _lines_before(path: str, end: int) -> int:
    """How many lines end before a byte; for messages only."""
    with open(path, "rb") as file:
        return file.read(end).count(b"\n")
