"""What callers of sources give, looked at before anything runs, so that a mistake is named where it was made."""

from collections.abc import Callable, Sequence
from typing import Any

from tokenring.engine import Schema, SchemaError, UsageError, did_you_mean


def require_schema(name: str, schema: Any) -> None:
    """UsageError for what is no Schema."""
    if not isinstance(schema, Schema):
        raise UsageError(
            f"source {name!r}: the schema must be a Schema, such as Schema('id', name='string?'), not "
            f"{type(schema).__name__}"
        )


def require_positive(name: str, **sizes: Any) -> None:
    """UsageError for sizes that are not integers above 0."""
    for what, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise UsageError(f"source {name!r}: {what} must be an integer above 0, not {size!r}")


def require_callable(name: str, function: Any, example: str) -> None:
    """UsageError for what is no function."""
    if not callable(function):
        raise UsageError(
            f"source {name!r}: give the function itself, {example}, not what it returned ({type(function).__name__})"
        )


def chosen_columns(name: str, columns: str | Sequence[str], there: Sequence[str], where: str) -> list[str]:
    """The columns that are named, as a sequence or as words of a string; SchemaError for one that is not there, or
    twice.
    """
    if isinstance(columns, str):
        chosen = [columns] if columns in there else columns.split()
    else:
        chosen = list(columns)
    if not chosen:
        raise SchemaError(f"source {name!r}: columns= names none; leave it out for all of them")
    for column in chosen:
        if column not in there:
            near = did_you_mean(column, there)
            raise SchemaError(
                f"source {name!r}: no column {column!r}; the columns of {where} are {', '.join(there)}{near}"
            )
    if len(set(chosen)) != len(chosen):
        raise SchemaError(f"source {name!r}: a column is named twice: {', '.join(chosen)}")
    return chosen


def named_rows(make: Callable[[], Any], where: str) -> Any:
    """What `make` gives; its SchemaError says where."""
    try:
        return make()
    except SchemaError as error:
        raise SchemaError(f"{where}: {error}") from None
