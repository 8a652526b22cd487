"""Nodes of expressions: an operation, what it is applied to, how it is said, and the name that a result is given."""

import keyword
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenring.engine import SchemaError, did_you_mean
from tokenring.engine.errors import NoSuchMethodError

_MEANT = {
    "dt": "hour",
    "fillna": "fill_null",
    "isin": "is_in",
    "isna": "is_null",
    "isnull": "is_null",
    "len": "length",
    "notna": "is_not_null",
    "notnull": "is_not_null",
    "otherwise": "when(condition).then(a).otherwise(b)",
    "regexp_matches": "matches",
    "str": "contains",
    "strftime": "format_time",
}
"""What other libraries call it."""

_NO_NAMES = frozenset([*keyword.kwlist, "inf", "nan"])
"""What stands for a constant where it is said."""
MOST_WITHIN = 500
"""How many operations may stand within each other: beyond, making a program of them takes seconds."""
MOST_IN_ALL = 200_000
"""How many operations an expression may have, one that is used twice counted twice: likewise."""
_CALLS = 10_000
"""How deep Python's stack may then be: what walks through an expression calls itself for each, several times."""


@dataclass(frozen=True)
class Alias:
    """A column of a result, under a name of its own: made by `.alias(name)`, which comes last."""

    value: Any
    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise SchemaError(f"a column is called by a text, such as .alias('price'), not {self.name!r}")

    def __repr__(self) -> str:
        return f"{self.value!r}.alias({self.name!r})"


def with_aliased(operator: str, aliased: tuple[Any, ...], columns: dict[str, Any]) -> dict[str, Any]:
    """The columns by name, those that were given with an alias first. SchemaError for what has no name, and for two of
    one name.
    """
    named: dict[str, Any] = {}
    for each in aliased:
        if not isinstance(each, Alias):
            raise SchemaError(f"operator {operator!r}: {each!r} has no name; say .alias('name') behind it")
        if each.name in named or each.name in columns:
            raise SchemaError(f"operator {operator!r}: two columns would be called the same: {each.name}")
        named[each.name] = each.value
    return named | columns


class Node:
    """A tree over columns ("column", with the name as value) and constants ("constant", with the value)."""

    __slots__ = ("_depth", "_said", "_size", "arguments", "operation", "value")

    def __init__(self, operation: str, arguments: "tuple[Node, ...]" = (), value: Any = None) -> None:
        self.operation = operation
        self.arguments = arguments
        self.value = value
        self._said: str | None = None
        self._depth: int = 1 + max([argument._depth for argument in arguments], default=0)
        self._size: int = 1 + sum([argument._size for argument in arguments])
        if self._size > MOST_IN_ALL:
            raise SchemaError(
                f"an expression has more than {MOST_IN_ALL:,} operations, the last {operation!r}, where one that is "
                f"used twice counts twice; compute what is used several times before, by with_columns"
            )
        if self._depth > MOST_WITHIN // 10 and sys.getrecursionlimit() < _CALLS:
            sys.setrecursionlimit(_CALLS)
        if self._depth > MOST_WITHIN:
            raise SchemaError(
                f"an expression has more than {MOST_WITHIN} operations within each other, the last {operation!r}; "
                f"say is_in([...]) of a column that is compared to many constants; or compute a part of it before, by "
                f"with_columns; or join terms by halves, (a + b) + (c + d)"
            )

    def alias(self, name: str) -> Alias:
        """The expression as a column of that name, whatever it is: `select((col("price") * 89).alias("name"))`."""
        return Alias(self, name)

    if not TYPE_CHECKING:  # a checker of types knows better

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # tools ask any object for such names
                raise AttributeError(name)
            there = [each for each in dir(type(self)) if not each.startswith("_")]
            cure = f"; here it is {_MEANT[name]}" if name in _MEANT else did_you_mean(name, there)
            raise NoSuchMethodError(f"an expression has no {name!r}{cure}")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it reads."""
        return tuple(dict.fromkeys(self._columns()))

    def _columns(self) -> Iterator[str]:
        if self.operation == "column":
            yield self.value
        for argument in self.arguments:
            yield from argument._columns()

    def __repr__(self) -> str:
        if self._said is None:  # said once, however many terms are made of it
            self._said = self._say()
        return self._said

    def _say(self) -> str:
        operation, arguments = self.operation, self.arguments
        if operation == "column":  # what prints alike is taken for the same
            name = str(self.value)
            return name if name.isidentifier() and name not in _NO_NAMES else f"col({name!r})"
        if operation == "constant":
            return repr(self.value)
        if operation == "case":
            *pairs, last = arguments
            said = [f"when({a!r}).then({b!r})" for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
            return ".".join([*said, f"otherwise({last!r})"])
        if operation == "negated":
            return f"(-{arguments[0]!r})"
        if operation == "calendar":
            return f"{arguments[0]!r}.{self.value}()"
        if operation == "text":
            name, *given = self.value
            return f"{arguments[0]!r}.{name}({', '.join([repr(each) for each in given])})"
        if operation in ("least", "greatest", "abs", "~"):
            return f"{operation}({', '.join([repr(each) for each in arguments])})"
        if len(arguments) == 2 and not operation.isidentifier():
            return f"({arguments[0]!r} {operation} {arguments[1]!r})"
        given = arguments[1:] if self.value is None else [self.value]
        return f"{arguments[0]!r}.{operation}({', '.join([repr(each) for each in given])})"


def column_named_by(expression: Node) -> str | None:
    """The column that an expression is, by name; None where something is to be computed."""
    return str(expression.value) if expression.operation == "column" else None
