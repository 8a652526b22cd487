"""delay: rows at later times."""

from collections.abc import Callable

from sortedcontainers import SortedDict

from tokenring.engine import (
    AnyStream,
    Batch,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    PathSummary,
    Token,
    UsageError,
)
from tokenring.operators.durations import Span, span_of
from tokenring.operators.time.total_order import require_total_order


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
    builder = stream.operator(name, Notify.IF_TOKEN)
    builder.input(stream)
    output = builder.output(stream.schema, {0: PathSummary(later)})
    builder.build(_construct)
    output.updates = stream.updates
    return output


def _construct(context: OperatorContext, token: Token) -> Callable[..., None]:
    token.drop()
    waiting: SortedDict = SortedDict()  # the time they leave at -> its token, batches

    def logic(rows: InputPort, output: OutputPort) -> None:
        for reference, batch in rows:
            held: Token = reference.retain()
            if held.time in waiting:
                waiting[held.time][1].append(batch.copy())
                held.drop()
            else:
                waiting[held.time] = (held, [batch.copy()])
        while waiting and waiting.peekitem(0)[0] <= rows.frontier:
            held, batches = waiting.popitem(0)[1]
            output.give(held, Batch.concatenate(batches))
            held.drop()

    return logic
