"""What conditions can be over rows of whose columns only the least and the greatest value are known."""

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from struct import pack, unpack
from typing import Any, NamedTuple

from tokenring.operators.expressions.fuse import Part
from tokenring.operators.expressions.hoist import may_raise
from tokenring.operators.expressions.terms import Term


class Range(NamedTuple):
    """What is known of a column's values: words as numbers that order as they do, or the bytes of texts. Beside those
    of floats there may be NaN. least and greatest are None where there are nulls alone."""

    least: Any
    greatest: Any
    has_null: bool


RangeOf = Callable[[str], Range | None]
"""The range of a column; None: it may be anything."""
_Outcome = bool | None
_ANY: frozenset[_Outcome] = frozenset((True, False, None))
_SIGNS = {f"{words}{sign}": sign for words in ("int", "uint", "float") for sign in ("<", "<=", "==", "!=")}
_SIGNS["text=="] = "=="


def may_pass(functions: Iterable[Any], range_of: RangeOf) -> bool:
    """Whether a row may come through the functions of neighbouring stateless operators. False only where none can, and
    none can make one of them fail."""
    for function in functions:
        if not isinstance(function, Part):
            return True
        step = function.step()
        if step.condition is not None:
            if may_raise(step.condition):
                return True
            if True not in _outcomes(step.condition, range_of):
                return False
        if any(map(may_raise, step.columns.values())):
            return True
        range_of = _renamed(step.columns, range_of)
    return True


def _renamed(columns: dict[str, Term], range_of: RangeOf) -> RangeOf:
    def made(name: str) -> Range | None:
        return _range(columns[name], range_of)

    return made


def _range(term: Term, range_of: RangeOf) -> Range | None:
    """What its values are; None where that is not known."""
    if term.operation == "column":
        return range_of(term.value)
    if term.operation != "constant" or term.nullable:
        return None
    value = term.value
    if term.kind == "float64":
        (value,) = unpack("<d", pack("<q", value))
    elif term.kind == "uint64":
        value %= 2**64
    return Range(value, value, False)


def _outcomes(term: Term, range_of: RangeOf) -> frozenset[_Outcome]:
    """What a condition may be, row by row; None is null, which is left out beside others: it makes nothing true that
    they do not."""
    return frozenset(_found(term, range_of))


def _found(term: Term, range_of: RangeOf) -> Iterator[_Outcome]:
    operation, arguments = term.operation, term.arguments
    if operation in ("column", "constant"):
        known = _range(term, range_of)
        if known is None:
            yield from _ANY
        elif known.least is None:
            yield None
        else:
            yield from [each == 1 for each in range(known.least, known.greatest + 1)]
    elif operation == "not":
        yield from [None if each is None else not each for each in _outcomes(arguments[0], range_of)]
    elif operation in ("and", "or"):
        decides = operation == "or"  # whatever the other is
        for both in product(*[_outcomes(each, range_of) for each in arguments]):
            yield decides if decides in both else None if None in both else not decides
    elif operation == "is_null":
        known = _range(arguments[0], range_of)
        if known is None or known.least is not None:
            yield False
        if arguments[0].nullable and (known is None or known.has_null or arguments[0].kind == "float64"):
            yield True
    elif operation == "in" and arguments[0].kind != "uint64":
        known = _range(arguments[0], range_of)
        if known is None:
            yield from _ANY
        elif known.least is None:
            yield None
        else:
            yield from _compared(any([known.least <= each <= known.greatest for each in term.value]))
    elif operation in _SIGNS:
        first, second = arguments
        yield from _comparison(_SIGNS[operation], first, second, range_of)
    else:
        yield from _ANY


def _compared(may_be: bool, must_be: bool = False) -> Iterator[bool]:
    if may_be:
        yield True
    if not must_be:
        yield False


def _comparison(sign: str, first: Term, second: Term, range_of: RangeOf) -> Iterator[_Outcome]:
    one, two = _range(first, range_of), _range(second, range_of)
    if one is None or two is None:
        yield from _ANY
        return
    if one.least is None or two.least is None:
        yield None
        return
    if sign == "<":
        yield from _compared(one.least < two.greatest, one.greatest < two.least)
    elif sign == "<=":
        yield from _compared(one.least <= two.greatest, one.greatest <= two.least)
    else:
        can_meet = one.least <= two.greatest and two.least <= one.greatest
        must_meet = one.least == one.greatest == two.least == two.greatest
        yield from _compared(can_meet, must_meet) if sign == "==" else _compared(not must_meet, not can_meet)
    if first.kind == "float64":  # NaN is unequal to all, and nothing else
        yield sign == "!="
