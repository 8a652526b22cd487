"""top: the k best rows of each key, running or by window."""

from typing import Literal, overload

import numpy as np

from tokenring.engine import AnyStream, Batch, Pipeline, Schema, SchemaError
from tokenring.operators import collections
from tokenring.operators.aggregates.changing import first_that_change, require_alone
from tokenring.operators.aggregates.owner_panes import windowed
from tokenring.operators.folds import (
    Best,
    Plan,
    TopState,
    best_tables,
    can_fold,
    compiled_best,
    compiled_top,
    to_owners,
    top_tables,
)
from tokenring.operators.mechanisms import EACH, FINAL, Answer, answer_each, emission, mechanism_of
from tokenring.operators.migrate import offer
from tokenring.operators.rows import Column, Columns, columns_of, with_key, without_unnamed
from tokenring.operators.state import Keys, require_rows, updates_by, wrapped
from tokenring.operators.state.moving import KeyedMoves, MovingKeys
from tokenring.operators.time import Sliding, Tumbling, check_order


@overload
def top(
    stream: AnyStream, by: Columns = ..., *, order: Column, k: int, largest: bool = ..., ties: Columns = ...,
    rank: str = ..., window: Tumbling | Sliding | None = ..., emit: str | None = ...,
    changes: Literal[False] = ..., name: str = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def top(
    stream: AnyStream, by: Columns = ..., *, order: Column, k: int, largest: bool = ..., ties: Columns = ...,
    rank: str = ..., window: Tumbling | Sliding | None = ..., emit: None = ..., changes: Literal[True],
    name: str = ...,
) -> "collections.Collection": ...  # fmt: skip


def top(
    stream: AnyStream,
    by: Columns = (),
    *,
    order: Column,
    k: int,
    largest: bool = True,
    ties: Columns = (),
    rank: str = "rank",
    window: Tumbling | Sliding | None = None,
    emit: str | None = None,
    changes: bool = False,
    name: str = "top",
) -> "AnyStream | collections.Collection":
    """The input's rows with a column `rank` more (int64, from 1): the k of each key with the largest (or smallest)
    values of `order`; of all rows without `by`. Columns are names or expressions; one with `.alias(name)` is a column
    of the result.

    Of equal values, the one with the least values in the columns `ties` goes first, then the one that came first. Rows
    whose `order` is null or NaN are left out. Without a window, emit="batch": for each message, at its time, what has
    changed: of each key the ranks from the first on that has another row than before; the latest row of each (key,
    rank) is the ranking. emit="each": the same for each row that changes the ranking, in the order in which they come.
    emit="final": each key's ranking once, when the input has ended. Memory: k rows a key; with k=1 not the rows, if not
    "final". In a loop "batch" alone: by epoch, for each round once it is finished.

    With a window, rows start with (window_start, window_end) and are sent when the window has ended, as by `aggregate`;
    late rows raise as they do there. Memory: k rows for each key of each open window (pane).

    changes=True gives a collection of the rows, without rank: at each time the first of all rows up to it, whatever
    order they came in; among equals in all else, by their other columns.
    Raises SchemaError, naming the operator, for columns that are not there or do not fit.
    """
    require_rows(name, stream)
    if changes:
        require_alone(name, emit=emit)
    mode = emission(name, stream, emit, window is not None)
    stream, key = with_key(stream, name, by)
    stream, (best, *others) = with_key(stream, name, (order, *columns_of(ties)))
    plan = Plan.of(name, stream.schema, key, {})
    check_order(name, stream.schema, (best, *others))
    if not isinstance(k, int) or k < 1:
        raise SchemaError(f"operator {name!r}: k is an integer of at least 1, not {k!r}")
    if changes and window is None:
        return first_that_change(stream, name, key, (best, *others), k, largest)
    if rank in stream.schema.positions:
        raise SchemaError(f"operator {name!r}: there is a column {rank!r} already; give the rank another name by rank=")
    rows = stream.schema
    schema = Schema.of(rows.spec() | {rank: "int64"})

    def state() -> TopState:
        return TopState(rows, best, tuple(others), k, largest)

    if mode == FINAL:
        ranked_rows = without_unnamed(windowed(stream, plan, window, schema, lambda _: state(), rows), name)
        return collections.collection(ranked_rows, name=f"{name}.rows") if changes else ranked_rows
    way = mechanism_of(stream.scope)
    if not plan.by:
        stream = way.respond(f"{name}.local", (stream, Pipeline()), rows, lambda: _best(state()))
    edge, plan, names = to_owners(stream, plan, "", whole=True)
    ranked = best, *others
    passes = can_fold(plan, beside=True) and not any(rows.kind(column).is_text for column in ranked)
    if k == 1:
        one = (plan.schema, names, best, tuple(others), largest, False, mode == EACH)
        firsts = way.respond(
            name, edge, schema, lambda: _first(Best(*one), rows, schema),
            compiled=(lambda: compiled_best(plan.schema, names, ranked, largest, False, mode == EACH, True, len(rows)))
            if passes else None,
            moves=best_tables(plan.schema, names, len(ranked)),
        )  # fmt: skip
        return without_unnamed(updates_by(firsts, name, key), name)

    def make() -> Answer:
        keys, best_rows = Keys(plan.schema, names), state()
        offer(KeyedMoves(top_tables(plan.schema, names, rows), MovingKeys(keys, names), best_rows))
        answer = _changes(keys, best_rows, schema)
        return answer_each(answer, plan.schema, names) if mode == EACH else answer

    changed = way.respond(
        name, edge, schema, make,
        compiled=(lambda: compiled_top(plan.schema, names, ranked, k, largest, mode == EACH, len(rows)))
        if can_fold(plan) else None,
        moves=top_tables(plan.schema, names, rows),
    )  # fmt: skip
    return without_unnamed(updates_by(changed, name, (*key, rank)), name)


def _first(best: Best, rows: Schema, schema: Schema) -> Answer:
    """The rows that are first now, with their rank: nothing else changes, so rows need not be kept."""

    def answer(batch: Batch) -> Batch:
        found = best.winners(batch).select(rows)
        heaps = (*found.heaps, None) if schema.has_text else ()
        return Batch.wrap(schema, (*found.columns, np.ones(found.rows, np.int64)), found.rows, heaps, found)

    return answer


def _best(state: TopState) -> Answer:
    """A worker's own rows that can be among the best of all."""
    state.reset(np.zeros(1, np.int64), 1)
    return lambda batch: state.enter(batch, np.zeros(batch.rows, np.int64))[1]


def _changes(keys: Keys, state: TopState, schema: Schema) -> Answer:
    def answer(batch: Batch) -> Batch:
        slots = keys.slots(batch)
        if len(keys.fresh):
            state.reset(keys.fresh, keys.limit)
        return wrapped(schema, *state.shown(*state.changed_rows(state.changes(batch, slots))))

    return answer
