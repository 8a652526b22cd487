"""delay: rows at later times; rows at their own times, once these are finished; and in order of a column of them."""

from tokenring.engine import AnyStream, Probe, UsageError
from tokenring.operators.durations import Span, span_of
from tokenring.operators.migrate import saving_of
from tokenring.operators.state.moving import sent_by_time, sent_in_order
from tokenring.operators.time.own_times import (
    go_by_message_times,
    kind_of_times,
    require_message_times,
    require_own_time,
    require_total_order,
)


def delay(stream: AnyStream, by: Span, name: str = "delay") -> AnyStream:
    """The rows, `by` later ("1h" or another duration, or a number, in units of the stream's times, so ns in most):
    those of time t are sent at t + by, once no earlier ones can come, so that they leave in order of time.

    Frontiers behind it are what they are before it, plus `by`; a token is held for each time that waits. Memory: the
    rows that wait. UsageError for a negative `by`, SchemaError for a duration where times are whole
    numbers of a source's column, whose unit nobody knows, GraphError in a loop, whose times have no total order.
    """
    later = span_of(by, kind_of_times(stream), f"operator {name!r}: by")
    if later < 0:
        raise UsageError(f"operator {name!r}: rows cannot be sent {-later} before their times; by must be 0 or more")
    scope = stream.scope
    require_total_order(name, scope)
    go_by_message_times(name, stream)
    return sent_by_time(stream, name, later)


def ordered_by(stream: AnyStream, operator: str, order: str, key: tuple[str, ...]) -> AnyStream:
    """The rows for an operator that takes each key's in order of a column of their own times, see `sent_in_order`.
    SchemaError for a column that is not there or holds no times, GraphError where times have no order or are not those
    of messages."""
    require_total_order(operator, stream.scope)
    stream.schema.position(order, f"operator {operator!r}", "to order rows by")
    require_own_time(f"operator {operator!r}: order {order!r}", stream.schema, order)
    require_message_times(operator, stream)
    return sent_in_order(stream, operator, order, key)


def finished_first(stream: AnyStream, name: str, together: list[Probe]) -> AnyStream:
    """Under recovery, in the root scope, the rows once no more of their time can come, in order of time: what keeps
    nothing but rows of unfinished times keeps nothing then when a snapshot is taken. Else the stream itself. together:
    probes of all streams that come there, none of which may be made of what leaves it; the stream's own is added."""
    is_saved = stream.scope.depth == 1 and saving_of(stream.scope) is not None
    return sent_by_time(stream, name, together=together) if is_saved else stream
