"""Which rows an aggregate takes: expressions become columns, computed with what stands before; functions stay."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tokenring.engine import AnyStream, Batch, SchemaError
from tokenring.operators.expressions import Expression
from tokenring.operators.rows import mask_of, with_columns


def with_conditions(
    stream: AnyStream, operator: str, aggregates: Mapping[str, Any]
) -> tuple[AnyStream, dict[str, Any]]:
    """The stream with a column for each different expression among the aggregates' conditions, and the aggregates with
    those columns' names in their place. SchemaError, naming the operator, for an expression that is not bool."""
    columns: dict[str, Expression] = {}
    known: dict[str, str] = {}
    after = dict(aggregates)
    for name, aggregate in aggregates.items():
        where = getattr(aggregate, "where", None)
        if isinstance(where, Expression):
            column = known.setdefault(repr(where), f"#where{len(known)}")
            columns[column] = where
            after[name] = replace(aggregate, where=column)
    if columns:
        stream = with_columns(stream, name=f"{operator}.where", **columns)
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
