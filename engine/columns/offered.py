"""What others' columns and tables offer of themselves: pandas, Polars and all that speak Arrow's protocols.

A value is asked for Arrow first, since numpy's view of a nullable column turns its nulls into NaN. What pandas keeps in
numpy's own dtypes is taken as numpy has it: a NaN there stays one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tokenring.engine.errors import SchemaError

_OF_SEVERAL = "__iter__", "__arrow_c_array__", "__arrow_c_stream__", "__arrow_array__"
"""What has one of these may be a column."""


def arrow_of(values: Any) -> Any:
    """The pyarrow array (chunked or not) that these are or offer to be; None if they are numpy's or Python's.
    SchemaError for one value, a text among them, and for what has no order."""
    if isinstance(values, np.ndarray | list | tuple):
        return None
    is_one = isinstance(values, str | bytes | bytearray) or not any([hasattr(values, one) for one in _OF_SEVERAL])
    if is_one or isinstance(values, set | frozenset | Mapping):
        raise SchemaError(f"{values!r:.40} is {type(values).__name__}, and no column: give one value a row, as a list")
    package = type(values).__module__.partition(".")[0]
    if package == "pyarrow":
        return values
    if package == "pandas":
        return _of_pandas(values)
    import pyarrow as pa

    try:
        if hasattr(values, "__arrow_c_array__"):
            return pa.array(values)
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if hasattr(values, "__arrow_array__"):
            return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        what = type(values).__name__
        raise SchemaError(f"{what} gives no Arrow array that is known here: {error}; cast it") from None
    return None


def is_masked(values: Any) -> bool:
    """Whether this is a masked array of numpy's. numpy.ma, which takes as long to load as all else at a worker's start,
    is asked only by those who can have one."""
    return isinstance(values, np.ndarray) and type(values) is not np.ndarray and np.ma.isMaskedArray(values)


def _of_pandas(values: Any) -> Any:
    """A Series, an Index or an array of pandas as Arrow's, unless it is numpy's or offers none."""
    import pyarrow as pa

    values = getattr(values, "array", values)
    kind = getattr(values.dtype, "kind", "")
    if isinstance(values.dtype, np.dtype) or type(values.dtype).__name__ == "NumpyEADtype":
        if kind != "O":
            return None
        with_nulls = [None if is_missing(value) or _is_nan(value) else value for value in values]
        texts = [isinstance(value, str | bytes) for value in with_nulls if value is not None]
        if texts and all(texts):  # there NaN is pandas' word for null
            return pa.array(with_nulls)
        return None
    if hasattr(values, "__arrow_array__") or hasattr(values, "codes") or kind == "M":
        return pa.array(values)
    return None


def is_missing(value: Any) -> bool:
    """Whether this is None, or what pandas has in its stead (NA, NaT), or numpy's NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, np.datetime64) and bool(np.isnat(value))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def columns_of(table: Any) -> Mapping[str, Any]:
    """The columns of a table of anybody's by name: of a mapping, of pandas, Polars or pyarrow, or of what else exports
    a stream of Arrow (`__arrow_c_stream__`). SchemaError for anything else.
    """
    if isinstance(table, Mapping):
        return table
    if type(table).__module__.partition(".")[0] == "pandas" and hasattr(table, "columns"):
        _require_apart([str(name) for name in table.columns])
        return {str(name): table[name] for name in table.columns}
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        import pyarrow as pa

        try:
            found = table if isinstance(table, pa.Table | pa.RecordBatch) else pa.table(table)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError, ValueError) as error:
            raise SchemaError(f"{type(table).__name__} is no table of columns that Arrow knows: {error}") from None
        _require_apart(found.schema.names)
        return dict(zip(found.schema.names, found.columns, strict=True))
    raise SchemaError(
        f"rows are given as a mapping of column names to arrays, or as a table (pandas, Polars, Arrow), not "
        f"{type(table).__name__}"
    )


def table_of(table: Any) -> Any:
    """The same as a pyarrow table, for those who look at its schema."""
    import pyarrow as pa

    if isinstance(table, pa.Table | pa.RecordBatch):
        return table
    columns = columns_of(table)
    offered = {name: arrow_of(values) for name, values in columns.items()}
    try:
        return pa.table({name: pa.array(np.asarray(columns[name])) if found is None else found
                         for name, found in offered.items()})  # fmt: skip
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"not all columns of {type(table).__name__} are known to Arrow: {error}") from None


def _require_apart(names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise SchemaError(f"the table's columns are not named apart: {', '.join(names)}; rename them")
