"""read_parquet: Parquet files, their row groups dealt to the workers and streamed."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
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
from tokenring.operators.sources.files import REPLACED, Paths, as_found, facts_of, files_of, mapped, size_and_change
from tokenring.operators.sources.throttle import Throttle
from tokenring.operators.time import Timing, floors_after

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from tokenring.operators.expressions import Range


class _RowGroup(NamedTuple):
    """One row group: where it is, what its file was (see `size_and_change`), its first row's number in that, the least
    time in it, if that is known, the columns of which each different value is there once, and those of INT96, which are
    times."""

    file: str
    was: tuple[int, int]
    number: int
    first_row: int
    rows: int
    least: Time | None
    dictionaries: list[str]
    of_96_bits: list[str]


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
    columns_of = {file: _flat_columns(footer) for file, footer in zip(files, footers, strict=True)}
    nullable = {
        column for file, footer in zip(files, footers, strict=True) for column in _nullable(footer, columns_of[file])
    }
    schemas = [
        schema_of(name, footer.schema.to_arrow_schema(), schema, columns, nullable, file)
        for file, footer in zip(files, footers, strict=True)
    ]
    chosen = one_schema(name, files, schemas)
    timing = Timing(name, chosen, time, disorder, late)
    groups = [
        group
        for file, footer in zip(files, footers, strict=True)
        for group in _row_groups(file, was[file], footer, columns_of[file], timing.column)
    ]
    if timing.disorder is None and any(group.least is None for group in groups):
        timing.disorder = 0

    wanted, told, may_pass = columns_wanted(scope, name), rows_a_message(scope), rows_may_pass(scope)
    footer_of = dict(zip(files, footers, strict=True))

    def is_wanted(group: _RowGroup) -> bool:
        return may_pass(
            partial(_range, footer_of[group.file].row_group(group.number), columns_of[group.file], chosen)
        )

    def pieces(share: int, shares: int, position: Position) -> Iterator[Piece]:
        import pyarrow as pa

        columns = ReadColumns(chosen, wanted(), timing.column)
        at_once = told(shares) if batch_rows is None else batch_rows
        first, done = (share, 0) if position is None else position
        numbers = [number for number in range(first, len(groups), shares) if is_wanted(groups[number])]
        mine = [groups[number] for number in numbers]
        known = [group.least for group in mine if group.least is not None]
        floors: list[Time | None] = [None] * len(mine)
        if timing.column is not None and len(known) == len(mine):
            floors = [*floors_after(known)]
        for number, group, floor in zip(numbers, mine, floors, strict=True):
            behind, footer = done if number == first else 0, footer_of[group.file]
            try:
                if behind < group.rows:
                    yield from _read(group, footer, columns, timing.column, floor, at_once, number, behind)
            except (pa.ArrowInvalid, OSError) as error:
                said = " ".join(str(error).split())
                what = f"{group.file} is damaged in row group {group.number}"
                if not isfile(group.file):
                    what = f"{group.file} is gone"
                raise UsageError(f"source {name!r}: {what}: {said}") from None

    rows = sum([group.rows for group in groups])
    return feed(scope, chosen, timing, pieces, throttle, contents=lambda: facts, reads=as_found(facts), rows=rows)


def _read(
    group: _RowGroup, footer: "pq.FileMetaData", columns: ReadColumns, time: str | None, floor: Time | None, rows: int,
    number: int, done: int,
) -> Iterator[Piece]:  # fmt: skip
    """The pieces of the row group of that number of all, behind so many rows, which are decoded and dropped: pages of
    different columns end at different rows. `floor` is the least time behind the group."""
    schema = columns.schema
    dictionaries = [name for name in columns.names if name in group.dictionaries and schema.kind(name).is_text]
    # No threads: this worker has one core.
    with _opened(group, footer, read_dictionary=dictionaries) as file:
        for name in set(columns.names).intersection(group.of_96_bits):
            _require_instants(group, footer, name)
        ahead, times, names = None, None, [*columns.names]
        if time is not None and floor is not None:
            # Times are read before all else: the frontier need not stand still for as long as a row group lasts.
            whole = file.read_row_group(group.number, columns=[time], use_threads=False)
            times = fitting(schema.select([time]), whole, partial(_row_of, group, 0)).columns[0]
            ahead = np.minimum.accumulate(times[::-1])[::-1]
            names.remove(time)
        start = 0
        at_once = max(rows, _DECODED_ROWS)
        for arrow in file.iter_batches(at_once, row_groups=[group.number], columns=names, use_threads=False):
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
        _require_as_it_was(group)  # else some of its rows may be another one's
        if start != group.rows:
            raise SchemaError(
                f"{group.file} is damaged in row group {group.number}: {start} rows where {group.rows} are promised"
            )


def _opened(group: _RowGroup, footer: "pq.FileMetaData", **more: Any) -> "pq.ParquetFile":
    """The group's file. Its footer is not read once more, which tells of all row groups. UsageError for another one, of
    which it would tell what is not so."""
    import pyarrow.parquet as pq

    octets = mapped(group.file)
    _require_as_it_was(group)
    return pq.ParquetFile(octets, metadata=footer, pre_buffer=False, page_checksum_verification=True, **more)


def _require_as_it_was(group: _RowGroup) -> None:
    if size_and_change(group.file) != group.was:
        raise UsageError(f"{group.file} {REPLACED}")


def _require_instants(group: _RowGroup, footer: "pq.FileMetaData", name: str) -> None:
    """SchemaError for a time of INT96 that 64 bits of ns do not hold: Arrow, which reads it as that, wraps around."""
    import pyarrow as pa
    import pyarrow.compute as compute

    def numbers(unit: str) -> np.ndarray:
        """The column's times in this unit, the least number where they are null."""
        with _opened(group, footer, coerce_int96_timestamp_unit=unit) as file:
            whole = file.read_row_group(group.number, columns=[name], use_threads=False)
        return Batch(Schema.of({name: "int64?"}), {name: compute.cast(whole.column(0), pa.int64())}).columns[0]

    instants, milliseconds = numbers("ns"), numbers("ms")
    beyond = np.flatnonzero((instants // 10**6 != milliseconds) & (instants != milliseconds))
    if len(beyond):
        instant = np.datetime64(int(milliseconds[beyond[0]]), "ms")
        raise SchemaError(
            f"{_row_of(group, 0, int(beyond[0]))}: column {name!r}: {instant} is no time within 1677 to 2262; make it "
            f"null or clip it before the file is written, or leave the column out (columns=)"
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


def _row_groups_with_rows(footer: "pq.FileMetaData") -> list[int]:
    """Of those without, which an empty table is written as, statistics say nothing."""
    return [number for number in range(footer.num_row_groups) if footer.row_group(number).num_rows]


def _flat_columns(footer: "pq.FileMetaData") -> dict[str, int]:
    """The numbers of columns that are within no other; those have paths with points, as names may."""
    columns = map(footer.schema.column, range(footer.num_columns))
    return {column.name: at for at, column in enumerate(columns) if column.name == column.path}


def _nullable(footer: "pq.FileMetaData", columns: Mapping[str, int]) -> Iterator[str]:
    """Columns that have nulls, or may have for all one can tell."""
    for name, at in columns.items():
        counts = []
        for number in _row_groups_with_rows(footer):
            statistics = footer.row_group(number).column(at).statistics
            counts.append(statistics.null_count if statistics is not None and statistics.has_null_count else None)
        if footer.schema.column(at).max_definition_level and any(count != 0 for count in counts):
            yield name


def _row_groups(
    file: str, was: tuple[int, int], footer: "pq.FileMetaData", columns: Mapping[str, int], time: str | None
) -> Iterator[_RowGroup]:
    of_96_bits = [name for name, at in columns.items() if footer.schema.column(at).physical_type == "INT96"]
    first_row = 0
    for number in _row_groups_with_rows(footer):
        group = footer.row_group(number)
        least = None if time is None else _least(group.column(columns[time]).statistics)
        dictionaries = [name for name, at in columns.items() if _has_dictionary(group.column(at))]
        yield _RowGroup(file, was, number, first_row, group.num_rows, least, dictionaries, of_96_bits)
        first_row += group.num_rows


def _has_dictionary(column: Any) -> bool:
    """Whether values are numbers of those in a dictionary. A writer whose dictionary got too long writes values after
    it, of which to make a dictionary would take longer than to read them."""
    numbers_bytes = 4 * column.num_values + _DICTIONARY_BYTES
    return column.has_dictionary_page and column.total_uncompressed_size <= numbers_bytes


def _range(group: "pq.RowGroupMetaData", columns: Mapping[str, int], schema: Schema, name: str) -> "Range | None":
    """What a row group's statistics say of a column of the schema, of which `columns` has the number; None if that is
    nothing, or of values that are converted."""
    from tokenring.operators.expressions import Range

    statistics = group.column(columns[name]).statistics if name in columns else None
    if statistics is None:
        return None
    if statistics.has_null_count and statistics.null_count == group.num_rows:
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
_DICTIONARY_BYTES = 1 << 20
"""So long a dictionary is, at most, before writers give it up."""
_AS_THEY_ARE = {
    *product(("int64", "uint64"), ("INT32", "INT64"), ("Int", "None")), ("timestamp", "INT64", "Timestamp"),
    *product(("float64",), ("FLOAT", "DOUBLE"), ("None",)), ("date", "INT32", "Date"), ("bool", "BOOLEAN", "None"),
    ("string", "BYTE_ARRAY", "String"), ("bytes", "BYTE_ARRAY", "None"),
}  # fmt: skip
"""Kinds, and the physical and logical types whose statistics are of their words."""
_NS = {"nanoseconds": 1, "microseconds": 10**3, "milliseconds": 10**6, "days": 86_400 * 10**9}
