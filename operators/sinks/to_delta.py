"""to_delta: a stream's rows in a Delta table, in whole commits; under recovery each of them exactly once.

All workers write rows to Arrow files, which worker 0 has a process append. Without recovery that is one commit, when
the stream has ended on all workers. Under recovery it is one for each snapshot with results, which carries an
application transaction of Delta's: the job and the sink, and as its version the snapshot's number. A version that is
there is not committed again.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from urllib.parse import quote

from tokenring.engine import (
    COMPLETE,
    Batch,
    InputPort,
    OperatorContext,
    OperatorError,
    OutputPort,
    Probe,
    Route,
    Schema,
    Stream,
    Token,
    WhenStopped,
)
from tokenring.engine.whole_files import given
from tokenring.operators.migrate import saving_of
from tokenring.operators.recovery import Saving
from tokenring.operators.sinks.delivery import NOTHING, deliver_to, to_first
from tokenring.operators.sinks.delta_table import DeltaTable
from tokenring.operators.sinks.part_files import ArrowPart
from tokenring.operators.sinks.publication import (
    Commit,
    PartWriter,
    checked_commit,
    make_beside,
    require_outside_loops,
    write_parts,
)

_LOOK_NS = 20_000_000
"""Between two looks whether a commit is done."""
_ROWS_AT_ONCE = 1 << 16
_LONGEST_NAME = 255
"""Of a file, in bytes."""


def to_delta(
    stream: Stream,
    table: str | Path,
    *,
    partition_by: str | Sequence[str] = (),
    storage_options: Mapping[str, str] | None = None,
    commit: Commit = "snapshot",
    name: str = "to_delta",
) -> Probe:
    """Append the stream's rows to a Delta table, in the columns of their names. Needs the extra `delta`.

    table: a folder, or a URI that deltalake knows, "s3://...", with its storage_options. The table is made if it is not
    there, without rows, partitioned by columns if some are said; one that is there may have more columns, which become
    null. Timestamps are instants in microseconds.

    Rows appear in one commit, of all workers, once the stream has ended on all of them: a run that fails before leaves
    the rows of the table as they were. What does not end appears when it is finished or stopped. The probe is done once
    the commit is. Under recovery each snapshot with results is a commit of its own, behind it, and each row is there
    exactly once; the run ends when all are in. The probe then says how far the run is. commit="finished": one as soon
    as times are finished, if no other is under way; see `to_database`.

    Memory: 65,536 rows, and of worker 0's process what deltalake takes; until the commit the rows are on the disk,
    hidden beside the folder (of a URI, in the folder for temporary files; under recovery, in the job's). GraphError in
    a loop; SchemaError for uint64, for columns that the table lacks or has of another type, and for bytes that it is
    partitioned by, which deltalake reads back as others; OperatorError, naming sink and table, for what deltalake
    raises, for times with a fraction of a microsecond, and, in `partition_by`, for decimals below 0 with a fraction,
    values of more than some 250 characters in a folder, and empty texts (a table that was partitioned before has null
    for those).
    """
    saving: Saving | None = saving_of(stream.scope)
    finished = checked_commit(commit, name, saving is not None)
    delta = DeltaTable(table, stream.schema, name, partition_by, storage_options or {})
    if saving is None:
        return _append_at_end(stream, delta, name)
    sink = saving.sink(name, delta.uri, finished)
    appending = _Appending(delta, sink, saving.job)
    return deliver_to(appending, stream, name, sink, delta.uri, _parts(delta, name), saving, finished)


def _parts(delta: DeltaTable, name: str) -> Callable[[Path, Schema], PartWriter]:
    return lambda path, schema: _DeltaPart(path, delta, name)


class _DeltaPart(ArrowPart):
    """A part with times in microseconds: what Delta does not have is told of before it is in any snapshot."""

    def __init__(self, path: Path, delta: DeltaTable, name: str) -> None:
        import pyarrow as pa

        self._schema, self._name = delta.arrow_schema(), name
        self._partition_by, self._is_local = delta.partition_by, delta.is_local
        super().__init__(pa.ipc.new_file(path, self._schema), _ROWS_AT_ONCE)

    def put(self, batch: Batch) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        rows = batch.to_arrow()
        columns = []
        for column, field in zip(rows.columns, self._schema, strict=True):
            try:
                columns.append(column.cast(field.type))
            except pa.ArrowInvalid as error:
                raise OperatorError(
                    f"operator {self._name!r}: column {field.name!r}: {error}; Delta tables have microseconds: round "
                    f'the column to such, or .cast("int64") it'
                ) from None
            if field.name in self._partition_by:
                for value in pc.unique(columns[-1]).to_pylist():
                    if unfit := _unfit(field.name, value, self._is_local):
                        raise OperatorError(f"operator {self._name!r}: column {field.name!r} has {unfit}")
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))


def _unfit(column: str, value: Any, is_local: bool) -> str:
    """Why no table is partitioned by this value of a column, and the cure; "" if it may be. is_local: whether there is
    a folder of this machine's for each value."""
    if value == "":
        return (
            "an empty text, and Delta tables have null for that in columns that they are partitioned by: filter such "
            "rows, or say another text"
        )
    if isinstance(value, Decimal) and value < 0 and value % 1:
        return (
            f"{value}, and deltalake fails at decimals below 0 with a fraction in columns that tables are partitioned "
            f'by: .cast("string") it, or partition by another column'
        )
    text = f"{Decimal(repr(value)):f}" if isinstance(value, float) else str(value)
    if is_local and len(quote(column + text, safe="")) >= _LONGEST_NAME:  # and a "=" between the two
        return (
            f"{text[:20]}..., of {len(text)} characters, and a table has a folder for each value of columns that it is "
            f"partitioned by, with a name of {_LONGEST_NAME} bytes at most: partition by less of it, or another column"
        )
    return ""


def _append_at_end(stream: Stream, delta: DeltaTable, name: str) -> Probe:
    require_outside_loops(stream, name)
    target = Path(delta.uri) if delta.is_local else Path(gettempdir()) / quote(delta.uri, safe="")[-100:]
    make_beside(target, name)
    writer = _parts(delta, name)
    written = write_parts(stream, target, name, lambda path, schema, _: writer(path, schema))

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        context.when_stopped(WhenStopped.ENDS)
        paths: list[tuple[int, str]] = []
        held: list[Token] = []

        def let_go() -> None:
            delta.close()
            for _, path in paths:
                given(path)
                Path(path).unlink(missing_ok=True)

        if context.worker_index == 0:
            delta.prepare()
            context.when_released(let_go)

        def logic(parts: InputPort, output: OutputPort) -> None:
            for reference, batch in parts:
                if not held:
                    held.append(reference.retain())
                paths.extend(zip(batch["worker"].tolist(), batch["path"].tolist(), strict=True))
            if parts.frontier == COMPLETE and held:
                if not delta.is_appending:
                    delta.begin_append([path for _, path in sorted(paths)])
                if delta.has_appended():
                    held.pop().drop()
                else:
                    context.activate_after(_LOOK_NS)

        return logic

    return written.unary(f"{name}.commit", NOTHING, construct, Route(to_first)).probe()


class _Appending:
    """Appends the rows of snapshots to the table: a Destination."""

    def __init__(self, delta: DeltaTable, sink: str, job: str) -> None:
        self._delta = delta
        self._transaction = f"tokenring-{job}-{sink}"
        self.says = f"transaction {self._transaction!r} of Delta table {delta.uri} says that it"
        self.cure = "put the table's folder back to what it was"
        self.again_ns = _LOOK_NS
        self.parts = delta.arrow_schema()
        self.at_once = True

    def prepare(self) -> int:
        """Make the table, if it is not there."""
        return self._delta.prepare(self._transaction)

    def take(self, number: int, paths: Sequence[Path]) -> bool:
        """Append a snapshot's rows; whether they are in."""
        if not self._delta.is_appending:
            self._delta.begin_append(paths, self._transaction, number)
        return self._delta.has_appended()

    def rest(self) -> None:
        """Nothing is kept between commits."""
        self._delta.close()
