"""Batches: what travels on an edge, equal-length numpy columns under a fixed schema."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from engine.errors import SchemaError

_KINDS = {"int64": np.dtype(np.int64), "uint64": np.dtype(np.uint64), "float64": np.dtype(np.float64)}


def _fits(array: np.ndarray, dtype: np.dtype[Any]) -> bool:
    """Whether converting loses nothing (numpy calls int64 to float64 safe; above 2**53 it is not)."""
    if array.dtype.kind in "iu" and dtype.kind == "f":
        return bool((array <= 2**53).all() and (array >= -(2**53)).all())
    return np.can_cast(array.dtype, dtype, casting="safe")


class Schema:
    """Ordered column names with dtypes (int64, uint64 or float64: one 8-byte word a row).

    `Schema("auction price")` names int64 columns; `Schema(price="float64", id="int64")` gives dtypes.
    """

    __slots__ = ("_text", "all_int64", "dtypes", "names", "positions")

    def __init__(self, names: str = "", /, **dtypes: str) -> None:
        kinds = dict.fromkeys(names.split(), "int64") | dtypes
        if len(kinds) != len(names.split()) + len(dtypes):
            raise SchemaError(f"a column is named twice: {', '.join([*names.split(), *dtypes])}")
        if not kinds:
            raise SchemaError("a schema needs at least one column")
        for name, kind in kinds.items():
            if kind not in _KINDS:
                raise SchemaError(f"column {name!r}: dtype must be one of {', '.join(_KINDS)}, not {kind!r}")
        self.names: tuple[str, ...] = tuple(kinds)
        self.dtypes: tuple[np.dtype[Any], ...] = tuple(_KINDS[kind] for kind in kinds.values())
        self.positions: dict[str, int] = {name: position for position, name in enumerate(self.names)}
        self.all_int64 = all(dtype == np.int64 for dtype in self.dtypes)
        self._text = f"Schema({', '.join(f'{name}={kind}' for name, kind in kinds.items())})"

    def position(self, name: str) -> int:
        """The index of a column; SchemaError if there is none of that name."""
        try:
            return self.positions[name]
        except KeyError:
            raise SchemaError(f"no column {name!r}; the columns are {', '.join(self.names)}") from None

    def select(self, names: tuple[str, ...]) -> "Schema":
        """The schema of these columns, in this order."""
        return Schema(**{name: str(self.dtypes[self.position(name)]) for name in names})

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.names == other.names and self.dtypes == other.dtypes

    def __hash__(self) -> int:
        return hash((self.names, self.dtypes))

    def __repr__(self) -> str:
        return self._text


class Batch:
    """Equal-length columns. `batch["price"]` is a 1-D array of shape (rows,).

    A batch an operator receives may be a read-only view into a queue that is reused once the operator's call returns:
    `copy` it to keep it.
    """

    __slots__ = ("columns", "rows", "schema")

    def __init__(self, schema: Schema, columns: Mapping[str, Any]) -> None:
        """Check and wrap columns (converted to the schema's dtypes where that loses nothing)."""
        if not isinstance(columns, Mapping):
            raise SchemaError(f"rows are given as a mapping of column names to arrays, not {type(columns).__name__}")
        if set(columns) != set(schema.names):
            raise SchemaError(f"columns {', '.join(columns)} given where {', '.join(schema.names)} are expected")
        arrays = []
        for name, dtype in zip(schema.names, schema.dtypes, strict=True):
            array = np.asarray(columns[name])
            if array.ndim != 1:
                raise SchemaError(f"column {name!r} has shape {array.shape}, expected (rows,)")
            if array.dtype != dtype:
                if array.size and not _fits(array, dtype):
                    raise SchemaError(
                        f"column {name!r} has dtype {array.dtype}, expected {dtype}; convert it with .astype"
                    )
                array = array.astype(dtype)
            arrays.append(np.ascontiguousarray(array))
            if len(array) != len(arrays[0]):
                raise SchemaError(f"column {name!r} has {len(array)} rows, {schema.names[0]!r} has {len(arrays[0])}")
        self.schema = schema
        self.columns: tuple[np.ndarray, ...] = tuple(arrays)
        self.rows = len(arrays[0])

    @classmethod
    def wrap(cls, schema: Schema, columns: tuple[np.ndarray, ...], rows: int) -> "Batch":
        """A batch of columns known to fit (contiguous, right dtypes, `rows` long): nothing is checked."""
        batch = cls.__new__(cls)
        batch.schema = schema
        batch.columns = columns
        batch.rows = rows
        return batch

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self.columns[self.schema.positions[name]]
        except KeyError:
            self.schema.position(name)
            raise

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.columns)

    def select(self, schema: Schema) -> "Batch":
        """The columns of `schema` alone, without copying."""
        positions = self.schema.positions
        return Batch.wrap(schema, tuple([self.columns[positions[name]] for name in schema.names]), self.rows)

    def copy(self) -> "Batch":
        """A batch that owns its columns."""
        return Batch.wrap(self.schema, tuple([column.copy() for column in self.columns]), self.rows)

    @classmethod
    def concatenate(cls, batches: Sequence["Batch"]) -> "Batch":
        """The rows of one or more batches of one schema, in order; a single batch is itself."""
        if len(batches) == 1:
            return batches[0]
        columns = tuple([np.concatenate(parts) for parts in zip(*[batch.columns for batch in batches], strict=True)])
        return cls.wrap(batches[0].schema, columns, sum(batch.rows for batch in batches))

    def __repr__(self) -> str:
        return f"Batch({self.rows} rows of {', '.join(self.schema.names)})"
