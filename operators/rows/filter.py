"""filter: the rows for which a condition is true; neighbours become one kernel call."""

from collections.abc import Sequence
from math import inf, isnan
from struct import pack, unpack
from typing import Any, Literal, overload

import numpy as np

from tokenring.engine import (
    COLUMNS_COMPILED,
    TABLE,
    WORDS,
    AnyStream,
    Batch,
    BatchFunction,
    Schema,
    SchemaError,
    int64,
    kernel_for_columns,
)
from tokenring.engine.arguments import as_integer
from tokenring.engine.compiled import CompiledStage, Words, stage_of
from tokenring.operators.expressions import Computation, Expression, Part, Step, Term, col, column_term, typed
from tokenring.operators.rows.on_error import OnError, applied

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_KINDS = "iuf"  # of dtypes; the position is what the table holds
_COMPARISONS = ("<", "<=", "==", "!=", ">=", ">")


@overload
def filter(
    stream: AnyStream, condition: str | Expression, comparison: str = ..., constant: Any = ..., name: str = ..., *,
    on_error: Literal["stream"],
) -> tuple[AnyStream, AnyStream]: ...  # fmt: skip
@overload
def filter(
    stream: AnyStream, condition: str | Expression, comparison: str = ..., constant: Any = ..., name: str = ..., *,
    on_error: Literal["fail"] = ...,
) -> AnyStream: ...  # fmt: skip
def filter(
    stream: AnyStream, condition: str | Expression, comparison: str = "", constant: Any = None, name: str = "filter", *,
    on_error: OnError = "fail",
) -> AnyStream | tuple[AnyStream, AnyStream]:  # fmt: skip
    """The rows for which the condition is true (not those for which it is null). A batch of which every row stays
    passes as it is; text is never copied.

    Written as an expression, `filter(stream, (col("price") > 100) & col("channel").is_in(["Apple", "Google"]))`, or as
    a column, one of <, <=, ==, !=, >=, > and a constant, `filter(stream, "price", ">", 100)`, which is quicker to
    declare by the million.

    A stateless operator: however many follow each other, with `with_columns` and `select` among them, they are one call
    of a kernel, and some nanoseconds each for a row. NaN is neither less than nor equal to nor greater than anything,
    so only != keeps it. Raises SchemaError for another comparison, a fraction compared with a column of whole numbers,
    a condition that is not bool. on_error: as of `with_columns`.
    """
    schema = stream.schema
    if condition.__class__ is str and comparison:
        try:
            if schema.kinds[schema.position(condition)].is_plain and on_error == "fail":
                made = stream.apply(name, schema, Where(schema, condition, comparison, constant))
                if stream.updates is not None:
                    made.updates = stream.updates.filtered(condition)
                return made
        except SchemaError as error:
            raise SchemaError(f"operator {name!r}: {error}") from None
        condition = _compared(condition, comparison, constant)
    expression = _expression(condition, name)
    term = typed(expression, schema, name)
    if term.kind != "bool":
        raise SchemaError(f"operator {name!r}: {condition!r} is {term.kind}, not bool; compare it with something")
    step = Computation(schema, Step(term, _all_columns(schema), schema), repr(condition))
    made = applied(stream, name, schema, step, on_error)
    if stream.updates is not None and on_error == "fail":
        made.updates = stream.updates.filtered(*expression.columns)
    return made


def _expression(condition: str | Expression, name: str) -> Expression:
    if isinstance(condition, Expression):
        return condition
    raise SchemaError(
        f'operator {name!r}: a condition is an expression, such as col("price") > 100, or a column, a comparison and a '
        f'constant, not {condition!r}; a column of bool is col("…")'
    )


def _compared(column: str, comparison: str, constant: Any) -> Expression:
    """The same as an expression, for columns that are not plain numbers."""
    if comparison not in _COMPARISONS:
        raise _no_comparison(column, comparison)
    return Expression(comparison, (col(column), Expression("constant", (), constant)))


def _no_comparison(column: str, comparison: str) -> SchemaError:
    return SchemaError(f"column {column!r}: a comparison is <, <=, ==, !=, >= or >, not {comparison!r}")


def _all_columns(schema: Schema) -> dict[str, Term]:
    return {name: column_term(name, kind) for name, kind in zip(schema.names, schema.kinds, strict=True)}


class Where(Part):
    """One comparison of a plain number, as a range of the column's keys: integers in the order of its values."""

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
            raise _no_comparison(column, comparison)
        if low > high or first > last or first > most or last < least:
            first, last = 1, 0  # no key at all (none is beside NaN either)
        self._row = (position, kind, max(first, least), min(last, most), inside)
        self._schema = schema
        self._text = (column, comparison, constant)

    def before(self) -> Schema:
        return self._schema

    def step(self) -> Step:
        schema, (position, *key_range) = self._schema, self._row
        column = column_term(schema.names[position], schema.kinds[position])
        condition = Term("range", "bool", False, (column,), tuple(map(int, key_range)), repr(self))
        return Step(condition, _all_columns(schema), schema)

    @classmethod
    def alone(cls, parts: Sequence[Any]) -> BatchFunction:
        """All comparisons in one kernel call: a row stays if it passes each."""
        schema = parts[0]._schema
        table = np.array([part._row for part in parts], np.int64)
        used = np.unique(table[:, 0])
        table[:, 0] = np.searchsorted(used, table[:, 0])
        positions = used.tolist()
        if len(positions) > COLUMNS_COMPILED:
            return super().alone(parts)
        return _RowsThatPass(parts, schema, positions, table)

    def __repr__(self) -> str:
        column, comparison, constant = self._text
        return f"{column} {comparison} {constant}"


class _RowsThatPass:
    """Comparisons as one function of a batch."""

    def __init__(self, parts: Sequence[Part], schema: Schema, positions: list[int], table: np.ndarray) -> None:
        """table: a row for each, the column as an index into `positions`."""
        self._parts = parts
        self._schema = schema
        self._positions = positions
        self._table = table
        self._convert = not schema.all_int64
        self._select = _select_for(len(positions))

    def __call__(self, batch: Batch) -> Batch | None:
        source, rows = batch.columns, batch.rows
        columns = tuple([source[position] for position in self._positions])
        if self._convert:
            columns = tuple([column.view(np.int64) for column in columns])
        chosen = np.empty(rows, np.int64)
        found: int = self._select(columns, self._table, chosen)
        if found == rows:
            return batch
        if found == 0:
            return None
        kept = chosen[:found]
        return Batch.wrap(self._schema, tuple([column[kept] for column in source]), found, batch.heaps, batch)

    def compiled_stage(self) -> CompiledStage | None:
        """The same in the worker's inner loop, as the machine's instructions."""
        return stage_of(Part.alone(self._parts))


def _whole_keys(column: str, kind: int, constant: float) -> tuple[int, int]:
    """The least and the greatest key of a whole number; beyond the column's range, a number beyond all keys."""
    try:
        key = as_integer(constant)
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
        value = float(as_integer(constant) if isinstance(constant, bool | np.bool_) else constant)
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
def _select_for(columns: Words, table: Words, chosen: Words) -> int:
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
