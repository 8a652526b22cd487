"""to_database: a stream's rows in a table of a database; under recovery each of them exactly once.

Worker 0 inserts. Without recovery rows come to it, and are inserted as they come. Under recovery they go into files
first, as those of to_arrow_files do, which appear in the job's folder with the snapshot that has the state behind them.
From there worker 0 inserts them, so many in a transaction, and in the same one says in the table tokenring_delivered
how far it is. So whoever goes on, after whatever death, knows what is in the table.

By key, rows come to worker 0, or into files, so that those of a key are in order: those of a plain stream in that of
time, by way of the worker that their key belongs to, which keeps them until no earlier ones can come; updates as they
are sent, since a later one may have an earlier time. What is in a snapshot's files comes behind what is in those of the
one before, so the order is the same whoever goes on.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from tokenring.engine import (
    COMPLETE,
    Batch,
    GraphError,
    InputPort,
    OperatorContext,
    OutputPort,
    Probe,
    RecoveryError,
    Route,
    Schema,
    SchemaError,
    Stream,
    Token,
    UsageError,
    WhenStopped,
)
from tokenring.engine.arguments import is_text
from tokenring.operators.migrate import has_bins, saving_of
from tokenring.operators.recovery import Saving
from tokenring.operators.rows import columns_of
from tokenring.operators.sinks.database_table import LOCKED_S, DatabaseTable
from tokenring.operators.sinks.delivery import NOTHING, deliver_to, to_first
from tokenring.operators.sinks.gather import opened
from tokenring.operators.sinks.part_files import arrow_parts
from tokenring.operators.sinks.publication import Commit, checked_commit, require_outside_loops
from tokenring.operators.state import require_newest
from tokenring.operators.state.moving import sent_by_time

if TYPE_CHECKING:
    import pyarrow as pa

_DELIVERED = Schema(job="string", sink="string", snapshot="int64", inserted="int64")
"""Of the table that says how far a job's sink is: so many rows of a snapshot, and all of those before."""
_AT_ONCE = 1 << 14
"""Rows of a transaction: some tens of milliseconds of worker 0's."""
_WAIT_NS = 100_000_000
"""How long rows are waited for that share a transaction: each has the disk wait."""
_SOON_NS = 1_000_000
"""How long from one transaction to the next: a snapshot needs a moment in which nothing is due."""


def to_database(
    stream: Stream,
    database: str | Path | Callable[[], Any],
    table: str,
    *,
    key: str | Sequence[str] | None = None,
    deleted: str | None = None,
    paramstyle: str = "",
    commit: Commit = "snapshot",
    name: str = "to_database",
) -> Probe:
    """Insert the stream's rows into a table, in the columns of their names.

    database: a file of SQLite's, made if it is not there; or a function that returns a new connection each time, of a
    module of DB-API 2.0 (sqlite3, psycopg, ...), DuckDB's, or one of ADBC's. Worker 0 calls it and inserts, the rows of
    all workers. table: "totals", or "schema.totals"; made if it is not there, else rows are added to it: it may have
    other columns, too. paramstyle: of the module, where it does not say so itself.

    Values are Python's or Arrow's, null is NULL, and timestamps are of UTC without a zone, in microseconds. In SQLite
    timestamps are texts such as "2026-06-01 12:00:00.000000000", dates and decimals texts as well, and NaN is NULL.

    key: "city", "city day" or a sequence of names: a row takes the place of the one that has its values in these
    columns, so there is one a key. deleted: a column of bool, which the table does not have; where it is true, there is
    none from then on. A table that is made has the key as its PRIMARY KEY; one that is there should have an index, and
    what it has in other columns goes with the row. A key's last row is that of the latest message's time; of one time
    the last to come, and where several workers have such, any of theirs. Of updates, such as a running count, it is the
    last that was sent.

    Rows are inserted as they come, some milliseconds later, many in one transaction. The probe has passed a time once
    all rows up to it are in the table. A run that fails leaves what it has inserted. Under recovery each row is
    inserted exactly once, behind the snapshot after it, in transactions that also write to tokenring_delivered, a table
    beside the other; the run ends when all are in. The probe then says how far the run is. commit="finished" inserts
    rows as soon as their times are finished: each exactly once where the program makes the same rows of the same times
    again after a death.

    Memory: 16,384 rows and a message; with a key, also the rows before which some can come. GraphError in a loop, and
    for updates by another key, or whose order is lost; SchemaError for uint64, for names that the database does not
    take or tell apart, for columns that the table lacks, and for keys of floats or with nulls; OperatorError, naming
    sink and table, for what the database raises.
    """
    saving: Saving | None = saving_of(stream.scope)
    finished = checked_commit(commit, name, saving is not None)
    if not is_text(table) or not table or "\0" in table:
        raise UsageError(f"operator {name!r}: a table is called by text, such as 'totals', not {table!r}")
    keys = _checked_key(stream.schema, key, deleted, name)
    cure = "mend that, and run it again: what was committed stays" if saving is None else "mend that, and run it again"
    connect = _connecting(database, name)
    file = "" if callable(database) else os.path.abspath(database)
    make = partial(DatabaseTable, connect, operator=name, paramstyle=paramstyle, cure=cure, file=file)
    rows = make(table, stream.schema, key=keys, deleted=deleted)
    require_outside_loops(stream, name)
    if keys:
        stream = _in_order(stream, keys, name, finished)
    if saving is None:
        return _insert_as_they_come(stream, rows, name)
    marked = make(".".join([*table.split(".")[:-1], "tokenring_delivered"]), _DELIVERED)
    # So a program that has another key has another sink: what waits for this one is of no use to it.
    into = f"{table} by {', '.join(keys)}" if keys else table
    return _insert_once(stream, rows, marked, into, name, saving, finished)


def _checked_key(schema: Schema, key: str | Sequence[str] | None, deleted: str | None, name: str) -> tuple[str, ...]:
    """The columns of the key, none if there is none. SchemaError for what cannot be one, and for what `deleted` cannot
    be."""
    if key is None:
        if deleted is not None:
            raise SchemaError(f"operator {name!r}: say whose row is gone: key=, beside deleted={deleted!r}")
        return ()
    keys = tuple(map(str, columns_of(key, f"operator {name!r}: key=")))
    if not keys:
        raise SchemaError(f"operator {name!r}: key= names no column; say key='city', or leave it out")
    if len({*keys}) < len(keys):
        raise SchemaError(f"operator {name!r}: a column is named twice in key=: {', '.join(keys)}")
    for column in keys:
        schema.position(column, f"operator {name!r}", "to be the key")
        kind = schema.kind(column)
        if kind.nullable:
            raise SchemaError(
                f"operator {name!r}: column {column!r} of the key is {kind}, and in databases NULL is equal to "
                f"nothing: say .fill_null(...) of it, with what null is to be"
            )
        if kind.is_float:
            raise SchemaError(
                f"operator {name!r}: column {column!r} of the key is {kind}, and databases differ in which of these "
                f'are equal: .cast("decimal(18, 2)") it, or "int64"'
            )
    if deleted is not None:
        schema.position(deleted, f"operator {name!r}", "to say whose row is gone")
        if deleted in keys or schema.kind(deleted).family != "bool":
            what = "of the key" if deleted in keys else str(schema.kind(deleted))
            raise SchemaError(
                f"operator {name!r}: deleted={deleted!r} is {what}; give a column of bool beside the key, true where "
                f"the key's row is gone"
            )
    return keys


def _in_order(stream: Stream, key: tuple[str, ...], name: str, finished: bool) -> Stream:
    """The rows so that those of a key come in their order. GraphError for updates whose order is not known."""
    require_newest(name, stream, key)
    if stream.updates is None or stream.updates.of_collection:
        # What takes rows as their times are finished has them in order of time itself.
        return stream if finished else sent_by_time(stream, f"{name}.in_order", key=key)
    said = f"operator {name!r}: rows of {stream.updates.operator!r} are updates"
    cure = f"let changes=True make them a collection, if it can, and to_upserts({' '.join(key)!r}) a stream of that"
    if finished:
        raise GraphError(
            f"{said}, of which a later one may have an earlier time, and commit='finished' goes by times: leave "
            f"commit= out; or {cure}"
        )
    if has_bins(stream.scope):
        raise GraphError(f"{said}, and where state moves in bins, those of a key come from several workers: {cure}")
    return stream


def _connecting(database: Any, name: str) -> Callable[[], Any]:
    if callable(database) and not hasattr(database, "cursor"):
        return database
    what, wanted = f"operator {name!r}: database", "such as lambda: psycopg.connect(...)"
    if not isinstance(database, str | Path):
        raise UsageError(f"{what} is a path, or a function that connects, {wanted}, not {type(database).__name__}")
    if "://" in str(database) or str(database) in ("", ":memory:"):
        raise UsageError(f"{what} {str(database)!r} is no file: give a path, or a function that connects, {wanted}")
    return partial(_connect_to_file, os.path.abspath(database))


def _connect_to_file(path: str) -> Any:
    import sqlite3

    connection = sqlite3.connect(path, timeout=LOCKED_S)
    # Else a transaction may be undone by a failure of the power just after it, and what it had inserted is gone here.
    connection.execute("PRAGMA synchronous=EXTRA")
    return connection


def _insert_as_they_come(stream: Stream, table: DatabaseTable, name: str) -> Probe:
    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        context.when_stopped(WhenStopped.ENDS)
        if context.worker_index == 0:
            table.prepare()
            context.when_released(table.close)
        gathered: list[Batch] = []
        held: Token | None = None
        due_ns = 0

        def logic(rows: InputPort, output: OutputPort) -> None:
            nonlocal held, due_ns
            for reference, batch in rows:
                if not gathered:
                    due_ns = monotonic_ns() + _WAIT_NS
                    context.activate_after(_WAIT_NS)
                if held is None or reference.time < held.time:
                    earlier = reference.retain()
                    if held is not None:
                        held.drop()
                    held = earlier
                gathered.append(batch.copy())
            is_full = sum([batch.rows for batch in gathered]) >= _AT_ONCE
            if held is not None and (is_full or rows.frontier == COMPLETE or monotonic_ns() >= due_ns):
                with table.transaction() as cursor:
                    table.insert(cursor, _as_table(Batch.concatenate(gathered)))
                gathered.clear()
                held.drop()
                held = None

        return logic

    return stream.unary(name, NOTHING, construct, Route(to_first)).probe()


def _as_table(batch: Batch) -> "pa.Table":
    import pyarrow as pa

    return pa.Table.from_batches([batch.to_arrow()])


def _insert_once(
    stream: Stream, table: DatabaseTable, marked: DatabaseTable, into: str, name: str, saving: Saving, finished: bool
) -> Probe:
    """Rows go into files, as those of to_arrow_files do, and those that have appeared into the table."""
    sink = saving.sink(name, into, finished)
    inserting = _Inserting(table, marked, stream.schema, sink, saving.job, finished)
    return deliver_to(inserting, stream, name, sink, into, arrow_parts(), saving, finished)


class _Inserting:
    """Inserts the rows of snapshots into the table: a Destination."""

    def __init__(
        self, table: DatabaseTable, marked: DatabaseTable, schema: Schema, sink: str, job: str, finished: bool
    ) -> None:
        self._table, self._marked = table, marked
        self._until = "of times before" if finished else "up to snapshot"
        self._sink, self._job = sink, job
        self._where = f"job = {_text(job)} AND sink = {_text(sink)}"
        self.says = f"{marked.name!r} says that table {table.name!r}"
        self.cure = "put both tables back to what they were"
        self.again_ns = _SOON_NS
        self.parts = schema.to_arrow()
        self.at_once = False

    def prepare(self) -> int:
        """Make the tables, if they are not there. RecoveryError where the one that was filled is not."""
        is_there = self._table.is_there
        self._marked.prepare()
        position = self._position()
        snapshot, _ = position or (0, 0)
        if snapshot and not is_there:  # to make it would forget the rows that were in it
            raise RecoveryError(
                f"operator {self._sink!r}: {self.says} has the results {self._until} {snapshot} of job {self._job}, "
                f"and that table is not there, or cannot be read: put it back as it was, or begin anew in another "
                f"folder"
            )
        self._table.prepare()
        first = f"INSERT INTO {self._marked.sql} VALUES ({_text(self._job)}, {_text(self._sink)}, 0, 0)"
        if position is None:
            with self._marked.transaction(keeps=False) as cursor:
                cursor.execute(first)
            if self._position() is not None:
                with self._marked.transaction() as cursor:  # the next start is to be refused, too
                    cursor.execute(f"DELETE FROM {self._marked.sql} WHERE {self._where}")
                raise UsageError(
                    f"operator {self._sink!r}: the connection to the database commits each statement by itself, so "
                    f"rows could come twice: let the function that connects turn that off (autocommit=False)"
                )
            with self._marked.transaction() as cursor:
                cursor.execute(first)
        return snapshot

    def rest(self) -> None:
        """Others may need the database; DuckDB's has one process at a time."""
        self._table.close()
        self._marked.close()

    def take(self, number: int, paths: Sequence[Path]) -> bool:
        """Insert the next rows of a snapshot, in one transaction; whether those were the last."""
        snapshot, before = self._position() or (0, 0)
        rows = _read(paths)
        begin = before if number == snapshot else 0
        some = rows.slice(begin, _AT_ONCE)
        if some.num_rows:
            with self._table.transaction() as cursor:
                cursor.execute(
                    f"UPDATE {self._marked.sql} SET snapshot = {number}, inserted = {begin + some.num_rows} "
                    f"WHERE {self._where} AND snapshot = {snapshot} AND inserted = {before}"
                )
                if cursor.rowcount == 0:  # one that was thought dead came first
                    raise RecoveryError(f"operator {self._sink!r}: another process inserts into {self._table.name!r}")
                self._table.insert(cursor, some)
        return begin + some.num_rows == rows.num_rows

    def _position(self) -> tuple[int, int] | None:
        """How far the sink is: a snapshot, and how many of its rows are in; None where nothing is known of it."""
        with self._marked.transaction(keeps=False) as cursor:
            cursor.execute(f"SELECT snapshot, inserted FROM {self._marked.sql} WHERE {self._where}")
            found = cursor.fetchone()
        return None if found is None else (int(found[0]), int(found[1]))


def _read(paths: Sequence[Path]) -> "pa.Table":
    import pyarrow as pa

    return pa.concat_tables([opened(path).read_all() for path in paths])


def _text(value: str) -> str:
    """A text as SQL has it."""
    doubled = value.replace("'", "''")
    return f"'{doubled}'"
