"""Expressions: what a user writes of columns, `col("price") * 89 // 100`; a tree that no stream knows yet."""

import re
from collections.abc import Collection, Iterable, Set
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine import Batch, SchemaError, UsageError
from tokenring.engine.arguments import is_whole
from tokenring.engine.columns import is_missing
from tokenring.engine.errors import NoSuchMethodError
from tokenring.operators.durations import Span, nanoseconds_of
from tokenring.operators.expressions.fuse import Masks
from tokenring.operators.expressions.node import Node


class Expression(Node):
    """A value for each row, from columns, constants and operators; made by `col`, `lit`, `when`, used by `filter`,
    `with_columns`, `select`, `branch`.

    Kinds are checked where it is used, against the stream's schema, and nothing is converted silently: a whole number
    and a fraction meet by `cast("float64")`. What Python's numbers give is what comes out, or an error: `//` and `%`
    round down, and a result beyond 64 bits, a division of whole numbers by zero, and a cast that does not fit raise
    UsageError when such a row comes. Rows that `filter` dropped before, and branches of `when` that a row does not
    take, are not such rows; what nothing needs is not computed. Floats are IEEE's: x / 0 is inf or NaN.
    Of an operand that is null the result is null, but for is_null, fill_null, and & and |, which know that
    `null & False` is False and `null | True` is True.
    """

    __slots__ = ("_masks",)

    def __init__(self, operation: str, arguments: tuple[Node, ...] = (), value: Any = None) -> None:
        super().__init__(operation, arguments, value)
        self._masks: Masks | None = None

    def mask(self, batch: Batch) -> np.ndarray:
        """Where this, a condition, is true (and not null) in a batch: bool of shape (rows,). What `columns` names is
        all that it looks at. For functions of batches; `filter` is quicker.
        """
        if self._masks is None or self._masks.schema is not batch.schema:
            self._masks = Masks(self, batch.schema)
        return self._masks(batch)

    def __add__(self, other: Any) -> "Expression":
        return _two("+", self, other)

    def __radd__(self, other: Any) -> "Expression":
        return _two("+", other, self)

    def __sub__(self, other: Any) -> "Expression":
        return _two("-", self, other)

    def __rsub__(self, other: Any) -> "Expression":
        return _two("-", other, self)

    def __mul__(self, other: Any) -> "Expression":
        return _two("*", self, other)

    def __rmul__(self, other: Any) -> "Expression":
        return _two("*", other, self)

    def __floordiv__(self, other: Any) -> "Expression":
        return _two("//", self, other)

    def __rfloordiv__(self, other: Any) -> "Expression":
        return _two("//", other, self)

    def __mod__(self, other: Any) -> "Expression":
        return _two("%", self, other)

    def __rmod__(self, other: Any) -> "Expression":
        return _two("%", other, self)

    def __truediv__(self, other: Any) -> "Expression":
        return _two("/", self, other)

    def __rtruediv__(self, other: Any) -> "Expression":
        return _two("/", other, self)

    def __neg__(self) -> "Expression":
        if self.operation == "constant" and type(self.value) in (int, float, timedelta):
            return lit(-self.value)  # which takes the kind of what it stands beside
        return Expression("negated", (self,))

    def __abs__(self) -> "Expression":
        return Expression("abs", (self,))

    def __lt__(self, other: Any) -> "Expression":
        return _two("<", self, other)

    def __le__(self, other: Any) -> "Expression":
        return _two("<=", self, other)

    def __gt__(self, other: Any) -> "Expression":
        return _two(">", self, other)

    def __ge__(self, other: Any) -> "Expression":
        return _two(">=", self, other)

    def __eq__(self, other: Any) -> "Expression":  # type: ignore[override]
        return _two("==", self, other)

    def __ne__(self, other: Any) -> "Expression":  # type: ignore[override]
        return _two("!=", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Any) -> "Expression":
        return _two("&", self, other)

    def __rand__(self, other: Any) -> "Expression":
        return _two("&", other, self)

    def __or__(self, other: Any) -> "Expression":
        return _two("|", self, other)

    def __ror__(self, other: Any) -> "Expression":
        return _two("|", other, self)

    def __invert__(self) -> "Expression":
        return Expression("~", (self,))

    def __bool__(self) -> bool:
        raise UsageError(
            f"{self!r} is a value for each row, neither true nor false; join conditions with &, | and ~, each in "
            f"parentheses, not with and, or, not, or a < b < c; for `in`, say .is_in([…])"
        )

    def is_null(self) -> "Expression":
        """Whether there is no value: bool. A NaN is a value."""
        return Expression("is_null", (self,))

    def is_not_null(self) -> "Expression":
        """Whether there is a value: bool."""
        return ~self.is_null()

    def fill_null(self, value: Any) -> "Expression":
        """This, or `value` where it is null."""
        return Expression("fill_null", (self, lit(value)))

    def between(self, least: Any, most: Any) -> "Expression":
        """Whether least <= this <= most: bool."""
        return (self >= least) & (self <= most)

    def is_in(self, values: Collection[Any]) -> "Expression":
        """Whether this is one of some constants: bool; null where this is null. Of no constants it is False for all.
        SchemaError for what is not several, as a text."""
        given: object = values
        if isinstance(given, str | bytes | bytearray):
            raise SchemaError(f"is_in takes constants one by one: say is_in([{given!r}])")
        if isinstance(given, Expression) or not isinstance(given, Iterable):
            raise SchemaError(f"is_in takes constants, as is_in([1, 2]), not {given!r}; compare columns by ==")
        if isinstance(values, Set):  # in an order that all processes have
            values = sorted(values, key=repr)
        return Expression("is_in", (self, *[lit(value) for value in values]))

    def cast(self, kind: str) -> "Expression":
        """Another kind: "int64", "uint64", "float64", "bool" (not 0), "timestamp" (of ns since 1970, of a date its
        beginning in UTC), "date" (of days since 1970, of a timestamp, of text such as 2024-02-29), "decimal(p, s)",
        "string". Fractions are cut off towards zero in whole numbers, and rounded in a decimal, halves away from zero;
        a number that does not fit is an error. So is text that is no number: for whole numbers a sign or none and the
        digits 0 to 9, for decimals also a point and an exponent, but no more digits than the kind has, for float64 also
        inf, infinity and nan, in letters of any case, and numbers beyond its range, which are inf, or 0; and nothing
        else, no blanks either; the least int64 and the greatest uint64, which stand for null, are none as text.
        """
        return Expression("cast", (self,), kind)

    def try_cast(self, kind: str) -> "Expression":
        """Text as a number or a date, as `cast` has it, but null where it is none or does not fit."""
        return Expression("try_cast", (self,), kind)

    def round(self, digits: int = 0) -> "Expression":
        """A decimal with so many digits behind the point, or as it is if it has no more; halves go away from zero."""
        if not is_whole(digits) or digits < 0:
            raise SchemaError(f"round is to a number of digits behind the point, 0 or more, not {digits!r}")
        return Expression("round", (self,), int(digits))

    def truncate(self, width: Span) -> "Expression":
        """The greatest multiple of `width` ("1h", a timedelta, or ns, for timestamps) up to this; the kind stays."""
        length: Any = nanoseconds_of(width, "truncate") if isinstance(width, str) else width
        if isinstance(length, int | float | timedelta | np.integer):
            nothing: Any = type(length)(0)
            if not length > nothing:
                raise SchemaError(f"truncate is to multiples of a width above 0, not {width!r}")
        return Expression("truncate", (self, lit(length)), width)

    def year(self) -> "Expression":
        """Of a timestamp, in UTC, or a date, as int64; so are the others."""
        return Expression("calendar", (self,), "year")

    def month(self) -> "Expression":
        """1 to 12."""
        return Expression("calendar", (self,), "month")

    def day(self) -> "Expression":
        """1 to 31."""
        return Expression("calendar", (self,), "day")

    def hour(self) -> "Expression":
        """0 to 23."""
        return Expression("calendar", (self,), "hour")

    def minute(self) -> "Expression":
        """0 to 59."""
        return Expression("calendar", (self,), "minute")

    def second(self) -> "Expression":
        """0 to 59."""
        return Expression("calendar", (self,), "second")

    def weekday(self) -> "Expression":
        """0 (Monday) to 6."""
        return Expression("calendar", (self,), "weekday")

    def format_time(self, form: str) -> "Expression":
        """A timestamp or a date as text, as strftime has it: "%Y-%m-%d %H:%M". %S of a timestamp has nine digits behind
        the point, which `.split_part(".", 1)` cuts off. SchemaError for directives that Arrow, which writes it, does
        not have, such as %f.
        """
        from tokenring.operators.expressions.texts import DIRECTIVES

        if not isinstance(form, str):
            raise SchemaError(f"format_time({form!r}): give a text, such as '%Y-%m-%d'")
        if unknown := [found for found in re.findall("%[EO]?.?|\0", form, re.DOTALL) if found[-1] not in DIRECTIVES]:
            raise SchemaError(
                f"format_time({form!r}): {unknown[0]!r} is no directive; there are % and one of {DIRECTIVES}, of "
                f"which %S and %T have fractions of a second"
            )
        return _text("format_time", self, form)

    def starts_with(self, text: str | bytes) -> "Expression":
        """Whether text begins so: bool."""
        return _two("starts_with", self, _there("starts_with", text))

    def ends_with(self, text: str | bytes) -> "Expression":
        """Whether text ends so: bool."""
        return _two("ends_with", self, _there("ends_with", text))

    def contains(self, text: str | bytes) -> "Expression":
        """Whether text has this in it, literally: bool. For patterns see `matches`."""
        return _two("contains", self, _there("contains", text))

    def length(self) -> "Expression":
        """Of a string, its characters (code points); of bytes, the bytes: int64."""
        return Expression("length", (self,))

    def lower(self) -> "Expression":
        """The string in small letters, by Unicode's full mapping, as Python's and Java's: İ becomes i and a combining
        dot, and Σ at the end of a word ς.
        """
        return _text("lower", self)

    def upper(self) -> "Expression":
        """The string in capitals, by Unicode's full mapping: ß becomes SS."""
        return _text("upper", self)

    def matches(self, pattern: str) -> "Expression":
        """Whether a regular expression (RE2) is found in the string: bool."""
        return _text("matches", self, _written("matches", pattern))

    def extract(self, pattern: str, group: int = 1) -> "Expression":
        """What a group of a regular expression (RE2) found in the string, from group 1: "" of a group that had no part
        in it, as `extract("(a)|(b)", 2)` of "a"; null where the expression was not found. SchemaError for one that RE2
        does not read, or that has no such group.
        """
        return _text("extract", self, _written("extract", pattern), group)

    def split_part(self, separator: str, index: int) -> "Expression":
        """The part of that number between separators, from 1 as in SQL; null where there are fewer parts. SchemaError
        for a number below 1, and a separator that is no text."""
        if not is_whole(index) or index < 1:
            raise SchemaError(f"split_part counts parts from 1, as SQL does: {index!r} is none")
        return _text("split_part", self, _written("split_part", separator), index)

    def count_of(self, text: str) -> "Expression":
        """How often the string has this in it, without overlap: int64; of "" its characters and one, as in Python."""
        return _text("count_of", self, _written("count_of", text))


class When(Expression):
    """`when(condition).then(value)`, to which more may follow: `.when(…).then(…)`, and `.otherwise(…)`. Without that,
    rows for which no condition is true are null. An expression itself.
    """

    __slots__ = ()

    def when(self, condition: Any) -> "Condition":
        """A condition for rows that met none so far."""
        return Condition(self.arguments[:-1], lit(condition))

    def otherwise(self, value: Any) -> Expression:
        """The value of all other rows."""
        return Expression("case", (*self.arguments[:-1], lit(value)))


class Condition:
    """`when(condition)`: what is still missing is `.then(value)`."""

    __slots__ = ("_before", "_condition")

    def __init__(self, before: tuple[Node, ...], condition: Node) -> None:
        self._before = before
        self._condition = condition

    def then(self, value: Any) -> When:
        """The value of rows for which the condition is true (not those for which it is null)."""
        return When("case", (*self._before, self._condition, lit(value), lit(None)))

    if not TYPE_CHECKING:  # a checker of types knows better

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            raise NoSuchMethodError(f"when(condition) is no value yet, which has {name!r}: say .then(value) first")


def col(name: str) -> Expression:
    """A column of the stream that the expression is used with."""
    return Expression("column", (), name)


def lit(value: Any) -> Expression:
    """A constant: int, float, bool, str, bytes, None (null; so are pandas' NA and NaT), a datetime, a date, a
    decimal.Decimal, a timedelta (as ns, beside a date as days). Expressions stay as they are. Needed only where Python
    sees no expression beside it, as in `select(stream, one=lit(1))`.
    """
    if isinstance(value, Expression):
        return value
    return Expression("constant", (), None if is_missing(value) else value)


def when(condition: Any) -> Condition:
    """`when(condition).then(a).otherwise(b)`: a where the condition is true, b elsewhere."""
    return Condition((), lit(condition))


def least(first: Any, second: Any) -> Expression:
    """The smaller of two, the first of equal ones; NaN if one is."""
    return _two("least", first, second)


def greatest(first: Any, second: Any) -> Expression:
    """The greater of two, the first of equal ones; NaN if one is."""
    return _two("greatest", first, second)


def words_as(expression: Expression, kind: str) -> Expression:
    """The words of an expression as ones of another kind, whose words mean something else; for operators."""
    return Expression("words", (expression,), kind)


def not_null_word(expression: Expression) -> Expression:
    """An expression that is never null, before it becomes one that may be: the number that stands for null is an error
    at its row; for operators."""
    return Expression("not_null_word", (expression,))


def _two(operation: str, first: Any, second: Any) -> Expression:
    return Expression(operation, (lit(first), lit(second)))


def _written(function: str, text: Any) -> str:
    """A text that a function is given; SchemaError for what is none."""
    if not isinstance(text, str):
        raise SchemaError(f"{function} takes a text, not {text!r}")
    return text


def _there(function: str, text: Any) -> Any:
    """What a function is given, but for None, which would make it null; a SchemaError."""
    return _written(function, text) if text is None else text


def _text(name: str, argument: Expression, *parameters: Any) -> Expression:
    return Expression("text", (argument,), (name, *parameters))
