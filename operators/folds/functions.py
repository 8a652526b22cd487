"""What can be aggregated: Count, Sum, Mean, Min, Max, First, Last, CountDistinct; each says which words of state it
folds rows into, and what it makes of them.

Nulls do not count, as in SQL. `filter` restricts an aggregate to some of the rows: an expression, or a function of the
batch that gives a bool array of shape (rows,). Where an aggregate may have seen no value, because of a nullable column
or a `filter`, its result is null then (a count is 0).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tokenring.engine import Kind, Schema, SchemaError
from tokenring.engine.columns import FLOAT, SIGNED, UNSIGNED, names_of_kinds
from tokenring.operators.expressions import Alias, Expression
from tokenring.operators.folds.called import Functions
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
"""An expression or a function of a batch; once planned, a column's name."""
_NAN = int(np.array([np.nan]).view(np.int64)[0])


@dataclass(frozen=True, eq=False)
class Fold:
    """One word of state a slot, and how rows are folded into it."""

    operation: int
    column: str | None = None
    """What is folded, where the operation looks at values."""
    where: str | None = None
    """Which rows: a column of bool; all if None."""
    order: str | None = None
    """For FIRST and LAST: the column whose least or greatest value chooses the row; None is the order of arrival."""
    flip: bool = False
    """Whether uint64 words are turned into int64 of the same order first."""
    stands_for: str | None = None
    """The column of the first stage, where this merges its words."""
    functions: Functions | None = None
    """Of CALLED and PART: whose state it is."""
    second: str | None = None
    """What `functions` take beside `column`, if that is two."""
    part: int = 0
    """Which word of the state."""
    are_states: bool = False
    """Whether `functions` combine states, of which this column has a word, with their own."""

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for folds that do the same."""
        whose = None if self.functions is None else self.functions.update
        return self.operation, self.column, self.where, self.order, whose, self.second, self.part

    @property
    def initial(self) -> int:
        """The word before any row."""
        if self.functions is not None:
            return self.functions.initial[self.part]
        if self.operation in (MIN, FIRST):
            return MOST
        if self.operation in (MAX, LAST):
            return LEAST
        return _NAN if self.operation in (MIN_FLOAT, MAX_FLOAT) else 0

    @property
    def keeps_rows(self) -> bool:
        """Whether it keeps a value of any kind beside its word."""
        return self.operation in (FIRST, LAST)

    @property
    def columns(self) -> tuple[str, ...]:
        """What is folded."""
        return tuple([name for name in (self.column, self.second) if name is not None])


KEPT, AS_IT_IS, FLIPPED, MEAN, MEAN_UNSIGNED, MEAN_FLOAT, FINISHED = range(7)
"""How a result comes of folds: the value that one keeps; its word; its word as uint64 again; a sum of int64, uint64 or
float64 by a count, and by how many of its units make 1; what a function makes of a state."""


@dataclass(frozen=True)
class Result:
    """A column of the result: of this kind, made of fold number `fold`, divided by fold number `count` if it is a mean,
    and by `unit`; null where fold number `present`, if there is one, counts nothing."""

    kind: Kind
    how: int
    fold: int
    count: int = -1
    present: int = -1
    unit: int = 1
    finish: Functions | None = None
    parameters: tuple[float, ...] = ()


_SUMS = {SIGNED: SUM, UNSIGNED: SUM_UNSIGNED, FLOAT: SUM_FLOAT}
_MEANS = {SIGNED: MEAN, UNSIGNED: MEAN_UNSIGNED, FLOAT: MEAN_FLOAT}
"""How sums and means are made of words of an order."""

Ask = Callable[[Fold], int]
"""Have a fold; returns its number."""


@dataclass(frozen=True, eq=False)
class Aggregate:
    """One of the functions below, over a column. An expression that it takes is without its alias, if it has one: what
    the result is called is said where it is aggregated."""

    column: str | Expression | None = None
    where: Condition | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, Alias):
                object.__setattr__(self, name, value.value)

    def alias(self, name: str) -> Alias:
        """The aggregate as a column of that name, be it that of a parameter: `aggregate("key", Count().alias("late"))`.
        """
        return Alias(self, name)

    @property
    def _name(self) -> str | None:
        """The column's name: expressions have become columns by the time that anything is planned."""
        assert not isinstance(self.column, Expression)
        return self.column

    @property
    def _called(self) -> str:
        """Its own name, for messages."""
        return type(self).__name__

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """What to fold of rows of `schema`; SchemaError, with `name`, the operator's and the result's, if it cannot."""
        raise NotImplementedError

    def _kind(self, schema: Schema, name: str, *, totals: bool = False, texts: bool = True) -> Kind:
        """The column's kind; SchemaError if there is none, or it has no sums (totals), or is text (not texts)."""
        cure = "; cast it" if totals else "; of a collection it takes text, too: say .collection().aggregate(...)"
        column = column_of(name, self)
        schema.position(column, name)
        kind = schema.kind(column)
        if (totals and not kind.total) or (kind.is_text and not texts):
            raise SchemaError(
                f"{name}: {type(self).__name__} of column {column!r}, which is {kind}; it takes "
                f"{names_of_kinds(totals=totals, texts=texts)}{cure if kind.is_text else ''}"
            )
        return kind

    def _result(self, kind: str, how: int, fold: int, ask: Ask, of: Kind, count: int = -1) -> Result:
        """A result of `kind`, over a column of kind `of`; null where there was no value, if that can be."""
        if not of.nullable and self.where is None:
            return Result(_kind(kind), how, fold, count)
        present = ask(Fold(COUNT, self._name if of.nullable else None, self.where))
        return Result(_kind(f"{kind}?"), how, fold, count, present)


def column_of(name: str, aggregate: Aggregate) -> str:
    """The name of its column, no expression; SchemaError, with `name`, the operator's and the result's, if there is
    none."""
    column, what = aggregate._name, aggregate._called
    if column is None:
        raise SchemaError(f"{name}: {what}() has no column; say of which, {what}('column'); Count() counts rows")
    return column


def _kind(spelt: str) -> Kind:
    return Schema.of({"_": spelt}).kind("_")


class Count(Aggregate):
    """How many rows there are, int64; with a column, how many have a value there."""

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        kind = self._kind(schema, name) if self._name is not None else None
        nullable = kind is not None and kind.nullable
        count = ask(Fold(COUNT, self._name if nullable else None, self.where))
        return Result(_kind("int64"), AS_IT_IS, count)


class CountDistinct(Aggregate):
    """How many different values there are, int64: exact. Memory: each value of each group, once for all conditions."""

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        self._kind(schema, name)
        count = ask(Fold(DISTINCT, self._name, self.where))
        return Result(_kind("int64"), AS_IT_IS, count)


class Sum(Aggregate):
    """The sum, of the column's kind; of bool, how many are true, int64; of decimal(p, s), decimal(18, s), exact. An
    int64 or uint64 sum that leaves its range, and so the whole number that is a decimal's word, raises OverflowError
    (as OperatorError), or is in the stream of what failed, by on_error="stream"."""

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        kind = self._kind(schema, name, totals=True, texts=False)
        total = ask(Fold(_SUMS[kind.order], self._name, self.where))
        return self._result(kind.total, AS_IT_IS, total, ask, kind)


class Mean(Aggregate):
    """The sum divided by the count, float64. Sums of integers and decimals are exact until then."""

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        kind = self._kind(schema, name, totals=True, texts=False)
        total = ask(Fold(_SUMS[kind.order], self._name, self.where))
        count = ask(Fold(COUNT, self._name if kind.nullable else None, self.where))
        return replace(self._result("float64", _MEANS[kind.order], total, ask, kind, count), unit=kind.unit)


class _Extreme(Aggregate):
    _operations: tuple[int, int]

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        kind = self._kind(schema, name, texts=False)
        flip = kind.is_unsigned
        best = ask(Fold(self._operations[kind.is_float], self._name, self.where, flip=flip))
        return self._result(kind.name, FLIPPED if flip else AS_IT_IS, best, ask, kind)


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
        kind = self._kind(schema, name)
        assert not isinstance(self.order, Expression)
        if self.order is not None and not _orders(schema.kinds[schema.position(self.order, name, "to order by")]):
            raise SchemaError(
                f"{name}: order={self.order!r} must be a column of int64, timestamp, date or decimal, without nulls, "
                "which .fill_null(...) replaces"
            )
        kept = ask(Fold(self._operation, self._name, self.where, self.order))
        return Result(_kind(maybe_null(kind, self.where)), KEPT, kept)


class First(_Chosen):
    """The value of the row with the least `order` (of equal ones the first to arrive), of the column's kind. Without
    `order`: in windows the window's time, otherwise the order of arrival."""


class Last(_Chosen):
    """The value of the row with the greatest `order` (of equal ones the last to arrive); see First."""

    _operation = LAST


def _orders(kind: Kind) -> bool:
    """Whether rows may be chosen by a column of this kind."""
    return kind.order == SIGNED and not kind.nullable and kind.family != "bool"


def maybe_null(kind: Kind, where: Condition | None) -> str:
    """The kind of a value of `kind` that there is only if a row had it and was chosen."""
    return f"{kind.name}?" if kind.nullable or where is not None else kind.name
