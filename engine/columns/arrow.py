"""Apache Arrow's types for kinds, columns as Arrow arrays, and rows put together as record batches. pyarrow is imported
when it is first needed: many dataflows never do.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine.columns.kinds import MOST_DIGITS, Kind, decimal_of
from tokenring.engine.columns.offered import table_of
from tokenring.engine.columns.text_kernels import heap_address, lay_out
from tokenring.engine.errors import SchemaError
from tokenring.shm.kernels import (
    LENGTH_MASK,
    WORDS,
    Record,
    Words,
    address_of,
    bytes_at,
    copy_text,
    int64,
    kernel,
    records_at,
    signed,
    words_at,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from tokenring.engine.columns.batch import Batch
    from tokenring.engine.columns.schema import Schema

Column = tuple[np.ndarray, np.ndarray | None]
"""Words, and the heap of a column of text."""

_ROWS = 1 << 15  # of a record batch that is put together
_MANY_ROWS = 1 << 13  # are one by themselves
_TEXT_BYTES = 1 << 20  # of a column, at first


class ColumnMemory(Record):
    """Of a column: where its words, or its texts' offsets, are, its texts' bytes, and which are null; how many bytes
    there are, and how many are used."""

    values: int
    texts: int
    nulls: int
    room: int
    used: int


_TYPES: dict[str, Callable[[Any, Kind], Any]] = {
    "int64": lambda pa, kind: pa.int64(),
    "uint64": lambda pa, kind: pa.uint64(),
    "float64": lambda pa, kind: pa.float64(),
    "bool": lambda pa, kind: pa.bool_(),
    "timestamp": lambda pa, kind: pa.timestamp("ns", "UTC"),
    "date": lambda pa, kind: pa.date32(),
    "decimal": lambda pa, kind: pa.decimal128(kind.precision, kind.scale),
    "string": lambda pa, kind: pa.large_string(),
    "bytes": lambda pa, kind: pa.large_binary(),
}
"""By the family of a kind, its type, of the module pyarrow."""


def arrow_type(kind: Kind) -> "pa.DataType":
    """Arrow's type for a kind."""
    import pyarrow as pa

    return _TYPES[kind.family](pa, kind)


def arrow_schema(names: Sequence[str], kinds: Sequence[Kind]) -> "pa.Schema":
    """Arrow's schema for columns."""
    import pyarrow as pa

    return pa.schema(
        [pa.field(name, arrow_type(kind), nullable=kind.nullable) for name, kind in zip(names, kinds, strict=True)]
    )


def kinds_of_arrow(source: Any, nullable: Collection[str] | None) -> dict[str, str]:
    """How a schema spells Arrow's columns; SchemaError for a type that has no kind."""
    import pyarrow as pa

    schema = source if isinstance(source, pa.Schema) else table_of(source).schema
    if len(set(schema.names)) != len(schema.names):
        raise SchemaError(f"Arrow's columns are not named apart: {', '.join(schema.names)}; rename them")
    unknown = set(nullable or ()) - set(schema.names)
    if unknown:
        raise SchemaError(f"no column {sorted(unknown)[0]!r} to be nullable; the columns are {', '.join(schema.names)}")
    may_be_null = {field.name for field in schema if field.nullable} if nullable is None else set(nullable)
    return {field.name: _kind_name(field) + ("?" if field.name in may_be_null else "") for field in schema}


def _kind_name(field: Any) -> str:
    found = kind_of_type(field.type)
    if not found:
        raise SchemaError(
            f"column {field.name!r} has Arrow's type {field.type}, which no column kind holds; {_cure(field.type)}"
        )
    return found


def kind_of_type(given: Any) -> str:
    """The kind that holds all values of an Arrow type; "" if none does."""
    import pyarrow.types as types

    found = _values_type(given)
    if types.is_uint64(found):
        return "uint64"
    if types.is_integer(found):
        return "int64"
    if types.is_decimal(found) and found.precision <= MOST_DIGITS and 0 <= found.scale <= found.precision:
        return decimal_of(found.precision, found.scale)
    for name, is_it in (
        ("float64", types.is_floating),
        ("bool", types.is_boolean),
        ("timestamp", types.is_timestamp),
        ("date", types.is_date),
        ("string", is_string),
        ("bytes", is_binary),
    ):
        if is_it(found):
            return name
    return ""


def stored_type(found: Any) -> Any:
    """The type as which Arrow stores another, where that is all there is to its values: of UUIDs bytes, of JSON text.
    """
    return found.storage_type if getattr(found, "extension_name", "") in ("arrow.uuid", "arrow.json") else found


def _values_type(given: Any) -> Any:
    """The type of the values, where they are numbers of them or runs."""
    import pyarrow.types as types

    found = stored_type(given)
    while types.is_dictionary(found) or types.is_run_end_encoded(found):
        found = found.value_type
    return found


def _cure(given: Any) -> str:
    """What to do about a type that has no kind of its own. It may be of a file, in which nobody can cast."""
    import pyarrow.types as types

    found = _values_type(given)
    if types.is_decimal(found):
        scale = min(max(found.scale, 0), MOST_DIGITS)
        return (
            f"say in the schema what its values are to be: {decimal_of(MOST_DIGITS, scale)} (up to {MOST_DIGITS} "
            f"digits), float64 (up to 15 digits), int64 (whole numbers) or string, or leave it out"
        )
    if types.is_duration(found) or types.is_time(found):
        return "cast it to int64, in the unit you mean, before it comes here, or leave it out"
    if types.is_null(found):
        return "it holds nothing but nulls: say its kind in the schema, or leave it out"
    if types.is_nested(found):
        return (
            "flatten it before it comes here (a list by pyarrow.compute.list_flatten, for whose rows "
            "list_parent_indices is; a struct by Table.flatten), or leave it out"
        )
    return "cast it before it comes here, or leave it out"


def is_string(found: Any) -> bool:
    """Whether an Arrow type is one of its types of UTF-8 text."""
    import pyarrow.types as types

    return types.is_string(found) or types.is_large_string(found) or types.is_string_view(found)


def is_binary(found: Any) -> bool:
    """Whether an Arrow type is one of its types of bytes."""
    import pyarrow.types as types

    return (
        types.is_binary(found)
        or types.is_large_binary(found)
        or types.is_binary_view(found)
        or types.is_fixed_size_binary(found)
    )


def column_to(name: str, kind: Kind, words: np.ndarray, heap: np.ndarray | None) -> Any:
    """A column as an Arrow array; numbers without nulls are not copied. SchemaError for a sum of more digits than a
    decimal has."""
    import pyarrow as pa

    if heap is not None:
        return text_array(words, heap, kind.name == "string")
    nulls = kind.nulls(words) if kind.nullable else np.isnat(words.view("datetime64[ns]")) if kind.is_instant else None
    validity, count = (None, 0) if nulls is None else _validity(nulls)
    values = _laid_out(name, kind, words, nulls)
    return pa.Array.from_buffers(arrow_type(kind), len(words), [validity, pa.py_buffer(values)], count)


def record_batch(batch: "Batch") -> "pa.RecordBatch":
    """A batch as Arrow's, of which numbers lie where they do in the batch: good as long as those do."""
    import pyarrow as pa

    schema, heaps = batch.schema, batch.heaps or (None,) * len(batch.columns)
    columns = zip(schema.names, schema.kinds, batch.columns, heaps, strict=True)
    return pa.RecordBatch.from_arrays([column_to(*column) for column in columns], schema=schema.to_arrow())


def _laid_out(name: str, kind: Kind, words: np.ndarray, nulls: np.ndarray | None) -> np.ndarray:
    """Words as they lie in Arrow's memory."""
    if kind.family == "bool":
        return np.packbits(words == 1, bitorder="little")
    beyond = kind.beyond(words)
    if beyond is not None and nulls is not None:
        beyond &= ~nulls
    if beyond is not None and beyond.any():  # a sum, say
        from tokenring.engine.columns.exact import shown

        row = int(np.flatnonzero(beyond)[0])
        cure = 'sum up .cast("float64") of the column, or fewer rows' if kind.total else kind.cure
        raise SchemaError(
            f"column {name!r}: row {row} holds {shown(kind, int(words[row]))}, which is beyond {kind.name}; {cure}"
        )
    width = arrow_type(kind).bit_width
    if width <= 64:
        return np.ascontiguousarray(words, None if width == 64 else np.int32)
    pairs = np.empty((len(words), 2), np.int64)
    pairs[:, 0], pairs[:, 1] = words, words >> 63
    return pairs


def _validity(nulls: np.ndarray) -> tuple[Any, int]:
    """The bits that say which values are there, None if all are, and how many are null. Not by `pa.array`, which loads
    pandas when it first sees an array of numpy: that takes a second."""
    import pyarrow as pa

    count = int(np.count_nonzero(nulls))
    return (pa.py_buffer(np.packbits(~nulls, bitorder="little")) if count else None), count


def text_array(words: np.ndarray, heap: np.ndarray, is_text: bool) -> Any:
    """Text as a large_string or large_binary array, over bytes of its own."""
    offsets = np.empty(len(words) + 1, np.int64)
    data = np.empty(lay_out(words, 0, offsets, 0), np.uint8)
    lay_out(words, heap_address(heap), offsets, heap_address(data))
    return text_over(offsets, data, words < 0, is_text)


def text_over(offsets: np.ndarray, data: np.ndarray, nulls: np.ndarray, is_text: bool) -> Any:
    """The same over these bytes, text i at offsets[i] ... offsets[i + 1]. nulls: bool of shape (rows,)."""
    import pyarrow as pa

    validity, count = _validity(nulls)
    kind = pa.large_string() if is_text else pa.large_binary()
    return pa.Array.from_buffers(kind, len(nulls), [validity, pa.py_buffer(offsets), pa.py_buffer(data)], count)


def heap_addresses(batch: "Batch") -> np.ndarray:
    """Where the columns' texts lie, 0 for columns of others: int64 (columns,)."""
    heaps = batch.heaps or (None,) * len(batch.columns)
    return np.array([0 if heap is None else heap_address(heap) for heap in heaps], np.int64)


@kernel(int64(WORDS, WORDS, int64, int64, int64, int64))
def append(columns: Words, heaps: Words, start: int, stop: int, at: int, memory: int) -> int:
    """Copy rows from `start` to `stop` into memory, from row `at` on. Returns -1; or, having done nothing, the first
    column whose texts have no room.

    columns, heaps: int64 (columns,), addresses, 0 for the heaps of columns that have none. memory: the address of a
    ColumnMemory for each.
    """
    every = records_at(memory, len(columns), ColumnMemory)
    for column in range(len(columns)):
        if heaps[column] != 0:
            words, wanted = words_at(columns[column], stop), signed(0)
            for row in range(start, stop):
                wanted += words[row] & LENGTH_MASK if words[row] >= 0 else 0
            if every[column].used + wanted > every[column].room:
                return column
    for column in range(len(columns)):
        own, words = every[column], words_at(columns[column], stop)
        made = words_at(own.values, at + stop - start + 1)
        if heaps[column] == 0:
            made[at : at + stop - start] = words[start:stop]
            continue
        used, nulls = own.used, bytes_at(own.nulls, at + stop - start)
        for row in range(start, stop):
            word = words[row]
            if word >= 0:
                copy_text(word, heaps[column], own.texts, used)
                used += word & LENGTH_MASK
            nulls[at + row - start] = word < 0
            made[at + row - start + 1] = used
        own.used = used
    return -1


class ArrowRows:
    """Puts rows together in memory that is used again and again, and hands on as many as are enough at once."""

    def __init__(self, schema: "Schema", write: Callable[["pa.RecordBatch"], None]) -> None:
        """write: gets record batches, whose memory is used again when it returns."""
        self._schema, self._write = schema, write
        self._rows = 0
        self._words = [np.zeros(_ROWS + 1, np.int64) for _ in schema.names]
        texts = [kind.is_text for kind in schema.kinds]
        self._bytes = [np.empty(_TEXT_BYTES if is_text else 0, np.uint8) for is_text in texts]
        self._nulls = [np.empty(_ROWS if is_text else 0, np.uint8) for is_text in texts]
        self._memory = ColumnMemory.new_table(len(texts))
        for column in range(len(texts)):
            self._memory["values"][column] = address_of(self._words[column])
            self._memory["nulls"][column] = address_of(self._nulls[column])
            self._link(column)

    def _link(self, column: int) -> None:
        found = self._bytes[column]
        self._memory["texts"][column], self._memory["room"][column] = heap_address(found), len(found)

    def add(self, batch: "Batch") -> None:
        """Copy its rows, and hand on what is enough; many at once are handed on as they are."""
        if batch.rows >= _MANY_ROWS:
            self.hand_on()
            self._write(record_batch(batch))
            return
        columns = [np.ascontiguousarray(column) for column in batch.columns]
        addresses = np.array([address_of(column) for column in columns], np.int64)
        heaps, start = heap_addresses(batch), 0
        while start < batch.rows:
            stop = min(batch.rows, start + _ROWS - self._rows)
            lacks = int(append(addresses, heaps, start, stop, self._rows, address_of(self._memory)))
            if lacks >= 0:
                self._make_room(lacks, batch.columns[lacks][start:stop])
                continue
            self._rows += stop - start
            start = stop
            if self._rows == _ROWS:
                self.hand_on()

    def _make_room(self, column: int, words: np.ndarray) -> None:
        """For texts of these words, twice as much as there was, or what they take."""
        used = int(self._memory["used"][column])
        wanted = int((words[words >= 0] & LENGTH_MASK).sum()) + used
        larger = np.empty(max(wanted, 2 * len(self._bytes[column])), np.uint8)
        larger[:used] = self._bytes[column][:used]
        self._bytes[column] = larger
        self._link(column)

    def hand_on(self) -> None:
        """Hand on what there is, if there is any. SchemaError for a sum of more digits than a decimal has."""
        import pyarrow as pa

        if not self._rows:
            return
        arrays = []
        for column, (name, kind) in enumerate(zip(self._schema.names, self._schema.kinds, strict=True)):
            words = self._words[column]
            if kind.is_text:
                nulls = self._nulls[column][: self._rows].view(np.bool_)
                arrays.append(text_over(words[: self._rows + 1], self._bytes[column], nulls, kind.name == "string"))
            else:
                arrays.append(column_to(name, kind, words[: self._rows].view(kind.dtype), None))
        self._rows, self._memory["used"] = 0, 0
        self._write(pa.RecordBatch.from_arrays(arrays, schema=self._schema.to_arrow()))
