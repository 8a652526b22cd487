"""What operators need of times: an order, and columns of rows' own times, which windows and joins go by."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tokenring.engine import MAX_TIME, GraphError, Kind, Schema, SchemaError, ScopeOf, Stream, Time, TimeRegressionError
from tokenring.operators.migrate import goes_by_times

_LATEST = 2**63 - 1  # that rows may have, of their own: messages' times end before
_TIMES = ("int64", "timestamp")
_CASTS = {"date": 'cast("timestamp")', "uint64": 'cast("int64")'}


def require_total_order(operator: str, scope: ScopeOf[Any]) -> None:
    """GraphError where times are tuples, and only partially ordered."""
    if scope.depth > 1:
        raise GraphError(
            f"operator {operator!r} acts on times in their total order, which those in {scope.describe()} do not have; "
            f"{scope.way_out}"
        )


class TimesOfRows(dict[int, str]):
    """The operators of a dataflow that send rows of other times in messages that are all at time 0: number -> the
    mechanism that has it so."""


class WholeTimes(dict[int, str]):
    """The operators of a dataflow that send rows at times from a column of whole numbers, whose unit nobody knows:
    number -> the column's kind."""


def tell_times(stream: Stream, kind: Kind) -> None:
    """The messages of a stream are at the times of a column of that kind."""
    if not kind.is_instant:
        stream.scope.kept(WholeTimes)[stream.source.operator] = kind.name


def kind_of_times(stream: Stream) -> str:
    """What the times of a stream's messages are, as `span_of` takes it: the kind of the whole numbers that they are
    taken from, behind any source of such; "" where they are instants, or nobody knows."""
    whole = stream.scope.kept(WholeTimes)
    behind = stream.scope.graph.behind(stream.source, stream.stage)[0] if whole else set()
    return next((whole[number] for number in sorted(whole.keys() & behind)), "")


def require_message_times(operator: str, stream: Stream, cure: str = "") -> None:
    """GraphError where rows' times are not those of their messages, as behind the sources of a dataflow that goes by
    watermarks. cure: another way than by tokens."""
    apart = stream.scope.kept(TimesOfRows)
    behind = stream.scope.graph.behind(stream.source, stream.stage)[0] if apart else ()
    for number in sorted(apart.keys() & behind):
        made = stream.scope.graph.operators[number].name
        raise GraphError(
            f"operator {operator!r} goes by messages' times, which by {apart[number]} are all 0 behind {made!r}: "
            f"{cure}coordinate by tokens"
        )


def go_by_message_times(operator: str, stream: Stream, cure: str = "") -> None:
    """`require_message_times`, of who has each row for one of its message's time: none are to be sent together then
    that are due at different times."""
    require_message_times(operator, stream, cure)
    goes_by_times(stream)


def require_integer_times(scope: ScopeOf[Any], what: str, in_loop: str) -> None:
    """GraphError where times are tuples. what: is done, but not there; in_loop: the cure, in a loop."""
    if scope.depth > 1:
        cure = scope.way_out if scope.root is scope else in_loop
        raise GraphError(f"{what}, but not in {scope.describe()}, where times are tuples: {cure}")


def require_own_time(what: str, schema: Schema, column: str) -> None:
    """SchemaError, saying `what` the column is for, if it holds no times, or may be null; the column is there."""
    kind = schema.kind(column)
    if kind.nullable or kind.family not in _TIMES:
        cured = "fill_null(...)" if kind.family in _TIMES else _CASTS.get(str(kind))
        cure = f"; say with_columns({column}=col({column!r}).{cured}) before" if cured else ""
        raise SchemaError(f"{what} is {kind}; it must be int64 or timestamp, without nulls{cure}")


def outside_times(what: str, is_instant: bool, time: Time, cure: str = "", latest: Time = MAX_TIME) -> str:
    """What is said of a row that lies before all times, or behind them, also where the end of 64 bits was passed. what:
    whose time it is. cure: another one. latest: of such times."""
    shown, first, last = _shown(time, is_instant), "1970" if is_instant else "0", _shown(latest, is_instant)
    said = f"{what} {shown}, and times begin with {first}"
    if time > latest:
        said = f"{what} {shown}, and times end with {last}"
    elif time < -MAX_TIME:
        said = f"{what} {shown} as 64 bits have it, and times are from {first} to {last}"
    return f"{said}: leave such rows out{cure}, or move their times"


def _shown(time: Time, is_instant: bool) -> np.datetime64 | Time:
    return np.datetime64(time, "ns") if is_instant else time


def too_early(
    operator: str, schema: Schema, columns: Sequence[str], time: Time, cure: str = "", ends: bool = False
) -> TimeRegressionError:
    """The same of a row in an operator; and of one that is so late that what it counts for would end behind all times.
    columns: where its time may stand; time: the row's, or, if `ends`, when its window does, the last time there is for
    one that would later."""
    column = columns[0]
    is_instant = column in schema.positions and schema.kind(column).is_instant
    said = f"operator {operator!r}: column {' or '.join(dict.fromkeys(map(repr, columns)))}: a row"
    if time <= 0:
        what = f"{said}'s window ends at" if ends else f"{said} is of"
        return TimeRegressionError(outside_times(what, is_instant, time, cure, _LATEST))
    matched = f"is of {_shown(time, is_instant)}, and its window, session or matches, with their lateness,"
    what = f"{said}'s window" if ends else f"{said} {matched}"
    return TimeRegressionError(
        f"{what} would end behind {_shown(_LATEST, is_instant)}, where 64 bits end: leave such rows out, or move "
        f"their times"
    )
