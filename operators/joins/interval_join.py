"""interval_join: pairs of rows with equal keys whose times lie within bounds of each other."""

from typing import Any, Literal, overload

from tokenring.engine import AnyStream, SchemaError, Stream
from tokenring.engine.arguments import require_flags
from tokenring.engine.declare import require_streams
from tokenring.operators.durations import Span, is_span, span_of
from tokenring.operators.expressions import Expression
from tokenring.operators.joins.driver import declare
from tokenring.operators.joins.kept import (
    HOWS,
    LEFT,
    RIGHT,
    Chosen,
    Extents,
    JoinedColumns,
    Names,
    On,
    Reach,
    joined_on,
    require_how,
    require_times,
)
from tokenring.operators.joins.narrowed import narrowed, number_of, proved_unique, refuse_once, require_unique
from tokenring.operators.time import behind_own, split_late, with_late


@overload
def interval_join(
    left: AnyStream, right: AnyStream, *, on: On | None = ..., left_on: Names = ..., right_on: Names = ...,
    left_time: str, right_time: str, upper: Span, lower: Span = ..., columns: Chosen = ...,
    how: str = ..., unique: str | None = ..., left_where: Expression | None = ..., right_where: Expression | None = ...,
    late: Literal[False] = ..., name: str = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def interval_join(
    left: AnyStream, right: AnyStream, *, on: On | None = ..., left_on: Names = ..., right_on: Names = ...,
    left_time: str, right_time: str, upper: Span, lower: Span = ..., columns: Chosen = ...,
    how: str = ..., unique: str | None = ..., left_where: Expression | None = ..., right_where: Expression | None = ...,
    late: Literal[True], name: str = ...,
) -> tuple[AnyStream, AnyStream, AnyStream]: ...  # fmt: skip


def interval_join(
    left: AnyStream,
    right: Stream,
    *,
    on: On | None = None,
    left_on: Names = None,
    right_on: Names = None,
    left_time: str,
    right_time: str,
    upper: Span,
    lower: Span = 0,
    columns: Chosen = None,
    how: str = "inner",
    unique: str | None = None,
    left_where: Expression | None = None,
    right_where: Expression | None = None,
    late: bool = False,
    name: str = "interval_join",
) -> AnyStream | tuple[AnyStream, AnyStream, AnyStream]:
    """Each pair of rows with equal keys and left_time + lower <= right_time <= left_time + upper, once, when the second
    of them arrives.

    `interval_join(auctions, bids, on={"id": "auction"}, left_time="date_time", right_time="date_time",
    upper="expires")`. left_time, right_time: the rows' own times, int64 or timestamp. lower, upper: "1h", "-5min" or
    another duration for timestamps, a number in their unit for int64; lower may be negative; `upper` may also be a
    column of the left side that holds the last time that matches. on, left_on, right_on, columns: as in `join`. A pair
    is sent at the later of its messages' times, which is not after the later of its rows'. how: as in
    `join`; rows that match nothing are sent once the other side's frontier has passed their bound, and one token is
    held for that.

    unique, left_where, right_where: as in `join`. A side that is named by `unique` has at most one row for each key,
    ever; rows of the other side are then not kept where that row is here, whether it matches or not, unless they are to
    be sent alone. A second row raises UsageError (as OperatorError) while the first is kept.

    Memory: 88 bytes and 8 for each column a row, texts, and the keys; where the join is compiled (no text in its key)
    24 for 88 of a side that is unique, or 32 where `upper` is a column or a condition is said of it, and no columns of
    the key unless rows of that side may be sent alone. A row of the left side goes when the right side's frontier has
    passed its upper bound, one of the right side when the left side's has passed right_time - lower (a message's rows
    together, but where upper is a column or rows that match nothing are sent). So it is bounded by what lies between
    the bounds, and by how far one side is ahead of the other.

    A row is late if its own time is before its message's. late=True gives three streams: the pairs, the left side's
    late rows, the right side's. Otherwise a late row raises TimeRegressionError (as OperatorError). Raises SchemaError
    for columns that are not there or do not fit, GraphError in loops.
    """
    require_streams(f"operator {name!r}", right)
    require_how(name, how, tuple(HOWS))
    require_unique(name, unique)
    on = joined_on(name, on, left_on, right_on)
    if unique is None:
        unique = proved_unique(name, (left, right), on, how)
    of_left = left.schema, left_time, "for the left side's time"
    require_times(name, (of_left, (right.schema, right_time, "for the right side's time")))
    until = upper if isinstance(upper, str) and (upper in left.schema.positions or not is_span(upper)) else None
    if until is not None:
        require_times(name, (of_left, (left.schema, until, "of the left side for upper=")))
    kind = str(left.schema.kind(left_time))
    least = span_of(lower, kind, f"operator {name!r}: lower")
    most = least if until else span_of(upper, kind, f"operator {name!r}: upper")
    if least > most:
        raise SchemaError(f"operator {name!r}: no time lies between lower={lower} and upper={upper}")
    require_flags(f"operator {name!r}", late=late)
    left, late_left = split_late(left, name, ".left", behind_own, left_time, late)
    right, late_right = split_late(right, name, ".right", behind_own, right_time, late)
    sides, where = narrowed(name, (left, right), (left_where, right_where), unique)
    plan = JoinedColumns.of(name, left.schema, right.schema, on, columns, how=how, where=where)
    refuse_once(plan, how, unique)
    waits_for_left, waits_for_right = plan.how.alone
    reach_left = Reach(left_time, least, most, until, 1, until is None and not waits_for_left)
    reach_right = Reach(right_time, due=1 - least, together=not waits_for_right)
    needs = plan.crossing(LEFT, *reach_left.columns), plan.crossing(RIGHT, *reach_right.columns)
    said = f"left_time={left_time}; right_time={right_time}; lower={least}; upper={most if until is None else until}"
    extents = Extents(reach_left, reach_right, exact=False, said=said)
    joined: Any = declare(plan, sides, needs, extents, number_of(unique))
    return with_late("results, late_left, late_right", joined, late_left, late_right) if late else joined
