"""Kinds of columns: numbers, booleans, timestamps and text, with or without nulls, each one 8-byte word a row."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from tokenring.engine.errors import SchemaError

TEXT_NULL: Final = -1
BOOL_NULL: Final = 2
_LEAST: Final = -(2**63)
_NAN: Final = 0x7FF80000000007A2

_INT64, _UINT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.float64)
_KINDS: Final[dict[str, tuple[np.dtype[Any], int]]] = {
    "int64": (_INT64, _LEAST),
    "uint64": (_UINT64, -1),
    "float64": (_FLOAT64, _NAN),
    "bool": (_INT64, BOOL_NULL),
    "timestamp": (_INT64, _LEAST),
    "string": (_INT64, TEXT_NULL),
    "bytes": (_INT64, TEXT_NULL),
}
_MEANT: Final = {
    "int": "int64", "int32": "int64", "long": "int64", "float": "float64", "double": "float64", "float32": "float64",
    "str": "string", "text": "string", "object": "string", "utf8": "string", "boolean": "bool", "binary": "bytes",
    "datetime": "timestamp", "datetime64[ns]": "timestamp", "date": "timestamp", "time": "timestamp",
}
KIND_NAMES: Final = tuple(_KINDS)


@dataclass(frozen=True)
class Kind:
    """What a column holds, an 8-byte word a row. `str(kind)` is how schemas spell it: "int64", "string?".

    | kind | word | null |
    | --- | --- | --- |
    | int64, uint64 | the number | the least, the greatest |
    | float64 | its bits | a NaN with a payload of its own (as R has it) |
    | bool | 0 or 1 | 2 |
    | timestamp | int64 nanoseconds since 1970-01-01 UTC | the least (numpy's NaT) |
    | string, bytes | offset << 24 or length, into the column's heap of bytes | -1 |

    So a null costs nothing: no mask travels, and whatever moves words moves nulls.
    """

    name: str
    """One of KIND_NAMES."""
    nullable: bool
    dtype: np.dtype[Any]
    """Of the words: int64, uint64 or float64."""
    null: int
    """The bits of the word that stands for null, as an int64."""
    is_text: bool
    is_plain: bool
    """Whether the words are what users see: numbers that are never null."""

    def __str__(self) -> str:
        return f"{self.name}?" if self.nullable else self.name

    def nulls(self, words: np.ndarray) -> np.ndarray:
        """Where words are null: bool of shape (rows,)."""
        if not self.nullable:
            return np.zeros(len(words), np.bool_)
        return np.asarray(words.view(np.int64) == self.null)

    def null_word(self) -> np.ndarray:
        """The word that stands for null, as an array of one."""
        return np.array([self.null], np.int64).view(self.dtype)


@cache
def kind_of(text: str, column: str) -> Kind:
    """The kind that a schema spells so; SchemaError for none, naming the column."""
    name = text.removesuffix("?") if isinstance(text, str) else text
    if name not in _KINDS:
        meant = _MEANT.get(name) if isinstance(name, str) else None
        raise SchemaError(
            f"column {column!r}: kind must be one of {', '.join(_KINDS)}, with ? behind it where nulls may be, "
            f"not {text!r}{f'; {meant!r} holds those' if meant else ''}"
        )
    return _kind(name, text != name)


@cache
def _kind(name: str, nullable: bool) -> Kind:
    dtype, null = _KINDS[name]
    is_plain = not nullable and name in ("int64", "uint64", "float64")
    return Kind(name, nullable, dtype, null, name in ("string", "bytes"), is_plain)
