"""What can be aggregated: Count, Sum, Mean, Min, Max, First, Last, CountDistinct; each says which words of state it
folds rows into, and what it makes of them.

Nulls do not count, as in SQL. `filter` restricts an aggregate to some of the rows: an expression, or a function of the
batch that gives a bool array of shape (rows,). Where an aggregate may have seen no value, because of a nullable column
or a `filter`, its result is null then (a count is 0).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tokenring.engine import Kind, Schema, SchemaError
from tokenring.engine.columns import SIGNED, names_of_kinds
from tokenring.operators.expressions import Alias, Expression
from tokenring.operators.folds.called import Functions
from tokenring.operators.folds.kernels import (
    COUNT,
    DISTINCT,
    FIRST,
    INITIAL,
    LAST,
    MAX,
    MAX_FLOAT,
    MIN,
    MIN_FLOAT,
    SUM,
    SUM_FLOAT,
    SUM_UNSIGNED,
)

Condition = Any
"""An expression or a function of a batch; once planned, a column's name."""


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
        return INITIAL.get(self.operation, 0)

    @property
    def keeps_rows(self) -> bool:
        """Whether it keeps a value of any kind beside its word."""
        return self.operation in (FIRST, LAST)

    @property
    def columns(self) -> tuple[str, ...]:
        """What is folded."""
        return tuple([name for name in (self.column, self.second) if name is not None])


KEPT, AS_IT_IS, FLIPPED, MEAN, FINISHED = range(5)
"""How a result comes of folds: the value that one keeps; its word; its word as uint64 again; a sum by a count, and by
how many of its units make 1; what a function makes of a state."""


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


class Shape(NamedTuple):
    """The columns that an aggregate takes, their kinds, the kind of its result, and how words of the first are folded.
    """

    columns: list[str]
    kinds: list[Kind]
    result: Kind
    operation: int


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

    _operations = (COUNT,) * 4
    """How words are folded, by their order."""

    def shape(self, schema: Schema, name: str) -> Shape:
        """What it takes of rows of `schema`, and gives; SchemaError, with `name`, the operator's and the result's, if
        it cannot."""
        column = column_of(name, self)
        schema.position(column, name)
        kind = schema.kind(column)
        gives = self._kind(self._gives(kind, name), kind.nullable)
        return Shape([column], [kind], gives, self._operations[kind.order])

    def _gives(self, kind: Kind, name: str) -> str:
        """The kind of the result, but for null, of a column of this kind; SchemaError if there is none."""
        return kind.name

    def _kind(self, spelt: str, is_nullable: bool) -> Kind:
        """The kind; with null, where there was no value, if that can be."""
        is_null_somewhere = is_nullable or self.where is not None
        return Schema.of({"_": f"{spelt.removesuffix('?')}?" if is_null_somewhere else spelt}).kind("_")

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """What to fold of rows of `schema` in a stream; SchemaError as of `shape`."""
        shape = self.shape(schema, name)
        return self._result(shape, AS_IT_IS, self._fold(shape, ask), ask)

    def _fold(self, shape: Shape, ask: Ask, order: str | None = None, flip: bool = False) -> int:
        """The fold of the column's words."""
        return ask(Fold(shape.operation, shape.columns[0], self.where, order, flip))

    def _count(self, shape: Shape, ask: Ask) -> int:
        """The fold that counts the values."""
        is_nullable = any([kind.nullable for kind in shape.kinds])
        return ask(Fold(COUNT, shape.columns[0] if is_nullable else None, self.where))

    def _result(self, shape: Shape, how: int, fold: int, ask: Ask, count: int = -1, unit: int = 1) -> Result:
        """The result of such a fold; null where there was no value, if that can be."""
        present = self._count(shape, ask) if shape.result.nullable else -1
        return Result(shape.result, how, fold, count, present, unit)

    def _wrong_kind(self, name: str, column: Any, kind: Kind, takes: str, cure: str) -> SchemaError:
        return SchemaError(f"{name}: {self._called} of column {column!r}, which is {kind}; it takes {takes}{cure}")


def column_of(name: str, aggregate: Aggregate) -> str:
    """The name of its column, no expression; SchemaError, with `name`, the operator's and the result's, if there is
    none."""
    column, what = aggregate._name, aggregate._called
    if column is None:
        raise SchemaError(f"{name}: {what}() has no column; say of which, {what}('column'); Count() counts rows")
    return column


class _Counted(Aggregate):
    def _gives(self, kind: Kind, name: str) -> str:
        return "int64"

    def _kind(self, spelt: str, is_nullable: bool) -> Kind:
        return Schema.of({"_": spelt}).kind("_")  # 0 where there is no value


class Count(_Counted):
    """How many rows there are, int64; with a column, how many have a value there."""

    def shape(self, schema: Schema, name: str) -> Shape:
        """See Aggregate."""
        is_of_rows = self.column is None
        return Shape([], [], self._kind("int64", False), COUNT) if is_of_rows else super().shape(schema, name)

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        shape = self.shape(schema, name)
        return Result(shape.result, AS_IT_IS, self._count(shape, ask))


class CountDistinct(_Counted):
    """How many different values there are, int64: exact. Memory: each value of each group, once for all conditions."""

    _operations = (DISTINCT,) * 4


class _Summed(Aggregate):
    _operations = (SUM, SUM_UNSIGNED, SUM_FLOAT, COUNT)

    def _gives(self, kind: Kind, name: str) -> str:
        if not kind.total:
            others = "" if kind.is_text else ", or take Min, Max or Count of it"
            raise self._wrong_kind(name, self.column, kind, names_of_kinds(totals=True), f"; cast it{others}")
        return kind.total


class Sum(_Summed):
    """The sum, of the column's kind; of bool, how many are true, int64; of decimal(p, s), decimal(18, s), exact. An
    int64 or uint64 sum that leaves its range, and so the whole number that is a decimal's word, raises OverflowError
    (as OperatorError), or is in the stream of what failed, by on_error="stream"."""


class Mean(_Summed):
    """The sum divided by the count, float64. Sums of integers and decimals are exact until then."""

    def _gives(self, kind: Kind, name: str) -> str:
        super()._gives(kind, name)
        return "float64"

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        shape = self.shape(schema, name)
        total, count = self._fold(shape, ask), self._count(shape, ask)
        return self._result(shape, MEAN, total, ask, count, shape.kinds[0].unit)


class _Extreme(Aggregate):
    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        shape = self.shape(schema, name)
        kind = shape.kinds[0]
        if kind.is_text:
            cure = "; of a collection it takes text, too: say .collection().aggregate(...)"
            raise self._wrong_kind(name, self.column, kind, names_of_kinds(), cure)
        flip = kind.is_unsigned
        return self._result(shape, FLIPPED if flip else AS_IT_IS, self._fold(shape, ask, flip=flip), ask)


class Min(_Extreme):
    """The least value, of the column's kind. NaN counts only if there is nothing else."""

    _operations = (MIN, MIN, MIN_FLOAT, MIN)


class Max(_Extreme):
    """The greatest value, of the column's kind. NaN counts only if there is nothing else."""

    _operations = (MAX, MAX, MAX_FLOAT, MAX)


@dataclass(frozen=True, eq=False)
class _Chosen(Aggregate):
    order: str | Expression | None = None

    def plan(self, schema: Schema, name: str, ask: Ask) -> Result:
        """See Aggregate."""
        shape = self.shape(schema, name)
        assert not isinstance(self.order, Expression)
        if self.order is not None and not _orders(schema.kinds[schema.position(self.order, name, "to order by")]):
            raise SchemaError(
                f"{name}: order={self.order!r} must be a column of int64, timestamp, date or decimal, without nulls, "
                "which .fill_null(...) replaces"
            )
        return Result(shape.result, KEPT, self._fold(shape, ask, self.order))


class First(_Chosen):
    """The value of the row with the least `order` (of equal ones the first to arrive), of the column's kind. Without
    `order`: in windows the window's time, otherwise the order of arrival."""

    _operations = (FIRST,) * 4


class Last(_Chosen):
    """The value of the row with the greatest `order` (of equal ones the last to arrive); see First."""

    _operations = (LAST,) * 4


def _orders(kind: Kind) -> bool:
    """Whether rows may be chosen by a column of this kind."""
    return kind.order == SIGNED and not kind.nullable and kind.family != "bool"


def maybe_null(kind: Kind, where: Condition | None) -> str:
    """The kind of a value of `kind` that there is only if a row had it and was chosen."""
    return f"{kind.name}?" if kind.nullable or where is not None else kind.name
