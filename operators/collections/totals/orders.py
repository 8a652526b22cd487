"""Orders of rows in which some columns go up and some down, as orders that go one way."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Kind, Schema, SchemaError
from tokenring.engine.arguments import require_flags
from tokenring.operators.expressions import Expression, col, lit


def in_order(
    name: str, schema: Schema, order: Sequence[str], largest: bool | Sequence[bool]
) -> tuple[dict[str, Expression], bool]:
    """(Columns by which rows are to be in order, the first one first; whether the largest come first): columns that go
    the other way than the first text, or where there is none than the first column, are turned round. SchemaError for
    texts that go both ways."""
    ways: list[bool] = list(largest) if isinstance(largest, list | tuple) else [largest] * len(order)  # type: ignore[list-item]
    for way in ways:
        require_flags(f"operator {name!r}", largest=way)
    if not order or len(ways) != len(order):
        raise SchemaError(
            f"operator {name!r}: {len(order)} columns of order, {len(ways)} ways in which they go; name one column at "
            f"least, and say largest= once, or for each"
        )
    for column in order:
        schema.position(column, f"operator {name!r}", "to order by")
    of_texts = [way for column, way in zip(order, ways, strict=True) if schema.kind(column).family == "string"]
    downwards = (of_texts or ways)[0]
    columns: dict[str, Expression] = {}
    for column, way in zip(order, ways, strict=True):
        if way == downwards:
            columns[column] = col(column)
        else:
            columns[f"@turned {column}"] = _turned(name, column, schema.kind(column))
    return columns, downwards


def _turned(name: str, column: str, kind: Kind) -> Expression:
    """What is less where the column is greater; no value becomes the number that stands for null, where one does."""
    match kind.family:
        case "int64":
            return lit(0 if kind.nullable else -1) - col(column)
        case "uint64":
            return lit(int(np.iinfo(np.uint64).max) - kind.nullable) - col(column)
        case "float64" | "decimal":
            return -col(column)
        case "bool":
            return ~col(column)
    if not kind.is_text:
        return lit(0) - col(column).cast("int64")
    raise SchemaError(
        f"operator {name!r}: {column!r} is {kind} and goes another way than a text before it; let largest= be the same "
        f"for all texts of order"
    )
