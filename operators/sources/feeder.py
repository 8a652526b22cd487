"""The logic that bounded sources share: one piece a call, while queues have room and the throttle allows."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tokenring.engine import Batch, OperatorContext, OutputPort, Schema, ScopeOf, Time, Token
from tokenring.operators.sources.throttle import Throttle
from tokenring.operators.time import RowOrigin, Timing, require_root


class Piece(NamedTuple):
    """Rows that are sent at once, the least time of all that this worker sends after them (None: not known), and where
    each row came from."""

    batch: Batch
    floor: Time | None
    place: RowOrigin


Pieces = Callable[[int, int], Iterator[Piece]]
"""pieces(worker_index, peers): what one worker sends, in order. Called once a worker, when the dataflow is built."""


def feed(
    scope: ScopeOf[Any],
    schema: Schema,
    timing: Timing,
    pieces: Pieces,
    throttle: Throttle | None,
    live: bool = False,
) -> Any:
    """A source of every worker's pieces, which ends when they do, or, if it is live, when the run is to stop: a stream,
    or, where `timing.late`, that and the one of late rows.
    """
    require_root(scope, f"source {timing.name!r}")

    def construct(context: OperatorContext, token: Token, *late: Token) -> Callable[..., None]:
        mine = pieces(context.worker_index, context.peers)
        clock = timing.clock(token, *late)
        under_way = None
        if live and context.stopping:  # asked here, so that we are run when it changes
            context.activate()
        if throttle is not None and timing.column is not None:  # a constant time passes only at the end
            under_way = throttle.attach(context.name, context.activate)

        def logic(output: OutputPort, late: OutputPort | None = None) -> None:
            nonlocal mine
            if live and token.live and context.stopping:
                clock.close()
                mine = iter(())  # and with it what its `finally` blocks say
                return
            if not token.live or (under_way is not None and under_way.is_full(token.time)):
                return  # the probe will wake us
            context.activate()
            if context.congested:
                return
            piece = next(mine, None)
            if piece is None:
                clock.close()
                return
            greatest = clock.send(output, *piece, late)
            if under_way is not None:
                under_way.add(greatest)

        return logic

    return declare(scope, timing.name, schema, construct, timing.late)


def declare(scope: ScopeOf[Any], name: str, schema: Schema, construct: Callable[..., Any], late: bool) -> Any:
    """A source's stream, or, where there is one for late rows, both."""
    streams = scope.source(name, (schema, schema) if late else schema, construct)
    return streams if late else streams[0]
