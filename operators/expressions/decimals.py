"""Decimals in expressions: whole numbers of 10**-scale, so brought to one scale before they meet, as SQL has it.

a + b, a - b: the larger scale, a digit more before the point. a * b: both scales and both numbers of digits together.
A kind has no more than 18 digits: a value that would have more is an error at its row. What would have more than 18
digits behind the point, or at a common scale, is a SchemaError that says what is wrong and the cure, without where;
`typed` says that.
"""

from collections.abc import Sequence

from tokenring.engine import Kind, SchemaError
from tokenring.engine.columns import MOST_DIGITS, decimal_of
from tokenring.operators.expressions.constants import kind_named
from tokenring.operators.expressions.terms import Term, fitting


def alike(terms: Sequence[Term]) -> list[Term]:
    """Terms of decimals as ones of one kind, which holds all their values."""
    kinds = [kind_named(term.kind) for term in terms]
    scale = max(kind.scale for kind in kinds)
    whole = max(kind.precision - kind.scale for kind in kinds)
    if whole + scale > MOST_DIGITS:
        both = " and ".join(dict.fromkeys(f"{term.text} is {term.kind}" for term in terms))
        least = min(kind.scale for kind in kinds)
        raise SchemaError(
            f"{both}, for which {whole + scale} digits are needed, and there are {MOST_DIGITS}; say "
            f'.cast("{decimal_of(MOST_DIGITS - scale + least, least)}") of the larger one, or .round({least}) of that '
            f"with more digits behind the point"
        )
    return [_at_scale(term, scale, decimal_of(whole + scale, scale)) for term in terms]


def cure_of_keys(one: Kind, other: Kind) -> str:
    """What to do about keys of two kinds, decimals or not, which are not compared."""
    digits = max(one.precision - one.scale, other.precision - other.scale) + max(one.scale, other.scale)
    if not (one.is_decimal and other.is_decimal and digits <= MOST_DIGITS):
        return "cast one of them first"
    joint = decimal_of(digits, max(one.scale, other.scale))
    return f'say .cast("{joint}") of {"the other" if joint in (one.name, other.name) else "both"}'


def _at_scale(term: Term, scale: int, kind: str) -> Term:
    """With so many digits behind the point, which are no fewer than before, as this kind, which holds it."""
    factor = 10 ** (scale - kind_named(term.kind).scale)
    if term.operation == "constant":
        word = term.value if term.nullable else term.value * factor
        return Term("constant", kind, term.nullable, (), word, term.text)
    return _times(term, factor, kind, term.text)


def _times(term: Term, factor: int, kind: str, text: str) -> Term:
    """The word times a number; in a product of null words nobody looks."""
    operation = "copy" if factor == 1 else "int*"
    arguments = (term,) if factor == 1 else (term, _constant(factor))
    return Term(operation, kind, term.nullable, arguments, None, text)


def _constant(word: int) -> Term:
    return Term("constant", "int64", False, (), word, str(word))


def calculated(operation: str, first: Term, second: Term, text: str) -> Term | None:
    """The term of +, -, *, least or greatest of two decimals; None for other operations."""
    one, other = kind_named(first.kind), kind_named(second.kind)
    nullable = first.nullable or second.nullable
    if operation == "*":
        scale, digits = one.scale + other.scale, one.precision + other.precision
        if scale > MOST_DIGITS:
            raise SchemaError(
                f"{first.text} is {first.kind} and {second.text} is {second.kind}: their product would have {scale} "
                f"digits behind the point, and there are {MOST_DIGITS}; say .round({MOST_DIGITS - other.scale}) of the "
                f"first"
            )
    elif operation in ("+", "-", "least", "greatest"):
        first, second = alike((first, second))
        kind = kind_named(first.kind)
        scale, digits = kind.scale, kind.precision + (operation in ("+", "-"))
    else:
        return None
    made = Term(f"int{operation}", decimal_of(min(digits, MOST_DIGITS), scale), nullable, (first, second), None, text)
    return made if digits <= MOST_DIGITS else fitting(made, kind_named(made.kind), text)


def rounded(term: Term, digits: int, text: str) -> Term:
    """With so many digits behind the point, or as it is if it has no more; halves go away from zero."""
    kind = kind_named(term.kind)
    if digits >= kind.scale:
        return term
    longer = min(kind.precision - kind.scale + digits + 1, MOST_DIGITS)
    return _rounded(term, kind.scale - digits, decimal_of(longer, digits), text)


def _rounded(term: Term, less: int, kind: str, text: str) -> Term:
    return Term("decimal round", kind, term.nullable, (term,), (10**less, 0), text)


def cast(term: Term, after: Kind, text: str) -> Term | None:
    """From a decimal, or to one; None if there is no way."""
    before = kind_named(term.kind)
    if after.is_decimal:
        return _to_decimal(term, before, after, text)
    if after.is_float:
        return Term("decimal>float", after.name, term.nullable, (term,), (before.unit, 0), text)
    whole = Term("decimal cut", "int64", term.nullable, (term,), (before.unit, 0), text)
    if after.family == "bool":
        return Term("int!=", "bool", term.nullable, (term, _constant(0)), None, text)
    if after.is_unsigned:
        return Term("int>uint", after.name, term.nullable, (whole,), None, text)
    return whole if after.name == "int64" else None


def _to_decimal(term: Term, before: Kind, after: Kind, text: str) -> Term | None:
    if before.is_float:
        made = Term("float>decimal", after.name, term.nullable, (term,), (after.unit, 0), text)
        return fitting(made, after, text)
    if before.is_unsigned:
        term = Term("uint>int", "int64", term.nullable, (term,), None, text)
    elif not before.is_decimal and before.name not in ("int64", "bool"):
        return None
    if before.name == "bool":
        term = Term("copy", "int64", term.nullable, (term,), None, text)
    more = after.scale - before.scale
    if more < 0:
        made = _rounded(term, -more, after.name, text)
    else:
        made = _times(term, 10**more, after.name, text)
    held = before.is_decimal and before.precision - before.scale + (more < 0) <= after.precision - after.scale
    return made if held else fitting(made, after, text)
