"""The logic that sources share: one piece a call, of the share that is furthest behind, while queues have room and the
throttle allows. Under recovery each share goes on from where it was, on whichever worker."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from time import monotonic_ns
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
    UnderWay,
    UsageError,
)
from tokenring.engine.columns import NO_HEAP, Dictionaries, batch_from_arrow
from tokenring.engine.graph import Graph, Source, columns_read, functions_behind, rows_cross
from tokenring.engine.texts import in_text_space
from tokenring.operators.mechanisms import Outlet, mechanism_of
from tokenring.operators.migrate import saving_of
from tokenring.operators.rows import has_end, waits_of
from tokenring.operators.sources.throttle import Sent, Throttle
from tokenring.operators.time import Clock, Promises, RowOrigin, Timing, require_root, tell_times, with_late

if TYPE_CHECKING:
    from tokenring.engine import Probe
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


Pieces = Callable[[Any, int, Position], Iterator[Piece | None]]
"""pieces(share, shares, position): what one share sends, in order, from that position on: the rows that followed the
piece that gave it, cut into pieces anew; None: nothing has come, ask again a little later. share: its number, or, of a
partition, its name. Called once a share, when the dataflow is built."""
_AGAIN_NS = 1_000_000  # after which a share is asked again that had nothing


def feed(
    scope: ScopeOf[Any],
    schema: Schema,
    timing: Timing,
    pieces: Pieces,
    throttle: Throttle | None,
    live: bool = False,
    *,
    contents: Callable[[], Any] | None = None,
    reads: Sequence[str] = (),
    rows: int | None = None,
    partitions: Sequence[str] | None = None,
    idle_ns: int | None = None,
) -> Any:
    """A source of every worker's shares, which ends when they do, or, if it is live, when the run is to stop: a stream,
    or, where `timing.late`, that and the one of late rows.

    contents: what is read, in plain values, alike as long as it is the same; None: it cannot be read again from a
    position. reads: see `OperatorSpec`. rows: see `has_end`. partitions: the names of the shares; None: there is one
    for each worker. idle_ns: how long one has nothing before it holds nobody.
    """
    require_root(scope, f"source {timing.name!r}")
    if not isinstance(throttle, Throttle | None):
        raise UsageError(f"source {timing.name!r}: throttle= takes a Throttle(...), not {throttle!r}")
    saving, behind, chosen = saving_of(scope), behind_source(scope), throttle or Throttle()
    reading = _Reading(timing, pieces, live, partitions)
    if saving is not None:
        reading = _SavedReading(timing, pieces, partitions, contents, saving)
    if idle_ns is not None:
        reading.idle_ns, reading.promises = idle_ns, Promises()

    def construct(context: OperatorContext, outlet: Outlet, late: Outlet | None = None) -> Callable[..., None]:
        waits = waits_of(first)
        for whole in waits:
            context.run_on_advance(whole)
        sent = chosen.attach(behind, context.activate, context.activate_after)
        return reading.begin(context, sent, waits, outlet, late)

    assert isinstance(scope, Scope), "sources are of the root scope"
    number = len(scope.graph.operators)
    streams = declare(scope, timing.name, schema, construct, timing)
    first = streams[0] if timing.late else streams
    scope.graph.operators[number].reads = reads
    if partitions is not None:
        scope.graph.operators[number].about = f"partitions {', '.join(partitions)}"
    if reading.promises is not None:
        reading.promises.declare(scope, timing.name)
    if saving is not None:
        saving.accounted += scope.graph.operators[number:]
    elif not live:
        has_end(first, rows, is_table=timing.column is None)
    return streams


def behind_source(scope: ScopeOf[Any]) -> UnderWay:
    """What the source that is declared next has under way."""
    assert isinstance(scope, Scope), "sources are of the root scope"
    number = len(scope.graph.operators)
    return scope.watch_messages(lambda graph: graph.inputs_behind(number))


def columns_wanted(scope: ScopeOf[Any], name: str) -> Callable[[], set[str] | None]:
    """Tells, once all is declared, which columns are looked at of the source that is declared next; None if that may be
    all of them. Raises what `require_root` does."""
    require_root(scope, f"source {name!r}")
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
        self._dictionaries = Dictionaries(in_text_space)

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


def declare(
    scope: ScopeOf[Any], name: str, schema: Schema, construct: Callable[..., Any], timing: Timing | None
) -> Any:
    """A source's stream, or, where there is one for late rows, both. timing: None where rows are of when they arrive.
    """
    assert isinstance(scope, Scope), "sources are of the root scope"
    time, late, others = "", False, True
    if timing is not None:
        time, late, others = timing.column or "", timing.late, timing.constant > 0
    schemas, times = ((schema, schema), (time, "")) if late else ((schema,), (time,))
    streams = mechanism_of(scope).source(scope, name, schemas, construct, times, other_times=others)
    if time:
        tell_times(streams[0], schema.kind(time))
    return with_late("rows, late", *streams) if late else streams[0]


class _Share:
    """One share of a source: what is read next, and the clock that sends it."""

    def __init__(self, name: int | str, clock: Clock, pieces: Iterator[Piece | None], position: Position) -> None:
        self.name, self.clock, self.pieces = name, clock, pieces
        self.position = position
        self.again_ns = 0
        """When it is asked again, of one that had nothing; 0: it had."""
        self.is_idle = False
        """Whether it has had nothing for so long that it holds nobody."""
        self._empty_since_ns = 0

    @property
    def is_open(self) -> bool:
        """Whether it may still send."""
        return self.clock.outlet.live

    @property
    def time(self) -> Time:
        """It sends nothing earlier any more."""
        return self.clock.outlet.time

    def had_rows(self, position: Position) -> None:
        """It has sent some, and this is what follows them."""
        self.position = position
        self.again_ns = self._empty_since_ns = 0
        self.is_idle = False

    def had_nothing(self, now_ns: int, idle_ns: int | None) -> None:
        """It was asked. idle_ns: for how long it is so until it is idle; None: for ever."""
        self.again_ns = now_ns + _AGAIN_NS
        self._empty_since_ns = self._empty_since_ns or now_ns
        self.is_idle = idle_ns is not None and now_ns - self._empty_since_ns >= idle_ns

    def promise(self, time: Time) -> None:
        """It sends nothing earlier, but what is late."""
        self.clock.promise(time)

    def close(self) -> None:
        """It sends nothing any more."""
        self.clock.close()
        self.pieces = iter(())  # and with what was there, what its `finally` blocks say

    def facts(self) -> dict[str, Any]:
        """In plain values, what it goes on from."""
        return {
            "share": self.name,
            "position": self.position,
            "time": self.time if self.is_open else None,
            "greatest": self.clock.greatest,
        }


_END: Any = object()


class _Reading:
    """A source on one worker."""

    idle_ns: int | None = None
    promises: Promises | None = None
    """Of all workers' shares, where idle ones hold nobody."""

    def __init__(self, timing: Timing, pieces: Pieces, live: bool, partitions: Sequence[str] | None) -> None:
        self._timing, self._pieces, self._live, self._partitions = timing, pieces, live, partitions
        self._shares: list[_Share] = []
        self._open: list[_Share] = []
        self._until_ns = 0
        """Until then one of them, that had nothing, is not asked again."""
        self._stands = False
        self._activate: Callable[[], None] = lambda: None

    def begin(
        self, context: OperatorContext, sent: Sent, waits: "list[Probe]", outlet: Outlet, late: Outlet | None
    ) -> Callable[..., None]:
        """The logic on this worker, whose shares are those that fall to it by number. sent: what is under way; waits:
        what is to be done before."""
        self._activate = context.activate
        here, peers = context.worker_index, context.sharing
        names = self._names(peers)
        for name in names[here::peers] if here < peers else ():
            outlets = outlet.clone(), None if late is None else late.clone()
            self._shares.append(self._begun(name, len(names), *outlets))
        self._open = [share for share in self._shares if share.is_open]
        outlet.close()
        if late is not None:
            late.close()
        if self.promises is not None:
            self.promises.begin(here, context.peers, context.activate)
            context.activate()
        if self._live and context.stopping:  # asked here, so that we are run when it changes
            context.activate()
        is_timed = self._timing.column is not None

        def logic(output: OutputPort, late: OutputPort | None = None) -> None:
            if self._live and context.stopping:
                self._close(self._open)
            if self._stands:
                return
            if self.promises is not None:
                self.promises.say(self._open)
            if not self._open:
                return
            share = self._next(context)
            if share is None or sent.must_wait(share.time):
                return
            if waits:
                if not all([whole.done() for whole in waits]):
                    return  # it is run again when one is
                waits.clear()
            context.activate()
            if context.congested:
                return
            piece = next(share.pieces, _END)
            if piece is _END:
                self._close([share])
            elif piece is None:
                share.had_nothing(monotonic_ns(), self.idle_ns)
                self._until_ns = share.again_ns
                if share.is_idle and self.promises is not None:
                    self.promises.move_on(share)
            else:
                greatest = share.clock.send(output, piece.batch, piece.floor, piece.place, late)
                share.had_rows(piece.position)
                self._has_sent(piece.batch.rows)
                sent.add(piece.batch.row_bytes, greatest if is_timed else None)

        return logic

    def _names(self, peers: int) -> Sequence[int | str]:
        """All shares, of all workers."""
        return range(peers) if self._partitions is None else self._partitions

    def _begun(self, name: int | str, shares: int, outlet: Outlet, late: Outlet | None) -> _Share:
        """A share at its beginning."""
        return _Share(name, self._timing.clock(outlet, late), self._pieces(name, shares, None), None)

    def _has_sent(self, rows: int) -> None:
        """So many have been sent."""

    def _next(self, context: OperatorContext) -> _Share | None:
        """The one that is furthest behind, of those that may have something; None: one may in a while."""
        asked = self._open
        if self._until_ns:
            now_ns = monotonic_ns()
            asked = [share for share in asked if share.again_ns <= now_ns]
            if not asked:
                context.activate_after(min([share.again_ns for share in self._open]) - now_ns)
                return None
            if now_ns >= self._until_ns:
                self._until_ns = 0
        return min(asked, key=lambda one: one.time)

    def _close(self, shares: Sequence[_Share]) -> None:
        for share in shares:
            share.close()
        self._open = [share for share in self._open if share.is_open]


class _SavedReading(_Reading):
    """The same under recovery: a SavedSource."""

    def __init__(
        self,
        timing: Timing,
        pieces: Pieces,
        partitions: Sequence[str] | None,
        contents: Callable[[], Any] | None,
        saving: "Saving",
    ) -> None:
        """GraphError for a source that cannot be read again."""
        if contents is None:
            raise GraphError(
                f"source {timing.name!r} cannot be read again from where it was, so nothing goes on from it after a "
                f"death: read files, or from_generator, whose function is called again; or run without recovery="
            )
        super().__init__(timing, pieces, live=False, partitions=partitions)
        self.contents = contents
        self._saving = saving
        self.known = saving.source(timing.name, self)

    def _names(self, peers: int) -> Sequence[int | str]:
        """As many as there were workers when the job began, if nobody names them."""
        return super()._names(self._saving.shares)

    def _begun(self, name: int | str, shares: int, outlet: Outlet, late: Outlet | None) -> _Share:
        """Or where it was."""
        was = self._saving.shares_of(self.known).get(name)
        since = self._saving.begins_at(self.known) if was is None else was["time"]
        position = None if was is None else was["position"]
        clock = self._timing.clock(outlet, late)
        if was is not None:
            clock.greatest = was["greatest"]
        if since is None:  # it had ended
            clock.close()
            return _Share(name, clock, iter(()), position)
        for one in (outlet, late):
            if one is not None:
                one.advance(max(outlet.time, since))
        return _Share(name, clock, self._pieces(name, shares, position), position)

    def _has_sent(self, rows: int) -> None:
        self._saving.of_worker.has_read(rows)

    # A SavedSource

    @property
    def names(self) -> Sequence[int | str]:
        """See SavedSource."""
        return self._names(0)

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
