"""What is given another name than it would have, whatever it is: an expression, or an aggregate."""

from dataclasses import dataclass
from typing import Any

from tokenring.engine import SchemaError


@dataclass(frozen=True)
class Alias:
    """A column of a result, under a name of its own: made by `.alias(name)`, which comes last."""

    value: Any
    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"a column is called by a text, such as .alias('price'), not {self.name!r}")


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
