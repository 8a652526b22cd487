"""What aggregates take, and of which rows: expressions become columns, computed before; functions stay."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tokenring.engine import AnyStream, Batch, SchemaError
from tokenring.operators.expressions import Expression
from tokenring.operators.rows import all_columns, computed, mask_of


def with_conditions(
    stream: AnyStream, operator: str, aggregates: Mapping[str, Any]
) -> tuple[AnyStream, dict[str, Any]]:
    """The stream with a column for each different expression among the aggregates' conditions, and the aggregates with
    those columns' names in their place; and so for expressions in the place of a column or an order. SchemaError,
    naming the operator, for a condition that is not bool."""
    columns: dict[str, Expression] = {}
    values: dict[str, Expression] = {}
    known: dict[str, str] = {}
    after = dict(aggregates)
    for name, aggregate in aggregates.items():
        for field in ("column", "order"):
            value = getattr(aggregate, field, None)
            if isinstance(value, Expression):
                column = str(value.value) if value.operation == "column" else f"#{value!r}"
                if value.operation != "column":
                    values[column] = value
                after[name] = replace(after[name], **{field: column})
    if values:
        stream = computed(stream, f"{operator}.values", all_columns(stream.schema) | values)
    aggregates = dict(after)
    for name, aggregate in aggregates.items():
        where = getattr(aggregate, "where", None)
        if isinstance(where, Expression):
            column = known.setdefault(repr(where), f"#where{len(known)}")
            columns[column] = where
            after[name] = replace(aggregate, where=column)
    if columns:
        stream = computed(stream, f"{operator}.where", all_columns(stream.schema) | columns)
        for column, where in columns.items():
            kind = stream.schema.kind(column)
            if kind.name != "bool":
                raise SchemaError(f"operator {operator!r}: where={where!r} is {kind}; a condition is bool")
    return stream, after


def condition_mask(where: Any, batch: Batch) -> np.ndarray:
    """The rows for which a condition, a column's name or a function, holds (null is no); SchemaError if a function does
    not give a bool for each row."""
    if isinstance(where, str):
        return np.asarray(batch.words(where) == 1)
    return mask_of(where(batch), batch, "where=")
