"""to_database: a stream's rows in a table of a database; under recovery each of them exactly once.

Worker 0 inserts. Without recovery rows come to it, and are inserted as they come. Under recovery they go into files
first, as those of to_arrow_files do, which appear in the job's folder with the snapshot that has the state behind them.
From there worker 0 inserts them, so many in a transaction, and in the same one says in the table tokenring_delivered
how far it is. So whoever goes on, after whatever death, knows what is in the table.
"""

import os
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine import (
    COMPLETE,
    Batch,
    GraphError,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Probe,
    RecoveryError,
    Route,
    Schema,
    Stream,
    Token,
    UsageError,
    WhenStopped,
)
from tokenring.operators.migrate import saving_of, state_moves
from tokenring.operators.recovery import Saving, Wanted, inserted_until, outbox_of, say_inserted
from tokenring.operators.sinks.database_table import LOCKED_S, DatabaseTable
from tokenring.operators.sinks.outbox import deliver
from tokenring.operators.sinks.part_files import arrow_parts

if TYPE_CHECKING:
    import pyarrow as pa

_NOTHING = Schema("nothing")
_DELIVERED = Schema(job="string", sink="string", snapshot="int64", inserted="int64")
"""Of the table that says how far a job's sink is: so many rows of a snapshot, and all of those before."""
_AT_ONCE = 1 << 14
"""Rows of a transaction: some tens of milliseconds of worker 0's."""
_WAIT_NS = 100_000_000
"""How long rows are waited for that share a transaction: each has the disk wait."""
_LOOK_NS, _SOON_NS, _AGAIN_NS = 50_000_000, 1_000_000, 1_000_000_000


def to_database(
    stream: Stream,
    database: str | Path | Callable[[], Any],
    table: str,
    *,
    paramstyle: str = "",
    name: str = "to_database",
) -> Probe:
    """Insert the stream's rows into a table, in the columns of their names.

    database: a file of SQLite's, made if it is not there; or a function that returns a new connection each time, of a
    module of DB-API 2.0 (sqlite3, psycopg, ...), DuckDB's, or one of ADBC's. Worker 0 calls it and inserts, the rows of
    all workers. table: "totals", or "schema.totals"; made if it is not there, else rows are added to it: it may have
    other columns, too. paramstyle: of the module, where it does not say so itself.

    Values are Python's or Arrow's, null is NULL, and timestamps are of UTC without a zone, in microseconds. In SQLite
    timestamps are texts such as "2026-06-01 12:00:00.000000000", dates and decimals texts as well, and NaN is NULL.

    Rows are inserted as they come, some milliseconds later, many in one transaction. The probe has passed a time once
    all rows up to it are in the table. A run that fails leaves what it has inserted. Under recovery each row is
    inserted exactly once, behind the snapshot after it, in transactions that also write to tokenring_delivered, a table
    beside the other; the run ends when all are in. The probe then says how far the run is.

    Memory: 16,384 rows and a message. GraphError in a loop; SchemaError for uint64, and for columns that the table
    lacks; OperatorError, naming sink and table, for what the database raises.
    """
    saving: Saving | None = saving_of(stream.scope)
    cure = "mend that, and run it again: what was committed stays" if saving is None else "mend that, and run it again"
    make = partial(DatabaseTable, _connecting(database, name), operator=name, paramstyle=paramstyle, cure=cure)
    if saving is None:
        return _insert_as_they_come(stream, make(table, stream.schema), name)
    return _insert_once(stream, make, table, name, saving)


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

    return sqlite3.connect(path, timeout=LOCKED_S)


def _insert_as_they_come(stream: Stream, table: DatabaseTable, name: str) -> Probe:
    scope = stream.scope
    if scope.depth > 1:
        raise GraphError(f"operator {name!r} cannot write from {scope.describe()}: let the stream leave it first")

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

    return stream.unary(name, _NOTHING, construct, Route(_to_first)).probe()


def _to_first(batch: Batch) -> np.ndarray:
    return np.zeros(batch.rows, np.int64)


def _as_table(batch: Batch) -> "pa.Table":
    import pyarrow as pa

    return pa.Table.from_batches([batch.to_arrow()])


def _insert_once(
    stream: Stream, make: Callable[[str, Schema], DatabaseTable], table: str, name: str, saving: Saving
) -> Probe:
    """Rows go into files, as those of to_arrow_files do, and those that have appeared into the table."""
    sink = saving.sink(name, table)
    folder = outbox_of(saving.folder.path, sink)
    marked = ".".join([*table.split(".")[:-1], "tokenring_delivered"])
    delivery = _Delivery(make(table, stream.schema), make(marked, _DELIVERED), folder, sink, saving, stream.schema)
    written = deliver(stream, folder, name, ".arrow", arrow_parts(), saving, sink, table)
    builder = stream.scope.operator(f"{name}.delivered", Notify.NEVER)
    builder.output(_NOTHING)
    state_moves(builder)

    def construct(context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
        """The token keeps the run from ending before all is inserted."""
        if context.worker_index:
            token.drop()
            return lambda output: None
        delivery.begin()
        last = _LastSnapshot(saving.folder.path)

        def logic(output: OutputPort) -> None:
            if token.live:
                is_last = written.frontier == COMPLETE and last.is_there()  # asked before the look at what has appeared
                if delivery.step():
                    context.activate_after(_SOON_NS)  # not at once: a snapshot needs a moment in which nothing is due
                elif is_last:
                    token.drop()
                else:
                    context.activate_after(_LOOK_NS)

        return logic

    builder.build(construct)
    return written


class _LastSnapshot:
    """The snapshot that has all results: the end of the run waits for it."""

    def __init__(self, job: Path) -> None:
        self._wanted = Wanted(job)
        self._asked_ns = 0
        self._is_there = False

    def is_there(self) -> bool:
        """Whether it is there; it is asked for if it was not yet, and again if it could not be taken."""
        told = self._wanted.told() if self._asked_ns else None
        if told is not None and "number" in told:
            self._wanted.forget()
            self._is_there = True
        elif not self._is_there and (told is not None or not self._asked_ns):
            if monotonic_ns() >= self._asked_ns + _AGAIN_NS:
                self._wanted.forget()
                self._wanted.ask()
                self._asked_ns = monotonic_ns()
        return self._is_there


class _Delivery:
    """What brings files that have appeared into the table."""

    def __init__(
        self, table: DatabaseTable, marked: DatabaseTable, folder: Path, sink: str, saving: Saving, schema: Schema
    ) -> None:
        self._table, self._marked, self._schema = table, marked, schema
        self._folder, self._sink, self._saving = folder, sink, saving
        self._where = f"job = {_text(saving.job)} AND sink = {_text(sink)}"

    def begin(self) -> None:
        """Make the tables, if they are not there. RecoveryError for a table that is not as this job has left it, and
        for rows of other columns that wait."""
        self._require_same_columns()
        self._table.prepare()
        self._marked.prepare()
        first = f"INSERT INTO {self._marked.sql} VALUES ({_text(self._saving.job)}, {_text(self._sink)}, 0, 0)"
        if self._position() is None:
            with self._marked.transaction(keeps=False) as cursor:
                cursor.execute(first)
            if self._position() is not None:
                raise UsageError(
                    f"operator {self._sink!r}: the connection to the database commits each statement by itself, so "
                    f"rows could come twice: let the function that connects turn that off (autocommit=False)"
                )
            with self._marked.transaction() as cursor:
                cursor.execute(first)
        snapshot, _ = self._position() or (0, 0)
        resumed = 0 if self._saving.resumed is None else self._saving.resumed.number
        inserted = inserted_until(self._folder)
        if snapshot > resumed or snapshot < inserted:
            raise RecoveryError(
                f"operator {self._sink!r}: {self._marked.name!r} says that table {self._table.name!r} has the results "
                f"up to snapshot {snapshot} of job {self._saving.job}; this run goes on from snapshot {resumed}, and "
                f"has inserted up to {inserted}: put both tables back to what they were, or begin anew in another "
                f"folder"
            )

    def _require_same_columns(self) -> None:
        wanted = self._schema.to_arrow()
        for path in sorted(self._folder.glob("part-*.arrow")):
            waiting = _opened(path).schema
            if not waiting.equals(wanted):
                raise RecoveryError(
                    f"operator {self._sink!r}: rows ({', '.join(waiting.names)}) wait in {path} to be inserted, and "
                    f"this program's are ({', '.join(wanted.names)}), of other kinds or columns: let the program that "
                    f"they are of run until they are in, or call this sink otherwise by name="
                )

    def step(self) -> bool:
        """Insert some of what has appeared, in one transaction, and remove what is in; False if there is nothing."""
        parts = defaultdict(list)
        for path in sorted(self._folder.glob("part-*.arrow")):
            parts[int(path.name.split("-")[1])].append(path)
        number = min(parts, default=0)
        if not parts or number > self._saving.folder.whole:
            self._table.close()  # others may need the database; DuckDB's has one process at a time
            self._marked.close()
            return False
        if number > inserted_until(self._folder) and not self._insert(number, parts[number]):
            return True
        say_inserted(self._folder, number)  # first, since rows are counted as they stand in all files
        for path in parts[number]:
            path.unlink()
        return True

    def _insert(self, number: int, paths: list[Path]) -> bool:
        """Insert the next rows of a snapshot; whether those were the last."""
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


def _read(paths: list[Path]) -> "pa.Table":
    import pyarrow as pa

    return pa.concat_tables([_opened(path).read_all() for path in paths])


def _opened(path: Path) -> "pa.ipc.RecordBatchFileReader":
    """Mapped as a buffer: as a file, Arrow would read it by threads, which do not go well with later forks."""
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(str(path)).read_buffer())


def _text(value: str) -> str:
    """A text as SQL has it."""
    doubled = value.replace("'", "''")
    return f"'{doubled}'"
