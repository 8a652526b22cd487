"""for_each: calls a function with what arrives, as it comes or in order of time."""

from collections.abc import Callable
from typing import Any

from tokenring.engine import (
    Batch,
    Broadcast,
    Exchange,
    GraphError,
    InputPort,
    Notify,
    OperatorBuilder,
    OperatorContext,
    Pact,
    Pipeline,
    Probe,
    Route,
    Stream,
    UsageError,
)
from tokenring.engine.arguments import require_flags
from tokenring.engine.graph import arriving_schema
from tokenring.operators.migrate import offer, saving_of, state_moves
from tokenring.operators.time import go_by_message_times, require_total_order


def for_each(
    stream: Stream,
    function: Callable[[Any, Batch], object],
    *,
    in_order: bool = False,
    pact: Pact | None = None,
    name: str = "for_each",
) -> Probe:
    """Call `function(time, batch)` on this worker for each message that arrives; or, `in_order`, once for each time
    that had rows, with all of them, when it is finished, in order of time.

    The batches may be kept; what `batch.words` and `batch.view` give dies with the call. It must not block.
    pact: how rows go to workers first; Exchange of a constant column brings them all to one. The probe that is returned
    has passed a time once all of it was given out, or, in order, taken.
    Memory: none; in order, the rows of unfinished times. GraphError for in_order in a loop, whose times have no order;
    and under recovery for rows that a Broadcast or a Route brings.

    Under recovery the function has each row at least once: after a death, in order too, it is called again with those
    that came since the newest snapshot.
    """
    if not callable(function):
        raise UsageError(f"operator {name!r}: for_each takes a function (time, batch), not {function!r}")
    require_flags(f"operator {name!r}", in_order=in_order)
    if in_order:
        require_total_order(name, stream.scope)
        go_by_message_times(f"{name}, in_order=", stream)
    builder = stream.operator(name, Notify.ALWAYS if in_order else Notify.NEVER)
    port = builder.input(stream, pact)
    if in_order:
        _build_in_order(builder, stream, function, pact, name)
        return builder.probe(port)

    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        def logic(rows: InputPort) -> None:
            for reference, batch in rows:
                function(reference.time, batch)

        return logic

    state_moves(builder)
    builder.build(construct)
    return builder.probe(port)


def _build_in_order(
    builder: OperatorBuilder[Any],
    stream: Stream,
    function: Callable[[Any, Batch], object],
    pact: Pact | None,
    name: str,
) -> None:
    from tokenring.operators.state.moving import RowsByTime, times_table

    schema = arriving_schema(stream.schema, Pipeline() if pact is None else pact, name)
    key = pact.keys if isinstance(pact, Exchange) else ()
    is_known = schema.positions.keys() >= set(key) and not isinstance(pact, Broadcast | Route)
    is_saved = saving_of(stream.scope) is not None
    if is_saved and not is_known:
        raise GraphError(
            f"operator {name!r}: rows that wait for their times come by {pact!r} to workers that they do not name, so "
            f"nobody knows under recovery whose they are; let an Exchange bring them, by columns that cross; or take "
            f"rows as they come, or run without recovery="
        )
    table = times_table(schema, key if is_known else ())

    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        waiting = RowsByTime(schema, table)
        offer(waiting)

        def logic(rows: InputPort) -> None:
            for time, batch in waiting.finished(rows):
                function(time, batch)

        return logic

    if is_saved:  # with bins it stays: nobody there waits until rows have been given out
        state_moves(builder, [table])
    builder.build(construct)
