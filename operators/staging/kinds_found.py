"""Which kinds the columns of a file of lines have if nobody says it: the first as which all its first lines are read,
and lose nothing."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

import orjson

from tokenring.engine import Batch, Schema, SchemaError

_KINDS: Final = ("int64?", "uint64?", "float64?", "bool?", "date?", "timestamp?")
_NUMBERS: Final = _KINDS[:3]
_DIGIT: Final = re.compile(r"\d")
CODE: Final = re.compile(r"\s*[-+]?0\d")
"""A number that is written with zeros before it is the name of something."""
LONG: Final = re.compile(r"\s*[-+]?(?:\d{16,}\s*|[0.]*[1-9](?:\.?\d){17,}(?:[eE].*)?)")
"""Digits that a double may not hold: of a whole number, or of a fraction."""


def kind_of_column(name: str, read: Callable[[Schema], Batch], is_text: bool) -> str:
    """The kind of a column, which `read` reads as that of a schema. is_text: whether all in it is text, as in CSV, and
    the empty one no null. SchemaError for a column that no kind holds."""

    def column(kind: str) -> Any:
        return read(Schema.of({name: kind})).arrow(name)

    for kind in _kinds_of_texts(column("string").to_pylist()) if is_text else _KINDS:
        with suppress(SchemaError):
            values = column(kind)
            if values.null_count < len(values):
                return kind
    kind = "string" if is_text else "string?"
    column(kind)
    return kind


def _kinds_of_texts(texts: Sequence[str]) -> list[str]:
    """Those as which they lose nothing, if they can be read so."""
    are_numbers = not any(map(CODE.match, texts)) and any(map(_DIGIT.search, texts))
    return [
        kind
        for kind in _KINDS
        if (are_numbers or kind not in _NUMBERS) and (kind != "float64?" or not any(map(_is_beyond_float, texts)))
    ]


def _is_beyond_float(text: str) -> bool:
    """Whether a number, written with as many digits as in a text, is not the same once it is a double."""
    if not text or LONG.fullmatch(text):
        return bool(text)
    try:
        number = Decimal(text)
    except ArithmeticError:
        return True
    digits = len(number.as_tuple().digits)
    return number.is_finite() and Decimal(f"{float(text):.{digits - 1}e}") != number


def names_in_json(data: bytes) -> list[str]:
    """The fields of objects, one a line, in the order in which they come; what is no object is for who reads it."""
    found: dict[str, Any] = {}
    for line in data.split(b"\n"):
        with suppress(orjson.JSONDecodeError):
            there = orjson.loads(line)
            found |= there if isinstance(there, dict) else {}
    return [*found]


def require_kinds_for_numbers(data: bytes, names: Sequence[str], file: str) -> None:
    """SchemaError for a whole number of these fields that no kind holds, in the first lines of a file of JSON: who
    reads them rounds it."""
    for number, line in enumerate(data.split(b"\n"), 1):
        with suppress(ValueError, RecursionError):  # what is no JSON is for who reads it
            there = json.loads(line)
            for name in names if isinstance(there, dict) else ():
                if type(value := there.get(name)) is int and not _is_held(value):
                    raise SchemaError(
                        f"{file} line {number}, column {name!r}: {value} is a whole number that no kind holds; write "
                        f"it as a text, in quotes, or leave the column out (columns=)"
                    )


def _is_held(value: int) -> bool:
    """Whether a whole number is a value of int64, uint64 or float64, of which the first two have one for null."""
    with suppress(OverflowError):
        return -(2**63) < value < 2**64 - 1 or float(value) == value
    return False


def names_in_csv(data: bytes, delimiter: str) -> list[str]:
    """What the first line says; what says nothing is for who reads it."""
    with suppress(csv.Error, UnicodeDecodeError):
        return next(csv.reader([data.partition(b"\n")[0].decode()], delimiter=delimiter), [])
    return []
