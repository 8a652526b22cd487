"""What users give for a column, as words: arrays, lists, masked arrays, Arrow arrays, Strings, into the column's kind.

Conversions that lose nothing are made; everything else is a SchemaError that says what to do.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

import numpy as np

from tokenring.engine.columns.arrow import Column
from tokenring.engine.columns.from_arrow import Dictionaries, column_from, require_values, scaled
from tokenring.engine.columns.instants import instants_of
from tokenring.engine.columns.kinds import NO_FLOATS, Kind, kind_of
from tokenring.engine.columns.offered import arrow_of, is_masked, is_missing
from tokenring.engine.columns.strings import Strings
from tokenring.engine.errors import SchemaError

_WORDS = np.dtype([("word", np.int64)])
"""Of what is words of the kind already, of an exact one."""
_NAT = -(2**63)
_INSTANT = kind_of("timestamp?", "")
_EPOCH, _EPOCH_IN_UTC = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE = 2**53  # up to here a double holds every integer


def to_column(name: str, kind: Kind, values: Any, dictionaries: Dictionaries | None = None) -> Column:
    """Words of shape (rows,), contiguous, and the heap of a column of text; SchemaError naming the column.
    dictionaries: of the reader whose Arrow array it is."""
    heap = None
    try:
        if isinstance(values, np.ndarray) and kind.is_plain and not is_masked(values):
            words = _number(name, kind, values) if values.dtype != object else _with_nulls(name, kind, values)
        elif isinstance(values, Strings):
            words, heap = _text(name, kind, values)
        elif (offered := arrow_of(values)) is not None:
            known = None if dictionaries is None else partial(dictionaries.of, name)
            words, heap = column_from(kind, offered, known)
        elif kind.is_text:
            words, heap = _text(name, kind, values)
        else:
            words = _with_nulls(name, kind, values)
    except SchemaError as error:
        raise error if f"column {name!r}" in str(error) else SchemaError(f"column {name!r}: {error}") from None
    return np.ascontiguousarray(words), heap


def _require_one_dimension(name: str, values: np.ndarray) -> None:
    if values.ndim != 1:
        raise SchemaError(f"column {name!r} has shape {values.shape}, expected (rows,): give one value a row")


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
    """Kinds that are not plain numbers, masked arrays, and lists."""
    mask = None
    if is_masked(values):
        mask, values = np.ma.getmaskarray(values), np.ma.getdata(values)
    try:
        array = np.asarray(values)
    except ValueError as error:  # of lists that are not alike
        raise SchemaError(f"column {name!r}: give one value a row ({error})") from None
    _require_one_dimension(name, array)
    if array.dtype == object or ((kind.is_instant or kind.is_exact) and array.dtype.kind == "U"):
        given = array.tolist() if not kind.is_instant else list(array)  # (nanoseconds would become integers)
        missing = np.fromiter(map(is_missing, given), np.bool_, len(array))
        mask = missing if mask is None else mask | missing
        array = _objects(name, kind, [None if none else value for value, none in zip(given, mask, strict=True)])
    elif array.dtype.kind == "f" and isinstance(values, Sequence) and not kind.is_decimal:
        array = _whole(name, kind, values, array)
    if mask is not None and mask.any():
        if not kind.nullable:
            raise SchemaError(f"column {name!r} holds nulls, but its kind is {kind}; make it {kind}? or fill them")
        array = np.where(mask, np.zeros(1, array.dtype), array)  # what lies below a mask may be anything
    words = _words(name, kind, array)
    if array.dtype.kind not in "Mm":  # whose NaT is a null
        require_values(kind, words)
    return words if mask is None or not mask.any() else np.where(mask, kind.null_word(), words)


def _objects(name: str, kind: Kind, values: list[Any]) -> np.ndarray:
    """Python's own values as an array of numpy's, with anything where there is None."""
    if kind.is_instant:
        return _instants(name, values)
    if kind.is_exact:
        from tokenring.engine.columns.exact import exact_word

        return np.array([0 if value is None else exact_word(kind, value) for value in values], np.int64).view(_WORDS)
    filler = False if kind.family == "bool" else 0
    there = [filler if value is None else value for value in values]
    array = np.array(there)
    if array.dtype.kind == "f":
        array = _whole(name, kind, there, array)
    if array.dtype != object:
        return array
    import pyarrow as pa

    try:
        words, _ = column_from(_nullable(kind), pa.array(values))  # Decimals are numbers as well
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise SchemaError(f"column {name!r} holds values that are not all {kind.name}: {error}") from None
    return words if kind.family != "bool" else words == 1


def _nullable(kind: Kind) -> Kind:
    return kind if kind.nullable else kind_of(f"{kind.name}?", "")


def _whole(name: str, kind: Kind, values: Sequence[Any], doubles: np.ndarray) -> np.ndarray:
    """What numpy has made doubles of, since some are fractions, or some beyond int64 and others not. SchemaError for an
    integer that no double holds, but where all are integers of uint64."""
    for value in values:
        if isinstance(value, int) and not -_WHOLE <= value <= _WHOLE:
            if all([isinstance(each, int) for each in values]):
                if kind.dtype == np.uint64 and min(values) >= 0 and max(values) < 2**64:
                    return np.array(values, np.uint64)
                beyond = min(values) if kind.dtype == np.uint64 else value
                raise SchemaError(f"column {name!r} holds {beyond}, which {kind.name} does not hold")
            raise SchemaError(f"column {name!r} holds {value}, but not integers alone, and no double holds it")
    return doubles


def _instants(name: str, values: list[Any]) -> np.ndarray:
    """datetime64[ns] of Python's datetimes (those with a zone are brought to UTC), dates, numpy's and pandas' times,
    integers of ns, or of ISO 8601 texts; NaT for None.
    """
    try:
        if any(isinstance(value, str) for value in values):
            return _read(values).view("datetime64[ns]")
        # Not by `pa.array`, which loads pandas at its first use, where it is installed: a fifth of a second.
        return np.array([_instant(value) for value in values], np.int64).view("datetime64[ns]")
    except (SchemaError, ValueError, TypeError, OverflowError) as error:  # Arrow's are among them
        raise SchemaError(
            f"column {name!r} holds something that is no time, or none that nanoseconds in 64 bits reach (1677 to "
            f"2262): {error}"
        ) from None


def _instant(value: Any) -> int:
    """A time in ns since 1970, NaT's for None."""
    if value is None:
        return _NAT
    if isinstance(value, np.datetime64):
        return int(_times("", "datetime64[ns]", np.array([value]))[0].view(np.int64))
    if isinstance(value, datetime):
        since = value - (_EPOCH if value.tzinfo is None else _EPOCH_IN_UTC)
        found = (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1_000
        found += getattr(value, "nanosecond", 0)  # of pandas' times
    elif isinstance(value, date):
        found = (value - _EPOCH.date()).days * 86_400 * 10**9
    elif isinstance(value, int | np.integer) and not isinstance(value, bool):
        found = int(value)
    else:
        raise TypeError(f"{value!r:.40} ({type(value).__name__})")
    if not _NAT < found < 2**63:
        raise OverflowError(f"{value!r:.40}")
    return found


def _times(name: str, seen: str, values: np.ndarray) -> np.ndarray:
    """numpy's times as users see those of a kind; SchemaError where that loses some of them."""
    converted = values.astype(seen)
    there = ~np.isnat(values)
    if values.dtype != converted.dtype and (converted.astype(values.dtype) != values)[there].any():
        if seen == "datetime64[D]":
            raise SchemaError(f"column {name!r} has times within a day; declare it timestamp, or truncate them to days")
        if np.datetime_data(values.dtype)[0] in ("ps", "fs", "as"):
            raise SchemaError(f"column {name!r} has times within a nanosecond; truncate them to nanoseconds")
        raise SchemaError(f"column {name!r} has times that nanoseconds in 64 bits do not reach (1677 to 2262)")
    return converted


def _words(name: str, kind: Kind, values: np.ndarray) -> np.ndarray:
    if values.dtype == _WORDS:
        return values.view(np.int64)
    if kind.is_decimal:
        if values.dtype.kind not in "iu" and values.size:
            raise SchemaError(f"column {name!r} has dtype {values.dtype}, expected {kind.name}; {NO_FLOATS}")
        return scaled(kind, values)
    if kind.seen and values.dtype.kind == np.dtype(kind.seen).kind:
        times = _times(name, kind.seen, values)
        nulls, words = np.isnat(times), times.view(np.int64)
        if not kind.nullable and nulls.any():
            raise SchemaError(f"column {name!r} holds NaT, but its kind is {kind}; make it {kind}? or fill it")
        if kind.range is not None:
            require_values(kind, np.where(nulls, 0, words))
        return words
    if kind.family == "bool":
        if values.size and values.dtype != np.bool_:
            raise SchemaError(f"column {name!r} has dtype {values.dtype}, expected bool; compare it with something")
        return values.astype(np.int64)
    if kind.seen and values.dtype == np.bool_:  # which numbers may be given as
        raise SchemaError(f"column {name!r} has dtype bool, expected {kind.name}; declare it so in the schema")
    return _number(name, kind, values)


def instant_of(text: str) -> int:
    """One text as `instants_of` reads it: ns since 1970, int. SchemaError if it is no time, or none of 1677 to 2262."""
    import pyarrow as pa

    try:
        return int(_read([text])[0])
    except pa.ArrowInvalid:
        raise SchemaError(f"{text!r:.40} is no ISO 8601 time within 1677 to 2262") from None


def _read(texts: list[Any]) -> np.ndarray:
    """`instants_of` a list of str and None: int64 ns since 1970, NaT's where it is None."""
    return column_from(_INSTANT, instants_of(Strings.of(texts).to_arrow()))[0]
