"""Expressions with kinds: a tree of terms over one schema, or the SchemaError that says what does not fit."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from tokenring.engine import Schema, SchemaError
from tokenring.engine.columns import FLOAT, SIGNED, UNSIGNED, exact_families
from tokenring.operators.expressions.constants import DAY_NS, bits, constant, kind_named, octets_of
from tokenring.operators.expressions.node import Node
from tokenring.operators.expressions.patterns import fault_of
from tokenring.operators.expressions.terms import CHOOSE, TEXTS, Term, column_term, fitting

_CLASSES = {SIGNED: "int", UNSIGNED: "uint", FLOAT: "float"}
"""Which operations of the machine are for words of an order; text has its own."""
NUMBERS = ("int64", "uint64", "float64")
FIELDS = ("year", "month", "day", "hour", "minute", "second", "weekday")
_DATE_FIELDS = ("year", "month", "day", "weekday")
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
    ("date", "timestamp"): "int*",
    ("timestamp", "date"): "int//",
    ("date", "int64"): "copy",
    ("int64", "date"): "fits",
    **dict.fromkeys([(number, "decimal") for number in (*NUMBERS, "bool", "decimal")], ""),
    **dict.fromkeys([("decimal", number) for number in NUMBERS], ""),
}
"""How kinds are made of others; those of decimals stand in decimals.py."""
_ARITHMETIC = {
    ("timestamp", "timestamp"): {"-": "int64", "least": "timestamp", "greatest": "timestamp"},
    ("timestamp", "int64"): {"+": "timestamp", "-": "timestamp", "//": "int64", "%": "int64"},
    ("int64", "timestamp"): {"+": "timestamp"},
    ("date", "date"): {"-": "int64", "least": "date", "greatest": "date"},
    ("date", "int64"): {"+": "date", "-": "date"},
    ("int64", "date"): {"+": "date"},
}
"""What kind operations give of two kinds, of which not both are one of numbers; those of decimals stand there, too."""
_Made = TypeVar("_Made")
_DAYS_OF_TIMES = (-(2**63) // DAY_NS + 1, 2**63 // DAY_NS)
"""The days that 64 bits of ns reach."""
_INSTEAD = {
    ("string", "timestamp"): "; declare the column as timestamp where it is read",
    ("string", "bool"): '; compare it with a text, == "true"',
    ("bytes", "string"): "; declare the column as string where it is read",
}
"""What to do where no cast leads from one kind to another."""


def _is_decimal(term: Term) -> bool:
    return kind_named(term.kind).is_decimal


def _is_null(term: Term) -> bool:
    return term.operation == "constant" and term.nullable


def _decimals() -> Any:
    """What is special to decimals, which few programs need."""
    from tokenring.operators.expressions import decimals

    return decimals


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
        where = "" if self._at is None else f", in {self._at!r}"
        return SchemaError(f"operator {self._who!r}{where}: {fault}")

    def _told(self, made: Callable[[], _Made]) -> _Made:
        """What `made` gives; what it refuses is said of where we are."""
        try:
            return made()
        except SchemaError as error:
            raise self._refuse(str(error)) from None

    def _alike(self, terms: Sequence[Term]) -> list[Term]:
        """Decimals of several kinds as ones of one kind; others as they are."""
        if len({term.kind for term in terms}) < 2 or not all(map(_is_decimal, terms)):
            return list(terms)
        return self._told(partial(_decimals().alike, terms))

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
        if len(arguments) == 1:
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
        if operation == "truncate":
            if first.kind not in (*NUMBERS, "timestamp"):
                cure = _by_cast(first, "timestamp")
                raise self._refuse(f"truncate is for timestamps and numbers, not {first.kind}{cure}")
            return self._arithmetic(tree, "-", first, self._arithmetic(tree, "%", first, second))
        return self._arithmetic(tree, operation, first, second)

    def _together(self, tree: Node, arguments: Sequence[Node] | None = None) -> list[Term]:
        """The arguments, all or these: constants take the kind of an argument that is none, and null that of any."""
        beside = None
        terms: list[Term | None] = []
        arguments = tree.arguments if arguments is None else arguments
        for each in arguments:
            terms.append(None if each.operation == "constant" else self.term(each))
            if beside is None and terms[-1] is not None:
                beside = terms[-1].kind
        self._at = tree
        for at in sorted(range(len(arguments)), key=lambda at: arguments[at].value is None):
            if terms[at] is None:
                made = self.term(arguments[at], beside)
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
                raise self._refuse(f"~ is for bool, not {kind}{_by_cast(argument, 'bool') or '; compare it'}")
            return self._make(tree, "not", "bool", (argument,))
        if operation in ("negated", "abs"):
            return self._signed(tree, argument)
        if operation == "length":
            if kind not in TEXTS:
                raise self._refuse(f"length is for text, not {kind}")
            return self._make(tree, "length", "int64", (argument,), int(kind == "string"))
        if operation == "calendar":
            field = FIELDS.index(tree.value)
            if kind == "date" and tree.value in _DATE_FIELDS:
                return self._make(tree, "calendar", "int64", (argument,), (field, 1))
            if kind != "timestamp":
                raise self._refuse(f"{tree.value} is for timestamp, not {kind}{_by_cast(argument, 'timestamp')}")
            return self._make(tree, "calendar", "int64", (argument,), (field, 0))
        if operation == "not_null_word":
            return Term(operation, kind, False, (argument,), None, argument.text)
        if operation == "words":
            return self._make(tree, "copy", tree.value, (argument,))
        if operation == "round":
            if not _is_decimal(argument):
                raise self._refuse(f"round is for decimals, not {kind}; cast it to the decimal that is meant")
            return _decimals().rounded(argument, tree.value, repr(tree))
        name = tree.value[0]
        wanted = "timestamp" if name == "format_time" else "string"
        if kind != wanted and not (name == "format_time" and kind == "date"):
            raise self._refuse(f"{name} is for {wanted}, not {kind}{_by_cast(argument, wanted)}")
        for given in tree.value[1:]:
            if isinstance(given, str):
                self._told(partial(octets_of, given))
        if kind == "date" and (zones := [zone for zone in ("%z", "%Z") if zone in tree.value[1].replace("%%", "")]):
            raise self._refuse(f'{zones[0]} tells a zone, and a date has none; say .cast("timestamp") of the date')
        if name in ("matches", "extract") and (fault := fault_of(*tree.value[1:])):
            raise self._refuse(fault)
        if name == "count_of" and not tree.value[1]:
            characters = self._make(tree, "length", "int64", (argument,), 1)
            return self._make(tree, "int+", "int64", (characters, Term("constant", "int64", False, (), 1)))
        if name == "count_of":
            counted = Term("constant", kind, False, (), tree.value[1].encode())
            return self._make(tree, name, "int64", (argument, counted))
        made = self._make(tree, "text", "bool" if name == "matches" else "string", (argument,), tree.value)
        return made if name not in ("extract", "split_part") else replace(made, nullable=True)

    def _cast(self, tree: Node, argument: Term) -> Term:
        try:
            kinds = kind_named(argument.kind), kind_named(tree.value)
        except (SchemaError, TypeError) as error:
            is_near = isinstance(tree.value, str) and tree.value.startswith("decimal(")
            fault = str(error).partition(": ")[2] if is_near else self._ways(argument, tree.value)
            raise self._refuse(fault) from None
        if kinds[1].nullable:
            raise self._refuse(self._ways(argument, tree.value))
        before, after = (kind.family for kind in kinds)
        if kinds[0].name == kinds[1].name:
            return argument
        if tree.operation == "try_cast" and before != "string":
            raise self._refuse(
                f"try_cast is for string to numbers and dates, not {before} to {tree.value!r}"
                f"{_by_cast(argument, tree.value)}"
            )
        if "decimal" in (before, after) and not {"string", "bytes"} & {before, after}:
            made = _decimals().cast(argument, kinds[1], repr(tree))
            if made is None:
                raise self._refuse(self._ways(argument, tree.value))
            return made
        if after == "bool" and before in NUMBERS:
            zero = Term("constant", before, False, (), 0, "0")
            operation = "int!=" if before != "float64" else "float!="
            return self._make(tree, operation, "bool", (argument, zero))
        if after == "string" and before != "bytes":
            return self._make(tree, "text", "string", (argument,), ("to_text",))
        if before == "string" and after in _ways_from(before):
            number = Term("text", kinds[1].name, False, (argument,), ("to_number", kinds[1].name), repr(tree))
            return replace(number, nullable=True) if tree.operation == "try_cast" else self._make(
                tree, "known", kinds[1].name, (number, argument)
            )
        if (before, after) not in _CASTS:
            raise self._refuse(self._ways(argument, tree.value))
        if after == "date" and before == "int64":
            return fitting(argument, kinds[1], repr(tree))
        if "date" in (before, after) and "timestamp" in (before, after):
            day = Term("constant", "int64", False, (), DAY_NS, "a day")
            if before == "date":
                argument = replace(self._make(tree, "fits", before, (argument,)), value=_DAYS_OF_TIMES)
            return self._make(tree, _CASTS[before, after], after, (argument, day))
        return self._make(tree, _CASTS[before, after], after, (argument,))

    def _ways(self, argument: Term, after: Any) -> str:
        """What casts there are, and that this is none."""
        before = kind_named(argument.kind).family
        said = ", ".join(_ways_from(before)).replace("decimal", "decimal(p, s)") or "nothing else"
        return f"a cast leads from {before} to {said}, not to {after!r}{_INSTEAD.get((before, str(after)), '')}"

    def _signed(self, tree: Node, argument: Term) -> Term:
        """-x and abs(x). Floats are multiplied, since 0.0 - 0.0 is 0.0."""
        kind, is_abs = argument.kind, tree.operation == "abs"
        if kind == "uint64" and is_abs:
            return argument
        if kind not in ("int64", "float64") and not _is_decimal(argument):
            said = "abs is for numbers" if is_abs else "- is for numbers that may be below 0"
            raise self._refuse(f"{said}, not {kind}{_by_cast(argument, 'int64')}")
        zero = Term("constant", kind, False, (), 0, "0")
        if kind != "float64":
            turned = self._make(tree, "int-", kind, (zero, argument))
            return self._make(tree, "intgreatest", kind, (argument, turned)) if is_abs else turned
        turned = self._make(tree, "float*", kind, (argument, Term("constant", kind, False, (), bits(-1.0), "-1.0")))
        if not is_abs:
            return turned
        greater = self._make(tree, "floatgreatest", kind, (argument, turned))
        return self._make(tree, "float+", kind, (greater, zero))  # -0.0 is the first of two equal ones

    def _logical(self, tree: Node, operation: str, first: Term, second: Term) -> Term:
        for term in (first, second):
            if term.kind != "bool":
                raise self._refuse(
                    f"{tree.operation} is for bool, and {term.text} is {term.kind}; put each comparison in "
                    f"parentheses{_by_cast(term, 'bool').replace('; say', ', or say')}"
                )
        return self._make(tree, operation, "bool", (first, second))

    def _comparison(self, tree: Node, operation: str, first: Term, second: Term) -> Term:
        if operation in _SWAPPED:
            operation, first, second = _SWAPPED[operation], second, first
        if any(map(_is_null, (first, second))):
            raise self._refuse("what is compared with null is null, true of no row; say .is_null() or .is_not_null()")
        first, second = self._alike((first, second))
        kind = first.kind
        if kind != second.kind:
            raise self._refuse(f"{first.text} is {first.kind} and {second.text} is {second.kind}{_cure(first, second)}")
        if kind in TEXTS or kind == "bool":
            if operation not in ("==", "!="):
                cure = ", or say .matches('^[a-m]'), or order rows by it in a collection" if kind == "string" else ""
                raise self._refuse(f"{kind} has no order here; compare it with == or !={cure}")
            if kind in TEXTS:
                same = self._make(tree, "text==", "bool", (first, second))
                return same if operation == "==" else self._make(tree, "not", "bool", (same,))
        family = _CLASSES[kind_named(kind).order]
        if family == "uint" and operation in ("==", "!="):
            family = "int"
        return self._make(tree, family + operation, "bool", (first, second))

    def _arithmetic(self, tree: Node, operation: str, first: Term, second: Term) -> Term:
        kinds = first.kind, second.kind
        if operation == "/" and all([kind_named(kind).family in (*NUMBERS, "decimal") for kind in kinds]):
            return self._make(tree, "float/", "float64", (self._real(first), self._real(second)))
        if kinds == ("string", "string") and operation == "+":
            return self._make(tree, "text", "string", (first, second), ("concat",))
        if all(map(_is_decimal, (first, second))):
            made = self._told(partial(_decimals().calculated, operation, first, second, repr(tree)))
            if made is not None:
                return made
        result = _ARITHMETIC.get(kinds, {}).get(operation)
        if kinds[0] == kinds[1] and kinds[0] in NUMBERS and operation != "/":
            result = kinds[0]
        if result is None:
            raise self._refuse(
                f"{first.text} is {first.kind} and {second.text} is {second.kind}, of which there is no "
                f"{tree.operation}{_cure(first, second)}"
            )
        machine = _CLASSES[kind_named(kinds[0]).order] + operation
        if kinds[0] != kinds[1] and kind_named(result).range is not None:
            return fitting(self._make(tree, machine, "int64", (first, second)), kind_named(result), repr(tree))
        return self._make(tree, machine, result, (first, second))

    def _real(self, term: Term) -> Term:
        if term.kind == "float64":
            return term
        if _is_decimal(term):
            return _decimals().cast(term, kind_named("float64"), term.text) or term
        return Term(_CASTS[term.kind, "float64"], "float64", term.nullable, (term,), None, term.text)

    def _case(self, tree: Node) -> Term:
        conditions = [self.term(each) for each in tree.arguments[:-1:2]]
        self._at = tree
        for term in conditions:
            if term.kind != "bool":
                raise self._refuse(f"{term.text} is {term.kind}; a condition must be bool: compare it with something")
        values = self._alike(self._together(tree, (*tree.arguments[1::2], tree.arguments[-1])))
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
        value, fill = self._alike((value, fill))
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
        if not constants:
            return Term("constant", "bool", False, (), 0, "False")
        if any(map(_is_null, constants)):
            raise self._refuse('null is equal to nothing: leave it out, and say | col("…").is_null() behind is_in')
        value, *constants = self._alike((value, *constants))
        for term in constants:
            if term.operation != "constant" or term.kind != value.kind:
                raise self._refuse(f"{term.text} is no constant of kind {value.kind}, which {value.text} is")
        if value.kind in TEXTS or value.kind in ("float64", "bool"):
            found = [self._comparison(tree, "==", value, term) for term in constants]
            while len(found) > 1:  # by halves: what walks through terms calls itself for each within another
                pairs = zip(found[::2], found[1::2], strict=False)
                odd = found[len(found) // 2 * 2 :]
                found = [*[self._logical(tree, "or", *pair) for pair in pairs], *odd]
            return found[0]
        return self._make(tree, "in", "bool", (value,), tuple(sorted({term.value for term in constants})))


def _ways_from(before: str) -> list[str]:
    """The families of kinds that a cast makes of one."""
    if before == "string":
        return [*NUMBERS, *exact_families()]
    ways = [there for here, there in _CASTS if here == before] + ["bool"] * (before in (*NUMBERS, "decimal"))
    return ways + ["string"] * (before != "bytes")


def _by_cast(term: Term, after: str) -> str:
    """How to make another kind of a term, if there is a way."""
    before = kind_named(term.kind).family
    if after.partition("(")[0] not in _ways_from(before):
        return _INSTEAD.get((before, after), "")
    return f'; say .cast("{after}")' + " of ns" * ((before, after) == ("int64", "timestamp"))


def _cure(first: Term, second: Term) -> str:
    """What to do about two kinds that do not meet."""
    kinds = {first.kind, second.kind}
    if all(map(_is_decimal, (first, second))):
        return '; say .cast("float64") or .cast("int64") of both'
    if "float64" in kinds and kinds <= set(NUMBERS):
        return '; say .cast("float64") of the whole number, or use whole numbers only'
    if kinds == {"int64", "uint64"}:
        return '; say .cast("int64") of the uint64'
    if "bool" in kinds and kinds & set(NUMBERS):
        return f'; say .cast("{(kinds - {"bool"}).pop()}") of the bool'
    if any(map(_is_decimal, (first, second))) and kinds & {*NUMBERS, "bool"}:
        return (
            '; say .cast("decimal(18, 0)") of the whole number, with as many digits as it has; .cast("float64") of the '
            'decimal beside fractions, and write constants as decimal.Decimal("1.25")'
        )
    if {"date", "timestamp"} == kinds:
        return '; say .cast("timestamp") of the date, or .cast("date") of the timestamp'
    if "date" in kinds and kinds & {"int64", "string"}:
        return "; dates go with dates and, in + and -, with whole numbers of days; write datetime.date, or cast"
    if "timestamp" in kinds and kinds & {"int64", "string"}:
        return "; timestamps go with timestamps and, in +, -, // and %, with whole numbers of ns; write datetimes"
    if kinds & {"string"} and kinds & set(NUMBERS):
        return '; say .cast("string") of the number, or cast the text to a number'
    return ""
