"""read_parquet: Parquet files, their row groups dealt to the workers and streamed."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import accumulate, product
from os.path import isfile
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
import orjson

from tokenring.engine import AnyStream, Batch, Schema, SchemaError, ScopeOf, Time, UsageError
from tokenring.operators.durations import Span
from tokenring.operators.sources.arguments import require_positive
from tokenring.operators.sources.arrow_tables import fitting, one_schema, schema_of
from tokenring.operators.sources.feeder import (
    Piece,
    Position,
    ReadColumns,
    columns_wanted,
    feed,
    parts_of,
    rows_a_message,
    rows_may_pass,
)
from tokenring.operators.sources.files import (
    REPLACED,
    Paths,
    as_found,
    facts_of,
    files_of,
    mapped,
    size_and_change,
    small_together,
)
from tokenring.operators.sources.throttle import Throttle
from tokenring.operators.time import Timing, floors_after

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tokenring.operators.expressions import Range


class _Form:
    """What the schema of a file, and mostly of those after it, says: the numbers of columns that are within no other,
    those of them that may have nulls, and those of INT96, which are times."""

    def __init__(self, parquet: "pq.ParquetSchema", arrow: "pa.Schema") -> None:
        self._parquet, self.arrow = parquet, arrow
        columns = [*map(parquet.column, range(len(parquet)))]
        # Those within others have paths with points, as names may.
        self.columns = {column.name: at for at, column in enumerate(columns) if column.name == column.path}
        self.optional = {name for name, at in self.columns.items() if columns[at].max_definition_level}
        self.of_96_bits = {name for name, at in self.columns.items() if columns[at].physical_type == "INT96"}

    def is_of(self, parquet: "pq.ParquetSchema", arrow: "pa.Schema") -> bool:
        """Whether a file of these schemas has it."""
        return bool(parquet.equals(self._parquet) and arrow.equals(self.arrow))


class _RowGroup(NamedTuple):
    """One row group: where it is, what its file was (see `size_and_change`), and its first row's number in that."""

    file: str
    was: tuple[int, int]
    footer: "pq.FileMetaData"
    form: _Form
    number: int
    first_row: int
    rows: int

    def column(self, name: str) -> "pq.ColumnChunkMetaData":
        """What the footer says of a column that is within no other."""
        return self.footer.row_group(self.number).column(self.form.columns[name])


@overload
def read_parquet(
    scope: ScopeOf[AnyStream], path: Paths, *, schema: Schema | None = ..., columns: str | Sequence[str] | None = ...,
    time: str | Time = ..., disorder: int | None = ..., batch_rows: int | None = ..., throttle: Throttle | None = ...,
    name: str = ..., late: Literal[False] = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def read_parquet(
    scope: ScopeOf[AnyStream], path: Paths, *, schema: Schema | None = ..., columns: str | Sequence[str] | None = ...,
    time: str | Time = ..., disorder: int | None = ..., batch_rows: int | None = ..., throttle: Throttle | None = ...,
    name: str = ..., late: Literal[True],
) -> tuple[AnyStream, AnyStream]: ...  # fmt: skip


def read_parquet(
    scope: ScopeOf[AnyStream],
    path: Paths,
    *,
    schema: Schema | None = None,
    columns: str | Sequence[str] | None = None,
    time: str | Time = 0,
    disorder: Span | None = None,
    batch_rows: int | None = None,
    throttle: Throttle | None = None,
    late: bool = False,
    name: str = "read_parquet",
) -> AnyStream | tuple[AnyStream, AnyStream]:
    """Rows of Parquet files (a file, a folder of .parquet, a pattern, a list), row group by row group.

    The schema is that of the files, of all columns or the named ones, nullable where their statistics say that there
    are nulls or say nothing; or the one given, to which columns are converted. Row groups are dealt to workers in turn
    and sent in messages of `batch_rows`; None: 32,768 where rows stay on their worker, 16,384 where they go to others.
    Small ones (up to 1,024 rows) that follow each other are sent together, 64 at most, where one time is for all rows.
    Columns at which no operator looks are neither read nor checked, nor are row groups of which the files' statistics
    say that no row comes through the filters behind the source (of expressions of columns and constants that cannot
    fail: comparisons, `is_in`, `is_null`, `&`, `|`, `~`).

    time: a column of int64, uint64 or timestamp (ns), or one time for all rows. Rows may be in any order where the
    files' statistics have that column's least values (nearly all files do); else each worker's must be in order, up to
    `disorder`, which may be given to say so. Memory: a batch, and the times of a row group.
    late: whether rows that are earlier than that go, at the time that was promised, to a second stream that is then
    returned besides, instead of ending the run.

    Raises SchemaError for columns that no kind holds or that do not fit, and for rows that come too late, naming file
    and row; UsageError for a file that is missing, not Parquet, or another when it is read.
    """
    require_positive(name, batch_rows=1 if batch_rows is None else batch_rows)
    files = files_of(name, path, (".parquet", ".pq"))
    facts = facts_of(name, files, batch_rows=batch_rows or 0)
    was = {file: (size, changed_ns) for file, (_, size, changed_ns) in zip(files, facts["files"], strict=True)}
    footers = [_footer(name, file) for file in files]
    forms = [*_forms(footers)]
    groups = [
        group
        for file, footer, form in zip(files, footers, forms, strict=True)
        for group in _row_groups(file, was[file], footer, form)
    ]
    first_of: dict[_Form, str] = {}
    for file, form in zip(files, forms, strict=True):
        first_of.setdefault(form, file)

    @cache
    def is_nullable(column: str) -> bool:
        return any(_may_be_null(group, column) for group in groups)

    schemas = [schema_of(name, form.arrow, schema, columns, file, is_nullable) for form, file in first_of.items()]
    chosen = one_schema(name, [*first_of.values()], schemas)
    timing = Timing(name, chosen, time, disorder, late)
    least = [None if timing.column is None else _least(group.column(timing.column).statistics) for group in groups]
    if timing.disorder is None and None in least:
        timing.disorder = 0

    wanted, told, may_pass = columns_wanted(scope, name), rows_a_message(scope), rows_may_pass(scope)

    def is_wanted(group: _RowGroup) -> bool:
        return may_pass(partial(_range, group, chosen))

    def pieces(share: int, shares: int, position: Position) -> Iterator[Piece]:
        columns = ReadColumns(chosen, wanted(), timing.column)
        at_once = told(shares) if batch_rows is None else batch_rows
        first, done = (share, 0) if position is None else position
        numbers = [number for number in range(first, len(groups), shares) if is_wanted(groups[number])]
        if numbers and numbers[0] == first and done == groups[first].rows:
            del numbers[0]
        mine = [groups[number] for number in numbers]
        known = [time for number in numbers if (time := least[number]) is not None]
        floors: list[Time | None] = [None] * len(mine)
        if timing.column is not None and len(known) == len(mine):
            floors = [*floors_after(known)]
        most = at_once if timing.column is None else 0  # other rows are sent group by group, each of which has a floor
        read = zip(numbers, mine, floors, strict=True)
        for run in small_together(read, lambda each: each[1].rows, _SMALL_ROWS, most, lambda each: each[1].form):
            number, group, floor = run[-1]
            if len(run) > 1:
                yield _together(name, [each for _, each, _ in run], columns, number)
                continue
            behind = done if number == first else 0
            with _naming_damages(name, group):
                yield from _read(group, columns, timing.column, floor, at_once, number, behind)

    rows = sum([group.rows for group in groups])
    return feed(scope, chosen, timing, pieces, throttle, contents=lambda: facts, reads=as_found(facts), rows=rows)


def _together(name: str, groups: Sequence[_RowGroup], columns: ReadColumns, number: int) -> Piece:
    """All rows of row groups, the last of which has that number of all, of no times of their own."""
    import pyarrow as pa

    batches: list[pa.RecordBatch] = []
    for group in groups:
        with _naming_damages(name, group), _opened(group) as file:
            _require_instants(group, columns.names)
            batches += _decoded(group, file, columns.names, group.rows)
    ends = [*accumulate([group.rows for group in groups])]

    def place(row: int) -> str:
        group = groups[at := bisect_right(ends, row)]
        return _row_of(group, 0, row - ends[at] + group.rows)

    there = {}
    if columns.names:
        arrow = pa.Table.from_batches(batches).combine_chunks()  # else each column loads `pyarrow.compute`
        there = parts_of(fitting(columns.schema.select(columns.names), arrow, place, columns.batch_of))
    return Piece(columns.whole(there, ends[-1]), None, place, [number, groups[-1].rows])


@contextmanager
def _naming_damages(name: str, group: _RowGroup) -> Iterator[None]:
    """UsageError, which names it, for a row group that Arrow cannot read."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        said = " ".join(str(error).split())
        what = f"{group.file} is damaged in row group {group.number}"
        if not isfile(group.file):
            what = f"{group.file} is gone"
        raise UsageError(f"source {name!r}: {what}: {said}") from None


def _read(
    group: _RowGroup, columns: ReadColumns, time: str | None, floor: Time | None, rows: int, number: int, done: int
) -> Iterator[Piece]:
    """The pieces of the row group of that number of all, behind so many rows, which are decoded and dropped: pages of
    different columns end at different rows. `floor` is the least time behind the group."""
    schema = columns.schema
    dictionaries = [name for name in columns.names if schema.kind(name).is_text and _has_dictionary(group.column(name))]
    with _opened(group, read_dictionary=dictionaries) as file:
        _require_instants(group, columns.names)
        ahead, times, names = None, None, [*columns.names]
        if time is not None and floor is not None:
            # Times are read before all else: the frontier need not stand still for as long as a row group lasts.
            whole = file.read_row_group(group.number, columns=[time], use_threads=False)
            times = fitting(schema.select([time]), whole, partial(_row_of, group, 0)).columns[0]
            ahead = np.minimum.accumulate(times[::-1])[::-1]
            names.remove(time)
        start = 0
        at_once = max(rows, _DECODED_ROWS)
        for arrow in _decoded(group, file, names, at_once):
            stop = start + arrow.num_rows
            if stop <= done:
                start = stop
                continue
            if start < done:
                arrow, start = arrow.slice(done - start), done

            there = {}
            if names:
                where = partial(_row_of, group, start)
                there = parts_of(fitting(schema.select(names), arrow, where, columns.batch_of))
            if times is not None:
                there[str(time)] = times[start:stop], None
            whole = columns.whole(there, arrow.num_rows)
            for at in range(0, arrow.num_rows, rows):
                some = whole.slice(at, min(at + rows, arrow.num_rows))
                place = partial(_row_of, group, start)
                start += some.rows
                behind = floor
                if ahead is not None and floor is not None and start < len(ahead):
                    behind = min(int(ahead[start]), floor)
                yield Piece(some, behind, place, [number, start])


def _decoded(group: _RowGroup, file: "pq.ParquetFile", names: Sequence[str], rows: int) -> "Iterator[pa.RecordBatch]":
    """The group's rows, so many at once. SchemaError if they are not as many as the footer says."""
    found = 0
    # No threads: this worker has one core.
    for arrow in file.iter_batches(rows, row_groups=[group.number], columns=names, use_threads=False):
        found += arrow.num_rows
        yield arrow
    _require_as_it_was(group)  # else some of its rows may be another one's
    if found != group.rows:
        raise SchemaError(
            f"{group.file} is damaged in row group {group.number}: {found} rows where {group.rows} are promised"
        )


def _opened(group: _RowGroup, **more: Any) -> "pq.ParquetFile":
    """The group's file. Its footer is not read once more, which tells of all row groups. UsageError for another one, of
    which it would tell what is not so."""
    import pyarrow.parquet as pq

    octets = mapped(group.file)
    _require_as_it_was(group)
    return pq.ParquetFile(octets, metadata=group.footer, pre_buffer=False, page_checksum_verification=True, **more)


def _require_as_it_was(group: _RowGroup) -> None:
    if size_and_change(group.file) != group.was:
        raise UsageError(f"{group.file} {REPLACED}")


def _require_instants(group: _RowGroup, names: Sequence[str]) -> None:
    """SchemaError for a time of INT96 in these columns that 64 bits of ns do not hold: Arrow, which reads it as that,
    wraps around."""

    def numbers(name: str, unit: str) -> np.ndarray:
        """A column's times in this unit, the least number where they are null."""
        import pyarrow as pa
        import pyarrow.compute as compute

        with _opened(group, coerce_int96_timestamp_unit=unit) as file:
            whole = file.read_row_group(group.number, columns=[name], use_threads=False)
        return Batch(Schema.of({name: "int64?"}), {name: compute.cast(whole.column(0), pa.int64())}).columns[0]

    for name in group.form.of_96_bits.intersection(names):
        instants, milliseconds = numbers(name, "ns"), numbers(name, "ms")
        beyond = np.flatnonzero((instants // 10**6 != milliseconds) & (instants != milliseconds))
        if len(beyond):
            instant = np.datetime64(int(milliseconds[beyond[0]]), "ms")
            raise SchemaError(
                f"{_row_of(group, 0, int(beyond[0]))}: column {name!r}: {instant} is no time within 1677 to 2262; make "
                f"it null or clip it before the file is written, or leave the column out (columns=)"
            )


def _row_of(group: _RowGroup, start: int, row: int) -> str:
    return f"{group.file} row {group.first_row + start + row}"


def _footer(name: str, file: str) -> "pq.FileMetaData":
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(mapped(file))
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(f"source {name!r}: {file} is no Parquet file: {error}") from None


def _forms(footers: "Sequence[pq.FileMetaData]") -> Iterator[_Form]:
    """What the schema of each says, the same for those that follow each other and are alike."""
    form = None
    for footer in footers:
        schemas = footer.schema, footer.schema.to_arrow_schema()
        if form is None or not form.is_of(*schemas):
            form = _Form(*schemas)
        yield form


def _row_groups(file: str, was: tuple[int, int], footer: "pq.FileMetaData", form: _Form) -> Iterator[_RowGroup]:
    """Those with rows: of others, which an empty table is written as, statistics say nothing."""
    first_row = 0
    for number in range(footer.num_row_groups):
        rows = footer.row_group(number).num_rows
        if rows:
            yield _RowGroup(file, was, footer, form, number, first_row, rows)
        first_row += rows


def _may_be_null(group: _RowGroup, name: str) -> bool:
    """Whether a column has nulls, or may have for all one can tell."""
    if name not in group.form.optional:
        return False
    statistics = group.column(name).statistics
    return statistics is None or not statistics.has_null_count or statistics.null_count != 0


def _has_dictionary(column: Any) -> bool:
    """Whether values are numbers of those in a dictionary. A writer whose dictionary got too long writes values after
    it, of which to make a dictionary would take longer than to read them."""
    numbers_bytes = 4 * column.num_values + _DICTIONARY_BYTES
    return column.has_dictionary_page and column.total_uncompressed_size <= numbers_bytes


def _range(group: _RowGroup, schema: Schema, name: str) -> "Range | None":
    """What a row group's statistics say of a column of the schema; None if that is nothing, or of values that are
    converted."""
    from tokenring.operators.expressions import Range

    statistics = group.column(name).statistics if name in group.form.columns else None
    if statistics is None:
        return None
    if statistics.has_null_count and statistics.null_count == group.rows:
        return Range(None, None, has_null=True)
    if not statistics.has_min_max:
        return None
    family, told = schema.kind(name).family, orjson.loads(statistics.logical_type.to_json())
    if (family, statistics.physical_type, told["Type"]) not in _AS_THEY_ARE:
        return None
    bounds = statistics.min_raw, statistics.max_raw
    if family in ("int64", "uint64"):
        bounds = statistics.min, statistics.max  # of unsigned ones, too
    elif family == "timestamp":
        least, greatest = (bound * _NS[told["timeUnit"]] for bound in bounds)
        bounds = least, greatest
    return Range(*bounds, not statistics.has_null_count or statistics.null_count > 0)


def _least(statistics: Any) -> Time | None:
    """The least time of a row group in ns, or as the integer it is; None if its statistics do not say."""
    if statistics is None or not statistics.has_min_max:
        return None
    told = orjson.loads(statistics.logical_type.to_json())
    if told["Type"] in ("Date", "Timestamp"):  # not by `min`, which is a pandas.Timestamp where pandas is installed
        if not isinstance(statistics.min_raw, int):
            return None
        least = statistics.min_raw * _NS[told.get("timeUnit", "days")]
        return least if np.iinfo(np.int64).min < least <= np.iinfo(np.int64).max else None
    return statistics.min if isinstance(statistics.min, int) else None


_DECODED_ROWS = 1 << 16  # at once, however few go into a message
_SMALL_ROWS = 1 << 10
"""Row groups of up to so many are read with others: see `small_together`."""
_DICTIONARY_BYTES = 1 << 20
"""So long a dictionary is, at most, before writers give it up."""
_AS_THEY_ARE = {
    *product(("int64", "uint64"), ("INT32", "INT64"), ("Int", "None")), ("timestamp", "INT64", "Timestamp"),
    *product(("float64",), ("FLOAT", "DOUBLE"), ("None",)), ("date", "INT32", "Date"), ("bool", "BOOLEAN", "None"),
    ("string", "BYTE_ARRAY", "String"), ("bytes", "BYTE_ARRAY", "None"),
}  # fmt: skip
"""Kinds, and the physical and logical types whose statistics are of their words."""
_NS = {"nanoseconds": 1, "microseconds": 10**3, "milliseconds": 10**6, "days": 86_400 * 10**9}
