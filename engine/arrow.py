"""Columns to and from Apache Arrow. pyarrow is imported when it is first needed: many dataflows never do."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.errors import SchemaError
from engine.kinds import TEXT_NULL, Kind, kind_of
from engine.text_kernels import NO_HEAP, heap_address, lay_out
from shm.text_words import LENGTH_BITS, LENGTH_MASK

if TYPE_CHECKING:
    import pyarrow as pa

Column = tuple[np.ndarray, np.ndarray | None]
"""Words, and the heap of a column of text."""


def is_arrow(values: Any) -> bool:
    """Whether these are an Arrow array (chunked or not)."""
    return type(values).__module__.partition(".")[0] == "pyarrow"


def arrow_type(kind: Kind) -> "pa.DataType":
    """Arrow's type for a kind."""
    import pyarrow as pa

    if kind.name == "timestamp":
        return pa.timestamp("ns", "UTC")
    names = {"string": pa.large_string, "bytes": pa.large_binary, "bool": pa.bool_, "float64": pa.float64}
    names |= {"int64": pa.int64, "uint64": pa.uint64}
    return names[kind.name]()


def arrow_schema(names: Sequence[str], kinds: Sequence[Kind]) -> "pa.Schema":
    """Arrow's schema for columns."""
    import pyarrow as pa

    return pa.schema(
        [pa.field(name, arrow_type(kind), nullable=kind.nullable) for name, kind in zip(names, kinds, strict=True)]
    )


def kinds_of_arrow(source: Any, nullable: Collection[str] | None) -> dict[str, str]:
    """How a schema spells Arrow's columns; SchemaError for a type that has no kind."""
    schema = getattr(source, "schema", source)
    if len(set(schema.names)) != len(schema.names):
        raise SchemaError(f"Arrow's columns are not named apart: {', '.join(schema.names)}; rename them")
    unknown = set(nullable or ()) - set(schema.names)
    if unknown:
        raise SchemaError(f"no column {sorted(unknown)[0]!r} to be nullable; the columns are {', '.join(schema.names)}")
    may_be_null = {field.name for field in schema if field.nullable} if nullable is None else set(nullable)
    return {field.name: _kind_name(field) + ("?" if field.name in may_be_null else "") for field in schema}


def _kind_name(field: Any) -> str:
    import pyarrow.types as types

    found = field.type.value_type if types.is_dictionary(field.type) else field.type
    if types.is_uint64(found):
        return "uint64"
    if types.is_integer(found):
        return "int64"
    for name, is_it in (
        ("float64", types.is_floating),
        ("bool", types.is_boolean),
        ("timestamp", lambda one: types.is_timestamp(one) or types.is_date(one)),
        ("string", lambda one: types.is_string(one) or types.is_large_string(one) or types.is_string_view(one)),
        ("bytes", lambda one: types.is_binary(one) or types.is_large_binary(one) or types.is_binary_view(one)),
    ):
        if is_it(found):
            return name
    raise SchemaError(
        f"column {field.name!r} has Arrow's type {field.type}, which no column kind holds; cast it, or leave it out"
    )


def column_from(kind: Kind, values: Any) -> Column:
    """An Arrow array (chunked or not) as a column; SchemaError if it does not fit the kind."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    if values.null_count and not kind.nullable:
        raise SchemaError(f"{values.null_count} null(s) where the kind is {kind}; make it {kind}? or fill them")
    if kind.is_text:
        return _text_column(kind, values)
    try:
        values = values.cast(arrow_type(kind))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"Arrow's {values.type} is not {kind}: {error}") from None
    mask = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    if kind.name == "bool":
        words = values.fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64)
    else:
        values = values.fill_null(0) if kind.name != "timestamp" else values.cast(pa.int64()).fill_null(0)
        words = values.to_numpy(zero_copy_only=False).view(kind.dtype)
    if mask is not None:
        words = np.where(mask, kind.null_word(), words)
    return np.ascontiguousarray(words), None


def _text_column(kind: Kind, values: Any) -> Column:
    import pyarrow as pa

    wanted = arrow_type(kind)
    try:
        if pa.types.is_dictionary(values.type):
            words, heap = _text_column(kind, values.dictionary)
            numbers = values.indices.fill_null(0).to_numpy(zero_copy_only=False)
            chosen = words[numbers] if len(words) else np.full(len(numbers), TEXT_NULL)
            if values.null_count:
                chosen = np.where(values.is_null().to_numpy(zero_copy_only=False), TEXT_NULL, chosen)
            return np.ascontiguousarray(chosen), heap
        values = values.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"Arrow's {values.type} is not {kind}: {error}") from None
    _, offsets_bytes, data = values.buffers()
    offsets = np.frombuffer(offsets_bytes, np.int64)[values.offset :][: len(values) + 1]
    heap = NO_HEAP if data is None else np.frombuffer(data, np.uint8)
    lengths = np.diff(offsets)
    if len(lengths) and lengths.max() > LENGTH_MASK:
        raise SchemaError(f"a text of {lengths.max()} bytes; the longest may have {LENGTH_MASK}")
    words = offsets[:-1] << LENGTH_BITS | lengths if len(values) else np.empty(0, np.int64)
    if values.null_count:
        words = np.where(values.is_null().to_numpy(zero_copy_only=False), TEXT_NULL, words)
    return np.ascontiguousarray(words), heap


def column_to(kind: Kind, words: np.ndarray, heap: np.ndarray | None) -> Any:
    """A column as an Arrow array; numbers without nulls are not copied."""
    import pyarrow as pa

    if heap is not None:
        return text_array(words, heap, kind.name == "string")
    mask = kind.nulls(words) if kind.nullable else None
    if kind.name == "bool":
        return pa.array(words == 1, pa.bool_(), mask=mask)
    values = words.view("datetime64[ns]") if kind.name == "timestamp" else words
    return pa.array(values, arrow_type(kind), mask=mask)


def text_array(words: np.ndarray, heap: np.ndarray, is_text: bool) -> Any:
    """Text as a large_string or large_binary array, over bytes of its own."""
    import pyarrow as pa

    offsets = np.empty(len(words) + 1, np.int64)
    data = np.empty(lay_out(words, 0, offsets, 0), np.uint8)
    lay_out(words, heap_address(heap), offsets, heap_address(data))
    nulls = words < 0
    count = int(np.count_nonzero(nulls))
    validity = pa.array(~nulls).buffers()[1] if count else None
    kind = pa.large_string() if is_text else pa.large_binary()
    return pa.Array.from_buffers(kind, len(words), [validity, pa.py_buffer(offsets), pa.py_buffer(data)], count)


def text_from(values: Any, is_text: bool) -> tuple[np.ndarray, np.ndarray]:
    """Words and heap from a sequence of str (or bytes) and None, a numpy array of them, or an Arrow array."""
    import pyarrow as pa

    kind = kind_of("string?" if is_text else "bytes?", "")
    if not is_arrow(values):
        if isinstance(values, np.ndarray) and values.dtype.kind != "O":
            if values.dtype.kind not in ("U", "T") if is_text else values.dtype.kind != "S":
                raise SchemaError(f"numpy's {values.dtype} where {'str' if is_text else 'bytes'} is expected")
            values = values.tolist()
        try:
            values = pa.array(values, arrow_type(kind))
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, UnicodeError) as error:
            raise SchemaError(
                f"not all values are {'str' if is_text else 'bytes'} ({error}); convert them, or declare another kind"
            ) from None
    words, heap = column_from(kind, values)
    assert heap is not None
    return words, heap
