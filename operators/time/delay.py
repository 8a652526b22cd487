"""delay: rows at later times; and rows at their own times, once these are finished, or in their order by key."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tokenring.engine import (
    AnyStream,
    InputPort,
    Notify,
    OperatorContext,
    PathSummary,
    Probe,
    Schema,
    Time,
    Token,
    UsageError,
    WhenStopped,
)
from tokenring.operators.durations import Span, span_of
from tokenring.operators.migrate import Staying, Table, offer, saving_of, state_moves
from tokenring.operators.state.moving import RowsByTime, times_table
from tokenring.operators.time.own_times import require_total_order


def delay(stream: AnyStream, by: Span, name: str = "delay") -> AnyStream:
    """The rows, `by` later ("1h" or another duration, or a number, in units of the stream's times, so ns in most):
    those of time t are sent at t + by, once no earlier ones can come, so that they leave in order of time.

    Frontiers behind it are what they are before it, plus `by`; a token is held for each time that waits. Memory: the
    rows that wait. UsageError for a negative `by`, GraphError in a loop, whose times have no total order.
    """
    later = span_of(by, "", f"operator {name!r}: by")
    if later < 0:
        raise UsageError(f"operator {name!r}: rows cannot be sent {-later} before their times; by must be 0 or more")
    scope = stream.scope
    require_total_order(name, scope)
    return _waiting(stream, name, later, None)


def finished_first(stream: AnyStream, name: str, together: list[Probe]) -> AnyStream:
    """Under recovery, in the root scope, the rows once no more of their time can come, in order of time: what keeps
    nothing but rows of unfinished times keeps nothing then when a snapshot is taken. Else the stream itself. together:
    probes of all streams that come there, none of which may be made of what leaves it; the stream's own is added."""
    is_saved = stream.scope.depth == 1 and saving_of(stream.scope) is not None
    return _waiting(stream, name, 0, together) if is_saved else stream


def in_order_by_key(stream: AnyStream, name: str, key: tuple[str, ...]) -> AnyStream:
    """The rows for a sink that goes by order: all of a key from the same worker, in order of time and, of one time, as
    they came there. At a stop all leave."""
    return _waiting(stream, name, 0, None, key)


def _waiting(
    stream: AnyStream, name: str, later: Time, together: list[Probe] | None, key: tuple[str, ...] = ()
) -> AnyStream:
    """Rows that are sent `later`: once no earlier ones can come, or, where there are probes, once no more of the same
    time can, by all of them. key: by which they are exchanged, for a sink; none: they stay."""
    builder = stream.operator(name, Notify.IF_TOKEN)
    port = builder.input(stream, Staying(key if len(key) > 1 else key[0]) if key else None)
    table = times_table(stream.schema, key)
    state_moves(builder, [table], pends=True)
    output = builder.output(stream.schema, {0: PathSummary(later)})
    builder.build(partial(_construct, stream.schema, table, together, bool(key)))
    if together is not None:
        together.append(builder.probe(port))
    output.updates = stream.updates
    return output


def _construct(
    schema: Schema, table: Table, together: list[Probe] | None, ends: bool, context: OperatorContext, token: Token
) -> Callable[..., None]:
    token.drop()
    if ends:
        context.when_stopped(WhenStopped.ENDS)
    for probe in together or ():
        context.run_on_advance(probe)
    waiting = RowsByTime(schema, table)
    offer(waiting)
    held: dict[Time, Token] = {}  # by the times that rows leave at

    def logic(rows: InputPort, *ports: Any) -> None:
        *due, output = ports  # where state is put in, an input brings the right to send it
        for port in due:
            for reference, _ in port:
                for time in waiting.times - held.keys():
                    held[time] = reference.retain()
                    held[time].downgrade(time)
        for reference, batch in rows:
            token = reference.retain()
            waiting.add(token.time, batch.copy())
            if token.time in held:
                token.drop()
            else:
                held[token.time] = token
        upto = rows.frontier if together is None else min([probe.frontier for probe in together]) - 1
        while waiting.least <= upto and waiting.least in held:
            time, batch = waiting.pop()
            output.give(held[time], batch)
            held.pop(time).drop()

    return logic
