"""The logic that bounded sources share: one piece a call, while queues have room and the throttle allows. Under
recovery each share of a source has a clock that can be stopped at one time, whatever the order in which rows come."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

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
from tokenring.engine.graph import Source, columns_read
from tokenring.operators.recovery import Saving, saving_of
from tokenring.operators.sources.throttle import Sent, Throttle
from tokenring.operators.time import NOTHING, Clock, RowOrigin, Timing, require_root, with_late

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
) -> Any:
    """A source of every worker's pieces, which ends when they do, or, if it is live, when the run is to stop: a stream,
    or, where `timing.late`, that and the one of late rows. contents: what is read, in plain values, alike as long as it
    is the same; None: it cannot be read again from a position.
    """
    require_root(scope, f"source {timing.name!r}")
    chosen = Throttle() if throttle is None else throttle
    behind = behind_source(scope)
    saving = saving_of(scope)
    if saving is not None:
        saved = _SavedFeed(schema, timing, pieces, contents, saving)

        def go_on(context: OperatorContext, token: Token, late: Token | None = None) -> Callable[..., None]:
            return saved.begin(context, chosen.attach(behind, context.activate, context.activate_after), token, late)

        saving.accounted_next(scope)
        return declare(scope, timing.name, schema, go_on, timing.late)

    def construct(context: OperatorContext, token: Token, *late: Token) -> Callable[..., None]:
        sharing = context.sharing
        mine = pieces(context.worker_index, sharing, None) if context.worker_index < sharing else iter(())
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
            greatest = clock.send(output, piece.batch, piece.floor, piece.place, late)
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


class _StoppableClock(Clock):
    """A clock that sends, while it is told to, only what is before a time, and keeps the rest for later."""

    __slots__ = ("held", "upto")

    def __init__(self, timing: Timing, token: Token, late: Token | None, held: Batch) -> None:
        """held: rows that were kept before."""
        super().__init__(timing, token, late)
        self.upto: Time | None = None
        self.held = held

    def let_go(self, output: OutputPort, batch: Batch, least: Time, promise: Time) -> None:
        """See Clock."""
        upto = self.upto
        if upto is not None:
            promise = min(promise, upto)
            words = batch.columns[self._column]
            before = words < upto
            if not before.all():
                self.held = Batch.concatenate([self.held, batch.filter(~before).copy()])
                batch = batch.filter(before)
                least = int(words[before].min()) if batch.rows else upto
        super().let_go(output, batch, least, promise)

    def release(self, output: OutputPort) -> None:
        """Send what was kept, and hold back nothing any more."""
        self.upto = None
        held, self.held = self.held, self.held.slice(0, 0)
        least = int(held.columns[self._column].min()) if held.rows else 0
        self.let_go(output, held, least, self.promised)


class _Share:
    """One share of the source: what it read, and how far that was sent."""

    def __init__(self, number: int, clock: _StoppableClock, pieces: Iterator[Piece], position: Position) -> None:
        self.number, self.clock, self.pieces = number, clock, pieces
        self.position = position
        self.has_ended = False
        """Whether all of it was read."""

    @property
    def is_open(self) -> bool:
        """Whether it may still send."""
        return self.clock.token.live

    def is_at(self, time: Time) -> bool:
        """Whether all that is before a time was sent."""
        return not self.is_open or self.clock.token.time >= time

    def facts(self) -> dict[str, Any]:
        """In plain values, what it goes on from."""
        clock = self.clock
        return {
            "share": self.number, "position": self.position, "promised": clock.promised, "greatest": clock.greatest,
            "ended": self.has_ended, "open": self.is_open,
        }  # fmt: skip


class _SavedFeed:
    """The source on one worker: a SavedSource."""

    def __init__(
        self, schema: Schema, timing: Timing, pieces: Pieces, contents: Callable[[], Any] | None, saving: Saving
    ) -> None:
        """GraphError for a source that cannot be read again, or whose rows have no times."""
        if contents is None:
            raise GraphError(
                f"source {timing.name!r} cannot be read again from where it was, so nothing goes on from it after a "
                f"death: read files, or from_generator, whose function is called again; or run without recovery="
            )
        if timing.column is None:
            raise GraphError(
                f"source {timing.name!r} has one time for all its rows, so none is finished before the end, and no "
                f"snapshot can be taken: give time=column; or run without recovery="
            )
        self.name = saving.unique(timing.name)
        self._schema, self._timing, self._pieces, self._saving = schema, timing, pieces, saving
        self.contents = contents
        self._shares: list[_Share] = []
        self._stands = False
        self._upto: Time | None = None
        self._activate: Callable[[], None] = lambda: None
        saving.sources[self.name] = self
        saving.require_contents(self.name, contents())

    def begin(self, context: OperatorContext, sent: Sent, token: Token, late: Token | None) -> Callable[..., None]:
        """The logic on this worker, whose shares are those that fall to it by number. sent: what is under way."""
        self._activate = context.activate
        saved = self._saving.shares_of(self.name, self._schema)
        if context.worker_index < context.sharing:
            for number in range(context.worker_index, self._saving.shares, context.sharing):
                tokens = token.clone(), None if late is None else late.clone()
                self._shares.append(self._share(number, *tokens, *saved.get(number, (None, None))))
        token.drop()
        if late is not None:
            late.drop()

        def logic(output: OutputPort, late: OutputPort | None = None) -> None:
            if self._stands:
                return
            still_open = [share for share in self._shares if share.is_open]
            if self._upto is None:
                for share in still_open:
                    self._release(share, output)
            to_read = [
                share
                for share in still_open
                if not share.has_ended and (self._upto is None or not share.is_at(self._upto))
            ]
            if not to_read:
                return
            share = min(to_read, key=_time_of)
            if sent.must_wait(_time_of(share)):
                return
            context.activate()
            if context.congested:
                return
            piece = next(share.pieces, None)
            if piece is None:
                self._end(share, output)
                return
            share.clock.upto = self._upto
            greatest = share.clock.send(output, piece.batch, piece.floor, piece.place, late)
            share.position = piece.position
            sent.add(piece.batch.row_bytes, greatest)

        return logic

    def _share(
        self, number: int, token: Token, late: Token | None, was: dict[str, Any] | None, held: Batch | None
    ) -> _Share:
        """A share as it begins, or goes on."""
        nothing = Batch(self._schema, {name: [] for name in self._schema.names})
        if was is not None:
            token.downgrade(self._saving.resumed_at)
            if late is not None:
                late.downgrade(self._saving.resumed_at)
        clock = _StoppableClock(self._timing, token, late, nothing if held is None else held)
        if was is None:
            return _Share(number, clock, self._pieces(number, self._saving.shares, None), None)
        clock.promised, clock.greatest = was["promised"], was["greatest"]
        pieces = iter(()) if was["ended"] else self._pieces(number, self._saving.shares, was["position"])
        share = _Share(number, clock, pieces, was["position"])
        share.has_ended = was["ended"]
        if not was["open"]:
            clock.close()
        return share

    def _release(self, share: _Share, output: OutputPort) -> None:
        clock = share.clock
        if clock.upto is not None or clock.held.rows:
            clock.release(output)
            if share.has_ended:
                clock.close()

    def _end(self, share: _Share, output: OutputPort) -> None:
        """All of a share was read."""
        share.has_ended = True
        clock = share.clock
        if clock.held.rows:  # to be sent later
            clock.let_go(output, clock.held.slice(0, 0), 0, NOTHING)
        else:
            clock.close()

    # A SavedSource

    def stand(self) -> Time:
        """See SavedSource."""
        self._stands = True
        return max(
            [max(one.clock.greatest + 1, _time_of(one) if one.is_open else 0) for one in self._shares], default=0
        )

    def go_to(self, time: Time) -> None:
        """See SavedSource."""
        self._upto, self._stands = time, False
        for share in self._shares:
            share.clock.upto = time
        self._activate()

    def is_at(self, time: Time) -> bool:
        """See SavedSource."""
        return all([share.is_at(time) for share in self._shares])

    def go_on(self) -> None:
        """See SavedSource."""
        self._upto, self._stands = None, False
        self._activate()

    def state(self) -> list[tuple[dict[str, Any], Batch]]:
        """See SavedSource."""
        return [(share.facts(), share.clock.held) for share in self._shares]


def _time_of(share: _Share) -> Time:
    time: Time = share.clock.token.time
    return time
