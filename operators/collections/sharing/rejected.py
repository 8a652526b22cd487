"""Rows of a dataflow's collections that operators failed at: each is an error until it is taken away again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from tokenring.engine import Batch, OperatorContext, RejectedRowsError, Stream
from tokenring.operators.collections.sharing.faults import Change, Fault, Ledger, Place
from tokenring.operators.collections.sharing.told import Told
from tokenring.operators.collections.words import TIMES, TIMES_ADDED, rows_in_words
from tokenring.operators.expressions import said_of_row

if TYPE_CHECKING:
    from tokenring.operators.collections.sharing.view import View

_FEW = 3  # rows that an error shows


class Stage(Protocol):
    """A stateless operator of a graph."""

    number: int


class Rejected:
    """What the operators of one dataflow failed at, and which views lack it."""

    def __init__(self) -> None:
        self._views: list[tuple[View, Stream]] = []
        self._outlets: list[Stream] = []
        self._imports: dict[int, View] = {}  # by the operator that brings what it has
        self._own = Ledger()
        self._told = Told()

    # While the dataflow is declared

    def is_read_by(self, view: View, stream: Stream) -> None:
        """A view has what comes of a stream."""
        self._views.append((view, stream))

    def is_handed_out(self, stream: Stream) -> Stream:
        """A stream leaves for those who would not hear of rows that are missing: failing at one ends the run."""
        self._outlets.append(stream)
        stream.rejects = None
        return stream

    def imports(self, stream: Stream, view: View) -> None:
        """A stream brings what a view of another dataflow has."""
        self._imports[stream.source.operator] = view

    # While it runs

    def begin(self, context: OperatorContext) -> None:
        """The dataflow runs on this worker."""
        (_, stream), *_ = self._views
        self._told.begin(stream.scope.graph.name, context)

    def forget(self, view: View) -> None:
        """Nobody reads a view any more."""
        self._views = [(each, stream) for each, stream in self._views if each is not view]
        if not self._views:
            self._told.end()

    def takes(self, stage: Stage, label: str) -> bool:
        """See engine.Rejects."""
        return self.takes_at(("stage", stage.number))

    def takes_at(self, place: Place) -> bool:
        """Whether some view says what is missing, and nothing that lacks it is handed out."""
        return any([_comes_of(stream, place) for _, stream in self._views]) and not self.hands_out(place)

    def hands_out(self, place: Place) -> bool:
        """Whether what comes of a place is handed out, here or by those who import it."""
        return any([_comes_of(stream, place) for stream in self._outlets]) or any(
            [
                importer.hands_out
                for view, stream in self._views
                if _comes_of(stream, place)
                for importer in view.importers
            ]
        )

    def take(self, stage: Stage, label: str, rows: Batch, errors: Sequence[Exception]) -> None:
        """See engine.Rejects. rows: updates, with times and multiplicities behind the data."""
        names = rows.schema.names
        shown = rows_in_words(rows.select(rows.schema.select(names[: names.index(TIMES[0])])))
        times, often = rows[TIMES[0]].tolist(), rows[TIMES_ADDED].tolist()
        said = map(said_of_row, errors)
        self._note(
            [
                Change("stage", stage.number, Fault(label, row, error), [time], count)
                for row, time, count, error in zip(shown, times, often, said, strict=True)
            ]
        )

    def set_key(self, place: Place, label: str, key: str, time: Sequence[int], error: str) -> None:
        """An operator failed at the rows that a key has from a time on; or no more, where there is no error."""
        self._note([Change(*place, Fault(label, key, error), list(time), 0)])

    def has_keys(self, place: Place) -> bool:
        """Whether there are keys that an operator failed at, and did not see right since."""
        return self._own.has_keys(place)

    def _note(self, changes: Sequence[Change]) -> None:
        self._own.add(changes)
        if self._own.is_long:
            since = min([view.since for view, _ in self._views], default=0)
            self._own.forget(since)
            self._told.write_anew(self._own.changes())
        else:
            self._told.write(changes)

    # Of a view

    def lacking(self, view: View, time: int) -> Counter[Fault]:
        """What a view lacks at a time, as any worker failed at it, and how often."""
        found: Counter[Fault] = Counter()
        whole = Ledger()  # one worker may fail at a row that another one takes away
        for ledger in (self._own, *self._told.of_others()):
            whole.add(ledger.changes())
        for stream in [stream for each, stream in self._views if each is view]:
            found.update(whole.at(time, partial(_comes_of, stream)))
            for operator, imported in self._imports.items():
                if _comes_of(stream, ("operator", operator)):
                    found.update(imported.lacking(time))
        return Counter({fault: count for fault, count in found.items() if count})


def _comes_of(stream: Stream, place: Place) -> bool:
    """Whether what a stream has depends on what is made at a place."""
    operators, stages = stream.scope.graph.behind(stream.source, stream.stage)
    return place[1] in (stages if place[0] == "stage" else operators)


def complaint(name: str, time: int, lacking: Counter[Fault]) -> RejectedRowsError:
    """The error of who reads a view that lacks rows."""
    few = sorted(lacking)[:_FEW]
    said = "; ".join([f"operator {fault.operator!r} at {fault.row}: {fault.error}" for fault in few])
    more = f"; and {len(lacking) - len(few):,} more" if len(lacking) > len(few) else ""
    return RejectedRowsError(
        f"{name!r} at {time} lacks what operators failed at: {said}{more}; it can be read once these rows are removed, "
        f"or mended where they come from; errors() lists them"
    )


def table_of(lacking: Counter[Fault]) -> dict[str, list[Any]]:
    """The same as columns: operator, row, error, and how often in `times`."""
    rows = [(*fault, lacking[fault]) for fault in sorted(lacking)]
    return {name: [row[at] for row in rows] for at, name in enumerate((*Fault._fields, "times"))}

