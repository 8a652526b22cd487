"""The logic that bounded sources share: one piece a call, while queues have room and the throttle allows. Under
recovery each share of a source goes on from where it was, on whichever worker."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenring.engine import (
    Batch,
    GraphError,
    OperatorContext,
    OutputPort,
    Schema,
    Scope,
    ScopeOf,
    Time,
    Token,
    UnderWay,
)
from tokenring.engine.columns import NO_HEAP, Dictionaries, batch_from_arrow
from tokenring.engine.graph import Graph, Source, columns_read, functions_behind, rows_cross
from tokenring.operators.migrate import saving_of
from tokenring.operators.rows import has_end, waits_of
from tokenring.operators.sources.throttle import Sent, Throttle
from tokenring.operators.time import Clock, RowOrigin, Timing, require_root, with_late

if TYPE_CHECKING:
    from tokenring.operators.expressions import RangeOf
    from tokenring.operators.recovery import Saving

Position = Any
"""Where a share goes on: plain data that JSON holds, of a form of its source's own. It is of that share of so many, and
of contents that are still the same; None: at the share's beginning."""


class Piece(NamedTuple):
    """Rows that are sent at once, the least time of all that this share sends after them (None: not known), where each
    row came from, and the position of what follows them in the share (None: the source cannot say)."""

    batch: Batch
    floor: Time | None
    place: RowOrigin
    position: Position = None


Pieces = Callable[[int, int, Position], Iterator[Piece]]
"""pieces(share, shares, position): what one share sends, in order, from that position on: the rows that followed the
piece that gave it, cut into pieces anew. Called once a worker, when the dataflow is built."""


def feed(
    scope: ScopeOf[Any],
    schema: Schema,
    timing: Timing,
    pieces: Pieces,
    throttle: Throttle | None,
    live: bool = False,
    *,
    contents: Callable[[], Any] | None = None,
    rows: int | None = None,
) -> Any:
    """A source of every worker's pieces, which ends when they do, or, if it is live, when the run is to stop: a stream,
    or, where `timing.late`, that and the one of late rows. contents: what is read, in plain values, alike as long as it
    is the same; None: it cannot be read again from a position. rows: see `has_end`.
    """
    require_root(scope, f"source {timing.name!r}")
    chosen = Throttle() if throttle is None else throttle
    behind = behind_source(scope)
    saving = saving_of(scope)
    if saving is not None:
        saved = _SavedFeed(schema, timing, pieces, contents, saving)

        def go_on(context: OperatorContext, token: Token, late: Token | None = None) -> Callable[..., None]:
            return saved.begin(context, chosen.attach(behind, context.activate, context.activate_after), token, late)

        assert isinstance(scope, Scope), "sources are of the root scope"
        number = len(scope.graph.operators)
        streams = declare(scope, timing.name, schema, go_on, timing.late)
        saving.accounted.append(scope.graph.operators[number])
        return streams

    def construct(context: OperatorContext, token: Token, *late: Token) -> Callable[..., None]:
        sharing = context.sharing
        mine = pieces(context.worker_index, sharing, None) if context.worker_index < sharing else iter(())
        clock = timing.clock(token, *late)
        sent = chosen.attach(behind, context.activate, context.activate_after)
        waits = waits_of(first)
        for whole in waits:
            context.run_on_advance(whole)
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
            if waits:
                if not all([whole.done() for whole in waits]):
                    return  # it is run again when one is
                waits.clear()
            context.activate()
            if context.congested:
                return
            piece = next(mine, None)
            if piece is None:
                clock.close()
                return
            greatest = clock.send(output, piece.batch, piece.floor, piece.place, late)
            sent.add(piece.batch.row_bytes, None if timing.column is None else greatest)

        return logic

    streams = declare(scope, timing.name, schema, construct, timing.late)
    first = streams[0] if timing.late else streams
    if not live:
        has_end(first, rows, is_table=timing.column is None)
    return streams


def behind_source(scope: ScopeOf[Any]) -> UnderWay:
    """What the source that is declared next has under way."""
    assert isinstance(scope, Scope), "sources are of the root scope"
    number = len(scope.graph.operators)
    return scope.watch_messages(lambda graph: graph.inputs_behind(number))


def columns_wanted(scope: ScopeOf[Any]) -> Callable[[], set[str] | None]:
    """Tells, once all is declared, which columns are looked at of the source that is declared next; None if that may be
    all of them."""
    graph, outputs = _outputs_to_come(scope)
    return lambda: columns_read(graph, outputs)


def rows_may_pass(scope: ScopeOf[Any]) -> "Callable[[RangeOf], bool]":
    """Tells, once all is declared, of rows of the source that is declared next, whose columns have such ranges, whether
    one may come through the filters behind it, to whoever."""
    graph, outputs = _outputs_to_come(scope)
    readers = cache(partial(functions_behind, graph, outputs))

    def found(range_of: "RangeOf") -> bool:
        if not readers() or not all(readers()):
            return True
        from tokenring.operators.expressions import may_pass

        return any([may_pass(functions, range_of) for functions in readers()])

    return found


def rows_a_message(scope: ScopeOf[Any]) -> Callable[[int], int]:
    """Tells, once all is declared, how many rows of the source that is declared next, of so many workers, to put into a
    message where nobody says. What a message costs is shared by its rows; those that cross wait for room."""
    graph, outputs = _outputs_to_come(scope)
    return lambda workers: _CROSSING_ROWS if workers > 1 and rows_cross(graph, outputs) else _STAYING_ROWS


def _outputs_to_come(scope: ScopeOf[Any]) -> tuple[Graph, tuple[Source, Source]]:
    """Those of the source that is declared next."""
    assert isinstance(scope, Scope), "sources are of the root scope"
    number = len(scope.graph.operators)
    return scope.graph, (Source(number, 0), Source(number, 1))


_CROSSING_ROWS, _STAYING_ROWS = 1 << 14, 1 << 15

Parts = dict[str, tuple[np.ndarray, np.ndarray | None]]
"""Columns by name: words, and the heap of one of text."""


class ReadColumns:
    """The columns of a source that are read: in the others, at which no operator looks, stands anything."""

    def __init__(self, schema: Schema, wanted: set[str] | None, time: str | None) -> None:
        """wanted: see `columns_wanted`. time: the column of the rows' own times, at which the source looks itself."""
        self.schema = schema
        self.names = [name for name in schema.names if wanted is None or name in wanted or name == time]
        self.least = schema.select(self.names or schema.names[:1])
        """The schema of what is read where rows cannot be counted without a column."""
        self._nothing = np.zeros(0, np.int64)
        self._dictionaries = Dictionaries()

    def batch_of(self, schema: Schema, arrow: Any) -> Batch:
        """Columns that were read as Arrow's."""
        return batch_from_arrow(schema, arrow, self._dictionaries)

    def whole(self, there: Parts, rows: int) -> Batch:
        """So many rows of the source's schema, of these columns."""
        if len(self._nothing) < rows:
            self._nothing = np.zeros(rows, np.int64)
        columns, heaps = [], []
        for name, kind in zip(self.schema.names, self.schema.kinds, strict=True):
            column, heap = there.get(name, (self._nothing[:rows].view(kind.dtype), NO_HEAP if kind.is_text else None))
            columns.append(column)
            heaps.append(heap)
        return Batch.wrap(self.schema, tuple(columns), rows, tuple(heaps) if self.schema.has_text else ())


def parts_of(batch: Batch) -> Parts:
    """A batch's columns."""
    heaps = batch.heaps or (None,) * len(batch.columns)
    return dict(zip(batch.schema.names, zip(batch.columns, heaps, strict=True), strict=True))


def declare(scope: ScopeOf[Any], name: str, schema: Schema, construct: Callable[..., Any], late: bool) -> Any:
    """A source's stream, or, where there is one for late rows, both."""
    streams = scope.source(name, (schema, schema) if late else schema, construct)
    return with_late("rows, late", *streams) if late else streams[0]


class _Share:
    """One share of a source: what is read next, and the clock that sends it."""

    def __init__(self, number: int, clock: Clock, pieces: Iterator[Piece], position: Position) -> None:
        self.number, self.clock, self.pieces = number, clock, pieces
        self.position = position

    @property
    def is_open(self) -> bool:
        """Whether it may still send."""
        return self.clock.token.live

    @property
    def time(self) -> Time:
        """It sends nothing earlier any more."""
        time: Time = self.clock.token.time
        return time

    def facts(self) -> dict[str, Any]:
        """In plain values, what it goes on from."""
        return {
            "share": self.number,
            "position": self.position,
            "time": self.time if self.is_open else None,
            "greatest": self.clock.greatest,
        }


class _SavedFeed:
    """The source on one worker: a SavedSource."""

    def __init__(
        self, schema: Schema, timing: Timing, pieces: Pieces, contents: Callable[[], Any] | None, saving: "Saving"
    ) -> None:
        """GraphError for a source that cannot be read again."""
        if contents is None:
            raise GraphError(
                f"source {timing.name!r} cannot be read again from where it was, so nothing goes on from it after a "
                f"death: read files, or from_generator, whose function is called again; or run without recovery="
            )
        self._schema, self._timing, self._pieces, self._saving = schema, timing, pieces, saving
        self.contents = contents
        self._shares: list[_Share] = []
        self._stands = False
        self._activate: Callable[[], None] = lambda: None
        self.known = saving.source(timing.name, self)

    def begin(self, context: OperatorContext, sent: Sent, token: Token, late: Token | None) -> Callable[..., None]:
        """The logic on this worker, whose shares are those that fall to it by number. sent: what is under way."""
        self._activate = context.activate
        saved = self._saving.shares_of(self.known)
        if context.worker_index < context.sharing:
            for number in range(context.worker_index, self._saving.shares, context.sharing):
                tokens = token.clone(), None if late is None else late.clone()
                self._shares.append(self._share(number, *tokens, saved.get(number)))
        token.drop()
        if late is not None:
            late.drop()
        is_timed = self._timing.column is not None

        def logic(output: OutputPort, late: OutputPort | None = None) -> None:
            still_open = [share for share in self._shares if share.is_open]
            if self._stands or not still_open:
                return
            share = min(still_open, key=lambda one: one.time)
            if sent.must_wait(share.time):
                return
            context.activate()
            if context.congested:
                return
            piece = next(share.pieces, None)
            if piece is None:
                share.clock.close()
                return
            greatest = share.clock.send(output, piece.batch, piece.floor, piece.place, late)
            share.position = piece.position
            sent.add(piece.batch.row_bytes, greatest if is_timed else None)

        return logic

    def _share(self, number: int, token: Token, late: Token | None, was: dict[str, Any] | None) -> _Share:
        """A share as it begins, or goes on."""
        clock, shares = self._timing.clock(token, late), self._saving.shares
        if was is None:
            token.downgrade(max(token.time, self._saving.begins_at(self.known)))
            if late is not None:
                late.downgrade(token.time)
            return _Share(number, clock, self._pieces(number, shares, None), None)
        clock.greatest = was["greatest"]
        if was["time"] is None:
            clock.close()
            return _Share(number, clock, iter(()), was["position"])
        token.downgrade(was["time"])
        if late is not None:
            late.downgrade(was["time"])
        return _Share(number, clock, self._pieces(number, shares, was["position"]), was["position"])

    # A SavedSource

    def stand(self) -> None:
        """See SavedSource."""
        self._stands = True

    def go_on(self) -> None:
        """See SavedSource."""
        self._stands = False
        self._activate()

    def state(self) -> list[dict[str, Any]]:
        """See SavedSource."""
        return [share.facts() for share in self._shares]
