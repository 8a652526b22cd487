"""Columns of rows' own times, which windows and joins go by."""

from tokenring.engine import Schema, SchemaError

_TIMES = ("int64", "timestamp")


def require_own_time(what: str, schema: Schema, column: str) -> None:
    """SchemaError, saying `what` the column is for, if it holds no times, or may be null; the column is there."""
    kind = schema.kind(column)
    if kind.nullable or kind.name not in _TIMES:
        may_be_one = kind.name in _TIMES
        cure = f"; say with_columns({column}=col({column!r}).fill_null(...)) before" if may_be_one else ""
        raise SchemaError(f"{what} is {kind}; it must be int64 or timestamp, without nulls{cure}")
