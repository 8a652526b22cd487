"""Lines of JSON as batches: by pyarrow's reader where both readers agree, by orjson where they might not, or where a
line and a column are to be named.
"""

import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, Final, NoReturn, Self

import numpy as np
import orjson

from tokenring.engine import Batch, Kind, Schema, SchemaError
from tokenring.engine.columns import arrow_type, instants_of
from tokenring.engine.raw import address_of
from tokenring.operators.sources.lines import MARK, Block, lines_of, not_utf_8, place_of
from tokenring.operators.sources.octets import may_be_no_number, plain_lines
from tokenring.operators.time import RowOrigin

_NOTHING: Final = type(None)
_NUMBERS: Final = Schema.of({"value": "float64?"})
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
_NAMES: Final = {str: "a string", int: "an integer", float: "a fraction", bool: "a boolean", list: "a list"}


_UNQUOTED: Final = re.compile(rb"[:\[,]\s*-?(?:NaN|Inf)")
"""Numbers that pyarrow takes, though they are no JSON; what looks so within a text costs no more than time."""
_LEAST_BYTES: Final = 3  # of a line with an object, its newline among them
_MOST_BYTES: Final = (1 << 31) - 64
_NO_TEXT: Final = "bad JSON: its bytes are no UTF-8"
_WHOLE: Final = 1 << 53
"""Above, a whole number may be none of float64."""
_TRIES: Final = 4
"""Blocks for which pyarrow may have been of no use, one after the other, before it is not tried any more."""


class JsonRows:
    """Makes batches of a schema out of lines. Schemas with bytes have no JSON: SchemaError."""

    def __init__(self, name: str, schema: Schema) -> None:
        self._name = name
        self._schema = schema
        self._kinds = tuple(zip(schema.names, schema.kinds, strict=True))
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
            if _NO_TEXT not in str(error):
                raise
            raise SchemaError(f"{error}; {not_utf_8(blocks[0].file)}") from None
        return batch, lambda row: where(int(numbers[row]))

    def batch(self, data: bytes, where: Callable[[int], str]) -> tuple[Batch, Sequence[int] | np.ndarray]:
        """The rows of a block's lines that are not blank, and which line each is from. `where(line)` names one."""
        if self._failed < _TRIES:
            found = self._quick(data)
            self._failed = 0 if found is not None else self._failed + 1
            if found is not None:
                return found
        return self.exact(data, where)

    def _quick(self, data: bytes) -> tuple[Batch, np.ndarray] | None:
        """The same by pyarrow, None where `exact` may come to something else."""
        found = self.agreed(data)
        try:
            return None if found is None else (Batch(self._schema, found[0]), found[1])
        except (SchemaError, OverflowError):
            return None

    def agreed(self, data: bytes) -> tuple[dict[str, Any], np.ndarray] | None:
        """The columns of a block's lines by pyarrow, and which line each row is from; None where a reader of line after
        line may come to something else."""
        import pyarrow as pa

        data = data if data.endswith(b"\n") else data + b"\n"
        numbers = _plain_lines(data)
        if numbers is None or not _is_agreed(data):
            return None
        try:
            table = self._table(data)
            if table.num_rows != len(numbers):
                return None
            return {name: _values(kind, table.column(name).combine_chunks()) for name, kind in self._kinds}, numbers
        except (pa.ArrowException, orjson.JSONDecodeError, SchemaError, OverflowError):
            return None

    def _table(self, data: bytes) -> Any:
        """What pyarrow reads; times are texts."""
        import pyarrow as pa
        from pyarrow import json

        fields = []
        for name, kind in self._kinds:
            is_text = kind.is_text or kind.is_instant or kind.is_date
            fields.append((name, pa.string() if is_text else arrow_type(kind)))
        return json.read_json(
            pa.BufferReader(data),
            json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            json.ParseOptions(pa.schema(fields), unexpected_field_behavior="ignore"),
        )

    def exact(self, data: bytes, where: Callable[[int], str]) -> tuple[Batch, Sequence[int]]:
        """As `batch`, each line by itself."""
        lines = data.split(b"\n")
        objects, numbers = [], []
        for number, line in enumerate(lines):
            if line and not line.isspace():
                try:
                    objects.append(orjson.loads(line))
                except orjson.JSONDecodeError as error:
                    fault = _NO_TEXT if "UTF-8" in error.msg else f"bad JSON: {error.msg}"
                    raise SchemaError(f"{where(number)}, character {error.colno}: {fault}") from None
                numbers.append(number)
        for number, found in zip(numbers, objects, strict=True):
            if found.__class__ is not dict:
                raise SchemaError(f"{where(number)}: not a JSON object but {_describe(found)}")
        decimals = [column for column, kind in self._kinds if kind.is_decimal]
        if decimals:
            objects = [
                _with_exact_numbers(found, lines[at], decimals) for at, found in zip(numbers, objects, strict=True)
            ]
        columns: dict[str, Any] = {name: [found.get(name) for found in objects] for name in self._schema.names}
        for name, kind in self._kinds:
            accepted = _ACCEPTED[kind.family][0] | ({_NOTHING} if kind.nullable else set())
            if not set(map(type, columns[name])) <= accepted:
                at = next(at for at, value in enumerate(columns[name]) if type(value) not in accepted)
                _refuse(name, kind, columns[name][at], name in objects[at], where(numbers[at]))
        try:
            return Batch(self._schema, columns), numbers
        except (SchemaError, OverflowError) as error:
            for number, found in zip(numbers, zip(*columns.values(), strict=True), strict=True):
                self._blame(where(number), dict(zip(columns, found, strict=True)))
            raise SchemaError(f"{where(0)} and those after it: {error}") from None

    def _blame(self, where: str, row: dict[str, Any]) -> None:
        """Raise for the one column of one row that does not fit, if it is this row."""
        for name, value in row.items():
            try:
                Batch(self._schema.select([name]), {name: [value]})
            except (SchemaError, OverflowError) as error:
                is_time = self._schema.kind(name).is_instant
                fault = "no ISO 8601 time within 1677 to 2262" if is_time else f"out of range ({error})"
                raise SchemaError(f"{where}, column {name!r}: {value!r:.40} is {fault}") from None


def _with_exact_numbers(found: dict[str, Any], line: bytes, decimals: Sequence[str]) -> dict[str, Any]:
    """The object of a line, of which fractions have become floats, with numbers of these columns as they are written.
    """
    names = [name for name in decimals if type(found.get(name)) is float]
    if not names:
        return found
    numbers = json.loads(line, parse_float=Decimal)
    return found | {name: numbers[name] for name in names}


def _refuse(column: str, kind: Kind, value: Any, is_there: bool, where: str) -> NoReturn:
    fault = _describe(value) if is_there else "missing"
    cure = f"; make it {kind}? in the schema, or fill it" if value is None else ""
    if kind.is_instant and type(value) is int:
        cure = f'; make it int64, and say (col("{column}") * 1_000_000).cast("timestamp") if it is of ms'
    raise SchemaError(f"{where}, column {column!r}: must be {_ACCEPTED[kind.family][1]}, but is {fault}{cure}")


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


def _is_agreed(data: bytes) -> bool:
    """Whether what pyarrow takes of these bytes orjson does, too."""
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
    octets = np.frombuffer(data, np.uint8)
    return not (may_be_no_number(address_of(octets), len(data)) and _UNQUOTED.search(data))


def _values(kind: Kind, values: Any) -> Any:
    """A column as `Batch` takes it. SchemaError where `exact` sees more: which row has no value, that -0 is a whole
    number, that one is no float64. None of it by methods of Arrow's arrays, which load pandas."""
    if values.null_count and not kind.nullable:
        raise SchemaError("a value is missing")
    if kind.is_instant:
        return instants_of(values)
    if kind.is_float:
        numbers = Batch(_NUMBERS, {"value": values}).columns[0]  # NaN where there is none
        if ((numbers == 0) & np.signbit(numbers)).any() or (np.abs(numbers) >= _WHOLE).any():
            raise SchemaError("a number may be a whole one")
    return values
