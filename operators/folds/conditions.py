"""What aggregates take, and of which rows: expressions become columns, computed before; functions stay."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tokenring.engine import AnyStream, Batch, SchemaError
from tokenring.operators.expressions import Expression, column_named_by
from tokenring.operators.rows import all_columns, computed, mask_of


def with_conditions(
    stream: AnyStream, operator: str, aggregates: Mapping[str, Any]
) -> tuple[AnyStream, dict[str, Any]]:
    """The stream with a column for each different expression among the aggregates' conditions, and the aggregates with
    those columns' names in their place; and so for expressions in the place of a column or an order. SchemaError,
    naming the operator, for a condition that is not bool."""
    made: dict[str, Expression] = {}
    conditions: dict[str, Expression] = {}
    after = dict(aggregates)
    for name, aggregate in aggregates.items():
        for field in ("column", "order", "where"):
            value = getattr(aggregate, field, None)
            if isinstance(value, Expression):
                is_condition = field == "where"
                column = None if is_condition else column_named_by(value)
                if column is None:
                    column = f"#{value!r}"
                    made[column] = value
                if is_condition:
                    conditions[column] = value
                after[name] = replace(after[name], **{field: column})
    if made:
        stream = computed(stream, f"{operator}.columns", all_columns(stream.schema) | made)
    for column, where in conditions.items():
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
