"""Lines of JSON as batches: quick when they are right, exact about the line and column when not."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import numpy as np
import orjson

from tokenring.engine import Batch, Kind, Schema, SchemaError
from tokenring.engine.columns import instant_of, instants_of

_NAT: Final = int(np.datetime64("NaT").astype(np.int64))
_NOTHING: Final = type(None)
_ACCEPTED: Final[dict[str, tuple[set[type], str]]] = {
    "int64": ({int}, "an integer"),
    "uint64": ({int}, "an integer"),
    "float64": ({int, float}, "a number"),
    "bool": ({bool}, "true or false"),
    "timestamp": ({int, str}, "an ISO 8601 string, or an integer of ns"),
    "string": ({str}, "a string"),
}
_NAMES: Final = {str: "a string", int: "an integer", float: "a fraction", bool: "a boolean", list: "a list"}


class JsonRows:
    """Makes batches of a schema out of lines. Schemas with bytes have no JSON: SchemaError."""

    def __init__(self, name: str, schema: Schema) -> None:
        self._schema = schema
        for column, kind in zip(schema.names, schema.kinds, strict=True):
            if kind.name not in _ACCEPTED:
                raise SchemaError(f"{name!r}: column {column!r} is {kind}, which JSON cannot hold; make it string")

    def batch(self, lines: Sequence[bytes], where: Callable[[int], str]) -> tuple[Batch, list[int]]:
        """The rows of lines that are not blank, and which line each is from. `where(line)` names a line of these."""
        objects, numbers = [], []
        for number, line in enumerate(lines):
            if line and not line.isspace():
                try:
                    objects.append(orjson.loads(line))
                except orjson.JSONDecodeError as error:
                    raise SchemaError(f"{where(number)}, character {error.colno}: bad JSON: {error.msg}") from None
                numbers.append(number)
        for number, found in zip(numbers, objects, strict=True):
            if found.__class__ is not dict:
                raise SchemaError(f"{where(number)}: not a JSON object but {_describe(found)}")
        columns: dict[str, Any] = {name: [found.get(name) for found in objects] for name in self._schema.names}
        for name, kind in zip(self._schema.names, self._schema.kinds, strict=True):
            accepted = _ACCEPTED[kind.name][0] | ({_NOTHING} if kind.nullable else set())
            if not set(map(type, columns[name])) <= accepted:
                at = next(at for at, value in enumerate(columns[name]) if type(value) not in accepted)
                _refuse(name, kind, columns[name][at], name in objects[at], where(numbers[at]))
            if kind.name == "timestamp":
                columns[name] = _instants(name, columns[name], lambda at: where(numbers[at]))
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
                raise SchemaError(f"{where}, column {name!r}: {value!r:.40} is out of range ({error})") from None


def _refuse(column: str, kind: Kind, value: Any, is_there: bool, where: str) -> NoReturn:
    fault = _describe(value) if is_there else "missing"
    cure = f"; make it {kind}? in the schema, or fill it" if value is None else ""
    raise SchemaError(f"{where}, column {column!r}: must be {_ACCEPTED[kind.name][1]}, but is {fault}{cure}")


def _describe(value: Any) -> str:
    return "null" if value is None else f"{_NAMES.get(type(value), 'an object')} ({str(value)[:40]})"


def _instants(column: str, values: list[Any], where: Callable[[int], str]) -> np.ndarray:
    """Times in ns, NaT where there is none: datetime64[ns] of shape (rows,)."""
    import pyarrow as pa

    try:
        found = np.array([_NAT if value is None or isinstance(value, str) else value for value in values], np.int64)
        if any(isinstance(value, str) for value in values):
            texts = pa.array([value if isinstance(value, str) else None for value in values], pa.large_string())
            told = instants_of(texts).cast(pa.int64())
            found = np.where(np.asarray(told.is_valid()), np.asarray(told.fill_null(0)), found)
    except (pa.ArrowInvalid, OverflowError):
        at = next(at for at, value in enumerate(values) if not _is_instant(value))
        raise SchemaError(
            f"{where(at)}, column {column!r}: {values[at]!r:.40} is no ISO 8601 time within 1677 to 2262"
        ) from None
    return found.view("datetime64[ns]")


def _is_instant(value: int | str | None) -> bool:
    if not isinstance(value, str):
        return value is None or -(2**63) <= value < 2**63
    try:
        instant_of(value)
    except SchemaError:
        return False
    return True
