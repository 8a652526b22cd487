"""Sinks that keep rows on the worker: all of them, or the latest of each key."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine import (
    COLUMN,
    COMPLETE,
    TABLE,
    Batch,
    GraphError,
    InputPort,
    Notify,
    OperatorContext,
    Schema,
    SchemaError,
    Stream,
    Time,
    UsageError,
    int64,
    kernel,
    void,
)
from tokenring.engine.columns import free_name, require_same_schema
from tokenring.engine.compiled import Compiled, Words
from tokenring.operators.migrate import Leaving, Staying, Table, has_bins, offer, saving_of, state_moves
from tokenring.operators.state import Keys, RowStore, grown, require_newest
from tokenring.operators.time import require_total_order

if TYPE_CHECKING:
    import pyarrow as pa

    from tokenring.engine.columns import ArrowRows

_KEY = Schema("key")
_TIME = "#time"


class RowsKept(list[str]):
    """The names of a dataflow's sinks that keep rows."""


@contextmanager
def _named(operator: str) -> Iterator[None]:
    """Within the block a value that Arrow cannot hold is told with the operator that keeps it."""
    try:
        yield
    except SchemaError as error:
        raise SchemaError(f"operator {operator!r}: {error}") from None


class Collected:
    """The rows that reached a sink on this worker, in the order of arrival; complete once the dataflow is."""

    _operator = "collect"

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._pieces: list[Batch] = []
        self._rows = 0
        self._read: Callable[[], Batch] | None = None
        self._write: Callable[[Any], None] | None = None
        self._out: ArrowRows | None = None

    def follow(self, read: Callable[[], Batch]) -> None:
        """Be the rows that `read` says, instead of those that are added."""
        self._read = read

    @contextmanager
    def written_by(self, write: Callable[[Any], None]) -> Iterator[None]:
        """Within the block rows are not kept but handed on as they come, as record batches of Arrow's: `write` is done
        with one when it returns. All have been when the block is left without an error."""
        self._write = write
        if self._read is None:
            from tokenring.engine.columns import ArrowRows

            self._out = ArrowRows(self.schema, write)
            for piece in self._pieces:
                self._out.add(piece)
            self._pieces = []
        try:
            yield
            if self._out is not None:
                with _named(self._operator):
                    self._out.hand_on()
            elif self._read is not None:
                self.hand_on(self._read())
        finally:
            self._write = self._out = None

    def hand_on(self, rows: Batch) -> bool:
        """Hand rows on, if they are handed on at all; whether they are."""
        if self._write is None:
            return False
        if rows.rows:
            self._write(self._to_arrow(rows))
        return True

    def __len__(self) -> int:
        return self._read().rows if self._read is not None else self._rows

    def add(self, batch: Batch) -> None:
        """Keep a copy of rows, or hand them on. SchemaError for those of another schema."""
        require_same_schema(batch, self.schema)
        self._rows += batch.rows
        if self._out is None:
            self._pieces.append(batch.copy())
        else:
            self._out.add(batch)

    def batch(self) -> Batch:
        """All rows as one batch."""
        if self._read is not None:
            return self._read()
        pieces = self._pieces or [Batch(self.schema, {name: [] for name in self.schema.names})]
        self._pieces = [Batch.concatenate(pieces)]
        return self._pieces[0]

    def columns(self) -> dict[str, Any]:
        """All rows by column: name -> what `batch[name]` is for its kind, of shape (rows,)."""
        rows = self.batch()
        return {name: rows[name] for name in self.schema.names}

    def to_arrow(self) -> "pa.Table":
        """All rows as a pyarrow table, with `schema.to_arrow()`."""
        import pyarrow as pa

        return pa.Table.from_batches([self._to_arrow(self.batch())])

    def _to_arrow(self, rows: Batch) -> "pa.RecordBatch":
        with _named(self._operator):
            return rows.to_arrow()

    def to_pandas(self) -> Any:
        """All rows as a pandas.DataFrame, as pyarrow makes one: integers with nulls become floats, text objects."""
        return self.to_arrow().to_pandas(use_threads=False)

    def to_polars(self) -> Any:
        """All rows as a polars.DataFrame. UsageError where polars, which nothing here needs, is not installed."""
        name = "polars"
        try:
            polars = import_module(name)
        except ImportError:
            raise UsageError("to_polars() needs polars: pip install polars, or take to_arrow()") from None
        return polars.from_arrow(self.to_arrow())


def collect(stream: Stream, name: str = "collect") -> Collected:
    """Keep every row that arrives on this worker. Memory: all of them, but in what `gather` and `run` gather, which are
    handed on as they come; use it for small results and tests. GraphError under recovery."""
    if saving_of(stream.scope) is not None:
        raise GraphError(
            f"operator {name!r} keeps all rows in a worker, and under recovery they would be lost with it: end in "
            f"to_parquet(folder), to_arrow_files or to_json_lines, whose files appear with snapshots, or in latest; or "
            f"run without recovery="
        )
    schema = stream.schema
    stream.scope.kept(RowsKept).append(repr(name))
    collected = Collected(schema)
    collected._operator = name
    if stream.scope.depth == 1 and not schema.has_text:

        def compiled(context: OperatorContext) -> Compiled:
            from tokenring.operators.sinks.kept_rows import compiled_rows

            made, read = compiled_rows(schema, collected.hand_on)
            collected.follow(read)
            return made

        builder = stream.operator(name, Notify.NEVER)
        builder.input(stream)
        builder.build_compiled(compiled)
        return collected

    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        def logic(rows: InputPort) -> None:
            for _, batch in rows:
                collected.add(batch)

        return logic

    stream.sink(name, construct, notify=Notify.NEVER)
    return collected


@kernel(void(TABLE, int64, COLUMN, COLUMN))
def _put_column(rows: Words, at: int, slots: Words, column: Words) -> None:
    for i in range(len(column)):
        rows[slots[i], at] = column[i]


class Latest:
    """The latest row of each key that reached a sink on this worker."""

    _operator = "latest"

    def __init__(self, names: tuple[str, ...], schema: Schema | None = None, key: str = "") -> None:
        """schema: of rows whose columns, of these names, are not all int64; with texts, `key` is the key's."""
        self.names = names
        self._schema = Schema.of(dict.fromkeys(names, "int64")) if schema is None else schema
        keys = self._schema.select((key,)) if self._schema.has_text else _KEY
        self._keys = Keys(keys, keys.names)
        self._texts = RowStore(self._schema) if self._schema.has_text else None
        self._rows = np.zeros((self._keys.capacity, 0 if self._texts else len(names)), np.int64)
        self._times = np.zeros(0, np.int64)  # by slot, where rows are told apart by their messages' times
        self._read: Callable[[], tuple[np.ndarray, ...]] | None = None

    def follow(self, read: Callable[[], tuple[np.ndarray, ...]]) -> None:
        """Be what `read` says, the columns in the order of `names`, instead of what is put."""
        self._read = read

    def put(
        self, keys: np.ndarray, columns: tuple[np.ndarray, ...], time: Time | np.ndarray | None = None
    ) -> None:
        """Replace rows by key, but those of a later time than `time`, of all or of each, if that is said; of equal keys
        within the call, the last one stays."""
        slots = self._keys.slots_of(keys)
        self._rows = grown(self._rows, self._keys.limit, axis=0)
        newer = self._newer(slots, time)
        if newer is not None:
            slots, columns = slots[newer], tuple([column[newer] for column in columns])
        for at, column in enumerate(columns):
            _put_column(self._rows, at, slots, column.view(np.int64))

    def put_rows(self, batch: Batch, position: int, time: Time | np.ndarray | None) -> None:
        """The same of a batch, whose key is the column of that number."""
        if self._texts is None:
            self.put(batch.columns[position].view(np.int64), batch.columns, time)
            return
        slots, rows = self._keys.slots(batch), np.arange(batch.rows)
        newer = self._newer(slots, time)
        if newer is not None:
            slots, rows = slots[newer], rows[newer]
        self._texts.put(slots, batch, rows)

    def _newer(self, slots: np.ndarray, time: Time | np.ndarray | None) -> np.ndarray | None:
        """The rows that are of no earlier time than those they replace, bool (rows,), which is noted."""
        if time is None:
            return None
        self._times = grown(self._times, self._keys.limit)
        newer: np.ndarray = self._times[slots] <= time
        self._times[slots[newer]] = np.broadcast_to(time, len(slots))[newer]
        return newer

    def _clear(self) -> None:
        """Forget all rows."""
        if self._texts is not None:
            self._texts.drop(np.arange(self._keys.limit))
        self._keys.clear()
        self._times[:] = 0

    @property
    def _times_of_rows(self) -> np.ndarray:
        """The times of the rows' messages, where they are told apart by them: int64 (rows,)."""
        self._times = grown(self._times, self._keys.limit)
        return self._times[: self._keys.limit]

    def batch(self) -> Batch:
        """The rows as one batch, in the order in which keys first appeared."""
        if self._texts is not None:
            return self._texts.batch(np.arange(self._keys.limit))
        limit = self._keys.limit
        found = [self._rows[:limit, at] for at in range(len(self.names))] if self._read is None else self._read()
        kept = [column.copy().view(dtype) for column, dtype in zip(found, self._schema.dtypes, strict=True)]
        return Batch.wrap(self._schema, tuple(kept), len(kept[0]))

    def columns(self) -> dict[str, Any]:
        """The rows, in the order in which keys first appeared: name -> what `batch[name]` is for its kind."""
        rows = self.batch()
        return {name: rows[name] for name in self.names}

    def to_arrow(self) -> "pa.Table":
        """The rows as a pyarrow table."""
        import pyarrow as pa

        with _named(self._operator):
            return pa.Table.from_batches([self.batch().to_arrow()])


def latest(stream: Stream, key: str, name: str = "latest") -> Latest:
    """Keep the latest row of each key that arrives on this worker (exchange by the key first if keys are spread).
    Memory: one row a key. GraphError in a loop: rows of several epochs come in no order there. Where state moves by
    bins, and under recovery, a key's rows may come from several workers, in any order: there they are exchanged by key,
    whose worker stays, and the latest is the last to arrive of those with the latest message time. Of updates, such as
    a running count, one that comes later may have an earlier time: it is the last to arrive of them; by bins, which
    have that come from several workers, GraphError.

    key: one column. Results by several come once each by emit="final" where they are made.

    Under recovery it has each key's row of all rows that were ever read, whatever dies, once the run has ended.
    """
    require_total_order(name, stream.scope)
    given: Any = key
    column: Any = tuple(given) if isinstance(given, list) else given
    names = given.split() if isinstance(given, str) else column
    if isinstance(names, list | tuple) and len(names) > 1 and column not in stream.schema.names:
        raise SchemaError(
            f"operator {name!r}: {stream.schema.missing(column)}; results by several come once, by emit='final' where "
            f"they are made; of rows, last_by(..., order=) takes several"
        )
    position = stream.schema.position(column, f"operator {name!r}")
    require_newest(name, stream, (key,), by_time=has_bins(stream.scope))
    stream.scope.kept(RowsKept).append(repr(name))
    kept = Latest(stream.schema.names, stream.schema, key)
    kept._operator = name
    moves = has_bins(stream.scope) or saving_of(stream.scope) is not None
    by_time = has_bins(stream.scope) or (moves and stream.updates is None)
    builder = stream.operator(name, Notify.NEVER)
    builder.input(stream, Staying(key) if moves else None)
    time = free_name(_TIME, stream.schema.positions)
    table = Table(Schema.of(stream.schema.spec() | {time: "int64"}), (key,))
    state_moves(builder, [table])
    if not stream.schema.has_text and not moves:

        def compiled(context: OperatorContext) -> Compiled:
            from tokenring.operators.sinks.kept_rows import compiled_latest

            made, read = compiled_latest(len(kept.names), position)
            kept.follow(read)
            return made

        builder.build_compiled(compiled)
        return kept

    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        offer(_MovingLatest(kept, table, position))

        def logic(rows: InputPort) -> None:
            for reference, batch in rows:
                kept.put_rows(batch, position, reference.time if by_time else None)

        return logic

    builder.build(construct)
    return kept


class _MovingLatest:
    """The rows of a `Latest`, and their messages' times, as state that is saved."""

    def __init__(self, latest: Latest, table: Table, position: int) -> None:
        """position: of the key among the rows' columns."""
        self._latest, self._table, self._position = latest, table, position

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """See Moves."""
        rows, schema = self._latest.batch(), self._table.schema
        columns = *rows.columns, self._latest._times_of_rows
        kept = Batch.wrap(schema, columns, rows.rows, (*rows.heaps, None) if schema.has_text else (), rows).copy()
        leaves = leaving.rows(kept, self._table.key)
        if leaves.any():
            self._latest._clear()
            self.put_in([kept.filter(~leaves)])
        return [kept.filter(leaves)]

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """See Moves."""
        (table,) = tables
        self._latest.put_rows(table.select(self._latest.batch().schema), self._position, table.columns[-1])
        return COMPLETE
