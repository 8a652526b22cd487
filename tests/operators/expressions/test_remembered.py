"""Functions of text are computed once for each word where that is safe, and give what they give without."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import Batch, Schema, Scope, Strings, UsageError
from tokenring.engine.raw import text_space
from tokenring.operators import col, lit, select, when
from tokenring.operators.expressions import remembered
from tokenring.operators.expressions.remembered import Remembered

TEXT = Schema.of({"text": "string?"})
MADE = Schema.of({"made": "string?"})
BOTH = Schema.of({"text": "string?", "made": "string?"})
PAIR = Schema.of({"number": "int64", "one": "string?", "two": "string?"})


class Upper:
    """A function of text that counts the rows it is asked for."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, batch: Batch) -> Batch:
        self.rows += batch.rows
        made = Strings.of([None if text is None else text.upper() * 2 for text in batch["text"].tolist()])
        return Batch.wrap(MADE, (made.words,), batch.rows, (made.heap,))


def remembering(upper: Upper) -> Remembered:
    return Remembered(upper, TEXT, ("text",), BOTH)


def fixed(values: Sequence[str | None]) -> Strings:
    """Texts in a heap that nobody writes."""
    texts = Strings.of(values)
    texts.heap.flags.writeable = False
    return texts


def rows(texts: Strings, places: list[int]) -> Batch:
    return Batch.wrap(TEXT, (texts.words[places],), len(places), (texts.heap,))


def seen(made: Batch | None) -> list[str | None]:
    assert made is not None and made.schema is BOTH
    return Strings(made.columns[1], made.heaps[1]).tolist()  # type: ignore[arg-type]


def test_each_word_is_computed_once_and_what_was_given_stays() -> None:
    upper, values = Upper(), [f"text {place}" * 100 for place in range(40)] + [None, ""]
    texts, expected = fixed(values), [None if text is None else text.upper() * 2 for text in values]
    function = remembering(upper)
    given_out = []
    for start in range(0, 42, 6):  # the heap of what was made grows several times
        places = [*range(start, start + 6), start, 0, 41, 40]
        given_out.append((places, function(rows(texts, places))))
    assert upper.rows == len(values)
    for places, made in given_out:
        assert seen(made) == [expected[place] for place in places]


def test_as_many_words_as_are_remembered_are_told_apart() -> None:
    upper, values = Upper(), [f"{place}" for place in range(remembered.MOST)]
    texts, expected = fixed(values), [text.upper() * 2 for text in values]
    function = remembering(upper)
    for _ in range(2):
        for start in range(0, len(values), 4096):
            places = [*range(start, start + 4096)]
            assert seen(function(rows(texts, places))) == expected[start : start + 4096]
    assert upper.rows == len(values)


def test_another_heap_and_one_that_is_written_are_not_mistaken() -> None:
    upper = Upper()
    function = remembering(upper)
    for values in (["ab", "cd"], ["ef", "gh"], ["ij", "kl"]):  # the same words each time
        texts = fixed(values)
        assert seen(function(rows(texts, [0, 1] * 4))) == [value.upper() * 2 for value in values] * 4
    assert upper.rows == 6
    texts = Strings.of(["ab", "cd"])
    assert seen(function(rows(texts, [0, 0]))) == ["ABAB", "ABAB"]
    texts.heap[:2] = np.frombuffer(b"xy", np.uint8)
    assert seen(function(rows(texts, [0, 0]))) == ["XYXY", "XYXY"]


def test_texts_that_come_and_go_in_the_text_space_are_not_remembered() -> None:
    space = text_space()
    assert space is not None
    upper, offset = Upper(), space.allocate(2)
    function, word = remembering(upper), offset << 24 | 2
    for text in (b"ab", b"cd"):
        space.write(offset, np.frombuffer(text, np.uint8))
        made = function(Batch.wrap(TEXT, (np.array([word, word]),), 2, (space.heap,)))
        assert seen(made) == [text.decode().upper() * 2] * 2
    constant = np.array([space.constant(b"ef"), -1])
    for _ in range(3):
        assert seen(function(Batch.wrap(TEXT, (constant,), 2, (space.heap,)))) == ["EFEF", None]
    assert upper.rows == 4 + 2
    space.give_back(offset, 2)


@pytest.mark.parametrize(("uses", "computed"), [(2, 10 + 20 + 20), (6, 10 + 5 + 5)])
def test_it_is_given_up_where_few_words_come_again(monkeypatch: pytest.MonkeyPatch, uses: int, computed: int) -> None:
    monkeypatch.setattr(remembered, "MOST", 9)
    upper = Upper()
    function = remembering(upper)
    texts = fixed([f"text {place}" for place in range(20)])
    for places in ([*range(10)] * uses, [*range(10, 15)] * 2 * uses, [*range(5)] * 2 * uses):
        assert seen(function(rows(texts, places))) == [f"TEXT {place}" * 2 for place in places]
    assert upper.rows == computed


def test_what_is_forgotten_after_an_error_is_computed_again() -> None:
    class Fails(Upper):
        def __call__(self, batch: Batch) -> Batch:
            if "bad" in batch["text"].tolist() and not self.rows:
                self.rows = 1
                raise UsageError("bad")
            return super().__call__(batch)

    function, texts = remembering(Fails()), fixed(["bad", "good"])
    with raises(UsageError, "bad"):
        function(rows(texts, [0, 1]))
    assert seen(function(rows(texts, [0, 1]))) == ["BADBAD", "GOODGOOD"]


def of_pairs(batch: Batch) -> Batch:
    """What depends on one column, on both, and on a number besides."""
    one, two = col("one"), col("two")
    stream = select(
        Scope("text").new_input(PAIR)[1],
        "one",
        parts=two.split_part("/", 2),
        first=one.split_part("/", 1),
        last=one.split_part("/", 3),
        chosen=when(one.lower() == "a").then(two).when(two.is_null()).then("none").otherwise(one + two.upper()),
        found=(one + "-" + two).contains("a-a"),
        beside=when(col("number") > 1).then(one.upper()).otherwise(two),
        named=when(col("number") > 1).then("many").when(col("number") == 1).then(None).otherwise("few"),
        said=lit("at ") + (col("number") + 1).cast("string"),
        size=one.upper().length() + col("number"),
    )
    assert stream.stage is not None
    made = stream.stage.function.fused([stream.stage.function])(batch)  # type: ignore[union-attr]
    assert isinstance(made, Batch)
    return made


def expected_of(number: int, one: str | None, two: str | None) -> tuple[object, ...]:
    parts = [None if text is None else [*text.split("/"), None, None, None] for text in (one, two)]
    first, second = parts
    chosen = (
        two if one is not None and one.lower() == "a" else "none" if two is None
        else None if one is None else one + two.upper()
    )  # fmt: skip
    return (
        one,
        second and second[1],
        first and first[0],
        first and first[2],
        chosen,
        None if one is None or two is None else "a-a" in f"{one}-{two}",
        (None if one is None else one.upper()) if number > 1 else two,
        "many" if number > 1 else None if number == 1 else "few",
        f"at {number + 1}",
        None if one is None else len(one.upper()) + number,
    )


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.none() | st.text("aAb/\u00e4", max_size=6), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40),
    st.booleans(),
    st.sampled_from([3, 1 << 15]),
)
def test_results_are_those_of_each_row(
    values: list[str | None], places: list[tuple[int, int, int]], stays: bool, most: int
) -> None:
    texts, others = fixed(values), fixed(values[::-1])
    texts.heap.flags.writeable = others.heap.flags.writeable = not stays
    numbers, ones, twos = np.array(places).T
    ones, twos = ones % len(values), twos % len(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remembered, "MOST", most)
        for start in range(0, len(places), 7):
            part = slice(start, start + 7)
            columns = numbers[part].astype(np.int64), texts.words[ones[part]], others.words[twos[part]]
            batch = Batch.wrap(PAIR, columns, len(columns[0]), (None, texts.heap, others.heap))
            made = of_pairs(batch)
            found = [made[name].tolist() for name in made.schema.names]
            wanted = [
                expected_of(number, values[one], values[::-1][two])
                for number, one, two in zip(numbers[part], ones[part], twos[part], strict=True)
            ]
            assert list(zip(*found, strict=True)) == wanted


def test_parts_of_text_are_words_into_the_same_heap() -> None:
    texts = fixed(["a/b/c", "d/e", None])
    batch = Batch.wrap(PAIR, (np.arange(3), texts.words, texts.words), 3, (None, texts.heap, texts.heap))
    made = of_pairs(batch)
    for name in ("parts", "first", "last"):
        assert made.heaps[made.schema.position(name)] is texts.heap
