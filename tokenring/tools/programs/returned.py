"""Prints what a program returned: tables for people on a terminal, rows as JSON lines into a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS = 40
_BATCH_ROWS = 1 << 14


def print_returned(values: Sequence[Any]) -> None:
    """Print what each worker returned, in their order; None says nothing, and tables are put together."""
    import pyarrow as pa

    said = [value for value in values if value is not None]
    tables = [pa.Table.from_batches([one]) if isinstance(one, pa.RecordBatch) else one for one in said]
    if said and all(isinstance(one, pa.Table) and one.schema.equals(tables[0].schema) for one in tables):
        table = told(pa.concat_tables(tables))
        if sys.stdout.isatty():
            _print_table(table)
        else:
            _print_lines(table)
    else:
        for value in said:
            print(value)
    sys.stdout.flush()


def told(table: pa.Table) -> pa.Table:
    """The table as it is printed, with instants as text: Python's own have no nanoseconds."""
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.string()))
    return table


def _print_table(table: pa.Table) -> None:
    from rich.table import Table
    from rich.text import Text

    from tokenring.engine.columns import as_text
    from tokenring.tools.system import console_of, print_table

    shown = Table(caption=f"the first {_MOST_ROWS} of {table.num_rows:,} rows" if table.num_rows > _MOST_ROWS else None)
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        shown.add_column(name, justify="left" if str(kind) in ("string", "large_string", "binary") else "right")
    for row in zip(*[column.slice(0, _MOST_ROWS).to_pylist() for column in table.columns], strict=True):
        shown.add_row(*[Text("" if value is None else as_text(value)) for value in row])
    print_table(shown, console_of())


def _print_lines(table: pa.Table) -> None:
    import orjson

    from tokenring.engine.columns import as_text

    for batch in table.to_batches(_BATCH_ROWS):
        rows = [orjson.dumps(row, default=as_text, option=orjson.OPT_APPEND_NEWLINE) for row in batch.to_pylist()]
        sys.stdout.buffer.write(b"".join(rows))
