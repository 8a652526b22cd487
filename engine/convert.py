"""What users give for a column, as words: arrays, lists, masked arrays, Arrow arrays, Strings, into the column's kind.

Conversions that lose nothing are made; everything else is a SchemaError that says what to do.
"""

from datetime import UTC
from typing import Any

import numpy as np

from engine.arrow import Column, column_from, is_arrow
from engine.errors import SchemaError
from engine.kinds import Kind
from engine.text import Strings


def to_column(name: str, kind: Kind, values: Any) -> Column:
    """Words of shape (rows,), contiguous, and the heap of a column of text; SchemaError naming the column."""
    try:
        if is_arrow(values):
            words, heap = column_from(kind, values)
        elif kind.is_text:
            words, heap = _text(name, kind, values)
        elif kind.is_plain and not np.ma.isMaskedArray(values):
            words, heap = _number(name, kind, np.asarray(values)), None
        else:
            words, heap = _with_nulls(name, kind, values), None
    except SchemaError as error:
        raise error if f"column {name!r}" in str(error) else SchemaError(f"column {name!r}: {error}") from None
    return np.ascontiguousarray(words), heap


def _require_one_dimension(name: str, values: np.ndarray) -> None:
    if values.ndim != 1:
        raise SchemaError(f"column {name!r} has shape {values.shape}, expected (rows,)")


def _fits(array: np.ndarray, dtype: np.dtype[Any]) -> bool:
    """Whether converting loses nothing (numpy calls int64 to float64 safe; above 2**53 it is not)."""
    if array.dtype.kind in "iu" and dtype.kind == "f":
        return bool((array <= 2**53).all() and (array >= -(2**53)).all())
    if array.dtype == np.int64 and dtype == np.uint64:
        return bool((array >= 0).all())
    return np.can_cast(array.dtype, dtype, casting="safe")


def _number(name: str, kind: Kind, values: np.ndarray) -> np.ndarray:
    _require_one_dimension(name, values)
    if values.dtype == kind.dtype:
        return values
    if values.size and not _fits(values, kind.dtype):
        raise SchemaError(
            f"column {name!r} has dtype {values.dtype}, expected {kind.dtype}; {_cure(kind, values.dtype.kind)}"
        )
    return values.astype(kind.dtype)


def _cure(kind: Kind, given: str) -> str:
    if given == "U" or given == "S":
        return "declare it as 'string' in the schema, or convert the text to numbers"
    if given == "O":
        return f"where there are nulls declare it as '{kind.name}?' in the schema, or fill them"
    return "convert it with .astype, or declare it so in the schema"


def _text(name: str, kind: Kind, values: Any) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(values, Strings):
        values = Strings.of(values, kind.name == "string")
    elif values.is_text != (kind.name == "string"):
        raise SchemaError(f"column {name!r} is {kind}, not {'string' if values.is_text else 'bytes'}")
    if not kind.nullable and (values.words < 0).any():
        raise SchemaError(f"column {name!r} holds nulls, but its kind is {kind}; make it {kind}? or fill them")
    return values.words, values.heap


def _with_nulls(name: str, kind: Kind, values: Any) -> np.ndarray:
    """Kinds that are not plain numbers, and masked arrays."""
    mask = None
    if np.ma.isMaskedArray(values):
        mask, values = np.ma.getmaskarray(values), np.ma.getdata(values)
    values = np.asarray(values)
    _require_one_dimension(name, values)
    if values.dtype == object:
        missing = np.array([value is None for value in values], np.bool_)
        if kind.name == "timestamp":
            values = _instants(name, values)
        else:
            filler = False if kind.name == "bool" else 0
            values = np.array([filler if value is None else value for value in values.tolist()])
        mask = missing if mask is None else mask | missing
    words = _words(name, kind, values)
    if mask is not None and mask.any():
        words = np.where(mask, kind.null_word(), words)
        if not kind.nullable:
            raise SchemaError(f"column {name!r} holds nulls, but its kind is {kind}; make it {kind}? or fill them")
    return words


def _instants(name: str, values: np.ndarray) -> np.ndarray:
    """Python's datetimes (those with a zone are brought to UTC), numpy's, and None."""
    naive = [
        value.astimezone(UTC).replace(tzinfo=None) if getattr(value, "tzinfo", None) else value for value in values
    ]
    try:
        return np.array(naive, "datetime64[ns]")
    except (ValueError, TypeError) as error:
        raise SchemaError(f"column {name!r} holds something that is no time: {error}") from None


def _words(name: str, kind: Kind, values: np.ndarray) -> np.ndarray:
    if kind.name == "bool":
        if values.size and values.dtype != np.bool_:
            raise SchemaError(f"column {name!r} has dtype {values.dtype}, expected bool; compare it with something")
        return values.astype(np.int64)
    if kind.name == "timestamp" and values.dtype.kind == "U":
        values = _instants(name, values)
    if kind.name == "timestamp" and values.dtype.kind == "M":
        converted = values.astype("datetime64[ns]")
        nothing = np.isnat(converted)
        if nothing.any() and not kind.nullable:
            raise SchemaError(f"column {name!r} holds NaT, but its kind is {kind}; make it {kind}? or fill it")
        if values.dtype != converted.dtype and (converted.astype(values.dtype) != values)[~nothing].any():
            raise SchemaError(f"column {name!r} has times that nanoseconds in 64 bits do not reach (1677 to 2262)")
        return converted.view(np.int64)
    return _number(name, kind, values)
