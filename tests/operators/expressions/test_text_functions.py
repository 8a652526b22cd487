"""Functions of text: letters by Unicode's full mapping, groups of patterns as RE2 has them, and text as numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.duck import answer
from tests.errors import Fact, raises
from tokenring.engine import Batch, OperatorError, Schema, SchemaError, Scope, Stream, execute
from tokenring.operators import Expression, col, collect, distinct, filter, lit, select, when

TEXT = Schema(text="string?")


def results(texts: list[str | None], **columns: Expression) -> list[tuple[Any, ...]]:
    """The rows that the expressions make of a column `text`."""
    scope = Scope("text")
    stream = select(scope.new_input(TEXT)[1], **columns)
    assert stream.stage is not None
    made = stream.stage.function.fused([stream.stage.function])(Batch(TEXT, {"text": texts}))  # type: ignore[union-attr]
    return list(zip(*[made[name].tolist() for name in columns], strict=True)) if made is not None else []


@pytest.mark.parametrize("function", ["starts_with", "ends_with", "contains", "matches", "extract", "count_of"])
def test_what_is_looked_for_is_a_text(function: str) -> None:
    """Of None it would be null, in all rows."""
    with raises(SchemaError, f"{function} takes a text, not None"):
        getattr(col("text"), function)(None)


@pytest.mark.parametrize("function", ["lower", "upper", "format_time"])
def test_bytes_become_text_where_they_are_read(function: str) -> None:
    given = ("%Y",) if function == "format_time" else ()
    stream = Scope("wrong").new_input(Schema(raw="bytes"))[1]
    with raises(SchemaError, f"{function} is for", "not bytes") as caught:
        select(stream, x=getattr(col("raw"), function)(*given))
    assert ".cast(" not in str(caught.value), "a cure only where it cures"
    with raises(SchemaError, "not to 'string'", "declare the column as string"):
        select(stream, x=col("raw").cast("string"))


def test_texts_are_counted_as_python_does() -> None:
    texts = ["", "a", "äöü", "aXa"]
    made = results([*texts, None], none=col("text").count_of(""), some=col("text").count_of("a"))
    assert made == [*[(text.count(""), text.count("a")) for text in texts], (None, None)]


@given(st.lists(st.none() | st.text("aZİIıßΣσς ﬁéÉǅ1"), min_size=1, max_size=20))
def test_letters_are_mapped_in_full(texts: list[str | None]) -> None:
    made = results(texts, small=col("text").lower(), large=col("text").upper())
    assert made == [(None, None) if text is None else (text.lower(), text.upper()) for text in texts]


def test_a_dotted_capital_keeps_its_dot() -> None:
    """As Java's and Spark's lower has it: BAİDU is not baidu."""
    assert results(["BAİDU", "BAIDU"], is_it=col("text").lower() == "baidu") == [(False,), (True,)]


PATTERNS = [
    (r"(a)(b)?", 1), (r"(?:a)(b)", 1), (r"[(](a)", 1), (r"[](](a)", 1), (r"[^](](a)", 1), (r"[[:alpha:](](b)", 1),
    (r"\((a)", 1), (r"\\(a)", 1), (r"\Q(\E(a)", 1), (r"(?P<x>a)(b)", 2), (r"((a)|(b))", 2), (r"(?i)(A)(b)", 2),
    (r"(?i:A)(b)", 1), (r"[\](](a)", 1), (r"(group1)?(a)", 2), (r"^(a*)(.*)$", 2), (r"(a|ab)(b*)", 1),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "group"), PATTERNS)
def test_groups_are_found_as_re2_finds_them(pattern: str, group: int) -> None:
    """DuckDB reads patterns by RE2 too, and numbers their groups itself."""
    texts = ["ab", "aab", "(a", "]a", "b", "bb", "\\a", "group1a", "", "(ab", "aB", "ABa"]
    found = answer(
        "SELECT CASE WHEN regexp_matches(t, $p) THEN regexp_extract(t, $p, $g) END FROM (SELECT unnest($t) AS t)",
        {"p": pattern, "g": group, "t": texts},
    )
    assert results(list(texts), found=col("text").extract(pattern, group)) == found


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        (col("text").extract("(a"), ("RE2", "'(a'", "missing )")),
        (col("text").matches("a**("), ("RE2", "'a**('")),
        (col("text").extract("(?=a)(b)"), ("RE2", "'(?=a)(b)'")),
        (col("text").extract("(a)", 2), ("'(a)'", "1 group", "group 2", "parentheses")),
        (col("text").extract("a"), ("'a'", "0 group", "group 1")),
        (col("text").extract("(a)", 0), ("'(a)'", "1 group", "group 0")),
        (col("text").length().try_cast("float64"), ("try_cast", "string", "not int64", '.cast("float64")')),
        (col("text").length().try_cast("decimal(9, 2)"), ("try_cast", "string", "int64", '.cast("decimal(9, 2)")')),
        (col("text").try_cast("timestamp"), ("from string to int64", "not to 'timestamp'", "where it is read")),
        (col("text").try_cast("bool"), ("from string to", "date, decimal(p, s), not to 'bool'", '== "true"')),
        (col("text").hour(), ("hour is for timestamp, not string", "where it is read")),
        (~col("text"), ("~ is for bool, not string", '== "true"')),
        (-col("text").length().cast("uint64"), ("(-text.length().cast('uint64'))", "uint64", '.cast("int64")')),
        (-col("text"), ("in (-text)", "numbers", "not string")),
        (abs(col("text") == "a"), ("abs((text == 'a'))", "numbers", '.cast("int64")')),
        (col("text").split_part("/", 2) + 1, ("text.split_part('/', 2) is string",)),
        *[(lit(date(2024, 2, 29)).format_time(f"%Y{zone}"), (zone, '.cast("timestamp")')) for zone in ("%z", "%Z")],
        *[
            (expression, (r"'\ud800'", "no text"))
            for expression in (
                lit("\ud800"),
                col("text").is_in(["\ud800"]),
                col("text").matches("\ud800"),
                col("text").split_part("\ud800", 1),
                lit(datetime(2024, 2, 29)).format_time("\ud800"),
                lit(datetime(2024, 2, 29)) < "\ud800",
            )
        ],
    ],
)
def test_what_cannot_be_is_refused_at_once(expression: Expression, says: Fact) -> None:
    stream = Scope("wrong").new_input(TEXT)[1]
    with raises(SchemaError, "operator 'select'", says):
        select(stream, x=expression)


@pytest.mark.parametrize("index", [0, -1, "1"])
def test_parts_are_counted_from_1(index: Any) -> None:
    with raises(SchemaError, "split_part", "from 1", str(index)):
        col("text").split_part("/", index)
    texts = ["a/b//c", "", None, "/", "a"]
    found = answer("SELECT [split_part(t, '/', n) FOR n IN range(1, 5)] FROM (SELECT unnest($t) AS t)", {"t": texts})
    parts = [results(list(texts), found=col("text").split_part("/", n)) for n in range(1, 5)]
    for row, (text, (expected,)) in enumerate(zip(texts, found, strict=True)):
        held = None if text is None else text.split("/")
        for n in range(4):
            is_there = held is not None and n < len(held)
            assert parts[n][row] == (expected[n] if is_there else None,)


WHOLE = {"0": 0, "-17": -17, "+5": 5, "007": 7, "9223372036854775807": 2**63 - 1}
REAL = {"1.5": 1.5, "-.5": -0.5, "2.": 2.0, "1e3": 1000.0, "1E-2": 0.01, "inf": math.inf, "-Infinity": -math.inf}
NONE = ["", " ", " 1", "1 ", "1_000", "٣", "१", "0x10", "1e", "e5", "Oslo", "--1", "1,5", "½", "1\n", "∞", "+", "."]


def test_text_as_numbers() -> None:
    texts = [*WHOLE, *NONE, None]
    wanted = [*WHOLE.values(), *[None] * (len(NONE) + 1)]
    assert [row[0] for row in results(list(texts), n=col("text").try_cast("int64"))] == wanted
    reals = [*REAL, *NONE, None]
    wanted = [*REAL.values(), *[None] * (len(NONE) + 1)]
    made = results(list(reals), n=col("text").try_cast("float64"), null=col("text").try_cast("float64").is_null())
    assert [None if null else value for value, null in made] == wanted
    words = ["nan", "NAN", "1e400", "-Infinity", "1e-400"]
    assert str(results(words, n=col("text").cast("float64"))) == "[(nan,), (nan,), (inf,), (-inf,), (0.0,)]"
    beyond = [str(2**63), str(-(2**63)), "-1", str(2**64 - 1), str(2**63 - 1)]
    made = results(list(beyond), i=col("text").try_cast("int64"), u=col("text").try_cast("uint64"))
    assert made == [(None, 2**63), (None, None), (-1, None), (None, None), (2**63 - 1, 2**63 - 1)]


@pytest.mark.parametrize("kind", ["int64", "uint64", "float64"])
@pytest.mark.parametrize("text", ["Oslo", "1_000", "٣", "", str(-(2**80)) + "x"])
def test_text_that_is_no_number_is_an_error(kind: str, text: Fact) -> None:
    def program(worker: Any) -> None:
        with worker.dataflow("casts") as scope:
            handle, stream = scope.new_input(TEXT)
            collect(select(stream, n=col("text").cast(kind)))
        handle.send({"text": ["1", None, text]})

    with raises(OperatorError, "operator 'select'", f"text.cast('{kind}')", "row 2", ".try_cast"):
        execute(program, workers=1)


def test_only_rows_that_are_cast_count() -> None:
    """Not those that another branch takes, that a filter dropped, or that are null."""
    number = when(col("text").matches("^[0-9]+$")).then(col("text").cast("int64")).otherwise(-1)
    assert results(["5", "Oslo", None], n=number) == [(5,), (-1,), (-1,)]
    assert results(["5", None], n=col("text").cast("int64") + 1) == [(6,), (None,)]

    def kept(stream: Stream) -> Stream:
        return select(filter(stream, col("text") != "Oslo"), n=col("text").cast("int64"))

    def program(worker: Any) -> Any:
        with worker.dataflow("casts") as scope:
            handle, stream = scope.new_input(TEXT)
            rows = collect(kept(stream))
        handle.send({"text": ["1", "Oslo", "2"]})
        worker.run()
        return rows.columns()["n"].tolist()

    assert execute(program, workers=1) == [[1, 2]]


FORMS = ["%Y-%m-%d", "%H:%M", "%d.%m. %H", "%j %p %I", "100%% %a", "no directive", "%M", "%H:%M:%S"]
STEPS_NS = st.sampled_from([0, 0, 0, 1, 1, 10**9 - 1, 60 * 10**9, 61 * 10**9, 3_600 * 10**9, 86_400 * 10**9, -(10**18)])
LEAST_NS, MOST_NS = -(2**63) + 1, 2**63 - 1


@given(
    begin=st.sampled_from([0, -1, LEAST_NS, MOST_NS - 10**9, 951_782_399_999_999_999]),
    steps=st.lists(st.none() | STEPS_NS, max_size=9).map(lambda steps: [0, 0, *steps, 0, 0, 0]),
    form=st.sampled_from(FORMS),
)
def test_instants_that_follow_each_other_are_formatted(begin: int, steps: list[int | None], form: str) -> None:
    """Of several within a minute, an hour or a day one is, where the form tells no more; nulls among them."""
    schema = Schema.of({"at": "timestamp?"})
    at, instants = begin, [begin]
    for step in steps:
        at = min(max(at + (step or 0), LEAST_NS), MOST_NS)
        instants.append(at if step is not None else -(2**63))
    batch = Batch.wrap(schema, (np.array(instants, "int64").view("datetime64[ns]"),), len(instants))
    stream = select(Scope("instants").new_input(schema)[1], text=col("at").format_time(form))
    assert stream.stage is not None
    made = stream.stage.function.fused([stream.stage.function])(batch)  # type: ignore[union-attr]
    expected = [None if at == -(2**63) else _formatted(at, form) for at in instants]
    assert made is not None
    assert made["text"].tolist() == expected


@pytest.mark.parametrize(
    ("form", "found"), [("%H:%M.%f", "'%f'"), ("%s", "'%s'"), ("%Y\0%m", r"'\x00'"), ("%Ek", "'%Ek'")]
)
def test_what_arrow_does_not_format_is_refused(form: str, found: str) -> None:
    """It would stand in the text as it is, or end it."""
    with raises(SchemaError, "format_time", f"{found} is no directive", "%S"):
        col("at").format_time(form)


def _formatted(at: int, form: str) -> str:
    seconds, part_ns = divmod(at, 10**9)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    return moment.strftime(form.replace("%S", f"{moment.second:02}.{part_ns:09}"))


NUMBERS = {"i": "int64", "f": "float64", "t": "timestamp", "s": "string?"}
MAKES_TEXT: dict[str, tuple[Expression, Callable[[Any], str]]] = {
    "i": ((col("i") % 7).cast("string"), lambda value: str(value % 7)),
    "f": ((col("f") * 2).cast("string"), lambda value: repr(value * 2).removesuffix(".0")),
    "t": (col("t").cast("date").format_time("%Y"), lambda value: f"{1970 + value}"),
    "s": ((col("s").length() + 1).cast("string"), lambda value: str(len(value) + 1)),
}


@pytest.mark.parametrize("others", [0, 1, 2, 3])
@pytest.mark.parametrize("name", NUMBERS)
def test_computed_values_as_text(name: str, others: int) -> None:
    """However many columns there are besides: the names of hidden columns once met where there was one."""
    expression, expected = MAKES_TEXT[name]
    schema = Schema.of({name: NUMBERS[name]} | {f"other{at}": "int64" for at in range(others)})
    values: dict[str, list[Any]] = {
        "i": [10, 5, 12], "f": [1.25, 10.0, 1.25], "t": [0, 20, 54], "s": ["a", "", "bcd" * 9],
    }  # fmt: skip
    expects = [expected(value) for value in values[name]]
    if name == "t":
        values[name] = [int(np.datetime64(f"{1970 + year}-07-01", "ns").astype(np.int64)) for year in values[name]]
    given = {each: values.get(each, [7, 8, 9]) for each in schema.names}

    def program(worker: Any) -> list[Any]:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(schema)
            plain = collect(select(stream, r=expression, again=expression, length=expression.length()))
            found = collect(filter(select(stream, r=expression), col("r") == expects[0]))
            once = collect(distinct(select(stream, r=expression), "r"))
        handle.send(given)
        worker.run()
        return [
            list(zip(*[values.tolist() for values in each.columns().values()], strict=True))
            for each in (plain, found, once)
        ]

    (found,) = execute(program, workers=1)
    assert found[0] == [(text, text, len(text)) for text in expects]
    assert found[1] == [(text,) for text in expects if text == expects[0]]
    assert sorted(found[2]) == sorted({(text,) for text in expects})


def test_one_function_of_values_that_are_made_alike() -> None:
    """`fill_null` of what is never null, and a cast to its own kind, make what was there."""
    schema, number = Schema("n j"), col("n")
    stream = Scope("alike").new_input(schema)[1]
    made = select(
        stream, "j", a=number.cast("string"), b=number.fill_null(0).cast("string"),
        c=number.cast("int64").cast("string"),
    )  # fmt: skip
    assert made.stage is not None
    function = made.stage.function
    batch = function.fused([function])(Batch(schema, {"n": [1, 2], "j": [5, 6]}))  # type: ignore[union-attr]
    assert batch is not None
    assert [batch[name].tolist() for name in "jabc"] == [[5, 6], ["1", "2"], ["1", "2"], ["1", "2"]]
