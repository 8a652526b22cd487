"""read_staged: a staged table's columns, mapped into memory, in order of time, dealt to the workers in blocks."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tokenring.engine import AnyStream, Batch, ScopeOf, Time, UsageError
from tokenring.engine.columns import NO_HEAP
from tokenring.operators.rows import has_unique, select
from tokenring.operators.sources import (
    Piece,
    Position,
    Throttle,
    chosen_columns,
    columns_wanted,
    feed,
    require_positive,
    resolved,
    rows_may_pass,
)
from tokenring.operators.staging.manifest import BLOCK_ROWS
from tokenring.operators.staging.staged_table import StagedTable
from tokenring.operators.time import NOTHING, Timing


def read_staged(
    scope: ScopeOf[AnyStream],
    folder: str | Path,
    table: str | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    time: str | Time | None = None,
    batch_rows: int = 1 << 14,
    throttle: Throttle | None = None,
    name: str = "read_staged",
) -> AnyStream:
    """Rows of a table that `tokenring stage --time …` has staged in a folder, in order of that time.

    table: may be left out where the folder has one alone. columns: all, or the named ones; nullable where there are
    nulls. Blocks of `batch_rows` rows are dealt to workers in turn, one message each, as views into the mapped files;
    text is words into a heap of distinct texts. Columns at which no operator looks are neither read nor checked. Blocks
    are left out, unread, whose times come through no filter behind the source (see `read_parquet`); the others are held
    against their checksums before they are sent.

    time: the column by which the table was staged, which is what is taken unless given, or one time for all rows.
    Columns that were staged as unique are known to be so by joins of this stream, and of what `filter`, `select` and
    their like make of it. Memory: none; the system reads pages, and drops them, as it likes.

    Raises UsageError for a folder or table that is not there, of another version, or not what was staged; SchemaError
    for columns that are not there.
    """
    require_positive(name, batch_rows=batch_rows)
    try:
        staged = StagedTable(folder, table)
    except UsageError as error:
        raise UsageError(f"source {name!r}: {error}") from None
    where = f"table {staged.name!r}"
    chosen = list(staged.schema.names) if columns is None else chosen_columns(name, columns, staged.schema.names, where)
    time = staged.time if time is None else time
    if isinstance(time, str) and time != staged.time:
        raise UsageError(
            f"source {name!r}: the rows of {where} are in order of {staged.time!r}; for {time!r}, stage it with --time "
            f"{time}"
        )
    is_extra = isinstance(time, str) and time not in chosen
    schema = staged.schema.select([*chosen, staged.time] if is_extra else chosen)
    timing = Timing(name, schema, time, None)
    wanted, may_pass = columns_wanted(scope, name), rows_may_pass(scope)

    def pieces(share: int, shares: int, position: Position) -> Iterator[Piece]:
        looked_at = wanted()
        read = {
            name: staged.column(name).proved()
            for name in schema.names
            if looked_at is None or name in looked_at or name == timing.column
        }
        nothing = np.zeros(batch_rows, np.int64)  # stands in columns at which nobody looks
        heaps = tuple([
            (NO_HEAP if name not in read else read[name].heap) if kind.is_text else None
            for name, kind in zip(schema.names, schema.kinds, strict=True)
        ])
        starts = staged.starts() if staged.time in read else np.empty(0, np.int64)

        def time_at(row: int) -> Time:
            """A row's time, proved: without its block being read for it, if it is the first of one."""
            block, within = divmod(row, BLOCK_ROWS)
            if not within:
                return int(starts[block])
            read[staged.time].require(row, row + 1)
            return int(read[staged.time].words[row])

        def may_be_within(least: Time, most: Time) -> bool:
            from tokenring.operators.expressions import Range

            within = Range(least, most, has_null=False)
            return may_pass(lambda name: within if name == staged.time else None)

        def is_wanted(start: int, stop: int) -> bool:
            if staged.time not in read:
                return True
            first, behind = start // BLOCK_ROWS, -(-stop // BLOCK_ROWS)
            most = int(starts[behind]) if behind < len(starts) else staged.last_time
            if not may_be_within(int(starts[first]), most):
                return False
            is_whole = start % BLOCK_ROWS == 0 and (stop % BLOCK_ROWS == 0 or stop == staged.rows)
            return is_whole or may_be_within(time_at(start), time_at(stop - 1))

        step = batch_rows * shares
        for start in range(share * batch_rows if position is None else position, staged.rows, step):
            stop, ahead = min(start + batch_rows, staged.rows), start + step
            if not is_wanted(start, stop):
                continue
            for column in read.values():
                column.require(start, stop)
            floor = None if timing.column is None else time_at(ahead) if ahead < staged.rows else NOTHING
            sent = [
                np.asarray(read[name].words[start:stop]) if name in read else nothing[: stop - start].view(dtype)
                for name, dtype in zip(schema.names, schema.dtypes, strict=True)
            ]

            def place(row: int, start: int = start) -> str:
                return f"{staged.folder} row {start + row}"

            batch = Batch.wrap(schema, tuple(sent), stop - start, heaps if schema.has_text else ())
            yield Piece(batch, floor, place, ahead)

    # The manifest's checksum is one of the columns' checksums, against which those are held whenever they are read.
    facts = {"folder": resolved(staged.folder), "checksum": staged.manifest["checksum"], "batch_rows": batch_rows}
    reads = [f"{str(staged.folder)!r} (checksum {facts['checksum']})"]
    rows: AnyStream = feed(
        scope, schema, timing, pieces, throttle, contents=lambda: facts, reads=reads, rows=staged.rows
    )
    has_unique(rows, staged.unique)
    return select(rows, *chosen) if is_extra else rows
