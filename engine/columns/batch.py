"""Batches: what travels on an edge, equal-length columns under a fixed schema."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine.columns.arrow import column_to, record_batch
from tokenring.engine.columns.convert import to_column
from tokenring.engine.columns.from_arrow import Dictionaries
from tokenring.engine.columns.kinds import Kind
from tokenring.engine.columns.offered import columns_of, table_of
from tokenring.engine.columns.schema import Schema, require_schema
from tokenring.engine.columns.strings import Strings, join_texts, lasts
from tokenring.engine.columns.text_kernels import text_bytes
from tokenring.engine.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

Heaps = tuple[np.ndarray | None, ...]
"""A heap for each column of text, None for others; () where a schema has no text."""


class Batch:
    """Equal-length columns. `batch["price"]` is what users see of one, of shape (rows,):

    int64, uint64, float64: a numpy array; with nulls a masked array (float64?: NaN where null). bool: a numpy bool
    array. timestamp: datetime64[ns], date: datetime64[D] (NaT where null). decimal: an array of decimal.Decimal (None
    where null). string, bytes: engine.Strings.

    Columns are read-only, and an array that was made one is so too. Batches, and what `batch[...]` gives, may be kept:
    they have or get bytes of their own. `words` (8-byte words, see `Kind`) and `view` do not: of a batch
    that came through a queue they are views that turn into other rows after the operator's call.
    """

    __slots__ = ("columns", "heaps", "lent", "rows", "schema")

    def __init__(self, schema: Schema, columns: Mapping[str, Any] | Any) -> None:
        """Check and wrap columns (converted to the schema's kinds where that loses nothing): arrays, sequences, masked
        arrays, Strings, and what offers itself as Arrow (columns of Arrow, pandas and Polars); or a table of them.
        """
        require_schema("Batch", schema)
        if not isinstance(columns, Mapping):
            columns = columns_of(columns)
        if set(columns) != set(schema.names):
            wrong = [f"{name!r} is missing" for name in schema.names if name not in columns]
            wrong += [f"{name!r} is too much" for name in columns if name not in schema.positions]
            raise SchemaError(
                f"columns {', '.join(map(str, columns))} given where {', '.join(schema.names)} are expected: "
                f"{' and '.join(wrong)}"
            )
        arrays, heaps = [], []
        for name, kind in zip(schema.names, schema.kinds, strict=True):
            array, heap = to_column(name, kind, columns[name])
            arrays.append(_settled(array))
            heaps.append(heap)
            if len(array) != len(arrays[0]):
                raise SchemaError(f"column {name!r} has {len(array)} rows, {schema.names[0]!r} has {len(arrays[0])}")
        self.schema = schema
        self.columns: tuple[np.ndarray, ...] = tuple(arrays)
        """Words: contiguous arrays of the schema's dtypes."""
        self.heaps: Heaps = tuple(heaps) if schema.has_text else ()
        self.rows = len(arrays[0])
        self.lent: list[Batch] | None = None
        """Those whose bytes are given back after the operator's call, itself among them; None: they are its own."""

    @classmethod
    def wrap(
        cls,
        schema: Schema,
        columns: tuple[np.ndarray, ...],
        rows: int,
        heaps: Heaps = (),
        of: "Batch | None" = None,
    ) -> "Batch":
        """A batch of words known to fit (contiguous, right dtypes, `rows` long): nothing is checked. A schema with text
        needs `heaps`. `of` is the batch of which it shares columns or heaps, if it does.
        """
        batch = cls.__new__(cls)
        batch.lent = None
        if of is not None and of.lent is not None:
            batch.lend(of.lent)
        batch.schema = schema
        batch.columns = columns
        batch.heaps = heaps
        batch.rows = rows
        return batch

    @classmethod
    def from_arrow(cls, schema: Schema, source: "pa.Table | pa.RecordBatch | Any") -> "Batch":
        """The columns that the schema names of an Arrow table or record batch, or of what offers itself as one; others
        are left out; text and numbers without nulls are not copied. SchemaError where a column is missing or does not
        fit.
        """
        require_schema("from_arrow", schema)
        return batch_from_arrow(schema, source)

    def __getitem__(self, name: str) -> Any:
        schema = self.schema
        try:
            position = schema.positions[name]
        except (KeyError, TypeError):
            schema.position(name)
            raise
        words = self.columns[position]
        if self.lent is not None:
            words = self._own(position)
        elif words.flags.writeable:
            words.flags.writeable = False  # it is shared with all who read the stream
        return words if schema.is_plain else _seen(schema.kinds[position], words, self._heap(position))

    def view(self, name: str) -> Any:
        """`batch[name]` without the copy that makes it safe to keep: good until the operator's call ends."""
        position = self.schema.position(name)
        words = self.words(name)
        return words if self.schema.is_plain else _seen(self.schema.kinds[position], words, self._heap(position))

    def words(self, name: str) -> np.ndarray:
        """A column's words: int64, uint64 or float64 of shape (rows,), good until the operator's call ends. Timestamps
        are ns since 1970, dates days; decimals whole numbers of their last digit.
        """
        words = self.columns[self.schema.position(name)]
        if words.flags.writeable:
            words.flags.writeable = False
        return words

    def lend(self, lent: "list[Batch]") -> None:
        """Its bytes are given back after the operator's call: be one of those that are then asked to `keep` them."""
        self.lent = lent
        lent.append(self)

    def keep(self) -> None:
        """Have bytes of its own: those it has are given back (done by the engine, for who is still there)."""
        for position in range(len(self.columns)):
            self._own(position)
        self.lent = None

    def _own(self, position: int) -> np.ndarray:
        """A column's words as its own, so that they may be kept."""
        words, heap = self.columns[position], self._heap(position)
        if heap is not None and not heap.flags.owndata and not lasts(words, heap):
            text = Strings(words, heap).compact()
            words = text.words
            self.heaps = (*self.heaps[:position], text.heap, *self.heaps[position + 1 :])
        elif not words.flags.owndata:
            words = words.copy()
        if words.flags.writeable:
            words.flags.writeable = False
        self.columns = (*self.columns[:position], words, *self.columns[position + 1 :])
        return words

    def nulls(self, name: str) -> np.ndarray:
        """Where a column is null: bool of shape (rows,)."""
        position = self.schema.position(name)
        return self.schema.kinds[position].nulls(self.columns[position])

    def arrow(self, name: str) -> Any:
        """A column as a pyarrow array, for pyarrow.compute. SchemaError for a sum of more digits than a decimal has."""
        position = self.schema.position(name)
        self._own_numbers(position)
        return column_to(name, self.schema.kinds[position], self.columns[position], self._heap(position))

    def to_arrow(self) -> "pa.RecordBatch":
        """All columns, with the schema's `to_arrow()`."""
        for position in range(len(self.columns)):
            self._own_numbers(position)
        return record_batch(self)

    def _own_numbers(self, position: int) -> None:
        """Have a column as one's own before Arrow refers to it; of texts it makes a copy itself."""
        if self.lent is not None and self._heap(position) is None:
            self._own(position)

    @property
    def row_bytes(self) -> int:
        """What its rows take: 8 bytes a value, and its texts, one that repeats the one before it once."""
        total = 8 * self.rows * len(self.columns)
        if self.heaps:
            kinds = zip(self.schema.kinds, self.columns, strict=True)
            total += sum([int(text_bytes(words)) for kind, words in kinds if kind.is_text])
        return total

    def _heap(self, position: int) -> np.ndarray | None:
        return self.heaps[position] if self.heaps else None

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[np.ndarray]:
        return map(self.words, self.schema.names)

    def take(self, chosen: np.ndarray | Sequence[int]) -> "Batch":
        """The rows of these numbers (any integers below `rows`), in that order. SchemaError for what is no number of a
        row."""
        if not isinstance(chosen, np.ndarray):
            chosen = np.array(chosen, None if len(chosen) else np.int64)
        if chosen.dtype.kind not in "iu" or chosen.ndim != 1:
            raise SchemaError(
                f"take() is given {chosen.dtype} of shape {chosen.shape}, and takes rows' numbers, integers of shape "
                f"(rows,); say filter(mask) of bool, and np.flatnonzero(mask) of anything else"
            )
        try:
            return self._take(chosen)
        except IndexError:
            far = int(chosen[(chosen >= self.rows) | (chosen < -self.rows)][0])
            raise SchemaError(f"take() is given row {far} of a batch of {self.rows} rows, which begin with 0") from None

    def _take(self, chosen: np.ndarray) -> "Batch":
        columns = tuple([words[chosen] for words in self.columns])
        return Batch.wrap(self.schema, columns, len(chosen), self.heaps, self if self.heaps else None)

    def filter(self, chosen: np.ndarray | Sequence[bool]) -> "Batch":
        """The rows where `chosen`, bool of shape (rows,), is true; the batch itself if all are. SchemaError for what is
        no such mask."""
        if not isinstance(chosen, np.ndarray):
            chosen = np.array(chosen, None if self.rows else np.bool_)
        if chosen.dtype.kind != "b" or chosen.shape != (self.rows,):
            raise SchemaError(
                f"a mask of {chosen.dtype} and shape {chosen.shape} for {self.rows} rows; make it of this batch's "
                f"columns, bool of shape (rows,), as batch['x'] > 0 is; rows by number are chosen by take(numbers)"
            )
        rows = np.flatnonzero(chosen)  # once: to look for them anew in each column takes longer than to take them
        return self if len(rows) == self.rows else self._take(rows)

    def slice(self, start: int, stop: int) -> "Batch":
        """Rows start to stop - 1, without copying."""
        columns = tuple([words[start:stop] for words in self.columns])
        return Batch.wrap(self.schema, columns, len(columns[0]), self.heaps, self)

    def select(self, schema: Schema) -> "Batch":
        """The columns of `schema` alone, without copying. SchemaError for a column that is not there, or of another
        kind: `Batch(schema, {...})` converts."""
        require_schema("select", schema)
        try:
            positions = [self.schema.positions[name] for name in schema.names]
        except KeyError:
            self.schema.select(schema.names)
            raise
        if tuple([self.schema.kinds[position] for position in positions]) != schema.kinds:
            raise self._other_kinds(schema)
        columns = tuple([self.columns[position] for position in positions])
        heaps = tuple([self.heaps[position] for position in positions]) if schema.has_text else ()
        return Batch.wrap(schema, columns, self.rows, heaps, self)

    def _other_kinds(self, schema: Schema) -> SchemaError:
        """The error for columns that a schema has of other kinds."""
        name = next(name for name in schema.names if schema.kind(name) != self.schema.kind(name))
        return SchemaError(
            f"column {name!r} is {self.schema.kind(name)}, not {schema.kind(name)}, and select() converts nothing: say "
            f"Batch(schema, {{name: batch[name] for name in schema.names}}), which does where nothing is lost"
        )

    def copy(self) -> "Batch":
        """A batch that owns its columns, and no more text than it needs; none where that lasts anyway."""
        if not self.heaps:
            return Batch.wrap(self.schema, tuple([column.copy() for column in self.columns]), self.rows)
        columns, heaps = [], []
        for words, heap in zip(self.columns, self.heaps, strict=True):
            if heap is None or lasts(words, heap):
                columns.append(words.copy())
                heaps.append(heap)
            else:
                own = Strings(words, heap).compact()
                columns.append(own.words)
                heaps.append(own.heap)
        return Batch.wrap(self.schema, tuple(columns), self.rows, tuple(heaps))

    @classmethod
    def concatenate(cls, batches: Sequence["Batch"]) -> "Batch":
        """The rows of one or more batches of one schema, in order; a single batch is itself. SchemaError for batches of
        several schemas, or none."""
        if not batches:
            raise SchemaError("no batch is given, and so no schema; of no rows is Batch(schema, {name: [], ...})")
        schema = batches[0].schema
        if len(batches) == 1:
            return batches[0]
        for batch in batches:
            require_same_schema(batch, schema)
        rows = sum([batch.rows for batch in batches])
        if not schema.has_text:
            parts = zip(*[batch.columns for batch in batches], strict=True)
            return cls.wrap(schema, tuple([np.concatenate(part) for part in parts]), rows)
        columns: list[np.ndarray] = []
        heaps: list[np.ndarray | None] = []
        for position, kind in enumerate(schema.kinds):
            heap = None
            if kind.is_text:
                words, heap = join_texts([(one.columns[position], _present(one.heaps[position])) for one in batches])
            else:
                words = np.concatenate([batch.columns[position] for batch in batches])
            columns.append(words)
            heaps.append(heap)
        return cls.wrap(schema, tuple(columns), rows, tuple(heaps), batches[0])  # a heap that all share stays

    def __repr__(self) -> str:
        return f"Batch({self.rows} rows of {', '.join(self.schema.names)})"


def require_same_schema(batch: Batch, schema: Schema) -> None:
    """SchemaError for a batch of another schema."""
    if batch.schema is not schema and batch.schema != schema:
        raise SchemaError(
            f"a batch of {batch.schema!r} does not go with {schema!r}; select(schema) puts columns in order, and "
            f"Batch(schema, {{name: batch[name] for name in schema.names}}) converts"
        )


def batch_from_arrow(schema: Schema, source: Any, dictionaries: Dictionaries | None = None) -> Batch:
    """`Batch.from_arrow`, of what a reader with these dictionaries reads."""
    source = table_of(source)
    columns, heaps = [], []
    for name, kind in zip(schema.names, schema.kinds, strict=True):
        if name not in source.schema.names:
            raise SchemaError(f"no column {name!r}; Arrow's columns are {', '.join(source.schema.names)}")
        words, heap = to_column(name, kind, source.column(name), dictionaries)
        columns.append(words)
        heaps.append(heap)
    return Batch.wrap(schema, tuple(columns), source.num_rows, tuple(heaps) if schema.has_text else ())


def _settled(array: np.ndarray) -> np.ndarray:
    """A user's array as a column: read-only from now on, or a copy where others could still write to its bytes."""
    if array.flags.owndata:
        array.flags.writeable = False
    elif array.flags.writeable or (isinstance(array.base, np.ndarray) and array.base.flags.writeable):
        array = array.copy()
        array.flags.writeable = False
    return array


def _present(heap: np.ndarray | None) -> np.ndarray:
    assert heap is not None
    return heap


def _seen(kind: Kind, words: np.ndarray, heap: np.ndarray | None) -> Any:
    """What users see of a column."""
    if heap is not None:
        return Strings(words, heap, kind.name == "string")
    if kind.seen:
        return words.view(kind.seen)
    if kind.is_exact:
        from tokenring.engine.columns.exact import values_of

        return values_of(kind, words)
    values: Any = words == 1 if kind.family == "bool" else words
    if kind.nullable and not kind.is_float:
        return np.ma.MaskedArray(values, kind.nulls(words))
    return values
