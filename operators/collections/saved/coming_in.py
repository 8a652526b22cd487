"""What comes into collections under recovery: it is kept, added up, beside what is made of it, and comes again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tokenring.engine import Batch, InputPort, Notify, OperatorContext, OutputPort, Schema, Stream, Time, Token
from tokenring.operators.collections.saved.handed_out import SINCE, told_apart_no_more
from tokenring.operators.collections.updates import Sealed, Spine
from tokenring.operators.migrate import Table, made_again, saving_of
from tokenring.operators.rows import union

if TYPE_CHECKING:
    from tokenring.operators.recovery import SavedRows

_PIECE_ROWS = 1 << 14


class Trace(Protocol):
    """What is needed of an arrangement's; see there."""

    spine: Spine
    pending: Callable[[], np.ndarray]

    def hold(self, since: int) -> Any:
        """Begin to read nothing, but be able to ask at this time and later."""


class KeptRows:
    """What an arrangement of the root scope has, as of the times that somebody who gets something of it may still tell
    apart. sealed: the arrangement's stream."""

    def __init__(self, sealed: Stream, trace: Trace, saved: SavedRows) -> None:
        self._scope = sealed.scope
        self._trace = trace
        self._held = trace.hold(0)
        saved.since = lambda: self._held.since[0][0]
        sealed.sink(f"{saved.operator}.since", self._construct, notify=Notify.NEVER)
        made_again(sealed.scope)

    def _construct(self, context: OperatorContext) -> Callable[[InputPort], None]:
        def logic(rows: InputPort) -> None:
            for _ in rows:
                pass
            self._forget()

        return logic

    def _forget(self) -> int:
        """Nobody asks any more for what was before; since when."""
        since = max(self._held.since[0][0], told_apart_no_more(self._scope, self._trace.spine.upper))
        self._held.since = [(since,)]
        return since

    def finished(self) -> np.ndarray:
        """The updates of finished times, added up, int64 (columns, rows)."""
        batches = [batch.words for batch in self._trace.spine.batches()]
        if not batches:
            return np.empty((self._trace.spine.columns, 0), np.int64)
        table = np.concatenate(batches, axis=1)
        np.maximum(table[-2], self._forget(), out=table[-2])
        return Sealed.of(table).words

    def pending(self) -> np.ndarray:
        """What is not finished, as it came, int64 (columns, rows)."""
        return self._trace.pending()


def with_those_saved(stream: Stream, saved: SavedRows, tables: int = 1) -> Stream:
    """Updates that come, and those that were saved of them, in the first tables."""
    scope, saving = stream.scope, saving_of(stream.scope)
    both = union(stream, _come_again(scope, stream.schema, saved, tables), name=f"{saved.operator}.all")
    saving.patches.add(both.source.operator)
    saving.arrives(saved, both)
    return both


def _come_again(scope: Any, schema: Schema, saved: SavedRows, tables: int) -> Stream:
    """What was saved of updates of `schema`, in its first tables: a source that sends it before a time is finished."""

    def construct(context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
        pieces = (
            rows.slice(first, min(first + _PIECE_ROWS, rows.rows))
            for table in range(tables)
            for rows in saved.share(table, context.worker_index, context.peers)
            for first in range(0, rows.rows, _PIECE_ROWS)
        )

        def logic(output: OutputPort) -> None:
            if not token.live:
                return
            context.activate()
            if context.congested:
                return
            piece = next(pieces, None)
            if piece is None:
                token.drop()
            else:
                output.give(token, piece)

        return logic

    made: tuple[Stream, ...] = scope.source(f"{saved.operator}.again", schema, construct)
    saving = saving_of(scope)
    made_again(scope)
    saving.entries.add(made[0].source.operator)
    return made[0]


class Imported(Protocol):
    """An arrangement of another dataflow, as one that imports it has it."""

    least: Time
    """The time at which it was imported, once it is."""
    since: Time | None
    """As of which time it is to be; None: the latest finished one."""


def imported_once(scope: Any, imported: Imported, name: str) -> None:
    """An arrangement is imported by the operator that was declared last. Where the run goes on all of its rows come
    again, as of the time at which it was imported, or, if nobody tells apart any more what was later, as of then."""
    saving = saving_of(scope)
    if saving is None:
        return
    made_again(scope)
    saving.entries.add(len(scope.graph.operators) - 1)
    rows = saving.rows(name, [Table(SINCE, ())])
    rows.take_out = lambda: [Batch(SINCE, {"since": [imported.least]})]

    def begin() -> None:
        if rows.known.was:
            imported.since = max(int(rows.all(0)["since"].max()), saving.of_worker.forgotten)

    saving.when_found.append(begin)
