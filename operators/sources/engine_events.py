"""engine_events: what the engine does, as a stream: runs of operators, exchanges of progress, sleeps."""

from collections.abc import Callable

from tokenring.engine import (
    COMPLETE,
    AnyStream,
    InputPort,
    OperatorContext,
    OutputPort,
    Schema,
    ScopeOf,
    Token,
    WhenStopped,
)
from tokenring.engine.arguments import whole_number
from tokenring.operators.time import require_root

EVENT = Schema.of(
    {
        "at": "timestamp",
        "worker": "int64",
        "event": "string",
        "dataflow": "string?",
        "operator": "string?",
        "took_ns": "int64",
        "messages": "int64",
        "rows": "int64",
    }
)
_NOTHING = Schema("nothing")


def engine_events(scope: ScopeOf[AnyStream], *, every_ns: int = 10_000_000, name: str = "engine_events") -> AnyStream:
    """What this worker's engine does while this dataflow lives, a row an event, sent every `every_ns` at times of the
    wall clock (ns since 1970), none of which is after those of its rows.

    event is "run" (an operator of any dataflow but those that read such events: how long it ran, and how many messages
    and rows waited at its inputs), "exchange" (of progress: messages says how many changes of counts this worker had)
    or "park" (asleep until woken). at: when it ended. Nothing is noted, and nothing paid, before a dataflow with this
    is built. It ends when the program has returned and no other dataflow runs. Memory: the events of `every_ns`. Raises
    GraphError in a loop.
    """
    require_root(scope, f"source {name!r}")
    every_ns = whole_number(f"source {name!r}", "every_ns", every_ns)
    # An input that nobody feeds: it closes when the program has returned, and says so.
    _, open_until_then = scope.new_input(_NOTHING, f"{name} until the end")

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        log = context.engine_events()
        context.when_stopped(WhenStopped.HALTS)

        def logic(until: InputPort, output: OutputPort) -> None:
            if not token.live:
                return
            over = until.frontier == COMPLETE and log.only_readers_run
            events = log.take()
            if events:
                at, kinds, dataflows, operators, took, messages, rows = zip(*events, strict=True)
                columns = {"at": [*at], "worker": [context.worker_index] * len(events), "event": [*kinds]}
                columns |= {"dataflow": [*dataflows], "operator": [*operators], "took_ns": [*took]}
                columns |= {"messages": [*messages], "rows": [*rows]}
                output.give(token, columns)
            if over:
                token.drop()
            else:
                token.downgrade(log.now_ns())
                context.activate_after(every_ns)

        return logic

    return open_until_then.unary(name, EVENT, construct)
