"""What can be aggregated: Count, Sum, Mean, Min, Max, First, Last, CountDistinct; each says which words of state it
folds rows into, and what it makes of them.

Nulls do not count, as in SQL. `filter` restricts an aggregate to some of the rows: an expression, or a function of the
batch that gives a bool array of shape (rows,). Where an aggregate may have seen no value, because of a nullable column
or a `filter`, its result is null then (a count is 0).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenring.engine import Batch, Kind, Schema, SchemaError
from tokenring.operators.expressions import Alias, Expression
from tokenring.operators.folds.conditions import condition_mask
from tokenring.operators.folds.kernels import (
    COUNT,
    DISTINCT,
    FIRST,
    LAST,
    MAX,
    MAX_FLOAT,
    MIN,
    MIN_FLOAT,
    SUM,
    SUM_FLOAT,
    SUM_UNSIGNED,
)
from tokenring.operators.state import LEAST, MOST

Condition = Any
"""An expression or a function of a batch; once planned, a column's name or a function."""
_NAN = int(np.array([np.nan]).view(np.int64)[0])


@dataclass(frozen=True, eq=False)
class Fold:
    """One word of state a slot, and how rows are folded into it."""

    operation: int
    column: str | None = None
    """What is folded, where the operation looks at values."""
    where: Condition | None = None
    """Which rows; all if None."""
    order: str | None = None
    """For FIRST and LAST: the column whose least or greatest value chooses the row; None is the order of arrival."""
    flip: bool = False
    """Whether uint64 words are turned into int64 of the same order first."""
    stands_for: str | None = None
    """The column of the first stage, where this merges its words."""

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for folds that do the same."""
        return self.operation, self.column, self.where, self.order

    @property
    def initial(self) -> int:
        """The word before any row."""
        if self.operation in (MIN, FIRST):
            return MOST
        if self.operation in (MAX, LAST):
            return LEAST
        return _NAN if self.operation in (MIN_FLOAT, MAX_FLOAT) else 0

    @property
    def keeps_rows(self) -> bool:
        """Whether it keeps a value of any kind beside its word."""
        return self.operation in (FIRST, LAST)

    def mask(self, batch: Batch, kind: Kind | None) -> np.ndarray | None:
        """The rows to fold, bool (rows,); None for all. kind: that of `column`."""
        chosen = None if self.where is None else condition_mask(self.where, batch)
        if kind is not None and kind.nullable and self.column is not None:
            present = ~batch.nulls(self.column)
            chosen = present if chosen is None else chosen & present
        return chosen


Words = Callable[[int], np.ndarray]
"""The words of fold number n, for the slots at hand."""


@dataclass(frozen=True)
class Result:
    """A column of the result: its kind, and its words from those of folds; or the value that fold `kept` keeps."""

    kind: str
    words: Callable[[Words], np.ndarray] | None = None
    kept: int = -1


Ask = Callable[[Fold], int]
"""Have a fold; returns its number."""


@dataclass(frozen=True, eq=False)
class Aggregate:
    """One of the functions below, over a column."""

    column: str | Expression | None = None
    where: Condition | None = None

    def alias(self, name: str) -> Alias:
        """The aggregate as a column of that name, be it that of a parameter: `aggregate("key", Count().alias("late"))`.
        """
        return Alias(self, name)

    @property
    def _name(self) -> str | None:
        """The column's name: expressions have become columns by the time that anything is planned."""
        assert not isinstance(self.column, Expression)
        return self.column

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """What to fold of rows of `schema`; SchemaError, with `name`, the operator's and the result's, if it cannot."""
        raise NotImplementedError

    def _kind(self, schema: Schema, name: str, allowed: str) -> Kind:
        assert self._name is not None
        if self._name not in schema.positions:
            raise SchemaError(f"{name}: {schema.missing(self._name)}")
        kind = schema.kind(self._name)
        if kind.name not in allowed.split():
            raise SchemaError(
                f"{name}: {type(self).__name__} of column {self._name!r}, which is {kind}; it takes "
                f"{', '.join(allowed.split())}"
            )
        return kind

    def _result(self, kind: Kind, words: Callable[[Words], np.ndarray], ask: Ask) -> Result:
        """A result of `kind`, null where there was no value, if that can be."""
        if not kind.nullable and self.where is None:
            return Result(str(kind), words)
        count = ask(Fold(COUNT, self._name if kind.nullable else None, self.where))

        def guarded(word: Words) -> np.ndarray:
            found = words(word).view(np.int64).copy()
            found[word(count) == 0] = kind.null
            return found.view(kind.dtype)

        return Result(f"{kind.name}?", guarded)


class Count(Aggregate):
    """How many rows there are, int64; with a column, how many have a value there."""

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        kind = self._kind(schema, name, _ALL) if self._name is not None else None
        nullable = kind is not None and kind.nullable
        count = ask(Fold(COUNT, self._name if nullable else None, self.where))
        return Result("int64", lambda word: word(count))


class CountDistinct(Aggregate):
    """How many different values there are, int64: exact. Memory: each value of each group."""

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        self._kind(schema, name, _ALL)
        count = ask(Fold(DISTINCT, self._name, self.where))
        return Result("int64", lambda word: word(count))


class Sum(Aggregate):
    """The sum, of the column's kind; of bool, how many are true, int64. An int64 or uint64 sum that leaves its range
    raises OverflowError (as OperatorError)."""

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        kind = self._kind(schema, name, "int64 uint64 float64 bool")
        operation = {"float64": SUM_FLOAT, "uint64": SUM_UNSIGNED}.get(kind.name, SUM)
        total = ask(Fold(operation, self._name, self.where))
        as_kind = Schema.of({"_": "int64?" if kind.nullable else "int64"}).kind("_") if kind.name == "bool" else kind
        return self._result(as_kind, lambda word: word(total).view(kind.dtype), ask)


class Mean(Aggregate):
    """The sum divided by the count, float64. Sums of integers are exact until then."""

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        kind = self._kind(schema, name, "int64 uint64 float64 bool")
        operation = {"float64": SUM_FLOAT, "uint64": SUM_UNSIGNED}.get(kind.name, SUM)
        total = ask(Fold(operation, self._name, self.where))
        count = ask(Fold(COUNT, self._name if kind.nullable else None, self.where))
        floats = Schema.of({"_": "float64?" if kind.nullable else "float64"}).kind("_")

        def words(word: Words) -> np.ndarray:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(word(total).view(kind.dtype) / word(count))

        return self._result(floats, words, ask)


class _Extreme(Aggregate):
    _operations: tuple[int, int]

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        kind = self._kind(schema, name, "int64 uint64 float64 bool timestamp")
        flip = kind.name == "uint64"
        best = ask(Fold(self._operations[kind.name == "float64"], self._name, self.where, flip=flip))
        return self._result(kind, lambda word: (word(best) ^ LEAST if flip else word(best)).view(kind.dtype), ask)


class Min(_Extreme):
    """The least value, of the column's kind. NaN counts only if there is nothing else."""

    _operations = (MIN, MIN_FLOAT)


class Max(_Extreme):
    """The greatest value, of the column's kind. NaN counts only if there is nothing else."""

    _operations = (MAX, MAX_FLOAT)


@dataclass(frozen=True, eq=False)
class _Chosen(Aggregate):
    order: str | Expression | None = None

    _operation = FIRST

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        kind = self._kind(schema, name, _ALL)
        assert not isinstance(self.order, Expression)
        if self.order is not None and (
            self.order not in schema.positions or str(schema.kind(self.order)) not in ("int64", "timestamp")
        ):
            raise SchemaError(
                f"{name}: order={self.order!r} must be a column of int64 or timestamp, without nulls, which "
                ".fill_null(...) replaces"
            )
        return Result(
            maybe_null(kind, self.where), kept=ask(Fold(self._operation, self._name, self.where, self.order))
        )


class First(_Chosen):
    """The value of the row with the least `order` (of equal ones the first to arrive), of the column's kind. Without
    `order`: in windows the window's time, otherwise the order of arrival."""


class Last(_Chosen):
    """The value of the row with the greatest `order` (of equal ones the last to arrive); see First."""

    _operation = LAST


_ALL = "int64 uint64 float64 bool timestamp string bytes"


def maybe_null(kind: Kind, where: Condition | None) -> str:
    """The kind of a value of `kind` that there is only if a row had it and was chosen."""
    return f"{kind.name}?" if kind.nullable or where is not None else kind.name
