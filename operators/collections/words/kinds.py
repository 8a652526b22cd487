"""Kinds as kernels see them: a table with a row a column; which words are null, and how words compare by value."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tokenring.engine import TABLE, Batch, Kind, Schema, kernel
from tokenring.engine.columns import FLOAT, UNSIGNED, as_text
from tokenring.engine.compiled import Record, Words, load_unaligned, signed
from tokenring.engine.raw import LENGTH_BITS, LENGTH_MASK, bytes_at, text_space
from tokenring.operators.state import is_nan

Heaps = tuple[np.ndarray | None, ...]


class KindRow(Record):
    """A column's kind: how words are in `order`, whether a word may be null (`nullable`), which word that is, and where
    texts' words count from."""

    order: int
    nullable: int
    null: int
    base: int


KIND_WORDS = KindRow.size
_SIGN, _MOST = -(1 << 63), (1 << 63) - 1


def kinds_table(kinds: Sequence[Kind]) -> np.ndarray:
    """Columns of these kinds, int64 (columns, KIND_WORDS): of a `KindRow` each."""
    space = text_space() if any([kind.is_text for kind in kinds]) else None
    base = 0 if space is None else space.address
    rows = [(kind.order, int(kind.nullable), kind.null, base) for kind in kinds]
    return np.array(rows, np.int64).reshape(len(rows), KIND_WORDS)


def heaps_of(schema: Schema) -> Heaps:
    """What columns of canonical words point into, as a batch of this schema has it."""
    if not schema.has_text:
        return ()
    space = text_space()
    assert space is not None, "who has none is refused when the dataflow is built"
    return tuple([space.heap if kind.is_text else None for kind in schema.kinds])


def key_in_words(schema: Schema, words: np.ndarray) -> str:
    """The columns and values of a key of canonical words, for messages."""
    if schema.names == (OF_ALL,):
        return "the key of all rows"
    columns: Any = [np.array([word]).view(dtype) for word, dtype in zip(words, schema.dtypes, strict=True)]
    (said,) = _in_words(Batch.wrap(schema, tuple(columns), 1, heaps_of(schema)))
    return f"key {', '.join([f'{name}={value}' for name, value in zip(schema.names, said, strict=True)])}"


def rows_in_words(rows: Batch) -> list[str]:
    """Each row's columns and values, for messages."""
    return [
        f"{{{', '.join([f'{name!r}: {value}' for name, value in zip(rows.schema.names, said, strict=True)])}}}"
        for said in _in_words(rows)
    ]


def _in_words(rows: Batch) -> list[tuple[str, ...]]:
    """Each row's values as text, U+FFFD where a text is not UTF-8."""
    columns = []
    for name, kind in zip(rows.schema.names, rows.schema.kinds, strict=True):
        seen = rows[name]
        values = map(as_text, seen) if kind.is_instant or kind.is_exact else map(repr, seen.tolist())
        nulls = rows.nulls(name).tolist()
        columns.append(["None" if null else value for value, null in zip(values, nulls, strict=True)])
    return list(zip(*columns, strict=True))


@kernel
def is_null(kinds: Sequence[KindRow], column: int, word: int) -> bool:
    """Whether a word of a column stands for null."""
    return kinds[column].nullable != 0 and word == kinds[column].null


@kernel
def compare_texts(one: int, other: int, base: int) -> int:
    """Below 0, 0 or above: how texts compare by their bytes, from words that count from `base`."""
    if one == other:
        return 0
    length, other_length = one & LENGTH_MASK, other & LENGTH_MASK
    start, other_start, shorter = base + (one >> LENGTH_BITS), base + (other >> LENGTH_BITS), min(length, other_length)
    same = 0
    while same + 8 <= shorter and load_unaligned(start + same) == load_unaligned(other_start + same):
        same += 8
    first, second = bytes_at(start, length), bytes_at(other_start, other_length)
    for i in range(same, shorter):
        if first[i] != second[i]:
            return -1 if first[i] < second[i] else 1
    return length - other_length


@kernel
def ordinal(kinds: Sequence[KindRow], column: int, word: int, is_downwards: bool) -> int:
    """A number that is less for a lesser value, of a column that is not text. NaN, and behind it null, come last: they
    are above all others, or below if it goes downwards, where the greatest come first."""
    order, nullable = kinds[column].order, kinds[column].nullable
    if is_null(kinds, column, word):
        return signed(_SIGN) if is_downwards else signed(_MOST)
    if order == FLOAT:
        if is_nan(word):
            return signed(_SIGN + 1) if is_downwards else signed(_MOST - 1)
        return word if word >= 0 else ~word ^ _SIGN
    if order == UNSIGNED:
        return (word ^ _SIGN) + (nullable if is_downwards else 0)
    return word - (0 if is_downwards else nullable)


TIMES = tuple([f"@{at}" for at in range(4)])
"""A row's own time, a column for each coordinate; a message's is less than or equal to those of its rows."""
TIMES_ADDED = "@times"
"""How many times a row is added; below 0, taken away."""
OF_ALL = "@all"
"""A key that all rows share."""


def nulls_of(pairs: Iterable[tuple[Kind, Kind]], nulls_meet: bool) -> np.ndarray:
    """Which columns of a key may be null on either side, or, if nulls meet, on one alone, and what word that is, int64
    (such columns, 2); pairs: the kinds of each column on both sides, alike but for that."""
    found = [
        (at, one.null)
        for at, (one, other) in enumerate(pairs)
        if one.nullable + other.nullable in ((1,) if nulls_meet else (1, 2))
    ]
    return np.array(found, np.int64).reshape(len(found), 2)


@kernel(TABLE(TABLE, TABLE))
def with_keys(table: Words, nulls: Words) -> Words:
    """The rows of a table, whose first columns are a key, that have no null in it. nulls: as `nulls_of` has them."""
    kept, places = 0, np.empty(table.shape[1] if len(nulls) > 0 else 0, np.int64)
    for row in range(len(places)):
        is_there = True
        for each in range(len(nulls)):
            is_there &= table[nulls[each, 0], row] != nulls[each, 1]
        places[kept] = row
        kept += is_there
    if kept == table.shape[1] or len(nulls) == 0:
        return table
    made = np.empty((len(table), kept), np.int64)
    for column in range(len(table)):
        for row in range(kept):
            made[column, row] = table[column, places[row]]
    return made
