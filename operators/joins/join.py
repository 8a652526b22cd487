"""join: pairs of rows of two streams with equal keys, at any times or within windows."""

from typing import Any, Literal, overload

from tokenring.engine import AnyStream, SchemaError, Stream
from tokenring.engine.arguments import require_flags
from tokenring.engine.declare import require_streams
from tokenring.operators import collections
from tokenring.operators.expressions import Expression
from tokenring.operators.joins.changing import joined_that_change
from tokenring.operators.joins.driver import declare
from tokenring.operators.joins.kept import HOWS, Chosen, JoinedColumns, Names, On, joined_on, require_how
from tokenring.operators.joins.narrowed import narrowed, number_of, proved_unique, refuse_once, require_unique
from tokenring.operators.joins.partners import sides_with_partners
from tokenring.operators.joins.windowed_join import windowed_join
from tokenring.operators.time import FixedWindow


@overload
def join(
    left: AnyStream, right: AnyStream, *, on: On | None = ..., left_on: Names = ..., right_on: Names = ...,
    columns: Chosen = ..., window: FixedWindow | None = ...,
    right_time: str | None = ..., how: str = ..., unique: str | None = ..., left_where: Expression | None = ...,
    right_where: Expression | None = ..., late: Literal[False] = ..., changes: Literal[False] = ..., name: str = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def join(
    left: AnyStream, right: AnyStream, *, on: On | None = ..., left_on: Names = ..., right_on: Names = ...,
    columns: Chosen = ..., window: FixedWindow,
    right_time: str | None = ..., how: str = ..., unique: str | None = ..., left_where: Expression | None = ...,
    right_where: Expression | None = ..., late: Literal[True], changes: Literal[False] = ..., name: str = ...,
) -> tuple[AnyStream, AnyStream, AnyStream]: ...  # fmt: skip


@overload
def join(
    left: AnyStream, right: AnyStream, *, on: On | None = ..., left_on: Names = ..., right_on: Names = ...,
    columns: Chosen = ..., window: FixedWindow | None = ...,
    right_time: str | None = ..., how: str = ..., unique: None = ..., left_where: Expression | None = ...,
    right_where: Expression | None = ..., late: Literal[False] = ..., changes: Literal[True], name: str = ...,
) -> "collections.Collection": ...  # fmt: skip


def join(
    left: AnyStream,
    right: Stream,
    *,
    on: On | None = None,
    left_on: Names = None,
    right_on: Names = None,
    columns: Chosen = None,
    window: FixedWindow | None = None,
    right_time: str | None = None,
    how: str = "inner",
    unique: str | None = None,
    left_where: Expression | None = None,
    right_where: Expression | None = None,
    late: bool = False,
    changes: bool = False,
    name: str = "join",
) -> "AnyStream | tuple[AnyStream, AnyStream, AnyStream] | collections.Collection":
    """Each pair of a row of `left` and a row of `right` with equal keys, once, when the second of them arrives.

    `join(auctions, persons, on={"seller": "id"}, columns="name city id")`. on: columns that both sides have, or a
    mapping of the left's to the right's, or left_on= and right_on=, as many of each; of any kind, the same on both
    sides; null is equal to nothing. columns: those
    of the result, by name, as "left.price" and "right.price" where both sides have one, or a mapping of the result's
    names to those; all of the left's, and the right's but its key, unless given; only what is needed crosses between
    workers and is kept. Both sides are exchanged by key. A pair is sent at the later of
    its messages' times, so that what was sent up to a time is the join of what came up to then. (Differential dataflow,
    CIDR 2013, section 4: join on insertions alone.)

    Without a window both sides are kept for ever, but for rows, of a side that is not unique, that come when the other
    side has ended. Memory: 16 bytes and 8 for each column a row, texts, and the keys. A side that has at most one row
    for each key should be named by `unique`="left" or "right": rows of the other side then go as soon as they have
    matched, and are not even kept where their match is here. A second row raises UsageError (as OperatorError). A side
    whose key has a column that was staged as unique (see `read_staged`) is taken for that without being named.
    Of sides that are files' rows at one time (`time=0`), the smaller one is read first, whole, so that rows of the
    other one are not kept. Where one side is of files and filtered, its keys go to all workers, and once it has ended,
    rows of the other side that match nothing, and are not sent alone, are left out before they cross.

    left_where, right_where: the rows of that side for which an expression is true; the result is that of a filter
    before the join. Said here, of a side that is unique, rows of the other side do not wait for those that the filter
    left out: `join(bids, auctions, on={"auction": "id"}, unique="right", right_where=col("category") == 10)` drops a
    bid as soon as its auction is known to be of another category, where with a filter before it would be kept for ever.
    Of such a side no two rows may have one key whether they are wanted or not.

    how="left", "right", "full": rows of that side, or both, that match nothing are sent too, with nulls; a key
    column, by the left side's name, is then the key of the side that has the row, as SQL's USING has it. "semi": the
    left side's rows that match, each once, at its first match; "anti": those that match nothing, a null key among them.
    No row that was sent is ever taken back: so a row that matches nothing is sent when that is certain, with its
    message's time, and one token is held for that. Without a window that is when the other side is finished (at once
    for a null key): what follows and waits for frontiers, as windows do, waits as long. Memory for semi and anti: one
    row a key of the right side, and the left's rows that have not matched yet.

    With a window, pairs are of rows within the same fixed window (Tumbling, for one) of the window's time column (the
    right's may be called `right_time` there), once for each such window; results start with (window_start, window_end),
    as the window calls them. Rows that match nothing in a window are sent at the window's end, when the other side has
    passed it. Memory: rows of windows that are open on the other side.

    A row is late if the first of its windows ended at or before its message's time. late=True gives three streams: the
    pairs, the left side's late rows, the right side's. Otherwise a late row raises TimeRegressionError (as
    OperatorError).

    changes=True gives a collection: at each time the join of all rows up to it. So rows that match nothing are there at
    once, and taken away when their match comes; both sides are arranged for that. What stays is the join's own rows:
    pairs alone, and those of windows.
    Raises SchemaError for columns that are not there or do not fit, GraphError in loops.
    """
    require_streams(f"operator {name!r}", right)
    require_flags(f"operator {name!r}", late=late, changes=changes)
    require_how(name, how, tuple(HOWS))
    on = joined_on(name, on, left_on, right_on)
    require_unique(name, unique)
    if changes and (unique is not None or late):
        raise SchemaError(f"operator {name!r}: changes=True is one collection of all rows; leave unique= and late= out")
    if unique is None and window is None and not changes:
        unique = proved_unique(name, (left, right), on, how)
    sides, where = narrowed(name, (left, right), (left_where, right_where), unique)
    if window is not None:
        if unique is not None:
            raise SchemaError(f"operator {name!r}: unique= is for joins without a window, whose rows stay for ever")
        made = windowed_join(*sides, on, columns, window, right_time, how, late, name)
        return collections.collection(made, name=f"{name}.rows") if changes else made
    if late or right_time is not None:
        what = "late=True" if late else "right_time="
        raise SchemaError(f"operator {name!r}: {what} needs a window; give window=Tumbling('time', width)")
    plan = JoinedColumns.of(name, left.schema, right.schema, on, columns, how=how, where=where)
    if changes and how != "inner":
        return joined_that_change(plan, sides, how)
    refuse_once(plan, how, unique)
    needs = plan.crossing(0), plan.crossing(1)
    sides = sides_with_partners(plan, sides, needs, number_of(unique))
    pairs: Any = declare(plan, sides, needs, unique=number_of(unique))
    return collections.collection(pairs, name=f"{name}.rows") if changes else pairs
