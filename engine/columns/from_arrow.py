"""Arrow arrays as columns: by conversions that lose nothing; all else is a SchemaError that names the cast."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from tokenring.engine.columns.arrow import Column, arrow_type, is_binary, is_string, kind_of_type, stored_type
from tokenring.engine.columns.exact import as_text, shown
from tokenring.engine.columns.instants import instants_of
from tokenring.engine.columns.kinds import TEXT_NULL, Kind, kind_of
from tokenring.engine.columns.offered import arrow_of, is_masked, is_missing
from tokenring.engine.columns.text_kernels import NO_HEAP
from tokenring.engine.errors import SchemaError
from tokenring.shm.kernels import LENGTH_BITS, LENGTH_MASK

OfDictionary = Callable[[Kind, Any], Column]
_PAIR = np.dtype([("low", np.int64), ("high", np.int64)])
"""A decimal as Arrow has it: where it has up to 18 digits, the lower half says all."""
_ALIKE = dict.fromkeys(("timestamp", "date"), ("is_timestamp", "is_date")) | {"decimal": ("is_decimal",)}
"""By the family of a kind, Arrow's names of what is converted to it beside its type, whole numbers and text."""
_EXACT_DIGITS = 15  # decimals of so many digits come back from a double as they were

_CURES = {
    "out of bounds timestamp": "times are of the years 1677 to 2262; make others null, or leave the column out",
    "Rescaling Decimal": "round it first (pyarrow.compute.round), or declare a decimal of a larger scale",
    "was truncated": "round it first, and make NaN null (pyarrow.compute), or declare it float64",
    "Failed to parse": "declare it string",
    "not a valid decimal": "declare it string",
    "not fit in precision": "declare a decimal of more digits, up to 18, or string",
}
"""What to do about what Arrow says of a value that it does not convert."""


class Dictionaries:
    """The dictionaries that one reader's columns of text had last, as words and a heap into which nobody writes. One
    that comes again, as it does within a row group of Parquet, is the same heap: what became of its texts need not be
    found out again.
    """

    def __init__(self, settle: Callable[[np.ndarray], np.ndarray]) -> None:
        """settle: gives the heap, read-only, in which a dictionary's texts are to lie."""
        self._settle = settle
        self._last: dict[str, tuple[Any, Column]] = {}

    def of(self, name: str, kind: Kind, dictionary: Any) -> Column:
        """The texts of a column's dictionary."""
        last = self._last.get(name)
        if last is not None and last[0].equals(dictionary):
            return last[1]
        words, heap = _dictionary(kind, dictionary)
        assert heap is not None, "a dictionary of text"
        settled = words, self._settle(heap)
        self._last[name] = dictionary, settled
        return settled


def column_from(kind: Kind, values: Any, of_dictionary: OfDictionary | None = None) -> Column:
    """An Arrow array (chunked, dictionary or run-end encoded, or plain) as a column; SchemaError if it does not fit.
    of_dictionary: gives the texts of a dictionary, if that is known."""
    import pyarrow as pa

    values = _one_array(values)
    if stored_type(values.type) != values.type:
        values = values.storage
    while pa.types.is_run_end_encoded(values.type) or (pa.types.is_dictionary(values.type) and not kind.is_text):
        if pa.types.is_dictionary(values.type):
            values = _decoded(values)
        else:
            values = pa.compute.run_end_decode(values)
    if values.null_count and not kind.nullable:
        raise SchemaError(f"{values.null_count} null(s) where the kind is {kind}; make it {kind}? or fill them")
    if kind.is_text:
        return _text_column(kind, values, of_dictionary or _dictionary)
    values = _converted(kind, values)
    words, nulls = _words(kind, values), _nulls(values)
    if nulls is None:
        require_values(kind, words)
        return np.require(words, requirements=["C", "A"]), None
    require_values(kind, np.where(nulls, 0, words))  # what stands where there is nothing may be anything
    return np.where(nulls, kind.null_word(), words), None


def require_sound(arrow: Any, names: Sequence[str], known: set[tuple[int, ...]]) -> None:
    """SchemaError where columns of an Arrow table or record batch point out of their own memory, as those of a damaged
    file may. Whether text is UTF-8 is not looked at.

    known: the addresses of what has been looked at and is shared by rows to come; more are added. It must stay there.
    """
    import pyarrow as pa

    for name in names:
        values = arrow.column(name)
        try:
            for array in getattr(values, "chunks", [values]):
                _validate(array, known)
        except pa.ArrowException as error:
            raise SchemaError(f"column {name!r} is damaged: {error}") from None


def _validate(array: Any, known: set[tuple[int, ...]]) -> None:
    """Raises ArrowException."""
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_dictionary(array.type):
        pa.DictionaryArray.from_arrays(array.indices, array.dictionary)  # which looks at the indices
        array = array.dictionary
    elif not types.is_run_end_encoded(array.type):
        if is_string(array.type) or is_binary(array.type):
            _as_bytes(array).validate(full=True)
        return
    shared = tuple([buffer.address for buffer in array.buffers() if buffer is not None])
    if shared not in known:
        _as_bytes(array).validate(full=True)
        known.add(shared)


def _as_bytes(array: Any) -> Any:
    """Texts as what they are to a validation that does not read them."""
    import pyarrow as pa

    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    return array.view(binary[array.type]) if array.type in binary else array


# Not by `to_numpy`, `fill_null`, `is_null`, `pa.array` or an array's own `cast`, which load pandas at their first use,
# where it is installed: a third of a second in each worker.


def cast(values: Any, wanted: Any) -> Any:
    """An Arrow array as another type. Raises what `pyarrow.compute.cast` does."""
    import pyarrow.compute as compute

    return compute.cast(values, wanted)


def _words(kind: Kind, values: Any) -> np.ndarray:
    """The words of an array of Arrow's type for the kind, or of whole numbers in place of decimals and dates; anything
    where it is null."""
    import pyarrow.types as types

    if types.is_boolean(values.type):
        return _bits(values.buffers()[1], values).astype(np.int64)
    if types.is_date32(values.type):
        return _numbers(values, np.int32).astype(np.int64)
    if types.is_decimal(values.type):
        return np.ascontiguousarray(_numbers(values, _PAIR)["low"])
    words = _numbers(values, kind.dtype)
    if not kind.is_decimal:
        return words
    nulls = _nulls(values)
    return scaled(kind, words if nulls is None else np.where(nulls, 0, words))


def scaled(kind: Kind, numbers: np.ndarray) -> np.ndarray:
    """Whole numbers as words of a kind of decimals; SchemaError, naming the row, for one that has too many digits."""
    most = (10**kind.precision - 1) // kind.unit
    beyond = (numbers > most) | (numbers < -most)
    if beyond.any():
        row = int(np.flatnonzero(beyond)[0])
        raise SchemaError(f"row {row} holds {numbers[row]}, which is beyond {kind.name}; give a kind with more digits")
    return numbers.astype(np.int64) * kind.unit


def _numbers(values: Any, dtype: Any) -> np.ndarray:
    """The numbers of an array, as they lie in its memory; anything where it is null."""
    data = values.buffers()[1]
    if data is None:
        return np.empty(0, dtype)
    return np.frombuffer(data, dtype, len(values), values.offset * np.dtype(dtype).itemsize)


def _nulls(values: Any) -> np.ndarray | None:
    """Which values are null; None if there are none."""
    return ~_bits(values.buffers()[0], values) if values.null_count else None


def _bits(data: Any, values: Any) -> np.ndarray:
    """The bits of an array's values in one of its buffers."""
    if data is None:
        return np.zeros(len(values), np.bool_)
    first = values.offset // 8
    some = np.frombuffer(data, np.uint8)[first : (values.offset + len(values) + 7) // 8]
    return np.unpackbits(some, bitorder="little")[values.offset - 8 * first :][: len(values)].view(np.bool_)


def require_values(kind: Kind, words: np.ndarray) -> None:
    """SchemaError where a number that is given is the one that stands for null (int64: the least; uint64: the greatest;
    timestamp: the least), or out of the kind's range.
    """
    if kind.is_instant or (kind.nullable and kind.null_is_a_number):
        found = words.view(np.int64) == kind.null
        if found.any():
            row = int(np.flatnonzero(found)[0])
            cure = "leave the row out" if kind.is_instant else f"give {kind.name} without ?, or fill it"
            raise SchemaError(f"row {row} holds {words[row]}, the word that stands for null in {kind}; {cure}")
    beyond = kind.beyond(words)
    if beyond is not None and beyond.any():
        row = int(np.flatnonzero(beyond)[0])
        raise SchemaError(f"row {row} holds {shown(kind, int(words[row]))}, which is beyond {kind.name}; {kind.cure}")


def _one_array(values: Any) -> Any:
    import pyarrow as pa

    if not isinstance(values, pa.ChunkedArray):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    if pa.types.is_dictionary(values.type) and any([chunk.dictionary.null_count for chunk in values.chunks]):
        values = pa.chunked_array([_decoded(chunk) for chunk in values.chunks])  # Arrow makes no one of such
    if pa.types.is_string(values.type):  # of 32-bit offsets, which all chunks together may exceed
        values = cast(values, pa.large_string())
    elif pa.types.is_binary(values.type):
        values = cast(values, pa.large_binary())
    return values.combine_chunks()


def _decoded(values: Any) -> Any:
    """A dictionary's values, each in its rows."""
    import pyarrow as pa

    words = values.dictionary
    return (cast(words, pa.large_string()) if is_string(words.type) else words).take(values.indices)


def _converted(kind: Kind, values: Any) -> Any:
    """An array of numbers, booleans or times as Arrow's type for a kind."""
    import pyarrow as pa
    import pyarrow.types as types

    given, wanted = values.type, arrow_type(kind)
    is_number = types.is_integer(given) or types.is_floating(given)
    fits = types.is_null(given) or given == wanted
    if kind.is_instant or kind.is_exact:
        alike = any([getattr(types, of)(given) for of in _ALIKE.get(kind.family, ())])
        fits = fits or alike or types.is_integer(given) or is_string(given)
    elif kind.family != "bool":
        fits = fits or is_number or types.is_boolean(given) or types.is_decimal(given)
    if not fits:
        raise SchemaError(f"Arrow's {given} is not {kind}; {_cure(kind, given)}")
    if given == wanted:
        return values
    try:
        if kind.is_instant and is_string(given):
            return instants_of(values)
        if types.is_integer(given) and kind.is_exact:
            return cast(values, pa.int64())
        if kind.is_date and types.is_timestamp(given):
            return _days(values)
        if kind.is_instant and types.is_unsigned_integer(given):
            values = cast(values, pa.int64())
        if kind.is_float and types.is_decimal(given):
            _require_few_digits(values)
        return cast(values, wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        cures = [cure for said, cure in _CURES.items() if said in str(error)]
        raise SchemaError("; ".join([f"Arrow's {given} is not {kind}: {error}", *cures])) from None


def _days(instants: Any) -> Any:
    """Timestamps that are the beginnings of days, in UTC, as days; ArrowInvalid for others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    seconds = cast(cast(instants, pa.timestamp("s", "UTC")), pa.int64())
    numbers, nulls = _numbers(seconds, np.int64), _nulls(seconds)
    of_day = (numbers % 86_400 != 0) & (True if nulls is None else ~nulls)
    if of_day.any():
        row = int(np.flatnonzero(of_day)[0])
        raise pa.ArrowInvalid(f"row {row} holds a time within a day; declare it timestamp, or truncate it to days")
    return pc.divide(seconds, 86_400)


def _cure(kind: Kind, given: Any) -> str:
    """What to do about an array of a type that is converted to no such kind. It may be of a file, whose columns are
    cast by nobody but who writes it."""
    import pyarrow.types as types

    if isinstance(given, types.lib.BaseExtensionType):
        return "give its .storage, cast to what is meant"
    own = kind_of_type(given)
    if own and kind.family == "bool":
        return f"declare it {own}, and compare it with something"
    is_time = types.is_temporal(given) and not kind.is_text
    how = "cast it to int64, in the unit you mean," if is_time else "cast it (pyarrow.compute.cast)"
    if not own:
        return f"{how} before it comes here, or leave it out"
    return f"declare it {own}, or {how} before it comes here"


def _require_few_digits(values: Any) -> None:
    """SchemaError for decimals that a double does not hold to the last digit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = cast(values, pa.large_string())
    texts = pc.if_else(pc.match_substring(texts, "."), pc.utf8_rtrim(texts, "0"), texts)
    digits = pc.utf8_length(pc.utf8_ltrim(pc.replace_substring(texts, ".", ""), "-0"))
    many = pc.indices_nonzero(pc.greater(digits, _EXACT_DIGITS).fill_null(False))
    if len(many):
        row = many[0].as_py()
        value: Decimal = values[row].as_py()
        raise SchemaError(
            f"row {row} holds {value}, which a double does not hold to the last digit; declare it string, or cast it "
            f"first (pyarrow.compute.cast) if the nearest double will do"
        )


def _dictionary(kind: Kind, values: Any) -> Column:
    return _text_column(kind_of(f"{kind.name}?", ""), _one_array(values))


def _text_column(kind: Kind, values: Any, of_dictionary: OfDictionary = _dictionary) -> Column:
    import pyarrow as pa

    wanted, given = arrow_type(kind), values.type
    try:
        if pa.types.is_dictionary(given):
            words, heap = of_dictionary(kind, values.dictionary)
            indices, nulls = values.indices, _nulls(values.indices)
            sign = "u" if pa.types.is_unsigned_integer(indices.type) else "i"
            numbers = _numbers(indices, f"{sign}{indices.type.bit_width // 8}")
            if nulls is not None:
                numbers = np.where(nulls, 0, numbers)
            chosen = words[numbers] if len(words) else np.full(len(numbers), TEXT_NULL)
            if nulls is not None:
                chosen = np.where(nulls, TEXT_NULL, chosen)
            if not kind.nullable and (chosen < 0).any():
                raise SchemaError(f"null(s) where the kind is {kind}; make it {kind}? or fill them")
            return np.ascontiguousarray(chosen), heap
        if not (is_string(given) or is_binary(given) or pa.types.is_null(given) or pa.types.is_decimal(given)):
            raise SchemaError(f"Arrow's {given} is not {kind}; {_cure(kind, given)}")
        if pa.types.is_decimal(given) and is_string(wanted):  # which Arrow writes with an exponent where it is small
            return text_from([None if value is None else as_text(value) for value in values.to_pylist()], True)
        is_short = given in (pa.string(), pa.binary()) and is_string(given) == is_string(wanted)
        values = values if given == wanted or is_short else cast(values, wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"Arrow's {given} is not {kind}: {error}") from None
    _, offsets_bytes, data = values.buffers()
    if offsets_bytes is None:  # of an empty array
        return np.empty(0, np.int64), NO_HEAP
    width = np.int32 if is_short else np.int64
    offsets = np.frombuffer(offsets_bytes, width)[values.offset :][: len(values) + 1].astype(np.int64)
    heap = NO_HEAP if data is None else np.frombuffer(data, np.uint8)
    lengths = np.diff(offsets)
    if len(lengths) and lengths.max() > LENGTH_MASK:
        raise SchemaError(f"a text of {lengths.max()} bytes; the longest may have {LENGTH_MASK}")
    words = offsets[:-1] << LENGTH_BITS | lengths if len(values) else np.empty(0, np.int64)
    if (nulls := _nulls(values)) is not None:
        words = np.where(nulls, TEXT_NULL, words)
    return np.ascontiguousarray(words), heap


def text_from(values: Any, is_text: bool) -> tuple[np.ndarray, np.ndarray]:
    """Words and heap from a sequence of str (or bytes) and None, a numpy array of them, or what offers itself as
    an Arrow array.
    """
    import pyarrow as pa

    kind = kind_of("string?" if is_text else "bytes?", "")
    offered = arrow_of(values)
    if offered is not None:
        values = offered
    else:
        if hasattr(values, "dtype") and not is_masked(values):
            values = np.asarray(values)
        if isinstance(values, np.ndarray) and values.dtype.kind != "O":
            if values.dtype.kind not in ("U", "T") if is_text else values.dtype.kind != "S":
                raise SchemaError(f"numpy's {values.dtype} where {'str' if is_text else 'bytes'} is expected")
            values = values.tolist()
        if (joined := _joined(values, str if is_text else bytes)) is not None:
            return joined
        try:
            there = values if is_masked(values) else [None if is_missing(value) else value for value in values]
            values = pa.array(there, arrow_type(kind))
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, UnicodeError) as error:
            raise SchemaError(
                f"not all values are {'str' if is_text else 'bytes'} ({error}); convert them, or declare another kind"
            ) from None
    words, heap = column_from(kind, values)
    assert heap is not None
    return words, heap


def _joined(values: Any, wanted: type) -> tuple[np.ndarray, np.ndarray] | None:
    """Words and heap of a list of str (or bytes) and None, without Arrow, which loads pandas for lists; None if it is
    anything else, which Arrow is to see."""
    if not isinstance(values, list | tuple) or not (types := set(map(type, values))) <= {wanted, type(None)}:
        return None
    if types == {type(None)}:
        return np.full(len(values), TEXT_NULL), NO_HEAP
    nulls = [at for at, value in enumerate(values) if value is None] if type(None) in types else []
    parts = [wanted() if value is None else value for value in values] if nulls else values
    joined = wanted().join(parts)
    try:
        heap = bytearray(joined if wanted is bytes else joined.encode())
    except UnicodeEncodeError:
        return None
    if len(heap) > len(joined):  # letters of several bytes
        parts = [value.encode() for value in parts]
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    if len(parts) and lengths.max() > LENGTH_MASK:
        return None
    words = np.cumsum(lengths) - lengths << LENGTH_BITS | lengths
    words[nulls] = TEXT_NULL
    return words, np.frombuffer(heap, np.uint8) if heap else NO_HEAP
