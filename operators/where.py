"""where: the rows whose column compares so with a constant; neighbours become one kernel call over a table."""

from collections.abc import Sequence
from math import inf, isnan
from operator import index
from struct import pack, unpack
from typing import Self

import numpy as np

from engine import TABLE, WORDS, Batch, BatchFunction, Schema, SchemaError, Stream, int64, kernel_for_columns

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_KINDS = "iuf"  # of dtypes; the position is what the table holds


def where(stream: Stream, column: str, comparison: str, constant: float, name: str = "where") -> Stream:
    """The rows whose `column` is <, <=, ==, !=, >= or > `constant`. A batch of which every row stays passes as it is.

    A stateless operator: however many follow each other, they are one call of a kernel, and some nanoseconds each for a
    row. NaN is neither less than nor equal to nor greater than anything, so only != keeps it. Raises SchemaError for
    another comparison, or a fraction compared with a column of whole numbers.
    """
    return stream.apply(name, stream.schema, Where(stream.schema, column, comparison, constant))


class Where:
    """One comparison, as a range of the column's keys: integers in the order of its values (engine.Fusable)."""

    __slots__ = ("_row", "_schema", "_text")

    def __init__(self, schema: Schema, column: str, comparison: str, constant: float) -> None:
        position = schema.position(column)
        kind = _KINDS.index(schema.dtypes[position].kind)
        low, high = (_float_keys if kind == 2 else _whole_keys)(column, kind, constant)
        least, most = (_key(-inf), _key(inf)) if kind == 2 else (_LOWEST, _HIGHEST)
        inside = comparison != "!="
        if comparison in ("==", "!="):
            first, last = low, high
        elif comparison in ("<", "<="):
            first, last = least, high if comparison == "<=" else low - 1
        elif comparison in (">", ">="):
            first, last = low if comparison == ">=" else high + 1, most
        else:
            raise SchemaError(f"column {column!r}: a comparison is <, <=, ==, !=, >= or >, not {comparison!r}")
        if low > high or first > last or first > most or last < least:
            first, last = 1, 0  # no key at all (none is beside NaN either)
        self._row = (position, kind, max(first, least), min(last, most), inside)
        self._schema = schema
        self._text = (column, comparison, constant)

    @classmethod
    def fused(cls, parts: Sequence[Self]) -> BatchFunction:
        """All comparisons in one kernel call: a row stays if it passes each."""
        schema = parts[0]._schema
        table = np.array([part._row for part in parts], np.int64)
        used = np.unique(table[:, 0])
        table[:, 0] = np.searchsorted(used, table[:, 0])
        positions = used.tolist()
        convert = not schema.all_int64
        select = _select_for(len(positions))

        def rows_that_pass(batch: Batch) -> Batch | None:
            source, rows = batch.columns, batch.rows
            columns = tuple([source[position] for position in positions])
            if convert:
                columns = tuple([column.view(np.int64) for column in columns])
            chosen = np.empty(rows, np.int64)
            found: int = select(columns, table, chosen)
            if found == rows:
                return batch
            if found == 0:
                return None
            kept = chosen[:found]
            return Batch.wrap(schema, tuple([column[kept] for column in source]), found)

        return rows_that_pass

    def __repr__(self) -> str:
        column, comparison, constant = self._text
        return f"{column} {comparison} {constant}"


def _whole_keys(column: str, kind: int, constant: float) -> tuple[int, int]:
    """The least and the greatest key of a whole number; beyond the column's range, a number beyond all keys."""
    try:
        key = index(constant)  # type: ignore[arg-type]
    except TypeError:
        raise SchemaError(
            f"column {column!r} holds whole numbers; compare it with one, not with {constant!r}"
        ) from None
    if _KINDS[kind] == "u":
        key -= 2**63
    return key, key


def _float_keys(column: str, kind: int, constant: float) -> tuple[int, int]:
    """The least and the greatest key of a float: there are two zeros. Of NaN, none."""
    try:
        value = float(constant)
    except (TypeError, ValueError):
        raise SchemaError(f"column {column!r} holds floats; compare it with a number, not {constant!r}") from None
    if isnan(value):
        return _HIGHEST, _LOWEST
    return (_key(-0.0), _key(0.0)) if value == 0 else (_key(value), _key(value))


def _key(value: float) -> int:
    """The bits of a float as an integer in the floats' order; NaNs come before and after all others."""
    bits: int = unpack("=q", pack("=d", value))[0]
    return bits if bits >= 0 else bits ^ _HIGHEST


@kernel_for_columns(lambda columns: int64(columns, TABLE, WORDS))
def _select_for(columns, table, chosen):  # type: ignore[no-untyped-def]
    """Write the numbers of the rows that pass all comparisons; returns how many. A row of `table`: column, kind (0
    int64, 1 uint64, 2 float64), first and last key, whether a key between them passes (else: one outside).
    """
    found = 0
    for row in range(len(columns[0])):
        passes = True
        for i in range(len(table)):
            key = columns[table[i, 0]][row]
            if table[i, 1] == 1:
                key ^= _LOWEST
            elif table[i, 1] == 2 and key < 0:
                key ^= _HIGHEST
            if (table[i, 2] <= key <= table[i, 3]) != (table[i, 4] != 0):
                passes = False
                break
        if passes:
            chosen[found] = row
            found += 1
    return found
