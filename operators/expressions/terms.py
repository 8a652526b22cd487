"""Terms: expressions of known kinds over one schema, as programs are made of."""

from dataclasses import dataclass
from typing import Any

from tokenring.engine import Kind

TEXTS = ("string", "bytes")
CHOOSE = ("choose",)
"""The function of text that chooses as a case does, among texts of several heaps."""


@dataclass(frozen=True, slots=True)
class Term:
    """An expression of known kind. `operation`: "column" (value: its name), "constant" (value: its word, or bytes),
    "case", "text" (value: a function of operators/expressions/texts.py and its parameters), or one of the machine's.
    """

    operation: str
    kind: str
    nullable: bool
    arguments: tuple["Term", ...] = ()
    value: Any = None
    text: str = ""
    """How the user wrote it, for messages."""

    @property
    def spelled(self) -> str:
        """The kind as schemas spell it."""
        return f"{self.kind}?" if self.nullable else self.kind


def column_term(name: str, kind: Kind) -> Term:
    """A column as it is."""
    return Term("column", kind.name, kind.nullable, (), name, name)


def fitting(term: Term, kind: Kind, text: str) -> Term:
    """The same words as ones of a kind that has a range: one that is out of it is an error at its row."""
    return Term("fits", kind.name, term.nullable, (term,), kind.range, text)


def columns_of(term: Term) -> set[str]:
    """The columns that a term looks at."""
    if term.operation == "column":
        return {term.value}
    return {name for argument in term.arguments for name in columns_of(argument)}
