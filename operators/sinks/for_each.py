"""for_each: calls a function with what arrives, as it comes or in order of time."""

from collections.abc import Callable
from typing import Any

from tokenring.engine import Batch, GraphError, InputPort, Notify, OperatorContext, Pact, Probe, Stream
from tokenring.operators.migrate import state_moves


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

    What it is given as messages come may be a view that dies with the call: `batch.copy()` to keep it. Batches in order
    are the function's own. It must not block. pact: how rows go to workers first; Exchange of a constant column brings
    them all to one. The probe that is returned has passed a time once all of it was given out, or, in order, taken.
    Memory: none; in order, the rows of unfinished times. GraphError for in_order in a loop, whose times have no order.
    """
    if in_order and stream.scope.depth > 1:
        raise GraphError(
            f"operator {name!r} acts on times in order, which those in {stream.scope.describe()} do not have; let the "
            f"stream leave it first"
        )

    def as_they_come(context: OperatorContext) -> Callable[[InputPort], None]:
        def logic(rows: InputPort) -> None:
            for reference, batch in rows:
                function(reference.time, batch)

        return logic

    def by_time(context: OperatorContext) -> Callable[[InputPort], None]:
        waiting: dict[Any, list[Batch]] = {}

        def logic(rows: InputPort) -> None:
            for reference, batch in rows:
                waiting.setdefault(reference.time, []).append(batch.copy())
            for time in sorted([time for time in waiting if time < rows.frontier]):
                function(time, Batch.concatenate(waiting.pop(time)))

        return logic

    if in_order:
        return stream.sink(name, by_time, pact)
    builder = stream.operator(name, Notify.NEVER)
    port = builder.input(stream, pact)
    state_moves(builder)
    builder.build(as_they_come)
    return builder.probe(port)
