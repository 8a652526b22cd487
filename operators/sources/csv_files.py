"""read_csv: files of comma-separated values, cut into blocks of lines that are dealt to the workers."""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Final, Literal, overload

from tokenring.engine import AnyStream, Schema, ScopeOf, Time, UsageError
from tokenring.engine.arguments import is_text, require_flags
from tokenring.engine.columns import require_schema
from tokenring.operators.durations import Span
from tokenring.operators.sources.arguments import require_positive
from tokenring.operators.sources.csv_rows import CsvRows
from tokenring.operators.sources.feeder import Piece, Position, ReadColumns, columns_wanted, feed, parts_of
from tokenring.operators.sources.files import Paths, facts_of, files_of, rows_at_a_guess
from tokenring.operators.sources.lines import BLOCK_BYTES, blocks_of, paths_of, read_together, taken_together, turns_of
from tokenring.operators.sources.throttle import Throttle
from tokenring.operators.time import Timing

_OF_ISO_WEEKS: Final = re.compile("%[GgV]")
_OF_WEEKS: Final = re.compile("%O?[UW]")
_OF_DAYS: Final = re.compile("%[EO]?[AaDFacdejuwx]")


@overload
def read_csv(
    scope: ScopeOf[AnyStream],
    path: Paths, schema: Schema, *, time: str | Time = ..., disorder: Span = ..., delimiter: str = ...,
    header: bool = ..., nulls: Sequence[str] = ..., time_formats: Sequence[str] = ..., quoted_newlines: bool = ...,
    block_bytes: int = ..., throttle: Throttle | None = ..., name: str = ..., late: Literal[False] = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def read_csv(
    scope: ScopeOf[AnyStream],
    path: Paths, schema: Schema, *, time: str | Time = ..., disorder: Span = ..., delimiter: str = ...,
    header: bool = ..., nulls: Sequence[str] = ..., time_formats: Sequence[str] = ..., quoted_newlines: bool = ...,
    block_bytes: int = ..., throttle: Throttle | None = ..., name: str = ..., late: Literal[True],
) -> tuple[AnyStream, AnyStream]: ...  # fmt: skip


def read_csv(
    scope: ScopeOf[AnyStream],
    path: Paths,
    schema: Schema,
    *,
    time: str | Time = 0,
    disorder: Span = 0,
    delimiter: str = ",",
    header: bool = True,
    nulls: Sequence[str] = ("",),
    time_formats: Sequence[str] = (),
    quoted_newlines: bool = False,
    block_bytes: int = BLOCK_BYTES,
    throttle: Throttle | None = None,
    late: bool = False,
    name: str = "read_csv",
) -> AnyStream | tuple[AnyStream, AnyStream]:
    """Rows (`schema`; no bytes) of CSV files (a file, a folder of .csv and .tsv, a pattern, a list), in UTF-8.

    The first line of each file names its columns, in any order, of which those that the schema does not name are left
    out; with header=False a file has the schema's columns and no such line. nulls: the texts, not quoted, that are null
    in a column that may be (`?`); in a `string` the empty text is itself. Timestamps and dates are ISO 8601, or of one
    of `time_formats` (strptime's, to the second, %z at the end); times are in UTC unless they end in an offset, which
    is applied and then forgotten. Numbers are decimal, of fractions the nearest double is taken; booleans are true,
    false, 1 or 0. Columns at which no operator looks are neither read nor checked.

    Blocks of `block_bytes` are dealt to workers in turn, one message each; of 256 KiB, as they are if nothing is said,
    up to four; where one time is for all rows, small files up to 64 at once. time: a column of int64, uint64 or
    timestamp (ns) by which rows come in order, up to `disorder`; or one time for all rows. quoted_newlines: values in
    quotes may go across lines; files are then dealt and read whole. Memory: a message.
    late: whether rows that are earlier than that go, at the time that was promised, to a second stream that is then
    returned besides, instead of ending the run.

    Raises SchemaError for what does not fit the schema, naming file, line and column; UsageError for a file that is
    missing, or another or shorter when it is read than when it was declared.
    """
    require_schema(f"source {name!r}", schema)
    require_flags(f"source {name!r}", header=header, quoted_newlines=quoted_newlines)
    require_positive(name, block_bytes=block_bytes)
    if not is_text(delimiter) or len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise UsageError(
            f"source {name!r}: delimiter must be one ASCII character, no quote, newline or NUL: {delimiter!r}"
        )
    for what, texts in (("nulls", nulls), ("time_formats", time_formats)):
        if isinstance(texts, str | bytes) or not isinstance(texts, Collection) or not all(map(is_text, texts)):
            such = texts if isinstance(texts, str) else "NA"
            raise UsageError(f"source {name!r}: {what} is a sequence of texts, such as ({such!r},), not {texts!r}")
    for form in time_formats:
        _require_readable(name, schema, form)
    timing = Timing(name, schema, time, disorder, late)
    lines = CsvRows(name, schema, delimiter, nulls, time_formats, quoted_newlines)
    files = files_of(name, path, (".csv", ".tsv"))
    facts = facts_of(name, files, block_bytes=block_bytes, quoted_newlines=quoted_newlines, **turns_of(files))
    blocks = blocks_of(files, None if quoted_newlines else block_bytes)
    columns = {file: lines.columns(file, header) for file in files}

    wanted = columns_wanted(scope, name)

    def pieces(share: int, shares: int, position: Position) -> Iterator[Piece]:
        read = ReadColumns(schema, wanted(), timing.column)
        rows = lines.only(read.least)
        most = block_bytes if timing.column is None else 0  # rows of their own times are sent file by file
        for taken, following in taken_together(blocks, share, shares, position or 0, most, columns.__getitem__):
            found = read_together(partial(rows.read, columns[taken[0].file], header=header), taken)
            if found is not None:
                batch, place = found
                yield Piece(read.whole(parts_of(batch), batch.rows), None, place, following)

    return feed(
        scope, schema, timing, pieces, throttle, contents=lambda: facts, reads=paths_of(files),
        rows=rows_at_a_guess(files),
    )  # fmt: skip


def _require_readable(name: str, schema: Schema, form: str) -> None:
    """UsageError for a format of times of which a part is not looked at where it stands, or that says no day."""
    fault, codes = "", form.replace("%%", "")
    if "%" not in codes:
        fault = "it has no part of a time; say such as %d.%m.%Y %H:%M"
    elif "%s" in codes:
        fault = (
            "%s, seconds since 1970, goes by this computer's zone beside other parts; read the column as int64, and "
            'say (col("…") * 1_000_000_000).cast("timestamp") behind the source'
        )
    elif _OF_WEEKS.search(codes) and not _OF_DAYS.search(codes):
        fault = "a week (%U, %W) has no day; name the day's part, such as %w, or read the column as string"
    elif "%z" in codes.removesuffix("%z"):
        fault = "%z is read at the end of a format only"
    elif "%Z" in codes:
        fault = "%Z, the name of a zone, is not looked at; end times in an offset (%z), or read them as string"
    elif _OF_ISO_WEEKS.search(codes) and any(kind.is_instant for kind in schema.kinds):
        fault = "%G, %g and %V are not looked at in a timestamp; read the column as date, or as string"
    if fault:
        raise UsageError(f"source {name!r}: time_formats: {form!r}: {fault}")
