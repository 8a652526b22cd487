"""last_by: the last row of each key."""

from typing import Literal, overload

from tokenring.engine import AnyStream, Exchange, Schema, SchemaError
from tokenring.engine.arguments import require_flags
from tokenring.operators import collections
from tokenring.operators.aggregates import require_alone
from tokenring.operators.folds import Plan
from tokenring.operators.mechanisms import EACH, FINAL, emission, mechanism_of
from tokenring.operators.migrate import of_version
from tokenring.operators.ranking.best import best_tables, compiled_best
from tokenring.operators.ranking.thinning import thinned
from tokenring.operators.ranking.top import top
from tokenring.operators.ranking.top_blocks import final_top
from tokenring.operators.rows import (
    Column,
    Columns,
    exchanged_by,
    require_kept,
    said_of_aliases,
    unnamed,
    with_key,
    without_unnamed,
)
from tokenring.operators.state import require_newest, updates_by
from tokenring.operators.time import check_order


@overload
def last_by(
    stream: AnyStream, by: Columns, *, order: Column, emit: str | None = ..., changes: Literal[False] = ...,
    name: str = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def last_by(
    stream: AnyStream, by: Columns, *, order: Column, emit: None = ..., changes: Literal[True], name: str = ...
) -> "collections.Collection": ...


def last_by(
    stream: AnyStream, by: Columns, *, order: Column, emit: str | None = None, changes: bool = False,
    name: str = "last_by",
) -> "AnyStream | collections.Collection":  # fmt: skip
    """The rows that are the last of their key so far, by the column `order`. emit="batch": for each message, at its
    time, those that replace an earlier one; "each": all that were the last when they came; "final": the last row of
    each key once, when the input has ended. The latest of each key is its last row: what deduplication keeps.

    Of rows with equal `order` the last to arrive counts (`top` with k=1 has other ties); those where it is null or NaN
    are left out. In a loop "batch" alone: of each epoch, once its round is finished. Rows are exchanged by key. Memory:
    each key, 32 bytes, not the rows, if not "final". Raises SchemaError, naming the operator, for columns that are not
    there or have no order.

    changes=True gives a collection: at each time the last rows by then, whatever order they came in; among equals, by
    their other columns.
    """
    require_flags(f"operator {name!r}", changes=changes)
    if changes:
        require_alone(name, emit=emit)
        return top(stream, by, order=order, k=1, changes=True, name=name)
    before = stream
    mode = emission(name, stream, emit, False)
    require_kept(name, stream.schema)
    stream, names = with_key(stream, name, by)
    require_newest(name, before, names)
    stream, (last,) = with_key(stream, name, (order,))
    plan = Plan.of(name, stream.schema, names, {}, *said_of_aliases(by, order), f"the last {last}")
    check_order(name, stream.schema, (last,))

    schema = stream.schema
    if not names and mode != FINAL:
        raise SchemaError(f"operator {name!r}: by= names no column; the last row of all is that of top(order=..., k=1)")
    if mode != EACH:
        stream = thinned(stream, name, names, (last,), True, equal_wins=True)
    if mode == FINAL:
        ranked = Schema.of(schema.spec() | {unnamed("rank"): "int64"})
        return without_unnamed(final_top(stream, plan, ranked, (last,), 1, True, True), name)
    edge = stream, Exchange(exchanged_by(names))
    newest = mechanism_of(stream.scope).respond(
        name, edge, schema, None,
        compiled=lambda: compiled_best(schema, names, (last,), True, True, mode == EACH, False, len(schema)),
        moves=of_version(best_tables(schema, names, 1), plan.said),
    )  # fmt: skip
    return without_unnamed(updates_by(newest, name, names), name)
