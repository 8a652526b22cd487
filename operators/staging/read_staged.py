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
    text is words into a heap of distinct texts. Columns at which no operator looks are neither read nor checked; the
    others are held against their checksums before they are sent, each by one worker. Blocks are left out whose times
    come through no filter behind the source (see `read_parquet`).

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
        read = [name for name in schema.names if looked_at is None or name in looked_at or name == timing.column]
        for column in read[share::shares]:
            staged.column(column).require_content()
        times = staged.column(staged.time).words() if timing.column is not None else None
        nothing = np.zeros(batch_rows, np.int64)  # stands in columns at which nobody looks
        words = [staged.column(name).words() if name in read else None for name in schema.names]
        heaps = tuple(
            [
                (staged.column(name).heap() if name in read else NO_HEAP) if kind.is_text else None
                for name, kind in zip(schema.names, schema.kinds, strict=True)
            ]
        )
        order = None if staged.time not in read else words[schema.position(staged.time)]

        def is_wanted(start: int, stop: int) -> bool:
            from tokenring.operators.expressions import Range

            if order is None:
                return True
            within = Range(int(order[start]), int(order[stop - 1]), has_null=False)
            return may_pass(lambda name: within if name == staged.time else None)

        step = batch_rows * shares
        for start in range(share * batch_rows if position is None else position, staged.rows, step):
            stop, ahead = min(start + batch_rows, staged.rows), start + step
            if not is_wanted(start, stop):
                continue
            floor = None if times is None else int(times[ahead]) if ahead < staged.rows else NOTHING
            sent = [
                nothing[: stop - start].view(dtype) if column is None else np.asarray(column[start:stop])
                for column, dtype in zip(words, schema.dtypes, strict=True)
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
