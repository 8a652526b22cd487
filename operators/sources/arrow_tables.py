"""read_arrow: an Arrow table, or Arrow files mapped into memory, dealt to the workers in blocks of rows."""

import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenring.engine import AnyStream, Batch, Schema, SchemaError, ScopeOf, Time, UsageError, table_of
from tokenring.engine.columns import require_schema, require_sound
from tokenring.operators.sources.arguments import chosen_columns, named_rows, require_positive
from tokenring.operators.sources.feeder import Piece, Position, ReadColumns, columns_wanted, feed, parts_of
from tokenring.operators.sources.files import Paths, as_found, facts_of, files_of, mapped
from tokenring.operators.sources.throttle import Throttle
from tokenring.operators.time import RowOrigin, Timing, block_minima, floors_after

if TYPE_CHECKING:
    import pyarrow as pa

_UTC = ("UTC", "Etc/UTC", "Z", "GMT", "+00:00")


def read_arrow(
    scope: ScopeOf[AnyStream],
    table: "pa.Table | Paths | Any",
    *,
    schema: Schema | None = None,
    columns: str | Sequence[str] | None = None,
    time: str | Time = 0,
    batch_rows: int = 1 << 14,
    throttle: Throttle | None = None,
    name: str = "read_arrow",
) -> AnyStream:
    """Rows of an Arrow table, of what offers itself as one (pandas, Polars), or of Arrow IPC files (a file, a folder of
    .arrow and .feather, a pattern, a list).

    The schema is Arrow's, of all columns or the named ones, nullable where there are nulls now; or the one given, to
    which columns are converted, those of each file from its own types. Columns at which no operator looks are not
    looked at. Every worker must be given the same table. Blocks of `batch_rows` rows are dealt to workers in turn, one
    message each. time: a column of int64, uint64 or timestamp (ns); rows may be in any order, since all times are
    looked at first; or one time for all rows.
    Memory: the times; files are mapped, not read.

    Raises SchemaError for columns that no kind holds, and for values that do not fit or are of a damaged file, naming
    column and row; UsageError for a file that is missing or not Arrow's.
    """
    require_positive(name, batch_rows=batch_rows)
    is_file = isinstance(table, str | Path | list | tuple)
    if is_file:
        files = files_of(name, table, (".arrow", ".feather"))
        facts = facts_of(name, files, batch_rows=batch_rows)
        whole = _Tables([_mapped(name, file) for file in files], files)
    else:
        whole = _Tables([_offered(name, table)], ["Arrow"])
        (one,) = whole.tables
        facts = {"columns": one.schema.names, "rows": whole.rows, "batch_rows": batch_rows}
    nullable = {
        column
        for each in whole.tables
        for column, values in zip(each.schema.names, each.columns, strict=True)
        if has_nulls(values)
    }
    schemas = [
        schema_of(name, each.schema, schema, columns, where, nullable.__contains__)
        for each, where in zip(whole.tables, whole.names, strict=True)
    ]
    chosen = one_schema(name, whole.names, schemas)
    timing = Timing(name, chosen, time, None)
    place = whole.row if is_file else "row {}".format
    wanted = columns_wanted(scope, name)

    def pieces(share: int, shares: int, position: Position) -> Iterator[Piece]:
        read = ReadColumns(chosen, wanted(), timing.column)
        known: set[tuple[int, ...]] = set()

        def sound(schema: Schema, arrow: Any) -> Batch:
            if is_file:
                require_sound(arrow, schema.names, known)
            return read.batch_of(schema, arrow)

        def rows(schema: Schema, start: int, stop: int) -> Batch:
            parts = whole.slices(start, stop)
            return Batch.concatenate([fitting(schema, part, _behind(at, place), sound) for at, part in parts])

        first = share * batch_rows if position is None else position
        starts = range(first, whole.rows, batch_rows * shares)
        floors: list[Time | None] = [None] * len(starts)
        if timing.column is not None and starts:
            times = rows(chosen.select([timing.column]), first, whole.rows).columns[0]
            floors = [*floors_after(block_minima(times, batch_rows)[::shares])]
        for start, floor in zip(starts, floors, strict=True):
            batch = rows(read.least, start, start + batch_rows)
            yield Piece(
                read.whole(parts_of(batch), batch.rows), floor, _behind(start, place), start + batch_rows * shares
            )

    reads = as_found(facts) if is_file else ()
    return feed(scope, chosen, timing, pieces, throttle, contents=lambda: facts, reads=reads, rows=whole.rows)


def _behind(start: int, place: RowOrigin) -> RowOrigin:
    """Where rows are that are counted from one on."""
    return lambda row: place(start + row)


class _Tables:
    """Arrow tables one after the other, whose rows are counted through. A column may be of another type in each."""

    def __init__(self, tables: Sequence[Any], names: Sequence[str]) -> None:
        self.tables, self.names = tables, names
        self._ends = [*accumulate([table.num_rows for table in tables])]
        self.rows = self._ends[-1]

    def slices(self, start: int, stop: int) -> Iterator[tuple[int, Any]]:
        """These rows, at least one, table by table, and the number of the first one in each."""
        for at in range(bisect_right(self._ends, start), len(self.tables)):
            table = self.tables[at]
            first = self._ends[at] - table.num_rows
            if first >= stop:
                return
            here = max(start, first)
            yield here, table.slice(here - first, stop - here)

    def row(self, row: int) -> str:
        """Where one of the rows is."""
        at = bisect_right(self._ends, row)
        return f"{self.names[at]} row {row - self._ends[at] + self.tables[at].num_rows}"


class ZoneWarning(UserWarning):
    """A file's times carry a zone other than UTC: their instants are kept, the zone's name is not.

    Silence it with `warnings.filterwarnings("ignore", category=ZoneWarning)`.
    """


def _say_what_zones_are_lost(
    name: str, where: str, arrow: "pa.Schema", schema: Schema | None, columns: Sequence[str]
) -> None:
    for column in columns:
        zone = getattr(arrow.field(column).type, "tz", None)
        if zone not in (None, *_UTC) and (schema is None or schema.kind(column).is_instant):
            warnings.warn(
                f"source {name!r}: the times of {where} column {column!r} are in {zone}; as timestamps they are the "
                f"same instants in UTC, without the zone. Keep its name in a column if it matters. To silence this: "
                f'warnings.filterwarnings("ignore", category=ZoneWarning)',
                ZoneWarning,
                stacklevel=4,
            )


def has_nulls(values: Any) -> bool:
    """Arrow counts no nulls in a dictionary's values, nor in runs."""
    for chunk in getattr(values, "chunks", [values]):
        coded = getattr(chunk, "dictionary", getattr(chunk, "values", None))
        if chunk.null_count or (coded is not None and coded.null_count):
            return True
    return False


def fitting(
    schema: Schema, arrow: Any, place: RowOrigin, read: Callable[[Schema, Any], Batch] = Batch.from_arrow
) -> Batch:
    """Arrow's columns, converted to a schema by `read`; SchemaError that names the first row that does not fit."""
    try:
        return read(schema, arrow)
    except SchemaError as error:
        fault, row, rows = error, 0, arrow.num_rows
    while rows > 1:
        half = rows // 2
        try:
            read(schema, arrow.slice(row, half))
            row, rows = row + half, rows - half
        except SchemaError as error:
            fault, rows = error, half
    raise SchemaError(f"{place(row)}: {fault}") from None


def _offered(name: str, table: Any) -> Any:
    return named_rows(lambda: table_of(table), f"source {name!r}")


def schema_of(
    name: str,
    arrow: "pa.Schema",
    schema: Schema | None,
    columns: str | Sequence[str] | None,
    where: str,
    is_nullable: Callable[[str], bool] = lambda column: False,
) -> Schema:
    """The schema as which a source reads Arrow's columns: the one given, or Arrow's own. is_nullable: tells of a column
    that is read whether it may have nulls; not asked where a schema is given."""
    import pyarrow as pa

    if schema is not None and columns is not None:
        raise UsageError(f"source {name!r}: give schema= or columns=, not both")
    if schema is not None:
        require_schema(f"source {name!r}", schema)
        columns = schema.names
    chosen = list(arrow.names) if columns is None else chosen_columns(name, columns, arrow.names, where)
    twice = sorted({column for column in chosen if list(arrow.names).count(column) > 1})
    if twice:
        raise SchemaError(
            f"source {name!r}: columns of {where} are not named apart: {', '.join(twice)}; rename them, or read others "
            f"(columns=)"
        )
    _say_what_zones_are_lost(name, where, arrow, schema, chosen)
    if schema is not None:
        return schema
    fields = pa.schema([arrow.field(column) for column in chosen])
    try:
        return Schema.from_arrow(fields, nullable={*filter(is_nullable, chosen)})
    except SchemaError as error:
        raise SchemaError(f"source {name!r}: {where} {error}: name the columns that are read (columns=)") from None


def one_schema(name: str, where: Sequence[str], schemas: Sequence[Schema]) -> Schema:
    """The schema that all files have; SchemaError if one has another."""
    for file, other in zip(where, schemas, strict=True):
        if other != schemas[0]:
            raise SchemaError(f"source {name!r}: {file} has {other!r}, {where[0]} has {schemas[0]!r}; give schema=")
    return schemas[0]


def _mapped(name: str, file: str) -> "pa.Table":
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(use_threads=False)
    what = "no Arrow file"
    try:
        octets = mapped(file).read_buffer()  # as a file, Arrow would read it by threads
        opened = pa.ipc.open_stream
        if octets[:6].to_pybytes() == b"ARROW1":
            what, opened = "damaged, or was cut off", pa.ipc.open_file
        table = opened(octets, options=options).read_all()
        table.validate()  # that buffers are as long as they must be, whatever is in them
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UsageError(f"source {name!r}: {file} is {what}: {error}") from None
    return table
