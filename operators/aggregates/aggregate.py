"""aggregate: counts, sums and so on by key, running or by window."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from tokenring.engine import AnyStream, Exchange, Notify, Pipeline, Schema, SchemaError
from tokenring.engine.arguments import require_flags
from tokenring.operators import collections, running, sessions
from tokenring.operators.aggregates.changing import errors_of_views, require_alone, totals_that_change
from tokenring.operators.aggregates.moving_windows import said_of, window_tables
from tokenring.operators.aggregates.pane_ends import PANE
from tokenring.operators.durations import Span
from tokenring.operators.expressions import Alias, col, with_aliased
from tokenring.operators.folds import ALL, Aggregate, Plan, to_owners, with_conditions
from tokenring.operators.folds.moving import fold_kinds
from tokenring.operators.mechanisms import EACH, FINAL, CompiledLogic, Edge, emission, mechanism_of
from tokenring.operators.migrate import of_version
from tokenring.operators.rows import (
    Columns,
    OnError,
    computed,
    exchanged_by,
    gives_failed,
    has_windows,
    said_of_aliases,
    with_key,
)
from tokenring.operators.state import require_rows, updates_by
from tokenring.operators.time import (
    FOREVER,
    FixedWindow,
    Panes,
    Session,
    Window,
    behind,
    behind_window,
    checked_lateness,
    checked_window,
    fill_ends,
    ordered_by,
    panes_of,
    require_in_time,
    split_late,
    with_late,
)


@overload
def aggregate(
    stream: AnyStream, /, by: Columns = ..., *aliased: Alias, window: Window | None = ..., emit: str | None = ...,
    order: str | None = ..., late: Literal[False] = ..., lateness: Span = ..., changes: Literal[False] = ...,
    on_error: Literal["fail"] = ..., name: str = ..., **aggregates: Aggregate,
) -> AnyStream: ...  # fmt: skip


@overload
def aggregate(
    stream: AnyStream, /, by: Columns = ..., *aliased: Alias, window: Window, emit: str | None = ...,
    order: None = ..., late: Literal[True], lateness: Span = ..., changes: Literal[False] = ...,
    on_error: Literal["fail"] = ..., name: str = ..., **aggregates: Aggregate,
) -> tuple[AnyStream, AnyStream]: ...  # fmt: skip


@overload
def aggregate(
    stream: AnyStream, /, by: Columns = ..., *aliased: Alias, window: Window | None = ..., emit: str | None = ...,
    order: str | None = ..., late: Literal[False] = ..., lateness: Span = ..., changes: Literal[False] = ...,
    on_error: Literal["stream"], name: str = ..., **aggregates: Aggregate,
) -> tuple[AnyStream, AnyStream]: ...  # fmt: skip


@overload
def aggregate(
    stream: AnyStream, /, by: Columns = ..., *aliased: Alias, window: Window, emit: str | None = ...,
    order: None = ..., late: Literal[True], lateness: Span = ..., changes: Literal[False] = ...,
    on_error: Literal["stream"], name: str = ..., **aggregates: Aggregate,
) -> tuple[AnyStream, AnyStream, AnyStream]: ...  # fmt: skip


@overload
def aggregate(
    stream: AnyStream, /, by: Columns = ..., *aliased: Alias, window: Window | None = ..., emit: None = ...,
    order: None = ..., late: Literal[False] = ..., lateness: Span = ..., changes: Literal[True],
    on_error: Literal["fail"] = ..., name: str = ..., **aggregates: Aggregate,
) -> "collections.Collection": ...  # fmt: skip


def aggregate(
    stream: AnyStream,
    /,
    by: Columns = (),
    *aliased: Alias,
    window: Window | None = None,
    emit: str | None = None,
    order: str | None = None,
    late: bool = False,
    lateness: Span = 0,
    changes: bool = False,
    on_error: OnError = "fail",
    name: str = "aggregate",
    **aggregates: Aggregate,
) -> "AnyStream | tuple[AnyStream, ...] | collections.Collection":
    """Rows (the columns `by`, the aggregates by their names), one for each key; all rows are one key without `by`.

    `aggregate(bids, by="auction", bids=Count(), top=Max("price"))`. There are Count, Sum, Mean, Min, Max, First, Last,
    CountDistinct, Variance, StdDev, ArgMax, ArgMin and ApproxQuantile; OwnAggregate makes others. A column may be an
    expression, `Max(col("price") * 89)`, and so may those of `by`, by a name: `by=(col("at") // 60).alias("minute")`; a
    name that is a parameter, or no word, is said behind: `Count().alias("late")`.

    Without a window, emit="batch": for each message the values so far of the keys in it, at its time; emit="each": for
    each row those of its key, in the order in which rows come; emit="final": each key once, when the input has ended.
    Rows of several workers, such as those of a file that they read, come mixed: emit="each" with `order`, the column of
    the rows' own times that their source goes by (time=), takes a key's rows in order of it, and of one time as they
    come, each once no earlier one can; they wait until then, and one that comes later raises TimeRegressionError, as in
    `scan`. Memory: each key, 20 to 32 bytes and 8 a word of state. In a loop "batch" is by epoch and finished round,
    and everything else is refused by GraphError. Under "batch", where keys come often, each worker first makes the rows
    of a key in a message one, which crosses, if all it takes is counts, sums of integers, least and greatest ones.

    With a window (Tumbling, Session, …), rows start with (window_start, window_end), of the kind of the window's
    time. A window's rows are sent when no more can come for it, `lateness` after its end, at that time (sessions that
    end together: at the first one's, if nobody goes by messages' times). Rows may come in any order; a window without
    rows sends nothing. Each worker aggregates its own rows first, so that a row for each key and window (pane) crosses;
    not so for sessions and CountDistinct. Memory: each key of each window (pane) that is open. One token is held, at
    the least end.

    A row is late if its window's end (its pane's, where windows slide), plus `lateness`, is not after its message's
    time (with watermarks, the last mark); for sessions, if its own time plus `lateness` is before it. late=True gives
    two streams, the second one with the late rows, in the input's schema. Otherwise a late row counts while no result
    that it may be part of was sent, and then raises TimeRegressionError (as OperatorError).

    changes=True gives a collection: at each time the results of all rows up to it, whatever order they came in, those
    before taken away, so that other operators of collections compute with them; of all aggregates but First and Last.
    With a window, whose results do not change, it is these.

    on_error="stream" gives one stream more, the last one: where a Sum or Mean of integers leaves its range, which ends
    the run otherwise, the result is left out, and `failed` has whose it is (a window's bounds, the columns `by`), and
    why, in the column `error`. A sum that comes back is a result again. Memory: three words for such a sum. What fails
    at a row, in an expression or a condition, ends the run: compute it before, by with_columns(on_error="stream").
    Raises SchemaError, naming the operator, for columns that are not there or do not fit.
    """
    options = {"by": by, "window": window, "emit": emit, "order": order, "late": late, "lateness": lateness}
    options |= {"changes": changes, "on_error": on_error, "name": name}
    for parameter, value in options.items():
        if isinstance(value, Aggregate):
            raise SchemaError(
                f"operator 'aggregate': {parameter}= is a parameter; for a column that is called so, give "
                f"{type(value).__name__}(...).alias({parameter!r}) without a keyword"
            )
    require_flags(f"operator {name!r}", late=late, changes=changes)
    aggregates = with_aliased(name, aliased, aggregates)
    if not aggregates:
        raise SchemaError(f"operator {name!r}: nothing to aggregate; give it n=Count() or the like")
    if gives_failed(name, on_error):
        from tokenring.operators.aggregates.exact_sums import with_failed

        if changes:
            raise errors_of_views(name)
        anew: Callable[..., Any] = aggregate  # of its overloads none takes late=late
        of_parts = partial(
            anew, stream, by, window=window, emit=emit, order=order, late=late, lateness=lateness, name=name
        )
        return with_failed(stream, name, by, aggregates, of_parts)
    if changes:
        require_alone(name, emit=emit, order=order, late=late)
    mode = emission(name, stream, emit, window is not None)
    if order is not None and mode != EACH:
        raise SchemaError(
            f"operator {name!r}: order={order!r} is the order in which emit='each' takes a key's rows, and {mode!r} "
            f"says nothing of each; give emit='each', or leave order= out"
        )
    require_rows(name, stream)
    if window is None:
        stream, names = with_key(stream, name, by, shown=True)
        if changes:
            return totals_that_change(stream, name, names, aggregates)
        stream, planned = with_conditions(stream, name, aggregates)
        plan = Plan.of(name, stream.schema, names, planned, *said_of_aliases(by))
        stream, plan = _needed(stream, plan, *(() if order is None else (order,)))
        require_in_time(name, lateness, late)
        schema = Schema.of(plan.keys | plan.result_kinds)
        if mode == FINAL:
            return _by_panes(stream, plan, FOREVER, schema)
        if order is not None:
            stream = ordered_by(stream, name, order, names)
        return updates_by(running.running(stream, plan, schema, mode == EACH), name, names)
    window = checked_window(name, window, stream.schema)
    lateness = checked_lateness(name, lateness, window, stream.schema)
    panes = panes_of(window, lateness) if isinstance(window, FixedWindow) else None
    due = (lambda times: behind(times, 1 + lateness)) if panes is None else (lambda times: _due(times, panes))
    stream, late_rows = split_late(stream, name, "", due, window.time, late, mechanism_of(stream.scope).split_late)
    stream, names = with_key(stream, name, by, shown=True)
    stream, planned = with_conditions(stream, name, aggregates)
    said = *said_of_aliases(by), said_of(window, lateness)
    plan = Plan.of(name, stream.schema, names, planned, *said).ordered_by(window.time)
    schema = behind_window(name, window, stream.schema, plan.keys | plan.result_kinds)
    stream, plan = _needed(stream, plan, window.time)
    if isinstance(window, FixedWindow):
        results = _by_panes(stream, plan, panes_of(window, lateness), schema)
    else:
        results = _by_sessions(stream, plan, window, lateness, schema)
    if lateness == 0:
        has_windows(results, window.start, window.end)
    if changes:
        return collections.collection(results, name=f"{name}.rows")
    return results if late_rows is None else with_late("results, late", results, late_rows)


def _needed(stream: AnyStream, plan: Plan, *others: str) -> tuple[AnyStream, Plan]:
    """The rows with the columns alone that are looked at, and the plan over them; with one, where none are."""
    names = stream.schema.names
    needed = {*plan.needs(), *others}
    if not needed:
        needed = {next((name for name in names if not stream.schema.kind(name).is_text), names[0])}
    if len(needed) == len(names):
        return stream, plan
    columns = {name: col(name) for name in names if name in needed}
    stream = computed(stream, f"{plan.operator}.needed", columns)
    return stream, replace(plan, schema=stream.schema)


def _due(times: np.ndarray, panes: Panes) -> np.ndarray:
    if panes.clock is not None:
        return panes.clock.ends(times) + panes.lateness
    due = np.empty(len(times), np.int64)
    fill_ends(times, panes.step, panes.offset, panes.lateness, due)
    return due


def _by_panes(stream: AnyStream, plan: Plan, panes: Panes, schema: Schema) -> AnyStream:
    """Each worker aggregates its own rows by pane first, where what that comes to is less than the rows."""
    if not plan.merges:
        edge, plan, _ = to_owners(stream, plan, panes.time)
        return _windows(edge, plan, panes, schema, False, plan.by)
    name = plan.operator
    together = {} if plan.by or panes.is_tumbling else {ALL: "int64"}  # panes of one window have to meet
    partial = Schema.of({plan.own(PANE): "int64"} | plan.keys | plan.partial_kinds() | together)

    def compiled() -> CompiledLogic:
        from tokenring.operators.aggregates.windows import compiled_local

        return compiled_local(plan, panes, partial)

    local = mechanism_of(stream.scope).timed(
        f"{name}.local", [(stream, Pipeline())], partial, None, Notify.IF_TOKEN, compiled=compiled, moves=()
    )
    edge = local, Exchange(exchanged_by(plan.by or tuple(together) or (PANE,)))
    return _windows(edge, plan.merging(partial), panes, schema, True, plan.by or (() if together else (PANE,)))


def _windows(
    edge: Edge[AnyStream], plan: Plan, panes: Panes, schema: Schema, partial: bool, exchanged: tuple[str, ...]
) -> AnyStream:
    """partial: of states that a first stage sends, not of rows; exchanged: what they go by, none if all are together.
    """
    moves = of_version(window_tables(plan, exchanged, fold_kinds(plan)), plan.said)

    def compiled() -> CompiledLogic:
        if panes.is_tumbling:
            from tokenring.operators.aggregates.windows import compiled_windows as make
        else:
            from tokenring.operators.aggregates.sliding import compiled_sliding as make

        return make(plan, panes, partial, exchanged, moves)

    return mechanism_of(edge[0].scope).timed(
        plan.operator, [edge], schema, None, Notify.IF_TOKEN, compiled=compiled, moves=moves
    )


def _by_sessions(stream: AnyStream, plan: Plan, window: Session, lateness: int, schema: Schema) -> AnyStream:
    edge, plan, by = to_owners(stream, plan, window.time)
    moves = of_version(sessions.session_tables(plan, by), plan.said)
    return mechanism_of(stream.scope).timed(
        plan.operator, [edge], schema, None, Notify.IF_TOKEN,
        compiled=lambda: sessions.compiled_sessions(plan, by, window, lateness, moves), moves=moves,
    )  # fmt: skip
