"""map_rows, flat_map_rows, filter_rows: a Python function of each row, with a warning of what that costs."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tokenring.engine import AnyStream, Batch, Schema, SchemaError
from tokenring.engine.arguments import require_function, require_name

Row = dict[str, Any]
"""A row by column names, in Python's own values: None where null, dates as date, decimals as Decimal, but timestamps as
int ns since 1970, which datetime does not hold."""


class RowwiseWarning(UserWarning):
    """A Python function is called for each row, where one of whole columns would be some hundred times quicker.

    Silence it with `warnings.filterwarnings("ignore", category=RowwiseWarning)`.
    """


def map_rows(
    stream: AnyStream, schema: Schema, function: Callable[[Row], Mapping[str, Any]], name: str = "map_rows"
) -> AnyStream:
    """`function(row)` of each row: a mapping of the columns of `schema` to values, in place of the row.
    row: as `scan` has it, timestamps as int ns since 1970.

    A stateless operator; warns with RowwiseWarning when it is declared. SchemaError (as OperatorError, in the run) for
    values that do not fit the schema. Keeps nothing.
    """
    require_function(f"operator {name!r}", "function", function)
    _warn(name, "map_batches, or with_columns and select")
    return _flat_map(stream, schema, lambda row: (function(row),), name)


def flat_map_rows(
    stream: AnyStream,
    schema: Schema,
    function: Callable[[Row], Iterable[Mapping[str, Any]]],
    name: str = "flat_map_rows",
) -> AnyStream:
    """The rows that `function(row)` gives for each row, any number of them; see map_rows."""
    require_function(f"operator {name!r}", "function", function)
    _warn(name, "map_batches, which may return any number of rows")
    return _flat_map(stream, schema, function, name)


def filter_rows(stream: AnyStream, keep: Callable[[Row], bool], name: str = "filter_rows") -> AnyStream:
    """The rows for which `keep(row)` is true; see map_rows."""
    require_function(f"operator {name!r}", "keep", keep)
    _warn(name, "filter or filter_batches")

    def apply(batch: Batch) -> Batch | None:
        return batch.filter(np.fromiter((bool(keep(row)) for row in rows_of(batch)), np.bool_, batch.rows))

    return stream.apply(name, stream.schema, apply)


def rows_of(batch: Batch) -> Iterator[Row]:
    """The rows of a batch, one after the other."""
    names = batch.schema.names
    columns = [_values(batch, name) for name in names]
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def batch_of(schema: Schema, rows: Sequence[Mapping[str, Any]]) -> Batch:
    """Rows as a batch; what a row does not name is null there. SchemaError if they do not fit."""
    names = dict.fromkeys(name for row in rows for name in row)  # a column too many is for Batch to refuse
    may_lack = [name for name, kind in zip(schema.names, schema.kinds, strict=True) if kind.nullable or not rows]
    names |= dict.fromkeys(may_lack)
    return Batch(schema, {name: [row.get(name) for row in rows] for name in names})


def _values(batch: Batch, name: str) -> list[Any]:
    """A column as a list of Python's own values, None where null; timestamps as int ns, dates and decimals as datetime
    and decimal have them."""
    kind = batch.schema.kind(name)
    values: list[Any] = (batch.words(name) if kind.is_instant else batch.view(name)).tolist()
    if kind.nullable and not kind.is_text:
        return [None if null else value for value, null in zip(values, batch.nulls(name).tolist(), strict=True)]
    return values


def _flat_map(
    stream: AnyStream, schema: Schema, function: Callable[[Row], Iterable[Mapping[str, Any]]], name: str
) -> AnyStream:
    """The operator behind map_rows and flat_map_rows."""

    def apply(batch: Batch) -> Batch | None:
        given = [function(row) for row in rows_of(batch)]
        rows: list[Mapping[str, Any]] = []
        try:
            for each in given:
                rows += each
            return batch_of(schema, rows)
        except (TypeError, AttributeError):
            _require_rows(given, rows)
            raise

    return stream.apply(name, schema, apply)


def _require_rows(given: Sequence[Any], rows: Sequence[Any]) -> None:
    """Raise SchemaError for what a function gave, if that, or what is in it, is not what it should be."""
    for each in given:
        if isinstance(each, Mapping) or not isinstance(each, Iterable):
            raise SchemaError(f"the function returned {each!r}; it returns rows, as a list of them, [] for none")
    for row in rows:
        if not isinstance(row, Mapping):
            raise SchemaError(f"the function returned {row!r} for a row; a row is a mapping of columns to values")


def _warn(name: str, cure: str) -> None:
    require_name("an operator", name)
    warnings.warn(
        f"operator {name!r} calls a Python function for each row: about a microsecond a row, some hundred times what "
        f"columns take. Quicker: {cure}. To silence this: "
        f'warnings.filterwarnings("ignore", category=RowwiseWarning)',
        RowwiseWarning,
        stacklevel=3,
    )
