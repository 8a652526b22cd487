"""Arrangements of other dataflows: what they keep is read where it lies, and their changes come as a stream."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tokenring.engine import COMPLETE, Batch, OperatorContext, OutputPort, Schema, Scope, Stream, Token, WhenStopped
from tokenring.engine.times import NestedTime
from tokenring.operators.collections import sharing
from tokenring.operators.collections.arranged import Arranged
from tokenring.operators.collections.collection import Collection
from tokenring.operators.collections.saved import imported_once
from tokenring.operators.collections.sharing import Rejected, View, Views, complaint
from tokenring.operators.collections.streams import schema_of_words
from tokenring.operators.collections.trace import Reader, Trace, batch_of
from tokenring.operators.collections.updates import Spine, SpineSince
from tokenring.operators.time import require_integer_times

_ROWS = 1 << 14  # of a piece of what is there


class _Reader(Reader):
    """One who reads a trace of another dataflow, once his own runs."""

    def __init__(self, takes_all: bool) -> None:
        """takes_all: whether he takes what is there as batches."""
        self.takes_all = takes_all

    def begin(self, spine: Spine, taken: int, since: int) -> None:
        """Read from now on."""
        super().__init__(spine, spine.new_reader(taken))
        self.since = [(since,)]


class ImportedTrace(Trace):
    """The trace of another dataflow as this one reads it: from its `since` on, all that was before as if it had come
    then."""

    upper: list[NestedTime] = [(0,)]  # noqa: RUF012  # what is finished here

    def __init__(self, view: View) -> None:
        self.keys, self.data, self.depth = view.trace.keys, len(view.schema), 1
        self.upper = [(0,)]
        self.readers: list[_Reader] = []  # type: ignore[assignment]
        self.least = 0
        """The time at which it was imported."""
        self.is_taken = self.is_taken_by_key = False
        """Whether somebody takes the batches that are there; or all in pieces, in order of the keys."""
        self.since: int | None = None
        """As of which time it is to be imported, if not of the latest finished one (`View.since`)."""
        self.view = view
        self._views: list[_Reader] = []  # who may outlast the dataflow
        self._by_key: list[tuple[_Reader, int]] = []

    def read(self) -> Reader:
        """Look up what is there, and take the batches that come on the imported stream."""
        self.readers.append(_Reader(takes_all=True))
        return self.readers[-1]

    def read_changes(self) -> Reader:
        """Look up what is there, and take the batches that come later."""
        self.readers.append(_Reader(takes_all=False))
        return self.readers[-1]

    def shared(self) -> tuple[sharing.Trace, Reader]:
        """See Trace: one who reads the trace itself, beside the view that was imported."""
        self._views.append(_Reader(takes_all=False))
        return self.view.trace, self._views[-1]

    def begin(self) -> list[np.ndarray]:
        """Read from now on; the batches that are there, int64 (columns, rows), if somebody takes them."""
        spine, taken = self.view.trace.spine, self.view.taken
        self.least = self.view.since if self.since is None else self.since
        self.spine = SpineSince(spine, self.least)  # type: ignore[assignment]
        there = [batch.words for batch in spine.batches(taken)] if self.is_taken else []
        if self.is_taken_by_key:
            self.readers.append(_Reader(takes_all=False))
            self._by_key = [(self.readers[-1], taken)]
        self.view.trace.readers += self._views
        for reader in [*self.readers, *self._views]:  # who take all of them at once, since they come in one step
            reader.begin(spine, taken - len(there) if reader.takes_all else taken, self.least)
        for words in there:
            np.maximum(words[-2], self.least, out=words[-2])
        return there

    def pieces(self) -> Iterator[np.ndarray]:
        """What is there at the beginning, in order of the keys, if somebody takes it so."""
        for reader, taken in self._by_key:
            yield from self.spine.pieces(self.keys, taken, _ROWS)  # type: ignore[attr-defined]
            self.readers.remove(reader)
            reader.leave()

    def end(self) -> None:
        """Nobody here reads any more."""
        for reader in self.readers:
            reader.leave()


class Imports:
    """What a dataflow imports."""

    def __init__(self) -> None:
        self.traces: list[ImportedTrace] = []


@contextmanager
def imported_at_one_time(scope: Scope, greatest: Callable[[int], int]) -> Iterator[None]:
    """While a dataflow is built: all workers import what it does as of one time, the first that none has forgotten.
    greatest: of what all workers say."""
    new = [trace for trace in scope.kept(Imports).traces if trace.since is None]
    kept = [trace.view.keep_since(trace.view.since) for trace in new]
    since = greatest(max(one.since for one in kept)) if kept else 0
    for trace in new:
        trace.since = since
    try:
        yield
    finally:
        for one in kept:
            one.release()


class _LookedUp:
    """An imported trace to those who look up what is there and take changes alone."""

    def __init__(self, trace: ImportedTrace) -> None:
        self.keys, self.data, self.depth = trace.keys, trace.data, trace.depth
        self.read = trace.read_changes
        self._trace = trace

    @property
    def spine(self) -> Spine:
        """See Trace."""
        return self._trace.spine

    @property
    def upper(self) -> list[NestedTime]:
        """See Trace."""
        return self._trace.upper


class _Imported(Arranged):
    """An imported arrangement. Its stream has what is there, and then changes; `looked_up` has changes alone; `by_key`
    what is there piece by piece, and then changes."""

    def __init__(
        self, streams: Sequence[Stream], schema: Schema, keys: tuple[str, ...], trace: ImportedTrace
    ) -> None:
        there, changes, by_key = streams
        super().__init__(there, schema, keys, trace, Collection)
        looked_up: Any = _LookedUp(trace)
        self._imported = trace
        self._looked_up = Arranged(changes, schema, keys, looked_up, Collection)
        self._by_key = Arranged(by_key, schema, keys, looked_up, Collection)

    @property
    def sealed(self) -> Stream:
        """What is there, and then changes."""
        self._imported.is_taken = True
        return self._sealed

    @sealed.setter
    def sealed(self, sealed: Stream) -> None:
        self._sealed = sealed

    @property
    def looked_up(self) -> Arranged:
        """To those who take changes alone."""
        return self._looked_up

    @property
    def by_key(self) -> Arranged:
        """To those who look up nothing but keys that they have taken."""
        self._imported.is_taken_by_key = True
        return self._by_key


class _Importing:
    """The source of an imported arrangement's stream on one worker."""

    operator = -1
    """Its number in the graph."""

    def __init__(
        self, view: View, trace: ImportedTrace, schema: Schema, dataflow: str, rejected: Rejected
    ) -> None:
        self.dataflow = dataflow
        self._rejected = rejected
        self._view, self._trace, self._schema = view, trace, schema
        self._batches: list[tuple[int, Batch]] = []
        self._wake: Callable[[], None] = lambda: None

    def construct(
        self, context: OperatorContext, token: Token, changes_token: Token, by_key_token: Token
    ) -> Callable[[OutputPort, OutputPort, OutputPort], None]:
        """Its constructor."""
        trace, view = self._trace, self._view
        view.require_there()
        context.when_stopped(WhenStopped.FOLLOWS)
        there = [batch_of(self._schema, words) for words in trace.begin()]
        lacking = view.lacking(trace.least)
        if lacking and self.hands_out:  # to those who would not hear of it
            raise complaint(view.name, trace.least, lacking)
        pieces, waiting = trace.pieces(), list[tuple[int, Batch]]()
        self._wake = context.activate
        view.enter(self)
        context.when_released(self._end)

        def give(held: Token, output: OutputPort, batches: Sequence[tuple[int, Batch]]) -> None:
            for time, batch in batches:
                if time < trace.least:  # rows that come again, where the run goes on
                    time, batch = trace.least, _from(trace.least, batch)
                output.give(held, batch, time)
            if view.upper == COMPLETE:
                held.drop()
            else:
                held.downgrade(view.upper)

        def logic(output: OutputPort, changes: OutputPort, by_key: OutputPort) -> None:
            while there:
                output.give(token, there.pop(0), trace.least)
            batches, self._batches = self._batches, []
            if token.live:
                trace.upper = [] if view.upper == COMPLETE else [(view.upper,)]
                give(token, output, batches)
                give(changes_token, changes, batches)
            waiting.extend(batches)
            piece = next(pieces, None)
            if piece is not None:  # one a step, which is looked at while it is at hand
                by_key.give(by_key_token, batch_of(self._schema, piece), trace.least)
                context.activate()
            elif by_key_token.live:
                give(by_key_token, by_key, waiting)
                waiting.clear()

        return logic

    @property
    def least(self) -> int:
        """The time at which it was imported."""
        return self._trace.least

    @property
    def hands_out(self) -> bool:
        """See Importer."""
        return self._rejected.hands_out(("operator", self.operator))

    def bring(self, batches: Sequence[tuple[int, Batch]]) -> None:
        """What the other dataflow has sealed, and how far it is."""
        self._batches += batches
        self._wake()

    def _end(self) -> None:
        self._trace.end()
        self._view.leave(self)


def _from(least: int, batch: Batch) -> Batch:
    """A sealed batch, all of whose times are then or later."""
    columns = [*batch.columns]
    columns[-2] = np.maximum(columns[-2], least)
    return Batch.wrap(batch.schema, tuple(columns), batch.rows, of=batch)


def import_arrangement(scope: Scope, name: str) -> Arranged:
    """What another dataflow of this worker exports as `name`, to be joined and reduced here as an arrangement of one's
    own: first all that is there, as of the latest finished time (or as much before as its `history`), then every
    change. Frontiers here follow those there; nothing is sorted again.

    Results are right from the greatest time on at which a worker imported it (`View.since`). If the other dataflow is
    cancelled, no more changes come. GraphError if there is none of that name, or in a loop.
    """
    in_loop = "import it in the root scope; collection().enter(loop) brings it into the loop"
    require_integer_times(scope, f"{name!r} is imported", in_loop)
    view = scope.kept_by_worker(Views)[name]
    trace, schema = ImportedTrace(view), schema_of_words(view.schema, 1)
    rejected = scope.kept(Rejected)
    importing = _Importing(view, trace, schema, scope.graph.name, rejected)
    streams = scope.source(f"import {name}", (schema, schema, schema), importing.construct)
    importing.operator = streams[0].source.operator
    scope.kept(Imports).traces.append(trace)
    imported_once(scope, trace, f"import {name}")
    rejected.imports(streams[0], view)
    return _Imported(streams, view.schema, view.keys, trace)
