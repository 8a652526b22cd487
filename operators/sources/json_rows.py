"""Lines of JSON as batches: the wanted fields of a block at once by msgspec, each line by orjson where that may come to
something else, or where a line and a column are to be named.
"""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Final, NoReturn, Self

import msgspec
import numpy as np
import orjson

from tokenring.engine import Batch, Kind, Schema, SchemaError, Strings, did_you_mean
from tokenring.engine.columns import arrow_type, instants_of
from tokenring.engine.raw import address_of
from tokenring.operators.sources.lines import (
    MARK,
    Block,
    is_instant,
    lines_of,
    no_text,
    not_utf_8,
    number_as_time,
    of_value,
    place_of,
)
from tokenring.operators.sources.octets import plain_lines
from tokenring.operators.time import RowOrigin

_NOTHING: Final = type(None)
_ACCEPTED: Final[dict[str, tuple[set[type], str]]] = {
    "int64": ({int}, "an integer"),
    "uint64": ({int}, "an integer"),
    "float64": ({int, float}, "a number"),
    "bool": ({bool}, "true or false"),
    "timestamp": ({str}, "an ISO 8601 string"),
    "date": ({str}, "an ISO 8601 date, YYYY-MM-DD"),
    "decimal": ({int, float, str, Decimal}, "a number, or a string that is one"),
    "string": ({str}, "a string"),
}
_TYPES: Final = {
    "int64": int, "uint64": int, "float64": float, "bool": bool, "timestamp": str, "date": str, "string": str,
}  # fmt: skip
"""What msgspec makes of values."""
_DTYPES: Final = {"int64": np.int64, "uint64": np.uint64, "float64": np.float64, "bool": np.bool_}
_NAMES: Final = {str: "a string", int: "an integer", float: "a fraction", bool: "a boolean", list: "a list"}


_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')
"""What is in no name that msgspec decodes."""
_PLAIN: Final = re.compile("[-+]?[0-9.]{1,38}")
"""A decimal of which Arrow keeps all digits or refuses it: of 1e-77, and of some with more digits, it makes 0."""
_LEAST_BYTES: Final = 3  # of a line with an object, its newline among them
_MOST_BYTES: Final = (1 << 31) - 64
_NO_TEXT: Final = "bad JSON: its bytes are no UTF-8"
_KINDS: Final = {str: "string", int: "int64", float: "float64", bool: "bool"}
"""What reads values of a type."""
_QUOTED: Final = "write it in quotes, and make it string"
_OF_LISTS: Final = "a line is to be one JSON object: of a list, write each on a line of its own (jq -c '.[]')"
_WIDE: Final = 1 << 64
"""From here on orjson makes floats of whole numbers."""
_WHOLE: Final = 1 << 53
"""Above, a whole number may be none of float64."""
_TRIES: Final = 4
"""Blocks for which msgspec may have been of no use, one after the other, before it is not tried any more."""


class JsonRows:
    """Makes batches of a schema out of lines. Schemas with bytes have no JSON: SchemaError."""

    def __init__(self, name: str, schema: Schema) -> None:
        self._name = name
        self._schema = schema
        self._kinds = tuple(zip(schema.names, schema.kinds, strict=True))
        self._fields = [f"field_{at}" for at in range(len(self._kinds))]  # a name may be no identifier
        self._is_decoded = not any(map(_ESCAPED.search, schema.names))
        self._failed = 0
        for column, kind in self._kinds:
            if kind.family not in _ACCEPTED:
                raise SchemaError(f"{name!r}: column {column!r} is {kind}, which JSON cannot hold; make it string")

    def only(self, schema: Schema) -> Self:
        """The same for some of the columns."""
        return type(self)(self._name, schema)

    def read(self, blocks: Sequence[Block]) -> tuple[Batch, RowOrigin]:
        """The rows in blocks of a file, and where each is."""
        parts = [lines_of(block) for block in blocks]
        data = b"".join([part.data for part in parts])
        where = partial(place_of, blocks[0].file, parts)
        try:
            batch, numbers = self.batch(data if parts[0].at else data.removeprefix(MARK), where)
        except SchemaError as error:
            fault = not_utf_8(blocks[0].file) if _NO_TEXT in str(error) else no_text(blocks[0].file)
            if not fault:
                raise
            raise SchemaError(f"{error}; {fault}") from None
        return batch, lambda row: where(int(numbers[row]))

    def batch(self, data: bytes, where: Callable[[int], str]) -> tuple[Batch, Sequence[int] | np.ndarray]:
        """The rows of a block's lines that are not blank, and which line each is from. `where(line)` names one."""
        if self._is_decoded and self._failed < _TRIES:
            found = self.agreed(data)
            self._failed = 0 if found is not None else self._failed + 1
            if found is not None:
                return found
        return self.exact(data, where)

    def agreed(self, data: bytes) -> tuple[Batch, np.ndarray] | None:
        """The same by msgspec; None where a reader of line after line may come to something else."""
        import pyarrow as pa

        data = data if data.endswith(b"\n") else data + b"\n"
        numbers = _plain_lines(data)
        if numbers is None or not _is_utf_8(data):  # a field that is left out is not looked at
            return None
        try:
            rows = self._typed.decode_lines(data)
            if len(rows) != len(numbers):
                return None
            columns = {
                name: _values(kind, list(map(attrgetter(field), rows)))
                for field, (name, kind) in zip(self._fields, self._kinds, strict=True)
            }
            return Batch(self._schema, columns), numbers
        except (msgspec.MsgspecError, pa.ArrowException, RecursionError, SchemaError, OverflowError):
            return None

    @cached_property
    def _typed(self) -> Any:
        """Decodes objects whose fields are as the schema has them."""
        return self._decoder([_type_of(kind) for kind in self._schema.kinds])

    @cached_property
    def _untyped(self) -> Any:
        """Decodes objects whatever their fields are."""
        return self._decoder([(Any, None)] * len(self._kinds))

    def _decoder(self, types: Sequence[tuple[Any, ...]]) -> Any:
        """Decodes the fields of the schema, and leaves out the others. types: of each, and what one is that is missing,
        if it may be."""
        fields = [(field, *each) for field, each in zip(self._fields, types, strict=True)]
        names = dict(zip(self._fields, self._schema.names, strict=True))
        return msgspec.json.Decoder(msgspec.defstruct("Row", fields, rename=names, kw_only=True, gc=False))

    def exact(self, data: bytes, where: Callable[[int], str]) -> tuple[Batch, Sequence[int]]:
        """As `batch`, each line by itself."""
        lines = data.split(b"\n")
        objects, numbers = [], []
        for number, line in enumerate(lines):
            if line and not line.isspace():
                try:
                    objects.append(self._object(line))
                except orjson.JSONDecodeError as error:
                    fault = _NO_TEXT if "not valid UTF-8" in error.msg else f"bad JSON: {error.msg}; {_cure(error)}"
                    raise SchemaError(f"{where(number)}, character {error.colno}: {fault}") from None
                numbers.append(number)
        for number, found in zip(numbers, objects, strict=True):
            if found.__class__ is not dict:
                raise SchemaError(f"{where(number)}: not a JSON object but {_describe(found)}; {_OF_LISTS}")
        decimals = [column for column, kind in self._kinds if kind.is_decimal]
        floats = [column for column, kind in self._kinds if kind.is_float]
        for at, number in enumerate(numbers) if decimals or floats else ():
            try:
                objects[at] = _with_exact_numbers(objects[at], lines[number], decimals, floats)
            except RecursionError:
                fault = "bad JSON: it is too deep for its numbers to be read with all digits; write it flatter"
                raise SchemaError(f"{where(number)}: {fault}") from None
        columns: dict[str, Any] = {name: [found.get(name) for found in objects] for name in self._schema.names}
        columns |= {name: list(map(_as_float, columns[name])) for name, kind in self._kinds if kind.is_float}
        for name, kind in self._kinds:
            accepted = _ACCEPTED[kind.family][0] | ({_NOTHING} if kind.nullable else set())
            if not set(map(type, columns[name])) <= accepted:
                at = next(at for at, value in enumerate(columns[name]) if type(value) not in accepted)
                _refuse(name, kind, columns[name][at], objects[at], where(numbers[at]))
        try:
            return Batch(self._schema, columns), numbers
        except (SchemaError, OverflowError) as error:
            for number, found in zip(numbers, zip(*columns.values(), strict=True), strict=True):
                self._blame(where(number), dict(zip(columns, found, strict=True)))
            raise SchemaError(f"{where(0)} and those after it: {error}") from None

    def _object(self, line: bytes) -> Any:
        """What a line is. JSONDecodeError if it is no JSON, or has a number beyond float64 in a field of the schema: in
        others those are left out like all there."""
        try:
            return orjson.loads(line)
        except orjson.JSONDecodeError:
            with suppress(msgspec.MsgspecError, RecursionError):
                if self._is_decoded and _is_utf_8(line):
                    columns = self._schema.names
                    row = self._untyped.decode(line)
                    return {name: getattr(row, field) for field, name in zip(self._fields, columns, strict=True)}
            raise

    def _blame(self, where: str, row: dict[str, Any]) -> None:
        """Raise for the one column of one row that does not fit, if it is this row."""
        for name, value in row.items():
            try:
                Batch(self._schema.select([name]), {name: [value]})
            except (SchemaError, OverflowError) as error:
                said = of_value(error).removeprefix(f"column {name!r}: ")
                fault = _fault(self._schema.kind(name), value, said)
                raise SchemaError(f"{where}, column {name!r}: {fault}") from None


def _as_float(value: Any) -> Any:
    """A whole number as a float64, if that holds it."""
    return float(value) if type(value) is int and int(float(value)) == value else value


def _with_exact_numbers(
    found: dict[str, Any], line: bytes, decimals: Sequence[str], floats: Sequence[str]
) -> dict[str, Any]:
    """The object of a line, of which fractions, and whole numbers of more than 64 bits, have become floats, with
    fractions of decimals and whole numbers of floats as they are written."""
    fractions = [name for name in decimals if type(found.get(name)) is float]
    wide = [name for name in floats if type(value := found.get(name)) is float and abs(value) >= _WIDE]
    if not fractions and not wide:
        return found
    numbers = json.loads(line, parse_float=Decimal)
    wide = [name for name in wide if type(numbers[name]) is int]
    return found | {name: numbers[name] for name in [*fractions, *wide]}


def _cure(error: orjson.JSONDecodeError) -> str:
    """What to do with a line that is no JSON."""
    if error.doc[error.pos :].startswith(("NaN", "Infinity")):
        return "JSON has no NaN, and no Infinity: write null, in a column whose kind has a ?"
    if "infinity" in error.msg:
        return _QUOTED
    if error.doc.lstrip().startswith("["):
        return _OF_LISTS
    if error.msg == "unexpected end of data":
        return "an object begins and ends on one line (jq -c . writes it so)"
    return "a line is to be one JSON object"


def _refuse(column: str, kind: Kind, value: Any, found: dict[str, Any], where: str) -> NoReturn:
    null = "?" * kind.nullable
    fault = _describe(value)
    if type(value) in _KINDS:
        cure = f"make it {_KINDS[type(value)]}{null} in the schema"
    elif value is None:
        cure = f"make it {kind}? in the schema, or fill it"
    else:
        cure = "leave it out of the schema, or make rows of it yourself, in a function that from_generator reads"
    if kind.family in ("int64", "uint64") and type(value) is float and abs(value) >= _WIDE:
        fault, cure = f"no number of 64 bits ({value})", _QUOTED
    elif kind.is_instant and type(value) is int:
        cure = number_as_time(column)
    elif column not in found:
        fault, cure = "missing", f"{cure}{did_you_mean(column, [*found])}"
    raise SchemaError(f"{where}, column {column!r}: must be {_ACCEPTED[kind.family][1]}, but is {fault}; {cure}")


def _fault(kind: Kind, value: Any, said: str) -> str:
    """What is wrong with a value of the right type, and the cure. said: what a batch says of it."""
    shown = f"{value!r:.40}"
    if kind.is_instant:
        return f"{shown} is no ISO 8601 time within 1677 to 2262; make it string"
    if kind.is_date:
        return f"{shown} is no ISO 8601 date, YYYY-MM-DD; make it {'timestamp' if is_instant(value) else 'string'}"
    if kind.is_float and type(value) is int:
        cure = _QUOTED if abs(value) >= _WIDE else f"make it int64, or {_QUOTED}"
        return f"{shown} is a whole number of which a float64 does not hold all digits; {cure}"
    if kind.family == "int64" and value >= 1 << 63:
        return f"{shown} is no {kind}; make it uint64"
    if kind.family == "uint64" and value < 0:
        return f"{shown} is no {kind}; make it int64"
    return f"{said}; make it string" if kind.is_decimal and isinstance(value, str) else said


def _describe(value: Any) -> str:
    return "null" if value is None else f"{_NAMES.get(type(value), 'an object')} ({str(value)[:40]})"


def _plain_lines(data: bytes) -> np.ndarray | None:
    """The numbers of lines that are not empty, if each of them begins and ends as an object does; else None. Then a
    line ends where an object does (after a brace that closes none can come that opens), so if there are as many objects
    as lines, each line is one. None, too, where one may be deeper than orjson goes.
    """
    if len(data) > _MOST_BYTES:
        return None
    octets = np.frombuffer(data, np.uint8)
    numbers = np.empty(len(data) // _LEAST_BYTES, np.int64)  # more than there are; to count newlines takes longer
    found = plain_lines(address_of(octets), len(data), address_of(numbers), len(numbers))
    return numbers[:found] if found > 0 else None


def _is_utf_8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def _type_of(kind: Kind) -> tuple[Any, ...]:
    """What msgspec makes of a column's values, and of none; of decimals the bytes, which have all digits."""
    if kind.is_decimal:
        return msgspec.Raw, msgspec.Raw(b"null")
    found = _TYPES[kind.family]
    return (found | None, None) if kind.nullable else (found,)


def _values(kind: Kind, values: list[Any]) -> Any:
    """A column as `Batch` takes it. SchemaError where `exact` sees more: that one is no float64, that digits get lost.
    None of it by `pyarrow.array`, nor by methods of Arrow's arrays, which load pandas."""
    import pyarrow.compute as pc

    if kind.is_decimal:
        texts = [None if (text := bytes(value).decode()) == "null" else text.strip('"') for value in values]
        if not all([text is None or _PLAIN.fullmatch(text) for text in texts]):
            raise SchemaError("a number may have digits that Arrow leaves out")
        return pc.cast(Strings.of(texts).to_arrow(), arrow_type(kind))
    if kind.is_text or kind.is_exact:
        return Strings.of(values) if kind.is_text else Strings.of(values).to_arrow()
    if kind.is_instant:
        return instants_of(Strings.of(values).to_arrow())
    numbers = values
    if None in values:
        numbers = [0 if value is None else value for value in values]
    found: np.ndarray = np.array(numbers, _DTYPES[kind.family])
    if kind.is_float and (np.abs(found) >= _WHOLE).any():
        raise SchemaError("a number may be a whole one")
    return found if numbers is values else np.ma.MaskedArray(found, [value is None for value in values])
