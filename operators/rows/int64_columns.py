"""Columns of whole numbers, for operators that take words for int64 without looking at kinds."""

from tokenring.engine import Schema, SchemaError


def require_int64(operator: str, schema: Schema, *columns: str) -> None:
    """SchemaError, naming the operator, for a column that is not there, holds no int64, or may be null."""
    for column in columns:
        schema.position(column, f"operator {operator!r}")
        require_whole(f"operator {operator!r}: column {column!r}", schema, column, "it")


def require_whole(what: str, schema: Schema, column: str, said: str) -> None:
    """SchemaError, saying `what` the column is for and what is `said` by it, if it holds no int64, or may be null."""
    kind = schema.kind(column)
    if str(kind) != "int64":
        cast = "" if kind.name == "int64" else '.cast("int64")'
        filled = ".fill_null(...)" if kind.nullable else ""
        cure = "" if kind.name == "bytes" else f": say {cast}{filled} of it before"
        raise SchemaError(f"{what} is {kind}; {said} must be int64, without nulls{cure}")
