"""top: the k best rows of each key, running or by window."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from tokenring.engine import AnyStream, Batch, Pipeline, Schema, SchemaError
from tokenring.engine.arguments import is_whole, require_column, require_flags
from tokenring.operators import collections
from tokenring.operators.aggregates import Needed, Show, as_named, first_that_change, rankable, require_alone, windowed
from tokenring.operators.durations import Span
from tokenring.operators.expressions import col, lit
from tokenring.operators.folds import Plan, to_owners
from tokenring.operators.mechanisms import EACH, FINAL, emission, mechanism_of
from tokenring.operators.migrate import of_version
from tokenring.operators.ranking.best import best_tables, compiled_among, compiled_best
from tokenring.operators.ranking.thinning import thinned
from tokenring.operators.ranking.top_blocks import compiled_top, final_top
from tokenring.operators.ranking.top_state import best_places, top_tables
from tokenring.operators.rows import (
    Column,
    Columns,
    columns_of,
    require_kept,
    require_no_starts,
    said_of_aliases,
    unnamed,
    with_key,
    without_unnamed,
)
from tokenring.operators.state import HeapedColumns, joined, require_rows, updates_by
from tokenring.operators.time import (
    FixedWindow,
    check_order,
    checked_lateness,
    checked_window,
    order_words,
    require_in_time,
)

_ALL = "all"
_MOST_IN_BLOCKS = 1 << 20
"""So many rows of a key have their places in a block from the first on, which takes as much memory."""


@overload
def top(
    stream: AnyStream, by: Columns = ..., *, order: Column, k: int, largest: bool = ..., ties: Columns = ...,
    rank: str | None = ..., window: FixedWindow | None = ..., emit: str | None = ...,
    lateness: Span = ..., changes: Literal[False] = ..., name: str = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def top(
    stream: AnyStream, by: Columns = ..., *, order: Column, k: int, largest: bool = ..., ties: Columns = ...,
    rank: str | None = ..., window: FixedWindow | None = ..., emit: None = ..., lateness: Span = ...,
    changes: Literal[True], name: str = ...,
) -> "collections.Collection": ...  # fmt: skip


def top(
    stream: AnyStream,
    by: Columns = (),
    *,
    order: Column,
    k: int,
    largest: bool = True,
    ties: Columns = (),
    rank: str | None = "rank",
    window: FixedWindow | None = None,
    emit: str | None = None,
    lateness: Span = 0,
    changes: bool = False,
    name: str = "top",
) -> "AnyStream | collections.Collection":
    """The input's rows with a column `rank` more (int64, from 1): the k of each key with the largest (or smallest)
    values of `order`, or all where there are fewer; of all rows without `by`. Columns are names or expressions; one
    with `.alias(name)` is a column of the result. rank: what the column of ranks is called; None for none, where
    results are sent once, or k is 1.

    Of equal values, the one with the least values in the columns `ties` goes first, then the one that came first.
    ties="all": all that are equal to the last of the k stay, and equal values have one rank, as with SQL's rank(); for
    emit="final", window= and changes=True. Rows whose `order` is null or NaN are left out.

    Without a window, emit="batch": for each message, at its time, what has changed: of each key the ranks from the
    first on that has another row than before; the latest row of each (key, rank) is the ranking. emit="each": the same
    for each row that changes the ranking, in the order in which they come. emit="final": each key's ranking once, when
    the input has ended. Memory: k rows a key; with k=1 not the rows, if not "final"; with ties="all" the rows that
    stay, and as many again. In a loop "batch" alone: by epoch, for each round once it is finished.

    With a window, rows start with (window_start, window_end) and are sent `lateness` after the window has ended, as by
    `aggregate`; late rows raise as they do there. Memory: the k rows, or with ties="all" those that stay, for each key
    of each open window (pane), and as many again.

    changes=True gives a collection of the rows, without rank: at each time the first of all rows up to it, whatever
    order they came in; among equals in all else, by their other columns. With a window, whose ranking does not change,
    it is that, with rank.
    Raises SchemaError, naming the operator, for columns that are not there or do not fit.
    """
    require_flags(f"operator {name!r}", largest=largest, changes=changes)
    require_rows(name, stream)
    if window is None:
        require_in_time(name, lateness)
    if changes:
        require_alone(name, emit=emit)
    if rank is not None:
        require_column(f"operator {name!r}", rank=rank)
    mode = emission(name, stream, emit, window is not None)
    all_ties = isinstance(ties, str) and ties == _ALL
    if all_ties and _ALL in stream.schema.positions:
        raise SchemaError(f"operator {name!r}: there is a column {_ALL!r}; say ties=[{_ALL!r}] for it, or rename it")
    if all_ties and mode != FINAL and not changes:
        raise SchemaError(
            f"operator {name!r}: ties={_ALL!r} is for rankings that are sent once: say emit='final' or window=, or "
            f"changes=True"
        )
    if rank is None and mode != FINAL and k != 1 and not changes:
        raise SchemaError(
            f"operator {name!r}: which row has changed is told by its rank: name it by rank=, or say emit='final' or "
            f"window="
        )
    require_kept(name, stream.schema)
    stream, key = with_key(stream, name, by)
    stream, (best, *others) = with_key(stream, name, (order, *(() if all_ties else columns_of(ties))))
    said = f"{k} of the {'largest' if largest else 'least'} {best}", *(("all ties",) if all_ties else others)
    plan = Plan.of(name, stream.schema, key, {}, *said_of_aliases(by, order, ties), *said)
    check_order(name, stream.schema, (best, *others))
    if not is_whole(k) or k < 1:
        raise SchemaError(f"operator {name!r}: k is an integer of at least 1, not {k!r}")
    if changes and window is None:
        if all_ties:
            return _tied_that_change(stream, name, key, best, k, largest)
        return first_that_change(stream, name, key, (best, *others), k, largest)
    if k > _MOST_IN_BLOCKS and window is None and not all_ties:
        raise SchemaError(
            f"operator {name!r}: k={k} rows would have their places kept for each key, however few it has; that is for "
            f"k up to {_MOST_IN_BLOCKS}: say a lower one, or changes=True, or emit='final' with ties='all', which keep "
            f"the rows that there are"
        )
    if rank in stream.schema.positions:
        raise SchemaError(f"operator {name!r}: there is a column {rank!r} already; give the rank another name by rank=")
    rank = unnamed("rank") if rank is None else rank
    rows, ranked = stream.schema, (best, *others)
    schema = Schema.of(rows.spec() | {rank: "int64"})
    if all_ties or window is not None:
        places = _places(ranked, k, largest, all_ties)
        few: Any = rankable(stream, best)
        if window is not None and k == 1 and not all_ties:
            time = checked_window(name, window, rows).time
            if checked_lateness(name, lateness, window, rows) == 0:
                require_no_starts(name, stream, time)
            few = thinned(few, name, [*dict.fromkeys((*plan.by, time))], ranked, largest)
        made = windowed(few, plan, window, schema, _shown(places), _needed(places), lateness)
        return _once(made, name, changes)
    way = mechanism_of(stream.scope)
    if not plan.by:
        stream = way.respond(
            f"{name}.local", (stream, Pipeline()), rows, None,
            compiled=lambda: compiled_among(rows, best, k, largest), moves=(),
        )  # fmt: skip
    elif k == 1 and mode != EACH:
        stream = thinned(stream, name, plan.by, ranked, largest)
    if mode == FINAL:
        return _once(final_top(stream, plan, schema, ranked, k, largest, False), name, changes)
    edge, plan, names = to_owners(stream, plan, None, whole=True)
    if k == 1:
        firsts = way.respond(
            name, edge, schema, None,
            compiled=lambda: compiled_best(plan.schema, names, ranked, largest, False, mode == EACH, True, len(rows)),
            moves=of_version(best_tables(plan.schema, names, len(ranked)), plan.said),
        )  # fmt: skip
        return without_unnamed(updates_by(firsts, name, key), name)
    changed = way.respond(
        name, edge, schema, None,
        compiled=lambda: compiled_top(plan.schema, names, ranked, k, largest, mode == EACH, len(rows)),
        moves=of_version(top_tables(plan.schema, names, rows), plan.said),
    )  # fmt: skip
    return without_unnamed(updates_by(changed, name, (*key, rank)), name)


def _once(ranked: Any, name: str, changes: bool) -> Any:
    """A stream of rows that are sent once, as it is asked for."""
    rows = without_unnamed(ranked, name)
    return collections.collection(rows, name=f"{name}.rows") if changes else rows


Places = Callable[[Batch, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""places(rows, which): the first rows of each group, group after group in order, and their ranks: int64."""


def _places(orders: Sequence[str], k: int, largest: bool, all_ties: bool) -> Places:
    first, *others = orders

    def places(rows: Batch, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        words = order_words(rows, first, tuple(others), largest)
        return _ranks_with_ties(words[:, 0], which, k) if all_ties else best_places(words, which, k)

    return places


def _needed(places: Places) -> Needed:
    def needed(rows: Batch, which: np.ndarray) -> np.ndarray:
        kept = np.zeros(rows.rows, np.bool_)
        kept[places(rows, which)[0]] = True
        return kept

    return needed


def _shown(places: Places) -> Show:
    def show(rows: Batch, which: np.ndarray) -> tuple[HeapedColumns, int]:
        chosen, ranks = places(rows, which)
        best = rows.take(chosen)
        heaps = best.heaps or (None,) * len(best.columns)
        return joined((best.columns, heaps), ((ranks,), (None,))), best.rows

    return show


def _tied_of_one(schema: Schema, order: str, k: int, largest: bool) -> Callable[[Batch, np.ndarray], Batch]:
    """What a collection's `reduce` calls with a key's rows, and how often each is there: those rows, in `schema`."""

    def function(rows: Batch, times: np.ndarray) -> Batch:
        each = np.repeat(np.arange(rows.rows), times)
        words = order_words(rows, order, (), largest)[each, 0]
        chosen, _ = _ranks_with_ties(words, np.zeros(len(each), np.int64), k)
        return rows.take(each[chosen]).select(schema)

    return function


def _ranks_with_ties(words: np.ndarray, which: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows whose rank is at most k, by group and order, of equal ones in theirs; and these ranks, from 1: equal
    ones have one, and the next has one more than there are before it: int64."""
    order = np.lexsort((words, which))
    begins = np.diff(which[order], prepend=-1) != 0
    differs = begins | (np.diff(words[order], prepend=0) != 0)
    at = np.arange(len(order))
    before = np.maximum.accumulate(np.where(differs, at, 0)) - np.maximum.accumulate(np.where(begins, at, 0))
    best = before < k
    return order[best], before[best] + 1


def _tied_that_change(
    stream: AnyStream, name: str, by: Sequence[str], order: str, k: int, largest: bool
) -> "collections.Collection":
    """The k first rows of each key by a column, with all that are equal to the last of them, at each time of all rows
    up to it; those where it is null or NaN are left out."""
    keys: dict[str, Any] = {unnamed(f"key {number}"): col(each) for number, each in enumerate(by)}
    keys = keys or {unnamed("key of all"): lit(0)}
    rows = collections.collection(rankable(stream, order), name=f"{name}.rows")
    keyed = rows.select(**keys, **{each: col(each) for each in rows.schema.names})
    made = keyed.reduce(list(keys), _tied_of_one(rows.schema, order, k, largest), rows.schema, name)
    return as_named(made.drop_columns(*keys), stream, name)
