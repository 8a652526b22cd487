"""The logic that bounded sources share: one piece a call, while queues have room and the throttle allows."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tokenring.engine import Batch, OperatorContext, OutputPort, Schema, Scope, ScopeOf, Time, Token, UnderWay
from tokenring.engine.graph import Source, columns_read
from tokenring.operators.sources.throttle import Throttle
from tokenring.operators.time import RowOrigin, Timing, require_root, with_late


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
    chosen = Throttle() if throttle is None else throttle
    behind = behind_source(scope)

    def construct(context: OperatorContext, token: Token, *late: Token) -> Callable[..., None]:
        sharing = context.sharing
        mine = pieces(context.worker_index, sharing) if context.worker_index < sharing else iter(())
        clock = timing.clock(token, *late)
        sent = chosen.attach(behind, context.activate, context.activate_after)
        if live and context.stopping:  # asked here, so that we are run when it changes
            context.activate()

        def logic(output: OutputPort, late: OutputPort | None = None) -> None:
            nonlocal mine
            if live and token.live and context.stopping:
                clock.close()
                mine = iter(())  # and with it what its `finally` blocks say
                return
            if not token.live or sent.must_wait(token.time):
                return
            context.activate()
            if context.congested:
                return
            piece = next(mine, None)
            if piece is None:
                clock.close()
                return
            greatest = clock.send(output, *piece, late)
            sent.add(piece.batch.row_bytes, None if timing.column is None else greatest)

        return logic

    return declare(scope, timing.name, schema, construct, timing.late)


def behind_source(scope: ScopeOf[Any]) -> UnderWay:
    """What the source that is declared next has under way."""
    assert isinstance(scope, Scope), "sources are of the root scope"
    number = len(scope.graph.operators)
    return scope.watch_messages(lambda graph: graph.inputs_behind(number))


def columns_wanted(scope: ScopeOf[Any]) -> Callable[[], set[str] | None]:
    """Tells, once all is declared, which columns are looked at of the source that is declared next; None if that may be
    all of them."""
    assert isinstance(scope, Scope), "sources are of the root scope"
    graph, number = scope.graph, len(scope.graph.operators)
    return lambda: columns_read(graph, (Source(number, 0), Source(number, 1)))


def declare(scope: ScopeOf[Any], name: str, schema: Schema, construct: Callable[..., Any], late: bool) -> Any:
    """A source's stream, or, where there is one for late rows, both."""
    streams = scope.source(name, (schema, schema) if late else schema, construct)
    return with_late("rows, late", *streams) if late else streams[0]
