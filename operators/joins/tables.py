"""Tables that are given whole, as batches: Arrow's, batches, or columns whose kinds their values tell."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from tokenring.engine import Batch, Schema, SchemaError, table_of

_BY_TYPE = {
    bool: "bool", int: "int64", float: "float64", str: "string", bytes: "bytes", datetime: "timestamp", date: "date",
}  # fmt: skip
_BY_DTYPE = {"b": "bool", "i": "int64", "u": "uint64", "f": "float64", "U": "string", "S": "bytes", "M": "timestamp"}


def batch_of(operator: str, table: Any) -> Batch:
    """The rows of a table; SchemaError, naming the operator, for what is none."""
    if isinstance(table, Batch):
        return table
    try:
        if isinstance(table, Mapping):
            return Batch(Schema.of({name: _kind_of(name, column) for name, column in table.items()}), table)
        try:
            table = table_of(table)
        except SchemaError as error:
            if hasattr(table, "__arrow_c_stream__"):
                raise
            raise SchemaError(
                f"a table is a stream, a Batch, an Arrow table, one of pandas or Polars, or a mapping of column names "
                f"to columns, not {type(table).__name__}"
            ) from error
        nullable = [name for name in table.schema.names if table.column(name).null_count]
        return Batch.from_arrow(Schema.from_arrow(table, nullable), table)
    except SchemaError as error:
        raise SchemaError(f"operator {operator!r}: {error}") from None


def _kind_of(name: str, values: Any) -> str:
    """The kind of a column of numpy's, or of a sequence of Python's values and None."""
    dtype = getattr(values, "dtype", None)
    if dtype == np.dtype("datetime64[D]"):
        return "date"
    if isinstance(dtype, np.dtype) and dtype.kind in _BY_DTYPE:
        return _BY_DTYPE[dtype.kind]
    types = {type(value) for value in values}
    if types - {type(None)} == {Decimal}:
        from tokenring.engine.columns import holding

        return holding(value for value in values if value is not None) + ("?" if type(None) in types else "")
    kinds = {_BY_TYPE.get(each, each.__name__) for each in types - {type(None)}}
    kind = "float64" if kinds == {"int64", "float64"} else kinds.pop() if len(kinds) == 1 else None
    if kind not in _BY_TYPE.values():
        raise SchemaError(f"column {name!r} has values of {sorted(map(str, types))}; give a Batch, with a schema")
    return f"{kind}?" if type(None) in types else str(kind)
