"""Dates and decimals in expressions: against Python's decimal and datetime, and DuckDB where SQL has a rule."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.duck import answer
from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import Batch, Schema, SchemaError, UsageError
from tokenring.operators import Expression, col, greatest, least, lit, when
from tokenring.operators.expressions import Computation, Step, typed
from tokenring.operators.expressions.fuse import together

EXACT = Context(prec=60)
DAYS = [date(1, 1, 1), date(1600, 2, 29), date(1900, 2, 28), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)]
Given = dict[str, tuple[str, list[Any]]]


def made(expression: Expression, given: Given) -> tuple[str, list[Any]]:
    """The kind and the values of an expression of these columns, each its kind and values."""
    schema = Schema.of({name: kind for name, (kind, _) in given.items()})
    term = typed(expression, schema, "made")
    step = Step(None, {"made": term}, Schema.of({"made": term.spelled}))
    batch = together([Computation(schema, step, repr(expression))])(
        Batch(schema, {name: values for name, (_, values) in given.items()})
    )
    assert batch is not None
    return term.spelled, batch.arrow("made").to_pylist()


def values_of(expression: Expression, **given: tuple[str, list[Any]]) -> list[Any]:
    return made(expression, given)[1]


@st.composite
def decimals(draw: Any) -> tuple[int, int, list[Decimal | None]]:
    """The digits of a kind, those behind the point, and values, at its edges too."""
    precision = draw(st.integers(1, 18))
    scale = draw(st.integers(0, precision))
    most = 10**precision - 1
    words = st.one_of(st.integers(-most, most), st.sampled_from([0, 1, -1, most, -most]))
    chosen = draw(st.lists(st.one_of(st.none(), words), min_size=3, max_size=3))
    return precision, scale, [None if word is None else Decimal(word).scaleb(-scale, EXACT) for word in chosen]


SIGNS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}


def digits_of(sign: str, one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """How SQL has the digits of a result, and those behind the point."""
    if sign == "*":
        return one[0] + other[0], one[1] + other[1]
    scale = max(one[1], other[1])
    return max(one[0] - one[1], other[0] - other[1]) + scale + 1, scale


@settings(max_examples=examples(150), deadline=None)
@given(decimals(), decimals(), st.sampled_from([*SIGNS]))
def test_arithmetic_is_exact_or_refused(one: Any, other: Any, sign: str) -> None:
    kinds = [f"decimal({precision}, {scale})" for precision, scale, _ in (one, other)]
    given = {"a": (f"{kinds[0]}?", one[2]), "b": (f"{kinds[1]}?", other[2])}
    expression = Expression(sign, (col("a"), col("b")))
    precision, scale = digits_of(sign, one[:2], other[:2])
    if (scale if sign == "*" else precision - 1) > 18:
        with raises(SchemaError, kinds[0], kinds[1], "18", ".round(" if sign == "*" else ".cast("):
            made(expression, given)
        return
    expected = [None if None in pair else SIGNS[sign](*pair) for pair in zip(one[2], other[2], strict=True)]
    if any(value is not None and abs(value.scaleb(scale, EXACT)) >= 10**18 for value in expected):
        with raises(UsageError, "(a ", "row "):
            made(expression, given)
        return
    assert made(expression, given) == (f"decimal({min(precision, 18)}, {scale})?", expected)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_nineteenth_digit_is_an_error_of_its_row_though_64_bits_hold_it(sign: int) -> None:
    most = sign * (10**18 - 1)
    given = ("decimal(18, 2)", [Decimal(sign), Decimal(most).scaleb(-2, EXACT)])
    for beyond in (col("a") * 2, col("a") + col("a"), col("a") - -col("a"), col("a") + sign * Decimal("0.01")):
        with raises(UsageError, "row 1", "beyond its kind"):
            values_of(beyond, a=given)
    assert values_of(col("a") - sign * Decimal("0.01"), a=given)[1] == Decimal(most - sign).scaleb(-2, EXACT)
    assert values_of(-col("a"), a=given)[1] == Decimal(-most).scaleb(-2, EXACT)


@pytest.mark.parametrize("sign", [*SIGNS])
def test_kinds_of_results_are_those_of_duckdb(sign: str) -> None:
    random = np.random.default_rng(3)
    for _ in range(40):
        precisions = random.integers(1, 19, 2)
        kinds = [f"decimal({precision}, {random.integers(0, precision + 1)})" for precision in precisions]
        schema = Schema.of({"a": kinds[0], "b": kinds[1]})
        try:
            found = typed(Expression(sign, (col("a"), col("b"))), schema, "made").kind
        except SchemaError:
            continue
        ((told,),) = answer(f"SELECT typeof(0::{kinds[0]} {sign} 0::{kinds[1]})")
        precision, scale = map(int, str(told)[len("DECIMAL(") : -1].split(","))
        assert found == f"decimal({min(precision, 18)}, {scale})", kinds


@settings(max_examples=examples(100), deadline=None)
@given(decimals(), decimals())
def test_decimals_compare_across_scales(one: Any, other: Any) -> None:
    given = {
        "a": (f"decimal({one[0]}, {one[1]})?", one[2]),
        "b": (f"decimal({other[0]}, {other[1]})?", other[2]),
    }
    if max(one[0] - one[1], other[0] - other[1]) + max(one[1], other[1]) > 18:
        with raises(SchemaError, "digits are needed", ".cast("):
            made(col("a") < col("b"), given)
        return
    pairs = list(zip(one[2], other[2], strict=True))
    for compare in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge):
        expected = [None if None in pair else compare(*pair) for pair in pairs]
        assert made(compare(col("a"), col("b")), given)[1] == expected, compare
    for function, by in ((least, min), (greatest, max)):
        assert made(function(col("a"), col("b")), given)[1] == [None if None in pair else by(pair) for pair in pairs]


@settings(max_examples=examples(100), deadline=None)
@given(decimals(), decimals(), st.integers(0, 18))
def test_casts_round_halves_away_from_zero_or_fail(one: Any, other: Any, digits: int) -> None:
    kind, wanted = f"decimal({one[0]}, {one[1]})?", f"decimal({other[0]}, {other[1]})"
    rounded = [
        None if value is None else value.quantize(Decimal(1).scaleb(-other[1]), ROUND_HALF_UP, EXACT)
        for value in one[2]
    ]
    if any(value is not None and abs(value.scaleb(other[1], EXACT)) >= 10 ** other[0] for value in rounded):
        with raises(UsageError, "a.cast", "row "):
            values_of(col("a").cast(wanted), a=(kind, one[2]))
    else:
        assert values_of(col("a").cast(wanted), a=(kind, one[2])) == rounded
    short = [
        None if value is None else value.quantize(Decimal(1).scaleb(-min(digits, one[1])), ROUND_HALF_UP, EXACT)
        for value in one[2]
    ]
    assert values_of(col("a").round(digits), a=(kind, one[2])) == short
    whole = [None if value is None else int(value.to_integral_value(ROUND_DOWN)) for value in one[2]]
    assert values_of(col("a").cast("int64"), a=(kind, one[2])) == whole
    texts = values_of(col("a").cast("string"), a=(kind, one[2]))
    assert texts == [None if value is None else format(value, "f") for value in one[2]]
    assert values_of(col("a").cast(kind[:-1]), a=("string?", texts)) == one[2]
    assert values_of(-col("a"), a=(kind, one[2])) == [None if value is None else -value for value in one[2]]
    assert values_of(abs(col("a")), a=(kind, one[2])) == [None if value is None else abs(value) for value in one[2]]


def test_casts_to_and_from_numbers() -> None:
    money = ("decimal(10, 2)", [Decimal("-1.99"), Decimal("0.00"), Decimal("99999999.99")])
    assert values_of(col("a").cast("float64"), a=money) == [-1.99, 0.0, 99999999.99]
    assert values_of(col("a").cast("bool"), a=money) == [True, False, True]
    assert values_of(col("a") / 4, a=money) == [-0.4975, 0.0, 24999999.9975]
    assert values_of(abs(col("a")).cast("uint64"), a=money) == [1, 0, 99999999]
    with raises(UsageError, "row 0", "a.cast"):
        values_of(col("a").cast("uint64"), a=("decimal(3, 1)", [Decimal("-1.5")]))
    for kind in ("int64", "uint64", "bool"):
        assert values_of(col("a").cast("decimal(5, 2)"), a=(kind, [kind == "bool"])) == [int(kind == "bool")]
    for whole, kind in ((10**16, "int64"), (2**63, "uint64"), (-(2**63), "int64")):
        with raises(UsageError, "row 0", "a.cast"):
            values_of(col("a").cast("decimal(18, 2)"), a=(kind, np.array([whole], kind)))
    reals = [0.125, -0.125, 2.5, -1e15, None]
    cast = values_of(col("a").cast("decimal(18, 2)"), a=("float64?", reals))
    assert cast == [Decimal("0.13"), Decimal("-0.13"), Decimal("2.50"), Decimal("-1E15"), None]
    for real in (float("nan"), float("inf"), 1e17, -1e300):
        with raises(UsageError, "row 1", "a.cast"):
            values_of(col("a").cast("decimal(18, 2)"), a=("float64", [0.5, real]))


def test_constants_and_branches_of_decimals() -> None:
    prices = ("decimal(6, 2)?", [Decimal("1.25"), None, Decimal("-9999.99")])
    assert values_of(col("a") * 2 + Decimal("0.005"), a=prices) == [Decimal("2.505"), None, Decimal("-19999.975")]
    assert values_of(col("a") == Decimal("1.250000"), a=prices) == [True, None, False]
    assert values_of(col("a").between(0, Decimal("1.3")), a=prices) == [True, None, False]
    assert values_of(col("a").is_in([Decimal("1.2500"), 7, Decimal("0.001")]), a=prices) == [True, None, False]
    assert made(col("a").fill_null(Decimal("0.5")), {"a": prices}) == (
        "decimal(6, 2)", [Decimal("1.25"), Decimal("0.50"), Decimal("-9999.99")]
    )  # fmt: skip
    chosen = when(col("a") > 0).then(col("a")).otherwise(Decimal("0.0005"))
    assert made(chosen, {"a": prices}) == ("decimal(8, 4)?", [Decimal("1.25"), Decimal("0.0005"), Decimal("0.0005")])
    nothing = when(col("a") > 0).then(col("a")).when(col("a") < -1).then(Decimal("0.001")).otherwise(None)
    assert made(nothing, {"a": prices}) == ("decimal(7, 3)?", [Decimal("1.25"), None, Decimal("0.001")])
    with raises(SchemaError, "leads from decimal", "'int64?'"):
        values_of(col("a").cast("int64?"), a=prices)
    with raises(UsageError, "row 2", "(a * 10000000000000)"):
        values_of(col("a") * 10**13, a=prices)
    for wrong in (col("a") * 1.5, col("a") > 1.5, col("a") + col("n"), col("a").fill_null(0.5)):
        with raises(SchemaError, "decimal(6, 2)", ".cast(", 'decimal.Decimal("1.25")'):
            values_of(wrong, a=prices, n=("int64", [1, 2, 3]))
    for wrong, said in (
        (col("a") // 2, "no //"), (col("a").cast("decimal(38, 2)"), "1 to 18"), (col("a").cast("date"), "leads from"),
        (col("a") + lit(Decimal("NaN")), "NaN"), (col("n").round(), "round is for decimals"),
        (col("a") * Decimal("0.1234567890123456789"), "19"),
    ):  # fmt: skip
        with raises(SchemaError, said):
            values_of(wrong, a=prices, n=("int64", [1, 2, 3]))


def test_texts_that_are_no_decimals_fail_or_are_null() -> None:
    texts = ["1.25", "x", " 1", "1.005", "1000", "-1e1", "", None, "１"]
    assert values_of(col("a").try_cast("decimal(5, 2)"), a=("string?", texts)) == [
        Decimal("1.25"), None, None, None, None, Decimal("-10.00"), None, None, None
    ]  # fmt: skip
    with raises(UsageError, "row 1", "try_cast"):
        values_of(col("a").cast("decimal(5, 2)"), a=("string?", texts))


def test_dates_are_calculated_with_in_days() -> None:
    days: tuple[str, list[Any]] = ("date?", [*DAYS, None])
    there = [day for day in DAYS]
    for name in ("year", "month", "day", "weekday"):
        expected = [getattr(day, name)() if name == "weekday" else getattr(day, name) for day in there]
        assert values_of(getattr(col("d"), name)(), d=days) == [*expected, None], name
        told = answer(
            "SELECT extract(" + {"weekday": "isodow"}.get(name, name) + " FROM d) FROM unnest(?::date[]) AS t(d)",
            [there],
        )
        assert [value - (name == "weekday") for (value,) in told] == expected
    assert values_of(col("d") - date(2024, 2, 28), d=days) == [*[(day - date(2024, 2, 28)).days for day in there], None]
    inside = ("date", DAYS[1:-1])
    for span in (1, -1, 366, timedelta(days=-366), np.timedelta64(7, "D"), timedelta(days=200_000)):
        length = (
            span
            if isinstance(span, timedelta)
            else timedelta(days=int(span / np.timedelta64(1, "D")) if isinstance(span, np.timedelta64) else span)
        )
        assert values_of(col("d") + span, d=inside) == [day + length for day in DAYS[1:-1]], span
        assert values_of(col("d") - span, d=inside) == [day - length for day in DAYS[1:-1]], span
    assert values_of(col("n") + col("d"), d=inside, n=("int64", [1, 2, 3, 4])) == [
        day + timedelta(days=at) for at, day in enumerate(DAYS[1:-1], 1)
    ]
    for span, row in ((1, 5), (-1, 0)):
        with raises(UsageError, f"row {row}", "beyond its kind"):
            values_of(col("d") + span, d=("date", DAYS))
    for compared in (date(2024, 2, 29), "2024-02-29", np.datetime64("2024-02-29")):
        assert values_of(col("d") >= compared, d=days) == [*[day >= date(2024, 2, 29) for day in there], None]
    assert values_of(greatest(col("d"), date(1970, 1, 1)), d=inside) == [
        max(day, date(1970, 1, 1)) for day in DAYS[1:-1]
    ]
    assert values_of(col("d").is_in([date.max, "1900-02-28"]), d=inside) == [False, True, False, False]
    assert values_of(col("d").fill_null(date.min), d=days)[-1] == date.min
    assert values_of(col("d").format_time("%d.%m.%Y"), d=days)[-3:] == ["29.02.2024", "31.12.9999", None]


def test_dates_become_times_numbers_and_texts_and_come_back() -> None:
    days: tuple[str, list[Any]] = ("date?", [*DAYS, None])
    texts = [day.isoformat() for day in DAYS]
    assert values_of(col("d").cast("string"), d=days) == [*texts, None]
    assert values_of(col("s").cast("date"), s=("string?", [*texts, None])) == days[1]
    numbers = [(day - date(1970, 1, 1)).days for day in DAYS]
    assert values_of(col("d").cast("int64"), d=days) == [*numbers, None]
    assert values_of(col("n").cast("date"), n=("int64?", [*numbers, None])) == days[1]
    assert values_of(col("s").try_cast("date"), s=("string", ["2023-02-29", "2024-2-9", "20240229", "2024-02-29"])) == [
        None, None, None, date(2024, 2, 29)
    ]  # fmt: skip
    near = [date(1677, 9, 22), date(1969, 12, 31), date(2262, 4, 11)]
    kind, instants = made(col("d").cast("timestamp"), {"d": ("date", near)})
    assert (kind, [instant.value for instant in instants]) == (
        "timestamp", [(day - date(1970, 1, 1)).days * 86_400 * 10**9 for day in near]
    )  # fmt: skip
    times = [datetime(1969, 12, 31, 23, 59), datetime(1970, 1, 1), datetime(2024, 2, 29, 5)]
    assert values_of(col("t").cast("date"), t=("timestamp", times)) == [time.date() for time in times]
    assert values_of(col("t") >= date(1970, 1, 1), t=("timestamp", times)) == [False, True, True]
    for day in (date(1677, 9, 20), date(2262, 4, 12)):
        with raises(UsageError, "row 0", "d.cast('timestamp')"):
            values_of(col("d").cast("timestamp"), d=("date", [day]))
    with raises(UsageError, "row 1", "s.cast('date')"):
        values_of(col("s").cast("date"), s=("string", ["2024-02-29", "2023-02-29"]))
    for number in (2932897, -719163, 2**40):
        with raises(UsageError, "row 0", "beyond its kind"):
            values_of(col("n").cast("date"), n=("int64", [number]))


def test_what_dates_do_not_do_is_said_with_the_cure() -> None:
    for wrong, said in (
        (col("d") + col("d"), "no +"), (col("d") % 7, "whole numbers of days"), (col("d") * 2, "no *"),
        (col("d").hour(), '.cast("timestamp")'), (col("d") > col("t"), '.cast("date") of the timestamp'),
        (col("d") + timedelta(hours=1), "no number of days"), (col("d") == "2023-02-29", "no date"),
        (col("d").truncate("1h"), ("d.truncate('1h')", "truncate", "not date", '.cast("timestamp")')),
        (col("d").cast("float64"), "leads from date"), (col("d") > datetime(2024, 1, 1), '.cast("timestamp")'),
    ):  # fmt: skip
        with raises(SchemaError, said):
            values_of(wrong, d=("date", [date(2024, 2, 29)]), t=("timestamp", [0]))


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (np.timedelta64("NaT"), "no whole number of ns"),
        (np.timedelta64(1, "M"), "no whole number of ns"),
        (np.timedelta64(1000, "ps"), "no whole number of ns"),
        (np.timedelta64(300_000, "D"), "292 years"),
        (timedelta(days=200_000), "292 years"),
    ],
)
def test_a_difference_is_whole_ns_within_64_bits(span: Any, said: str) -> None:
    with raises(SchemaError, "operator '", repr(span), said):
        values_of(col("t") + span, t=("timestamp", [0]))


@pytest.mark.parametrize("fill", [0, Decimal("0.1"), Decimal("0.125")])
@pytest.mark.parametrize("mark", ["", "?"])
def test_nulls_are_filled_whether_there_are_any_or_not(mark: str, fill: Any) -> None:
    """What is nullable in a file depends on the day: the kind of the result does not."""
    given = [Decimal("9.99"), *([None] if mark else [])]
    kind, values = made(col("d").fill_null(fill), {"d": (f"decimal(3, 2){mark}", given)})
    assert kind == made(col("d").fill_null(fill), {"d": ("decimal(3, 2)?", [None])})[0]
    assert values == [Decimal("9.99"), *([Decimal(fill)] if mark else [])]


@pytest.mark.parametrize("constant", [1, 2.5, "x", True, Decimal("1.5"), date(2024, 1, 1)])
def test_null_before_constants_is_of_their_kind(constant: Any) -> None:
    given: Given = {"b": ("bool", [True, False, False]), "c": ("bool", [True, True, False])}
    first = when(col("b")).then(None)
    assert values_of(first.otherwise(constant), **given) == [None, constant, constant]
    assert values_of(first.when(col("c")).then(constant).otherwise(None), **given) == [None, constant, None]


@pytest.mark.parametrize("wrong", [2**64, "garbage", -1])
def test_a_branch_that_does_not_fit_is_named_with_all_of_them(wrong: Any) -> None:
    kind = {2**64: "int64", "garbage": "date", -1: "uint64"}[wrong]
    with raises(SchemaError, f"when(b).then(v).otherwise({wrong!r})"):
        typed(when(col("b")).then(col("v")).otherwise(wrong), Schema(b="bool", v=kind), "made")
