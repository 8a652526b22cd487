"""Apache Arrow's types for kinds, and columns as Arrow arrays. pyarrow is imported when it is first needed: many
dataflows never do.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine.columns.kinds import MOST_DIGITS, Kind, decimal_of
from tokenring.engine.columns.offered import table_of
from tokenring.engine.columns.text_kernels import heap_address, lay_out
from tokenring.engine.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

Column = tuple[np.ndarray, np.ndarray | None]
"""Words, and the heap of a column of text."""


def arrow_type(kind: Kind) -> "pa.DataType":
    """Arrow's type for a kind."""
    import pyarrow as pa

    if kind.is_decimal:
        return pa.decimal128(kind.precision, kind.scale)
    if kind.is_instant:
        return pa.timestamp("ns", "UTC")
    names = {"string": pa.large_string, "bytes": pa.large_binary, "bool": pa.bool_, "float64": pa.float64}
    names |= {"int64": pa.int64, "uint64": pa.uint64, "date": pa.date32}
    return names[kind.family]()


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
    import pyarrow.types as types

    found = field.type
    while types.is_dictionary(found) or types.is_run_end_encoded(found):
        found = found.value_type
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
    raise SchemaError(
        f"column {field.name!r} has Arrow's type {field.type}, which no column kind holds; {_cast(found)}"
    )


def _cast(found: Any) -> str:
    """What to do about a type that has no kind of its own."""
    import pyarrow.types as types

    if types.is_decimal(found):
        scale = min(max(found.scale, 0), MOST_DIGITS)
        return (
            f"say in the schema what its values are to be: {decimal_of(MOST_DIGITS, scale)} (up to {MOST_DIGITS} "
            f"digits), float64 (up to 15 digits), int64 (whole numbers) or string, or leave it out"
        )
    if types.is_duration(found) or types.is_time(found):
        return "cast it to int64, in the unit you mean, or leave it out"
    if types.is_null(found):
        return "it holds nothing but nulls: say its kind in the schema, cast it, or leave it out"
    return "cast it, or leave it out"


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


def column_to(kind: Kind, words: np.ndarray, heap: np.ndarray | None) -> Any:
    """A column as an Arrow array; numbers without nulls are not copied. SchemaError for what its type does not hold."""
    import pyarrow as pa

    if heap is not None:
        return text_array(words, heap, kind.name == "string")
    nulls = kind.nulls(words) if kind.nullable else np.isnat(words.view("datetime64[ns]")) if kind.is_instant else None
    validity, count = (None, 0) if nulls is None else _validity(nulls)
    values = _laid_out(kind, words, nulls)
    return pa.Array.from_buffers(arrow_type(kind), len(words), [validity, pa.py_buffer(values)], count)


def _laid_out(kind: Kind, words: np.ndarray, nulls: np.ndarray | None) -> np.ndarray:
    """Words as they lie in Arrow's memory."""
    if kind.family == "bool":
        return np.packbits(words == 1, bitorder="little")
    beyond = kind.beyond(words)
    if beyond is None:
        return np.ascontiguousarray(words)
    if nulls is not None:
        beyond &= ~nulls
    if beyond.any():  # a sum, say
        from tokenring.engine.columns.exact import shown

        row = int(np.flatnonzero(beyond)[0])
        raise SchemaError(
            f"row {row} holds {shown(kind, int(words[row]))}, which is beyond {kind.name}; sum up "
            f'.cast("float64") of the column, or fewer rows'
        )
    if kind.is_date:
        return words.astype(np.int32)
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
    import pyarrow as pa

    offsets = np.empty(len(words) + 1, np.int64)
    data = np.empty(lay_out(words, 0, offsets, 0), np.uint8)
    lay_out(words, heap_address(heap), offsets, heap_address(data))
    validity, count = _validity(words < 0)
    kind = pa.large_string() if is_text else pa.large_binary()
    return pa.Array.from_buffers(kind, len(words), [validity, pa.py_buffer(offsets), pa.py_buffer(data)], count)
