"""stage_files: any table's rows, out of files, into a staged folder that appears whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, Final

from tokenring.engine import Schema, SchemaError, UsageError
from tokenring.engine.arguments import folder_at, require_flags
from tokenring.engine.columns import names_of, require_schema
from tokenring.operators.sources import Paths, resolved, schema_of
from tokenring.operators.staging.folder import staging_folder
from tokenring.operators.staging.inputs import Inputs, Rows, table_named
from tokenring.operators.staging.manifest import NAME
from tokenring.operators.staging.table_writer import Advance, TableWriter

_TABLE: Final = re.compile(r"[A-Za-z0-9_][\w.-]*")


def _silent(_what: str, _done: float, _of: float) -> None:
    """The progress of who does not look."""


def stage_files(
    paths: Paths,
    folder: str | Path,
    *,
    time: str,
    table: str | None = None,
    columns: str | Sequence[str] | None = None,
    schema: Schema | None = None,
    unique: Sequence[str] = (),
    quoted_newlines: bool = False,
    force: bool = False,
    progress: Advance = _silent,
) -> dict[str, Any]:
    """Stage a table out of files: of Parquet, CSV with a line of names, or JSON lines (a file, a folder, a pattern, a
    list); returns its manifest. It becomes `folder/table`, whole or not at all.

    time: the column by whose values rows are put in order, of int64, uint64 or timestamp (ns); equal ones stay as they
    came. table: what it is called, by default as the first file, or folder. columns: those that are staged, all unless
    given. unique: columns of which no two rows have the same value, which is checked. quoted_newlines: values of CSV in
    quotes may go across lines; such files are then read whole. force: whether to replace a table.

    schema: the columns and their kinds; values are then read as read_parquet, read_csv and read_json_lines read them.
    Without it kinds are those of the first file; of CSV and JSON lines those of its first 256 KiB, for each column the
    first of int64, uint64, float64, bool, date and timestamp as which nothing is lost, else string. The empty text of
    CSV is null in columns that are none of text.

    Memory: a batch; and 24 bytes a row while rows that are not in order are sorted, or a column is proved to be unique.
    Raises UsageError for files that cannot be read, and a place that cannot be written to; SchemaError, naming file and
    row or line, for values that do not fit, rows without a time, and values that are there twice.
    """
    require_flags("source 'stage'", quoted_newlines=quoted_newlines, force=force)
    inputs = Inputs(paths, quoted_newlines)
    if table is None:
        table = table_named(inputs.first)
    if schema is not None:
        require_schema("stage", schema)
        if columns is not None:
            raise UsageError("source 'stage': give schema= or columns=, not both")
    wanted = None if columns is None else names_of(columns, "source 'stage': columns=")
    if wanted is not None and not wanted:
        raise SchemaError("source 'stage': columns= (--columns) names none; leave it out for all of them")
    source = {"engine": "pyarrow", "files": [*map(resolved, inputs.files)]}
    chosen = None if wanted is None else list(dict.fromkeys([*wanted, time]))
    return stage_rows(
        inputs.read(chosen, schema), folder, time=time, table=table, columns=chosen, unique=unique, force=force,
        source=source, needed_bytes=inputs.needed_bytes(), total=inputs.bytes, progress=progress,
    )  # fmt: skip


def stage_rows(
    rows: Iterable[Rows],
    folder: str | Path,
    *,
    time: str,
    table: str,
    columns: Sequence[str] | None = None,
    unique: Sequence[str],
    force: bool,
    source: dict[str, Any],
    needed_bytes: int = 0,
    total: float = 0,
    progress: Advance = _silent,
) -> dict[str, Any]:
    """Stage a table out of rows, the first of which say its kinds; total: what `done` of the last is; the rest as in
    `stage_files`.
    """
    if not _TABLE.fullmatch(table):
        raise UsageError(f"a table is called by letters, digits, _, - and dots, not {table!r}; give another name")
    folder = folder_at("stage", folder)
    if (folder / NAME).is_file():
        raise UsageError(f"{folder} is a staged folder itself, which holds no tables; choose another folder (--out)")
    with staging_folder(folder / table, force, needed_bytes) as draft:
        coming = iter(rows)
        first = next(coming)
        schema: Schema = schema_of("stage", first.batch.schema, None, columns, first.place(0))
        with closing(TableWriter(draft, table, schema, time, unique)) as writer:
            for batch, place, done in chain((first,), coming):
                writer.append(batch, place)
                progress("writing columns", done, total)
            return writer.finish(source, progress)
