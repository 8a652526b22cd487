"""Expressions with kinds: a tree of terms over one schema, or the SchemaError that says what does not fit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tokenring.engine import Kind, Schema, SchemaError
from tokenring.operators.expressions.constants import constant
from tokenring.operators.expressions.node import Node
from tokenring.operators.expressions.patterns import fault_of

CLASSES = {"int64": "int", "uint64": "uint", "float64": "float", "timestamp": "int", "bool": "int"}
"""Which operations of the machine are for words of a kind; text has its own."""
NUMBERS = ("int64", "uint64", "float64")
TEXTS = ("string", "bytes")
FIELDS = ("year", "month", "day", "hour", "minute", "second", "weekday")
CHOOSE = ("choose",)
"""The function of text that chooses as a case does, among texts of several heaps."""
_SWAPPED = {">": "<", ">=": "<="}
_CASTS = {
    ("int64", "float64"): "int>float",
    ("bool", "float64"): "int>float",
    ("uint64", "float64"): "uint>float",
    ("float64", "int64"): "float>int",
    ("float64", "uint64"): "float>uint",
    ("int64", "uint64"): "int>uint",
    ("uint64", "int64"): "uint>int",
    ("bool", "int64"): "copy",
    ("bool", "uint64"): "copy",
    ("timestamp", "int64"): "copy",
    ("int64", "timestamp"): "copy",
}


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


def columns_of(term: Term) -> set[str]:
    """The columns that a term looks at."""
    if term.operation == "column":
        return {term.value}
    return {name for argument in term.arguments for name in columns_of(argument)}


def typed(expression: Node, schema: Schema, who: str) -> Term:
    """The expression over columns of `schema`; SchemaError naming the operator `who`, what does not fit, and the cure.
    """
    if not isinstance(expression, Node):
        raise SchemaError(f'operator {who!r}: an expression is expected, such as col("price") > 1, not {expression!r}')
    return _Typing(schema, who).term(expression)


class _Typing:
    def __init__(self, schema: Schema, who: str) -> None:
        self._schema = schema
        self._who = who
        self._at: Node | None = None

    def _refuse(self, fault: str) -> SchemaError:
        return SchemaError(f"operator {self._who!r}, in {self._at!r}: {fault}")

    def term(self, tree: Node, beside: str | None = None) -> Term:
        """The tree's term; a constant takes the kind of what stands `beside` it where that loses nothing."""
        operation = tree.operation
        if operation == "column":
            try:
                return column_term(tree.value, self._schema.kind(tree.value))
            except SchemaError as error:
                raise SchemaError(f"operator {self._who!r}: {error}") from None
        if operation == "constant":
            try:
                kind, word = constant(tree.value, beside)
            except SchemaError as error:
                raise self._refuse(str(error)) from None
            return Term("constant", kind, tree.value is None, (), word, repr(tree))
        if operation == "case":
            return self._case(tree)
        if operation == "is_in":
            return self._is_in(tree)
        if operation == "fill_null":
            return self._fill_null(tree)
        arguments = self._together(tree)
        self._at = tree
        if operation in ("calendar", "cast", "is_null", "length", "text", "try_cast", "~"):
            return self._one(tree, arguments[0])
        first, second = arguments
        if operation in ("starts_with", "ends_with", "contains"):
            if first.kind not in TEXTS or second.kind != first.kind:
                raise self._refuse(f"{operation} is for text, not {first.kind} and {second.kind}")
            return self._make(tree, operation, "bool", (first, second))
        if operation in ("&", "|"):
            return self._logical(tree, "and" if operation == "&" else "or", first, second)
        if operation in ("==", "!=", "<", "<=", ">", ">="):
            return self._comparison(tree, operation, first, second)
        return self._arithmetic(tree, operation, first, second)

    def _together(self, tree: Node) -> list[Term]:
        """The arguments: constants take the kind of an argument that is none."""
        beside = None
        terms: list[Term | None] = []
        for each in tree.arguments:
            terms.append(None if each.operation == "constant" else self.term(each))
            if beside is None and terms[-1] is not None:
                beside = terms[-1].kind
        self._at = tree
        for at, each in enumerate(tree.arguments):
            if terms[at] is None:
                made = self.term(each, beside)
                terms[at], beside = made, beside or made.kind
        return [term for term in terms if term is not None]

    def _make(
        self, tree: Node, operation: str, kind: str, arguments: tuple[Term, ...], value: Any = None
    ) -> Term:
        nullable = any([term.nullable for term in arguments])
        return Term(operation, kind, nullable, arguments, value, repr(tree))

    def _one(self, tree: Node, argument: Term) -> Term:
        operation, kind = tree.operation, argument.kind
        if operation in ("cast", "try_cast"):
            return self._cast(tree, argument)
        if operation == "is_null":
            return Term("is_null", "bool", False, (argument,), None, repr(tree))
        if operation == "~":
            if kind != "bool":
                raise self._refuse(f'~ is for bool, not {kind}; compare it with something, or .cast("bool")')
            return self._make(tree, "not", "bool", (argument,))
        if operation == "length":
            if kind not in TEXTS:
                raise self._refuse(f"length is for text, not {kind}")
            return self._make(tree, "length", "int64", (argument,), int(kind == "string"))
        if operation == "calendar":
            if kind != "timestamp":
                raise self._refuse(f'{tree.value} is for timestamp, not {kind}; say .cast("timestamp") of ns')
            return self._make(tree, "calendar", "int64", (argument,), FIELDS.index(tree.value))
        name = tree.value[0]
        wanted = "timestamp" if name == "format_time" else "string"
        if kind != wanted:
            raise self._refuse(f'{name} is for {wanted}, not {kind}; say .cast("{wanted}")')
        if name in ("matches", "extract") and (fault := fault_of(*tree.value[1:])):
            raise self._refuse(fault)
        if name == "count_of":
            counted = Term("constant", kind, False, (), tree.value[1].encode())
            return self._make(tree, name, "int64", (argument, counted))
        made = self._make(tree, "text", "bool" if name == "matches" else "string", (argument,), tree.value)
        return made if name not in ("extract", "split_part") else replace(made, nullable=True)

    def _cast(self, tree: Node, argument: Term) -> Term:
        before, after = argument.kind, tree.value
        if before == after:
            return argument
        if after == "bool" and before in NUMBERS:
            zero = Term("constant", before, False, (), 0, "0")
            operation = "int!=" if before != "float64" else "float!="
            return self._make(tree, operation, "bool", (argument, zero))
        if after == "string" and before != "bytes":
            return self._make(tree, "text", "string", (argument,), ("to_text",))
        if before == "string" and after in NUMBERS:
            number = Term("text", after, False, (argument,), ("to_number", after), repr(tree))
            return replace(number, nullable=True) if tree.operation == "try_cast" else self._make(
                tree, "known", after, (number, argument)
            )
        if tree.operation == "try_cast":
            raise self._refuse(f"try_cast is for string to numbers, not {before} to {after!r}; say .cast({after!r})")
        if (before, after) not in _CASTS:
            ways = [there for here, there in _CASTS if here == before] + ["string"] * (before != "bytes")
            raise self._refuse(f"a cast leads from {before} to {', '.join(ways) or 'nothing else'}, not to {after!r}")
        return self._make(tree, _CASTS[before, after], after, (argument,))

    def _logical(self, tree: Node, operation: str, first: Term, second: Term) -> Term:
        for term in (first, second):
            if term.kind != "bool":
                raise self._refuse(
                    f"{tree.operation} is for bool, and {term.text} is {term.kind}; put each comparison in "
                    f'parentheses, or say .cast("bool")'
                )
        return self._make(tree, operation, "bool", (first, second))

    def _comparison(self, tree: Node, operation: str, first: Term, second: Term) -> Term:
        if operation in _SWAPPED:
            operation, first, second = _SWAPPED[operation], second, first
        kind = first.kind
        if kind != second.kind:
            raise self._refuse(f"{first.text} is {first.kind} and {second.text} is {second.kind}{_cure(first, second)}")
        if kind in TEXTS or kind == "bool":
            if operation not in ("==", "!="):
                raise self._refuse(f"{kind} has no order here; compare it with == or !=")
            if kind in TEXTS:
                same = self._make(tree, "text==", "bool", (first, second))
                return same if operation == "==" else self._make(tree, "not", "bool", (same,))
        family = CLASSES[kind]
        if family == "uint" and operation in ("==", "!="):
            family = "int"
        return self._make(tree, family + operation, "bool", (first, second))

    def _arithmetic(self, tree: Node, operation: str, first: Term, second: Term) -> Term:
        kinds = first.kind, second.kind
        if operation == "/" and kinds[0] in NUMBERS and kinds[1] in NUMBERS:
            return self._make(tree, "float/", "float64", (self._real(first), self._real(second)))
        if kinds == ("string", "string") and operation == "+":
            return self._make(tree, "text", "string", (first, second), ("concat",))
        result = None
        if kinds[0] == kinds[1] and kinds[0] in NUMBERS and operation != "/":
            result = kinds[0]
        elif kinds[0] == kinds[1] == "timestamp":
            result = {"-": "int64", "least": "timestamp", "greatest": "timestamp"}.get(operation)
        elif kinds == ("timestamp", "int64"):
            result = {"+": "timestamp", "-": "timestamp", "//": "int64", "%": "int64"}.get(operation)
        elif kinds == ("int64", "timestamp") and operation == "+":
            result = "timestamp"
        if result is None:
            raise self._refuse(
                f"{first.text} is {first.kind} and {second.text} is {second.kind}, of which there is no "
                f"{operation}{_cure(first, second)}"
            )
        return self._make(tree, CLASSES[kinds[0]] + operation, result, (first, second))

    def _real(self, term: Term) -> Term:
        if term.kind == "float64":
            return term
        return Term(_CASTS[term.kind, "float64"], "float64", term.nullable, (term,), None, term.text)

    def _case(self, tree: Node) -> Term:
        conditions = [self.term(each) for each in tree.arguments[:-1:2]]
        self._at = tree
        for term in conditions:
            if term.kind != "bool":
                raise self._refuse(f"{term.text} is {term.kind}; a condition must be bool: compare it with something")
        values = self._together(Node("case", (*tree.arguments[1::2], tree.arguments[-1])))
        self._at = tree
        kind = values[0].kind
        for term in values[1:]:
            if term.kind != kind:
                raise self._refuse(
                    f"{values[0].text} is {kind} and {term.text} is {term.kind}{_cure(values[0], term)}"
                )
        return self._choice(tree, conditions, values)

    def _choice(self, tree: Node, conditions: Sequence[Term], values: Sequence[Term]) -> Term:
        arguments = [term for pair in zip(conditions, values, strict=False) for term in pair]
        kind, nullable = values[0].kind, any([term.nullable for term in values])
        is_plain = kind not in TEXTS or all([term.operation == "constant" for term in values])  # which have one heap
        operation, value = ("case", None) if is_plain else ("text", CHOOSE)
        return Term(operation, kind, nullable, (*arguments, values[-1]), value, repr(tree))

    def _fill_null(self, tree: Node) -> Term:
        value, fill = self._together(tree)
        self._at = tree
        if value.kind != fill.kind:
            raise self._refuse(f"{value.text} is {value.kind} and {fill.text} is {fill.kind}{_cure(value, fill)}")
        if not value.nullable:
            return value
        there = Term("not", "bool", False, (Term("is_null", "bool", False, (value,)),))
        made = self._choice(tree, [there], [value, fill])
        return made if fill.nullable else replace(made, nullable=False)

    def _is_in(self, tree: Node) -> Term:
        value, *constants = self._together(tree)
        self._at = tree
        for term in constants:
            if term.operation != "constant" or term.kind != value.kind or term.nullable:
                raise self._refuse(f"{term.text} is no constant of kind {value.kind}, which {value.text} is")
        if value.kind in TEXTS or value.kind in ("float64", "bool"):
            found = Term("constant", "bool", False, (), 0, "False")
            for term in constants:
                found = self._logical(tree, "or", found, self._comparison(tree, "==", value, term))
            return found
        return self._make(tree, "in", "bool", (value,), tuple(sorted({term.value for term in constants})))


def _cure(first: Term, second: Term) -> str:
    """What to do about two kinds that do not meet."""
    kinds = {first.kind, second.kind}
    if "float64" in kinds and kinds <= set(NUMBERS):
        return '; say .cast("float64") of the whole number, or use whole numbers only'
    if kinds == {"int64", "uint64"}:
        return '; say .cast("int64") of the uint64'
    if "bool" in kinds and kinds & set(NUMBERS):
        return f'; say .cast("{(kinds - {"bool"}).pop()}") of the bool'
    if "timestamp" in kinds and kinds & {"int64", "string"}:
        return "; timestamps go with timestamps and, in +, -, // and %, with whole numbers of ns; write datetimes"
    if kinds & {"string"} and kinds & set(NUMBERS):
        return '; say .cast("string") of the number, or cast the text to a number'
    return ""
