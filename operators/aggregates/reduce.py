"""reduce: a function of all rows of each key, by window or at the end, in whole columns."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tokenring.engine import AnyStream, Batch, Schema, SchemaError
from tokenring.engine.arguments import require_function
from tokenring.engine.columns import require_schema
from tokenring.operators.aggregates.window_rows import Show, windowed
from tokenring.operators.durations import Span
from tokenring.operators.folds import Plan, require_other_names
from tokenring.operators.rows import Columns, said_of_aliases, with_key
from tokenring.operators.state import HeapedColumns, joined, require_rows
from tokenring.operators.time import FixedWindow

Function = Callable[[Batch, np.ndarray], Mapping[str, Any]]


def reduce(
    stream: AnyStream,
    by: Columns,
    function: Function,
    schema: Schema,
    *,
    window: FixedWindow | None = None,
    lateness: Span = 0,
    name: str = "reduce",
) -> AnyStream:
    """Rows (the columns `by`, those of `schema`), one for each key: what `function` makes of all its rows.

    function(rows, starts) -> columns of `schema`, one value for each key. rows: a Batch of many keys' rows, those of a
    key one after the other in the order of arrival; starts: where each key's rows begin, int64 (keys,), so that
    `numpy.add.reduceat(rows["price"], starts)` are their sums. No key is without rows.

    Called when a window ends, or `lateness` after that, for its rows; rows start with (window_start, window_end) then,
    and one that comes too late raises TimeRegressionError (as OperatorError). Without a window, once,
    when the input has ended. Rows are exchanged by key and kept until then: that is the memory. Where `aggregate` can
    do it, it needs far less. Raises SchemaError, naming the operator, for columns that are not there or do not fit.
    """
    require_function(f"operator {name!r}", "function", function)
    require_schema(f"operator {name!r}", schema)
    require_rows(name, stream)
    stream, names = with_key(stream, name, by, shown=True)
    plan = Plan.of(name, stream.schema, names, {}, *said_of_aliases(by))
    require_other_names(name, plan.by, schema.names)
    output = Schema.of(plan.keys | schema.spec())
    return windowed(stream, plan, window, output, _show_reduced(plan, schema, function), lateness=lateness)


def _show_reduced(plan: Plan, schema: Schema, function: Function) -> Show:
    def show(rows: Batch, which: np.ndarray) -> tuple[HeapedColumns, int]:
        order = np.argsort(which, kind="stable")
        rows, starts = rows.take(order), np.flatnonzero(np.diff(which[order], prepend=-1))
        made = Batch(schema, function(rows, starts))
        if made.rows != len(starts):
            raise SchemaError(
                f"operator {plan.operator!r}: the function gave {made.rows} rows for {len(starts)} keys; it must give "
                f"one for each"
            )
        results = made.columns, made.heaps or (None,) * len(made.columns)
        if not plan.by:
            return results, made.rows
        keys = rows.select(rows.schema.select(plan.by)).take(starts)
        return joined((keys.columns, keys.heaps or (None,) * len(keys.columns)), results), made.rows

    return show
