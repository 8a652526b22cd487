"""distinct, last_by and count: operators that need little more than the numbering of keys."""

from collections.abc import Callable
from typing import Any, Literal, overload

from tokenring.engine import AnyStream, Batch, Exchange, Schema
from tokenring.operators import collections, running
from tokenring.operators.aggregates.aggregate import aggregate
from tokenring.operators.aggregates.changing import require_alone
from tokenring.operators.aggregates.owner_panes import windowed
from tokenring.operators.aggregates.top import top
from tokenring.operators.folds import Best, Count, Plan, TopState, best_tables, compiled_best
from tokenring.operators.mechanisms import EACH, FINAL, emission, mechanism_of
from tokenring.operators.migrate import offer
from tokenring.operators.rows import Column, Columns, exchanged_by, unnamed, with_key, without_unnamed
from tokenring.operators.state import Keys, require_newest, require_rows, updates_by
from tokenring.operators.state.moving import KeyedMoves, MovingKeys
from tokenring.operators.time import check_order


def distinct(stream: AnyStream, by: Columns = (), *, name: str = "distinct") -> AnyStream:
    """The first row of each key to arrive, at its time; of each different row without `by`. Others are dropped.

    Rows are exchanged by key. Memory: each key ever seen. In a loop the first row of each epoch, by round: rows wait
    until their round is finished, and an epoch's keys go with it.
    """
    if stream.updates is None or not set(stream.schema.names) <= set(stream.updates.by or ()):
        require_rows(name, stream)  # updates of which nothing is left but their keys are equal rows
    stream, names = with_key(stream, name, by)
    names = names or stream.schema.names
    plan = Plan.of(name, stream.schema, names, {})

    def make() -> Callable[[Batch], Batch]:
        keys = Keys(plan.schema, names)
        offer(KeyedMoves(running.moved_keys(plan.schema, names), MovingKeys(keys, names)))

        def answer(batch: Batch) -> Batch:
            keys.slots(batch)
            return batch if len(keys.fresh_rows) == batch.rows else batch.take(keys.fresh_rows)

        return answer

    edge = stream, Exchange(exchanged_by(names))
    schema = stream.schema
    moves = running.moved_keys(plan.schema, names)
    firsts = mechanism_of(stream.scope).respond(
        name, edge, schema, make, compiled=lambda: running.compiled_firsts(schema, names), moves=moves
    )
    return without_unnamed(firsts, name)


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
    if changes:
        require_alone(name, emit=emit)
        return top(stream, by, order=order, k=1, changes=True, name=name)
    before = stream
    mode = emission(name, stream, emit, False)
    stream, names = with_key(stream, name, by)
    require_newest(name, before, names)
    stream, (last,) = with_key(stream, name, (order,))
    plan = Plan.of(name, stream.schema, names, {})
    check_order(name, stream.schema, (last,))

    schema = stream.schema
    if mode == FINAL:
        ranked = Schema.of(schema.spec() | {unnamed("rank"): "int64"})
        rows = windowed(
            stream, plan, None, ranked, lambda _: TopState(schema, last, (), 1, True, equal_wins=True), schema
        )
        return without_unnamed(rows, name)
    edge = stream, Exchange(exchanged_by(names))
    way = mechanism_of(stream.scope)
    newest = way.respond(
        name, edge, schema, lambda: Best(schema, names, last, (), True, True, mode == EACH).winners,
        compiled=(lambda: compiled_best(schema, names, (last,), True, True, mode == EACH, False, len(schema)))
        if not schema.kind(last).is_text else None,
        moves=best_tables(schema, names, 1),
    )  # fmt: skip
    return without_unnamed(updates_by(newest, name, names), name)


@overload
def count(
    stream: AnyStream, by: Columns = ..., *, name: str = ..., changes: Literal[True], **settings: Any
) -> "collections.Collection": ...


@overload
def count(
    stream: AnyStream, by: Columns = ..., *, name: str = ..., late: Literal[True], **settings: Any
) -> tuple[AnyStream, AnyStream]: ...


@overload
def count(stream: AnyStream, by: Columns = ..., *, name: str = ..., **settings: Any) -> AnyStream: ...


def count(
    stream: AnyStream, by: Columns = (), *, name: str = "count", **settings: Any
) -> "AnyStream | tuple[AnyStream, AnyStream] | collections.Collection":
    """Rows (the columns `by`, count), int64: how many rows there are; `aggregate` with Count and its settings."""
    return aggregate(stream, by, name=name, count=Count(), **settings)
