"""Expressions: against Python's own arithmetic, row by row, in chains of where, with_columns and select."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import Batch, Schema, SchemaError, Scope, Stream, UsageError
from tokenring.engine.errors import NoSuchMethodError
from tokenring.operators import Expression, col, filter, greatest, least, lit, select, when, with_columns
from tokenring.operators.expressions.fuse import Part
from tokenring.operators.expressions.node import MOST_WITHIN

KINDS = {
    "i": "int64",
    "n": "int64?",
    "u": "uint64",
    "f": "float64",
    "g": "float64?",
    "b": "bool",
    "m": "bool?",
    "s": "string",
    "z": "string?",
    "t": "timestamp",
}
SCHEMA = Schema.of(KINDS)
# Not the least int64 nor the greatest uint64, which are null where a column may hold nulls; for them see
# test_expression_blocks.py.
WHOLE = st.one_of(st.integers(-5, 5), st.sampled_from([-(2**63) + 1000, 2**63 - 1, 2**40]))
UNSIGNED = st.one_of(st.integers(0, 5), st.sampled_from([2**63, 2**64 - 1000]))
REAL = st.one_of(st.sampled_from([0.0, -0.0, 1.5, -2.5, math.inf, math.nan, 1e300]), st.integers(-5, 5).map(float))
TEXT = st.sampled_from(["", "a", "ab", "abé", "b", "bab"])
SECOND = 10**9
INSTANT = st.one_of(st.integers(-(2**60), 2**60), st.sampled_from([0, -1, 951_782_400 * SECOND]))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int64": WHOLE,
    "uint64": UNSIGNED,
    "float64": REAL,
    "bool": st.booleans(),
    "string": TEXT,
    "timestamp": INSTANT,
}


def of_kind(kind: str) -> st.SearchStrategy[Any]:
    values = VALUES[kind.removesuffix("?")]
    return st.one_of(st.none(), values) if kind.endswith("?") else values


ROWS = st.lists(st.tuples(*[of_kind(kind) for kind in KINDS.values()]), min_size=1, max_size=6)
NUMBERS = ("int64", "uint64", "float64")
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}


@st.composite
def expressions(draw: Any, kind: str, depth: int = 3) -> Expression:
    """An expression of a kind, over SCHEMA."""
    names = [name for name, spelled in KINDS.items() if spelled.removesuffix("?") == kind]
    if depth == 0 or draw(st.booleans()):
        return col(draw(st.sampled_from(names)))
    deeper = depth - 1
    if draw(st.integers(0, 4)) == 0:
        condition = draw(expressions("bool", deeper))
        chosen = when(condition).then(draw(expressions(kind, deeper)))
        return chosen.otherwise(draw(expressions(kind, deeper))) if draw(st.booleans()) else chosen
    if kind in NUMBERS:
        first, second = draw(expressions(kind, deeper)), draw(expressions(kind, deeper))
        if draw(st.booleans()):
            as_kind = {"int64": int, "uint64": np.uint64, "float64": float}[kind]
            second = lit(as_kind(draw(st.sampled_from([1, 2, 3, 7]))))
        return draw(
            st.sampled_from([Expression(sign, (first, second)) for sign in ARITHMETIC])
            | st.sampled_from([least(first, second), greatest(first, second), first.fill_null(3)])
            | st.sampled_from([abs(first), first if kind == "uint64" else -first])
        )
    if kind == "timestamp":
        return draw(expressions(kind, deeper)).truncate(timedelta(seconds=10))
    if kind == "string":
        return draw(st.sampled_from([draw(expressions(kind, deeper)).upper(), draw(expressions(kind, deeper)) + "x"]))
    return draw(conditions(deeper))


@st.composite
def conditions(draw: Any, deeper: int) -> Expression:
    """A bool that is no column."""
    a, b = draw(expressions("bool", deeper)), draw(expressions("bool", deeper))
    kind = draw(st.sampled_from([*NUMBERS, "timestamp"]))
    x, y = draw(expressions(kind, deeper)), draw(expressions(kind, deeper))
    text = draw(expressions("string", deeper))
    number = draw(expressions("int64", deeper))
    compared = [Expression(sign, (x, y)) for sign in COMPARISONS]
    texts = [text == "ab", text != col("z"), text.starts_with("a"), text.ends_with("b"), text.contains("é")]
    return draw(
        st.sampled_from([a & b, a | b, ~a, number.is_in([1, 2, 2**40]), text.is_in(["a", "bab"]), col("n").is_null()])
        | st.sampled_from(compared)
        | st.sampled_from([*texts, text.length() > 1, col("t").year() > 1990, col("t").weekday() == 2])
    )


class Fault(Exception):
    """The row has no result."""


def value_of(tree: Expression, row: dict[str, Any], kinds: dict[str, str]) -> Any:
    """A row's value by Python's own arithmetic; None where null."""
    operation = tree.operation
    if operation == "column":
        return row[tree.value]
    if operation == "constant":
        given = tree.value.item() if isinstance(tree.value, np.generic) else tree.value
        return given // timedelta(microseconds=1) * 1000 if isinstance(given, timedelta) else given
    if operation == "case":
        *pairs, last = tree.arguments
        for condition, chosen in zip(pairs[::2], pairs[1::2], strict=True):
            if value_of(condition, row, kinds) is True:
                return value_of(chosen, row, kinds)
        return value_of(last, row, kinds)
    values = [value_of(argument, row, kinds) for argument in tree.arguments]
    if operation == "is_null":
        return values[0] is None
    if operation == "fill_null":
        fill = float(values[1]) if kind_of(tree.arguments[0], kinds) == "float64" else values[1]
        return fill if values[0] is None else values[0]
    if operation in ("&", "|"):
        stronger = operation == "|"
        if stronger in values:
            return stronger
        return None if None in values else not stronger
    return None if None in values else strict(tree, values, kinds)


def strict(tree: Expression, values: Sequence[Any], kinds: dict[str, str]) -> Any:
    operation, first, second = tree.operation, values[0], values[-1]
    if operation in ("negated", "abs"):
        made = -first if operation == "negated" else abs(first)
        if kind_of(tree, kinds) == "int64" and made == 2**63:
            raise Fault
        return made
    if operation in ARITHMETIC:
        kind = kind_of(tree.arguments[0], kinds)
        if kind == "string":
            return first + second
        if kind == "float64":
            with np.errstate(all="ignore"):
                ufunc = {"//": np.floor_divide, "%": np.remainder}.get(operation, ARITHMETIC[operation])
                return float(ufunc(np.float64(first), np.float64(second)))
        try:
            result = ARITHMETIC[operation](first, second)
        except ZeroDivisionError:
            raise Fault from None
        if not (0 <= result < 2**64 if kind == "uint64" else -(2**63) <= result < 2**63):
            raise Fault
        return result
    if operation in COMPARISONS:
        return COMPARISONS[operation](first, second)
    if operation in ("least", "greatest"):
        if math.nan in values or first != first or second != second:
            return math.nan
        return min(first, second) if operation == "least" else max(first, second)
    if operation == "calendar":
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=first // 1000)
        return at.weekday() if tree.value == "weekday" else getattr(at, tree.value)
    others: dict[str, Callable[[], Any]] = {
        "~": lambda: not first,
        "truncate": lambda: first - first % second,
        "is_in": lambda: first in values[1:],
        "starts_with": lambda: first.startswith(second),
        "ends_with": lambda: first.endswith(second),
        "contains": lambda: second in first,
        "length": lambda: len(first),
        "cast": lambda: str(first),
        "text": lambda: first.upper() if tree.value[0] == "upper" else first + second,
    }
    return others[operation]()


def kind_of(tree: Expression, kinds: dict[str, str]) -> str:
    if tree.operation == "column":
        return kinds[tree.value].removesuffix("?")
    if tree.operation == "case":
        return kind_of(tree.arguments[1], kinds)
    if tree.operation == "constant":
        return {int: "int64", np.uint64: "uint64", float: "float64", str: "string"}.get(type(tree.value), "int64")
    return "string" if tree.operation in ("text", "cast") else kind_of(tree.arguments[0], kinds)


def run(declare: Callable[[Stream], Stream], batch: Batch) -> tuple[Schema, Batch | None]:
    """What a chain of stateless operators makes of a batch, as one function."""
    scope = Scope("chain")
    made = declare(scope.new_input(batch.schema)[1])
    return made.schema, Part.fused([stage.function for stage in scope.graph.stages])(batch)  # type: ignore[misc]


def listed(batch: Batch | None, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows as Python has them; timestamps as ns."""
    if batch is None:
        return []
    columns = []
    for name in names:
        kind, seen = batch.schema.kind(name), batch[name]
        seen = seen.view(np.int64) if kind.name == "timestamp" else seen
        nulls = batch.nulls(name).tolist()
        columns.append([None if null else one for one, null in zip(seen.tolist(), nulls, strict=True)])
    return list(zip(*columns, strict=True))


@settings(max_examples=examples(60))
@given(ROWS, expressions("bool"), st.sampled_from(list(VALUES)).flatmap(expressions), expressions("bool", 2))
def test_expressions_compute_what_python_does(
    rows: list[Any], keep: Expression, made: Expression, late: Expression
) -> None:
    plain = [dict(zip(KINDS, row, strict=True)) for row in rows]
    columns = {name: [row[name] for row in plain] for name in KINDS}
    columns["t"] = np.array(columns["t"], np.int64).view("datetime64[ns]")
    columns["u"] = np.array(columns["u"], np.uint64)
    batch = Batch(SCHEMA, columns)

    def declare(stream: Stream) -> Stream:
        some = with_columns(filter(stream, keep), made=made)
        return select(filter(some, late), "made", "z", i=col("n"))

    try:
        passed = [row for row in plain if value_of(keep, row, KINDS) is True]
        computed = [(value_of(made, row, KINDS), row["z"], row["n"]) for row in passed]
        expected = [
            row
            for row, before in zip(computed, passed, strict=True)
            if value_of(late, before, KINDS) is True
        ]
    except Fault:
        with raises(UsageError, "of the batch"):
            run(declare, batch)
        return
    schema, result = run(declare, batch)
    assert repr(listed(result, schema.names)) == repr(expected)


def test_more_rows_than_a_block_are_computed_block_by_block() -> None:
    values = np.random.default_rng(1).integers(0, 1000, 5000)
    batch = Batch(Schema("value"), {"value": values})

    def declare(stream: Stream) -> Stream:
        some = with_columns(filter(stream, col("value") % 7 != 0), more=col("value") * 3 // 2)
        return select(filter(some, (col("more") > 300) | (col("value") < 20)), "more", twice=2 * col("value"))

    _, result = run(declare, batch)
    more = values * 3 // 2
    kept = (values % 7 != 0) & ((more > 300) | (values < 20))
    assert result is not None
    assert result["more"].tolist() == more[kept].tolist()
    assert result["twice"].tolist() == (2 * values[kept]).tolist()
    last = np.append(values, 7**21)
    with raises(UsageError, "(value * 100)", "row 5000", "64 bits", "float64"):
        run(lambda stream: with_columns(stream, x=col("value") * 100), Batch(Schema("value"), {"value": last}))


def as_python(rows: Sequence[Any], made: Expression) -> None:
    """Assert that an expression of these rows, which KINDS names, is what Python makes of them one by one."""
    plain = [dict(zip(KINDS, row, strict=True)) for row in rows]
    columns: dict[str, Any] = {name: [row[name] for row in plain] for name in KINDS}
    columns["t"] = np.array(columns["t"], np.int64).view("datetime64[ns]")
    columns["u"] = np.array(columns["u"], np.uint64)
    expected: list[tuple[Any]] = []
    try:
        for one in plain:
            expected.append((value_of(made, one, KINDS),))
    except Fault:
        with raises(UsageError, f"row {len(expected)} of the batch"):
            run(lambda stream: select(stream, made=made), Batch(SCHEMA, columns))
        return
    schema, result = run(lambda stream: select(stream, made=made), Batch(SCHEMA, columns))
    assert repr(listed(result, schema.names)) == repr(expected)


def row(**values: Any) -> tuple[Any, ...]:
    """A row of SCHEMA of plain values but for these."""
    usual = dict(zip(KINDS, (1, 1, 1, 1.0, 1.0, True, True, "a", "a", 0), strict=True))
    return tuple((usual | values).values())


FAULTY = {
    "//": 7 // col("i"),
    "%": 7 % col("i"),
    "null": 7 // col("n"),
    "+": col("i") + (2**63 - 1),
    "uint": (col("u") - lit(np.uint64(1))) * lit(np.uint64(0)) + lit(np.uint64(1)),
}
"""Some of which a 0 has no value, some a number above 0."""
ZERO = {
    "//": col("i") == 0, "%": col("i") == 0, "null": col("n") == 0, "+": col("i") > 0, "uint": col("u") == 0,
}  # fmt: skip


FORMS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda value: value,
    "its text": lambda value: value.cast("string"),
    "of its text": lambda value: value.cast("string").length(),
    "within its text": lambda value: value.cast("string").contains("q"),
    "texts of columns": lambda value: when(value < value).then(col("s")).otherwise(col("z")),
    "text of that": lambda value: when(value < value).then(col("s")).otherwise(col("z")).upper(),
}
"""What is made of a value: functions of text are computed before it is known which branch is taken."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FAULTY)
def test_a_branch_is_of_the_rows_that_take_it_alone(name: str, form: str) -> None:
    """Neither a branch nor a condition has a fault where an earlier branch is taken, nor where a null decides."""
    bad, risky = ZERO[name], FORMS[form](FAULTY[name])
    safe = FORMS[form](col("u") * lit(np.uint64(0)) + lit(np.uint64(5)) if name == "uint" else col("i") * 0 + 5)
    rows = [row(i=i, u=u, n=n, m=m) for i in (0, 3, -2) for u in (0, 4) for n in (None, 0, 2) for m in (True, None)]
    rows = rows if form == "as it is" else rows[::5]
    sound = [
        when(bad).then(safe).otherwise(risky),
        when(bad).then(safe).when(risky != safe).then(risky).otherwise(safe),
        when(~bad).then(risky).otherwise(safe),
        when(bad).then(safe).when(col("b")).then(risky).otherwise(risky),
        when(bad).then(safe).when(bad).then(risky).otherwise(risky),
        when(col("b")).then(when(bad).then(safe).otherwise(risky)).otherwise(risky),
        when(bad).then(safe).otherwise(when(col("m")).then(risky).otherwise(safe)),
        when(bad.fill_null(True)).then(safe).when(~bad).then(risky).otherwise(safe),
    ]
    for made in sound:
        for each in rows:
            value_of(made, dict(zip(KINDS, each, strict=True)), KINDS)  # has no fault in Python either
        as_python(rows, made)
    faulty = [
        when(bad).then(risky).otherwise(safe),
        when(col("m")).then(risky).otherwise(safe),
        when(col("m")).then(safe).otherwise(risky),
        when(col("m")).then(safe).when(risky != safe).then(safe).otherwise(safe),
    ]
    for at, each in enumerate(rows):
        for made in faulty:
            as_python(rows[at:], made)
            as_python([each] * 3, made)


@pytest.mark.parametrize(("kind", "name", "other"), [
    ("int64", "n", "i"), ("float64", "g", "f"), ("bool", "m", "b"), ("string", "z", "s"),
])  # fmt: skip
def test_nulls_within_branches_are_null(kind: str, name: str, other: str) -> None:
    """Whichever branch may hold them, beside branches that may not; a condition that is null is not taken."""
    some = {"int64": (None, 3), "float64": (None, -0.0), "bool": (None, True), "string": (None, "ab")}[kind]
    rows = [row(**{name: value, "i": i, "m": m}) for value in some for i in (0, 1, 2) for m in (None, False, True)]
    rows = [one for one in rows if name != "m" or one[6] is some[0] or one[6] is some[1]]
    for made in (
        when(col("i") == 0).then(col(name)).otherwise(col(other)),
        when(col("i") == 0).then(col(other)).otherwise(col(name)),
        when(col("m")).then(col(name)).when(col("i") == 1).then(col(other)).otherwise(col(name)),
        when(col("m")).then(col(other)).when(~col("m")).then(col(name)).otherwise(col(other)),
        when(col("i") == 0).then(col(name)),
        when(col("m")).then(col(other)),
        when(col(name).is_null()).then(col(other)).otherwise(col(name)),
        when(col("i") == 0).then(lit(None)).otherwise(col(other)),
    ):
        as_python(rows, made)
        as_python(rows, made.is_null())


def test_the_least_and_the_greatest_of_floats() -> None:
    """NaN on either side is NaN, null null; of two zeros the first, as Python has it."""
    values = [0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan, 5e-324, -5e-324]
    rows = [row(f=first, g=second) for first in values for second in [*values, None]]
    for made in (least, greatest):
        as_python(rows, made(col("f"), col("g")))
        as_python(rows, made(col("g"), col("f")))
        as_python(rows, made(col("f"), lit(0.0)))
        as_python(rows, made(lit(-0.0), col("f")))


def test_zeros_of_either_sign_are_one_number() -> None:
    rows = [row(f=first, g=second) for first in (0.0, -0.0) for second in (0.0, -0.0, 1.0, -1.0, None)]
    for made in (
        *(Expression(sign, (col("f"), col("g"))) for sign in COMPARISONS),
        *(Expression(sign, (col("g"), lit(-0.0))) for sign in COMPARISONS),
        *(Expression(sign, (col("f"), col("g"))) for sign in ARITHMETIC),
    ):
        as_python(rows, made)
    for zero in (0.0, -0.0):
        batch = Batch(SCHEMA, {name: [value] for name, value in zip(KINDS, row(f=zero), strict=True)})
        _, found = run(lambda stream: select(stream, a=col("f").is_in([-0.0]), b=col("f").cast("bool")), batch)
        assert listed(found, ["a", "b"]) == [(True, False)]


@pytest.mark.parametrize("count", range(1, 18))
def test_each_of_many_values_is_found_and_nothing_between_them(count: int) -> None:
    values = list(range(0, 2 * count, 2))
    asked = [*range(-1, 2 * count + 1), 2**63 - 1, -(2**63) + 1]
    batch = Batch(Schema("n"), {"n": np.array(asked)})
    _, found = run(lambda stream: select(stream, a=col("n").is_in(values[::-1])), batch)
    assert listed(found, ["a"]) == [(n in values,) for n in asked]


def test_a_set_of_constants_is_told_in_one_order() -> None:
    """In all processes: workers compare what they have declared, and a run that goes on what was saved."""
    assert repr(col("n").is_in({"b", "a", "c"})) == "n.is_in('a', 'b', 'c')"
    assert repr(col("n").is_in(frozenset(["c", "a", "b"]))) == "n.is_in('a', 'b', 'c')"
    assert repr(col("n").is_in(["b", "a"])) == "n.is_in('b', 'a')"


@pytest.mark.parametrize("text", ["abc", b"abc", bytearray(b"abc")])
def test_a_text_is_not_many_constants(text: Any) -> None:
    with raises(SchemaError, "is_in", f"is_in([{text!r}])"):
        col("n").is_in(text)


def test_a_method_that_is_not_there_is_never_taken_for_a_private_name() -> None:
    with raises(NoSuchMethodError, "no 'lengt'; did you mean 'length'?"):
        _ = col("s").lengt
    with raises(NoSuchMethodError, "no 'slice'") as told:
        _ = col("s").slice
    assert "did you mean" not in str(told.value)


@pytest.mark.parametrize("name", ["i", "f", "s", "m", "t"])
@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.ge])
def test_a_comparison_with_null_is_refused_since_it_is_true_of_no_row(
    compare: Callable[[Any, Any], Expression], name: str
) -> None:
    stream = Scope("wrong").new_input(SCHEMA)[1]
    missing = [compare(col(name), none) for none in (None, pd.NaT, pd.NA, np.datetime64("NaT"))]
    for made in (*missing, compare(lit(None), col(name)), when(compare(col(name), None)).then(1)):
        with raises(SchemaError, "operator 'with_columns', in (", "None", ".is_null() or .is_not_null()"):
            with_columns(stream, x=made)


@pytest.mark.parametrize("values", [[None], [None, "a"], ["a", None]])
def test_null_is_none_of_the_constants_of_is_in(values: list[str | None]) -> None:
    with raises(SchemaError, "operator 'filter'", "z.is_in(", 'say | col("…").is_null()'):
        filter(Scope("wrong").new_input(SCHEMA)[1], col("z").is_in(values))


def test_a_constant_of_no_kind_is_refused_where_it_stands_alone() -> None:
    stream = Scope("wrong").new_input(Schema("n"))[1]
    with raises(SchemaError, f"operator 'with_columns': {2**64} does not fit int64"):
        with_columns(stream, x=lit(2**64))


@pytest.mark.parametrize(
    ("value", "near"), [(2**53 + 1, 2.0**53), (10**308 + 1, 1e308), (10**400, "inf"), (-(10**400), "-inf")]
)
def test_a_whole_number_that_no_float_holds_is_refused_with_one_that_is_near(value: int, near: Any) -> None:
    stream = Scope("wrong").new_input(Schema(f="float64"))[1]
    for made in (col("f") == value, col("f").is_in([value])):
        with raises(SchemaError, str(value), f"write {near}" if isinstance(near, float) else f"write float('{near}')"):
            filter(stream, made)


@pytest.mark.parametrize("sign", ["|", "+"])
def test_hundreds_of_operations_may_stand_within_each_other_and_more_are_refused(sign: str) -> None:
    """Python's stack would end, who knows where."""
    batch = Batch(Schema("n"), {"n": [0, 398, 399]})
    terms = [col("n") == n if sign == "|" else col("n") + n for n in range(MOST_WITHIN)]
    two = operator.or_ if sign == "|" else operator.add
    _, found = run(lambda stream: select(stream, a=reduce(two, terms[:399])), batch)
    expected = [True, True, False] if sign == "|" else [399 * n + sum(range(399)) for n in (0, 398, 399)]
    assert listed(found, ["a"]) == [(value,) for value in expected]
    with raises(SchemaError, "more than 500 operations", repr(sign), "is_in([...])", "with_columns", "by halves"):
        reduce(two, terms)


def test_what_is_used_in_itself_again_and_again_is_refused() -> None:
    """It would take more memory than there is, however few objects it is made of."""
    clamped: Any = col("n")
    with raises(SchemaError, "more than 200,000 operations", "'case'", "counts twice", "with_columns"):
        for _ in range(30):
            clamped = when(clamped > 100).then(clamped // 2).otherwise(clamped + 1)


def test_one_of_many_texts_stands_not_within_as_many_operations() -> None:
    batch = Batch(Schema(s="string?"), {"s": ["0", "1998", "2000", None]})
    values = [str(n) for n in range(1999)]
    _, found = run(lambda stream: select(stream, a=col("s").is_in(values)), batch)
    assert listed(found, ["a"]) == [(True,), (True,), (False,), (None,)]


def test_what_is_said_of_many_constants_is_said_once() -> None:
    said = []

    class Told(str):
        def __repr__(self) -> str:
            said.append(self)
            return super().__repr__()

    _, stream = Scope("many").new_input(Schema(s="string"))
    filter(stream, col("s").is_in([Told(at) for at in range(500)]))
    assert len(said) < 5 * 500


@pytest.mark.parametrize(("kind", "some"), [
    ("int64", 1), ("uint64", 1), ("float64", 1.0), ("bool", True), ("string", "a"), ("bytes", b"a"), ("timestamp", 1),
    ("date", "2024-02-29"), ("decimal(9, 2)", 1),
])  # fmt: skip
def test_none_of_no_values_is_false_of_null_too(kind: str, some: Any) -> None:
    batch = Batch(Schema.of({"x": f"{kind}?"}), {"x": [some, None]})
    _, found = run(lambda stream: select(stream, a=col("x").is_in([]), b=~col("x").is_in([])), batch)
    assert listed(found, ["a", "b"]) == [(False, True)] * 2


def test_numbers_are_turned_round_as_python_does() -> None:
    reals, whole = [0.0, -0.0, 1.5, -math.inf], [0, -1, 2**62, -(2**62)]
    batch = Batch(Schema(g="float64?", n="int64?"), {"g": [*reals, None], "n": [*whole, None]})
    made = {
        "a": -col("g"), "b": abs(col("g")), "c": -col("n"), "d": abs(col("n")), "e": -lit(2) * col("g"),
        "f": abs(lit(-1.5)) * col("g"), "h": -lit(timedelta(days=1)) + col("n"),
    }  # fmt: skip
    _, found = run(lambda stream: select(stream, **made), batch)
    expected = [(-g, abs(g), -n, abs(n), -2 * g, 1.5 * g, n - DAY) for g, n in zip(reals, whole, strict=True)]
    assert repr(listed(found, list(made))) == repr([*expected, (None,) * 7])


@pytest.mark.parametrize(("made", "said"), [(-col("i"), "(-i)"), (abs(col("i")), "abs(i)")])
def test_the_least_number_is_not_turned_round(made: Expression, said: str) -> None:
    with raises(UsageError, said, "row 1", "64 bits", "leave such rows out"):
        run(lambda stream: select(stream, made=made), Batch(Schema("i"), {"i": [1, -(2**63)]}))


def test_numbers_without_a_sign_are_as_they_are_and_not_turned_round() -> None:
    batch = Batch(Schema(u="uint64"), {"u": np.array([2**64 - 1], np.uint64)})
    _, found = run(lambda stream: select(stream, a=abs(col("u"))), batch)
    assert listed(found, ["a"]) == [(2**64 - 1,)]
    with raises(SchemaError, "in (-u)", "uint64", '.cast("int64")'):
        run(lambda stream: select(stream, made=-col("u")), batch)


DAY = 86_400 * SECOND


def test_the_calendar_is_pythons_of_80_000_days() -> None:
    """From 1859 to 2078, every day with its leap days, at its first and last ns: 2000 is a leap year, 1900 is none."""
    days = np.arange(-40_500, 39_500)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    expected = [epoch + timedelta(days=day) for day in days.tolist()]
    assert {(at.year, at.month, at.day) for at in expected} >= {(2000, 2, 29), (1900, 3, 1), (1904, 2, 29)}
    assert (1900, 2, 29) not in {(at.year, at.month, at.day) for at in expected}
    fields = {
        "year": col("t").year(), "month": col("t").month(), "day": col("t").day(), "weekday": col("t").weekday(),
        "hour": col("t").hour(), "minute": col("t").minute(), "second": col("t").second(),
    }  # fmt: skip
    for within in (0, DAY - 1):
        batch = Batch(Schema(t="timestamp"), {"t": (days * DAY + within).view("datetime64[ns]")})
        _, found = run(lambda stream: select(stream, **fields), batch)
        assert found is not None
        for name in ("year", "month", "day"):
            assert found[name].tolist() == [getattr(at, name) for at in expected]
        assert found["weekday"].tolist() == [at.weekday() for at in expected]
        for name, last in (("hour", 23), ("minute", 59), ("second", 59)):
            assert set(found[name].tolist()) == {last if within else 0}


def test_the_calendar_reaches_as_far_as_times() -> None:
    """The first and the last ns that a timestamp has, and days at the ends of centuries."""
    said = ["1677-09-22", "1699-12-31", "1700-02-28", "1700-03-01", "1800-02-28", "1800-12-31", "2100-02-28"]
    said += ["2100-03-01", "2200-12-31", "2262-04-11"]
    batch = Batch(Schema(t="timestamp"), {"t": np.array(said, "datetime64[ns]")})
    _, found = run(lambda s: select(s, y=col("t").year(), m=col("t").month(), d=col("t").day()), batch)
    assert found is not None
    assert [f"{y}-{m:02}-{d:02}" for y, m, d in listed(found, "ymd")] == said


def test_real_numbers_are_divided_down_as_python_does() -> None:
    """1.0 // 0.1 is 9, since 0.1 is more than a tenth: with what % leaves it comes to the number."""
    edges = [0.0, -0.0, 0.1, -0.1, 1.0, 7.5, -5.0, 3.0, 1e300, -1e-300, 5e-324, math.inf, -math.inf, math.nan, 1 / 3]
    pairs = [(a, b) for a in edges for b in edges]
    stream = Scope("reals").new_input(Schema(a="float64", b="float64"))[1]
    stage = select(stream, q=col("a") // col("b")).stage
    assert stage is not None
    given = dict(zip("ab", map(list, zip(*pairs, strict=True)), strict=True))
    batch = stage.function.fused([stage.function])(Batch(stream.schema, given))  # type: ignore[union-attr]
    assert batch is not None
    for (a, b), found in zip(pairs, batch["q"].tolist(), strict=True):
        expected = a // b if b != 0 else math.copysign(math.inf, a) * math.copysign(1, b) if abs(a) > 0 else math.nan
        assert found == expected or (math.isnan(found) and math.isnan(expected)), (a, b)
        assert b == 0 or math.isnan(found) or math.copysign(1, found) == math.copysign(1, expected), (a, b)


@pytest.mark.parametrize("width", [0, -5, -0.5, timedelta(0), np.timedelta64(0, "D"), np.int64(-5)])
def test_a_width_is_above_0(width: Any) -> None:
    """Of -5 there would be a multiple above."""
    with raises(SchemaError, "truncate", "above 0", repr(width)):
        col("v").truncate(width)
