"""What is saved of a dataflow: sources, sinks, and what operators keep in tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tokenring.engine import COMPLETE, Batch, Notify, Schema, Stream, Time
from tokenring.engine.graph import OperatorSpec
from tokenring.operators.migrate import (
    Bins,
    Leaving,
    Mover,
    Offered,
    Table,
    put_in,
    require_movable,
    take_out,
    workers_of,
)
from tokenring.operators.recovery.places import Edge, edges_of

if TYPE_CHECKING:
    from tokenring.operators.recovery.saving import Saving

INPUT = "input "
"""Begins the ids of inputs that the program feeds: of them nothing is saved but times."""


@dataclass(eq=False)
class Known:
    """Something of which snapshots have something. called: by the program, which may call others so."""

    called: str
    place: str = ""
    """What tells those of one name apart."""
    id: str = ""
    """By which snapshots know it from now on."""
    was: str = ""
    """By which the one does that the run goes on from; "": that has nothing of it."""


class SavedSource(Protocol):
    """A source on one worker, which can be read again from where it was."""

    known: Known

    @property
    def names(self) -> Sequence[int | str]:
        """Of all its shares, on all workers."""

    def stand(self) -> None:
        """Send nothing until `go_on`."""

    def go_on(self) -> None:
        """Send what comes."""

    def state(self) -> list[dict[str, Any]]:
        """Where each share of it is, in plain values of JSON: `share`, its name; `time`, before which it sends no
        more, None if it has ended; and what is the source's own."""

    def contents(self) -> Any:
        """What is read, in plain values of JSON: alike as long as it is the same."""


class SavedSink(Protocol):
    """A sink whose results appear with a snapshot."""

    folder: Path
    suffix: str
    known: str
    """By which it is told of: its folder, or, of one that the job has in its own, by a name."""
    into: str
    """The table that its rows go into; "" if they stay in files."""
    columns: Mapping[str, str]
    """Names and kinds of its files' columns; none where these may be any."""

    def cut(self, number: int, before: int) -> list[str]:
        """Close, for snapshot `number`, the file that holds what came last; all files, under hidden names, that no
        snapshot up to `before`, which is whole, has."""

    def waiting(self) -> Iterable[Path]:
        """Files that have appeared and are to go into a table still."""

    def abandon(self) -> None:
        """Its dataflow is removed: no snapshot comes that has what came last."""


class SavedState:
    """What an operator keeps on one worker."""

    leaves = False

    def __init__(self, saving: "Saving", spec: OperatorSpec, tables: Sequence[Table], pends: bool) -> None:
        self.known, self.spec, self.tables = Known(spec.name), spec, tables
        self.operator = spec.name
        self.finishes = pends or spec.notify is not Notify.NEVER
        """Whether it has done with what is before a time once that is finished."""
        self.sources: list[Known] = []
        """Those whose rows come to it, and the inputs that the program feeds."""
        self.offered = Offered()
        self.due: Time = COMPLETE
        """The least time at which output is pending by what was put in."""
        self._saving = saving
        self._worker, self._peers, self._pends = 0, 1, pends
        self._mover: Mover | None = None

    def move_by(self, mover: Mover) -> None:
        """It is kept in bins, which move."""
        self._mover, self.offered = mover, mover.offered

    def begin(self, worker: int, peers: int) -> None:
        """The operator is made: put in what belongs here of what was saved."""
        self._worker, self._peers = worker, peers
        require_movable(self.operator, self.offered, self.tables, ", or run without recovery=")
        found = self._saving.tables_of(self.known, self.tables)
        if found is not None:
            pends = self._pends or not self.spec.outputs  # what sends nothing needs no right to
            self.due = put_in(self.operator, self.offered.only(self.operator), self._here(found), pends)

    def edges(self) -> list[Edge]:
        """What it reads."""
        return edges_of(self.spec, self._saving.pacts)

    def _here(self, tables: Sequence[Batch]) -> list[Batch]:
        return [
            rows.filter(self._owners(rows, table.key) == self._worker)
            for rows, table in zip(tables, self.tables, strict=True)
        ]

    def _owners(self, rows: Batch, key: Sequence[str]) -> np.ndarray:
        """To which worker each row's key belongs now, int64 (rows,)."""
        if self._mover is None:
            return workers_of(rows, key, self._peers)
        versions = self._mover.versions
        owners: np.ndarray = versions.now[versions.bins.of(rows, key)]
        return owners

    def take_out(self) -> Sequence[Batch]:
        """All of it: what is kept here afterwards is nothing. An operator of all rows says on each worker that it has
        the one key there is; rows come to one of them."""
        everything = Leaving(Bins(1), np.ones(1, bool))
        taken = take_out(self.operator, self.offered.only(self.operator), everything, self.tables)
        here = zip(taken, self._here(taken), self.tables, strict=True)
        return [rows if table.is_anywhere else mine for rows, mine, table in here]


class SavedRows:
    """Tables that an operator keeps on one worker, and that are not put in there when the run goes on: whoever keeps
    them asks for what was saved."""

    def __init__(
        self, saving: "Saving", operator: str, tables: Sequence[Table], stream: Stream | None, leaves: bool
    ) -> None:
        self.known, self.operator, self.tables = Known(operator), operator, tables
        self.leaves = leaves
        """Whether it is about what has left what is made again: of use where it is made of the same alone."""
        self.take_out: Callable[[], Sequence[Batch]]
        """Makes a batch for each table, in a copy of the worker at rest."""
        self.since: Callable[[], Time] | None = None
        """From when on the rows that were taken out can be told apart by their times, where that is not always so."""
        self.spec = None if stream is None else stream.scope.graph.operators[stream.source.operator]
        self.finishes = leaves
        self.sources: list[Known] = []
        """See SavedState."""
        self._saving, self._stream = saving, stream

    def edges(self) -> list[Edge]:
        """The stream that it is about, if it is about one."""
        return [] if self._stream is None else [Edge(self._stream.source, self._stream.stage)]

    @property
    def is_resumed(self) -> bool:
        """Whether the run goes on from a snapshot."""
        return self._saving.resumed is not None

    @property
    def peers(self) -> int:
        """How many workers the run had that is gone on with."""
        assert self._saving.resumed is not None, "the run goes on"
        return len(self._saving.resumed.manifest["workers"])

    def all(self, table: int) -> Batch:
        """What all workers saved of a table, which is not much; no rows where nothing was saved of it. To be asked once
        all is declared, as all that was saved."""
        schema = self.tables[table].schema
        found = [self._saving.read(told, schema) for told in self._files(table)]
        return Batch.concatenate(found) if found else Batch(schema, {name: [] for name in schema.names})

    def share(self, table: int, worker: int, peers: int) -> Iterator[Batch]:
        """A worker's part of what all saved of a table."""
        for at, told in enumerate(self._files(table)):
            if at % peers == worker:
                yield self._saving.read(told, self.tables[table].schema)

    def _files(self, table: int) -> list[dict[str, Any]]:
        return [told for told in self._saving.files_of(self.known) if told["table"] == table]


def told_of(state: SavedState | SavedRows) -> dict[str, Any]:
    """What snapshots say of an operator."""
    tables = [
        {"table": number, "columns": spec_of(table.schema), "key": list(table.key), "version": table.version}
        for number, table in enumerate(state.tables)
    ]
    sources = [known.id for known in state.sources]
    return {"place": state.known.place, "leaves": state.leaves, "sources": sources, "tables": tables}


def spec_of(schema: Schema) -> dict[str, str]:
    """Names and kinds of columns."""
    return {name: str(kind) for name, kind in zip(schema.names, schema.kinds, strict=True)}
