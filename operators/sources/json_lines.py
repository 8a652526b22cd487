"""read_json_lines: files of one JSON object a line, cut into blocks that are dealt to the workers."""

from collections.abc import Iterator
from typing import Literal, overload

from tokenring.engine import AnyStream, Schema, ScopeOf, Time
from tokenring.engine.columns import require_schema
from tokenring.operators.durations import Span
from tokenring.operators.sources.arguments import require_positive
from tokenring.operators.sources.feeder import Piece, Position, ReadColumns, columns_wanted, feed, parts_of
from tokenring.operators.sources.files import Paths, facts_of, files_of, rows_at_a_guess
from tokenring.operators.sources.json_rows import JsonRows
from tokenring.operators.sources.lines import BLOCK_BYTES, blocks_of, paths_of, read_together, taken_together, turns_of
from tokenring.operators.sources.throttle import Throttle
from tokenring.operators.time import Timing


@overload
def read_json_lines(
    scope: ScopeOf[AnyStream],
    path: Paths, schema: Schema, *, time: str | Time = ..., disorder: Span = ..., block_bytes: int = ...,
    throttle: Throttle | None = ..., name: str = ..., late: Literal[False] = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def read_json_lines(
    scope: ScopeOf[AnyStream],
    path: Paths, schema: Schema, *, time: str | Time = ..., disorder: Span = ..., block_bytes: int = ...,
    throttle: Throttle | None = ..., name: str = ..., late: Literal[True],
) -> tuple[AnyStream, AnyStream]: ...  # fmt: skip


def read_json_lines(
    scope: ScopeOf[AnyStream],
    path: Paths,
    schema: Schema,
    *,
    time: str | Time = 0,
    disorder: Span = 0,
    block_bytes: int = BLOCK_BYTES,
    throttle: Throttle | None = None,
    late: bool = False,
    name: str = "read_json_lines",
) -> AnyStream | tuple[AnyStream, AnyStream]:
    """Rows (`schema`; no bytes) of files with a JSON object a line (a file, a folder of .jsonl, .ndjson and .json, a
    pattern, a list). Fields that the schema does not name are left out; one that is missing is null. Columns at which
    no operator looks are neither read nor checked, as long as they are JSON.

    Timestamps are ISO 8601 strings, UTC unless they have an offset; numbers, whose unit nobody knows, are refused: read
    them as int64, and convert them, of ms by `(col("t") * 1_000_000).cast("timestamp")`. Blocks of `block_bytes` are
    dealt to workers in turn, one message each; of 256 KiB, as they are if nothing is said, up to four; where one time
    is for all rows, small files up to 64 at once. time: a column of int64, uint64 or timestamp (ns) by which rows come
    in order, up to `disorder`; or one time for all rows. Memory: a message.
    late: whether rows that are earlier than that go, at the time that was promised, to a second stream that is then
    returned besides, instead of ending the run.

    Raises SchemaError for what is no JSON object or does not fit the schema, naming file, line and column; UsageError
    for a file that is missing, or another or shorter when it is read than when it was declared.
    """
    require_schema(f"source {name!r}", schema)
    require_positive(name, block_bytes=block_bytes)
    timing = Timing(name, schema, time, disorder, late)
    lines = JsonRows(name, schema)
    files = files_of(name, path, (".jsonl", ".ndjson", ".json"))
    facts = facts_of(name, files, block_bytes=block_bytes, **turns_of(files))
    blocks = blocks_of(files, block_bytes)
    wanted = columns_wanted(scope, name)

    def pieces(share: int, shares: int, position: Position) -> Iterator[Piece]:
        columns = ReadColumns(schema, wanted(), timing.column)
        rows = lines.only(columns.least)
        most = block_bytes if timing.column is None else 0  # rows of their own times are sent file by file
        for taken, following in taken_together(blocks, share, shares, position or 0, most, lambda file: None):
            found = read_together(rows.read, taken)
            if found is not None:
                batch, place = found
                yield Piece(columns.whole(parts_of(batch), batch.rows), None, place, following)

    return feed(
        scope, schema, timing, pieces, throttle, contents=lambda: facts, reads=paths_of(files),
        rows=rows_at_a_guess(files),
    )  # fmt: skip
