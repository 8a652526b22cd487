"""What aggregates take, and of which rows: expressions and functions become columns, computed before."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tokenring.engine import AnyStream, Batch, Schema, SchemaError
from tokenring.engine.columns import free_name
from tokenring.operators.expressions import Expression, column_named_by
from tokenring.operators.folds.functions import Aggregate
from tokenring.operators.rows import all_columns, computed, mask_of


def with_conditions(
    stream: AnyStream, operator: str, aggregates: Mapping[str, Any]
) -> tuple[AnyStream, dict[str, Any]]:
    """The stream with a column for each different expression or function among the aggregates' conditions, and the
    aggregates with those columns' names in their place; and so for expressions in the place of a column or an order.
    SchemaError, naming the operator, for a condition that is not bool, or that names no column."""
    made: dict[str, Expression] = {}
    conditions: list[tuple[Any, Any]] = []
    functions: dict[str, Callable[[Batch], Any]] = {}
    after = dict(aggregates)
    for name, aggregate in aggregates.items():
        if not isinstance(aggregate, Aggregate):
            continue  # the plan refuses it
        for field in ("column", "by", "order", "where"):
            value = getattr(aggregate, field, None)
            if isinstance(value, Expression):
                is_condition = field == "where"
                column = None if is_condition else column_named_by(value)
                if column is None:
                    column = free_name(repr(value), stream.schema.positions)
                    made[column] = value
                if is_condition:
                    conditions.append((column, value))
                after[name] = replace(after[name], **{field: column})
            elif field == "where" and callable(value):
                own = free_name(f"#where {len(functions)}", stream.schema.positions)
                column = next((known for known, each in functions.items() if each is value), own)
                functions[column] = value
                after[name] = replace(after[name], where=column)
            elif field == "where" and value is not None:
                conditions.append((value, value))
    if functions:
        schema = Schema.of(stream.schema.spec() | dict.fromkeys(functions, "bool"))
        stream = stream.apply(f"{operator}.where", schema, partial(_with_masks, schema, [*functions.values()]))
    if made:
        stream = computed(stream, operator, all_columns(stream.schema) | made, step="columns")
    for column, where in conditions:
        stream.schema.position(column, f"operator {operator!r}: where={where!r}")
        kind = stream.schema.kind(column)
        if kind.family != "bool":
            raise SchemaError(f"operator {operator!r}: where={where!r} is {kind}; a condition is bool")
    return stream, after


def _with_masks(schema: Schema, functions: Sequence[Callable[[Batch], Any]], batch: Batch) -> Batch:
    """The rows, of `schema`, with a column for each condition; SchemaError if one does not give a bool for each row."""
    masks = [mask_of(function(batch), batch, "where=").astype(np.int64) for function in functions]
    heaps = (*batch.heaps, *(None for _ in masks)) if schema.has_text else ()
    return Batch.wrap(schema, (*batch.columns, *masks), batch.rows, heaps, batch)
