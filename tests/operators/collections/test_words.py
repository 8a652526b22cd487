"""Words of columns beside Python's own values: exact sums, order by value, texts interned."""

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tokenring as tr
from tests.long_form import examples
from tokenring.engine.raw import text_space
from tokenring.operators.collections.updates import add_word, total_of
from tokenring.operators.collections.words import Entering, KindRow, by_value, interned_texts, kinds_table
from tokenring.operators.folds import SUM, SUM_FLOAT, SUM_UNSIGNED

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LARGEST = math.nextafter(math.inf, 0)


def bits(value: float) -> int:
    return int(np.array([value]).view(np.int64)[0])


def total(operation: int, words: list[tuple[int, int]]) -> tuple[int, bool]:
    """The sum of words, each so often."""
    sums = np.zeros(80, np.int64)
    for word, times in words:
        add_word(operation, sums, 3, np.int64(word), np.int64(times))
    found, is_in_range = total_of(operation, sums, 3)
    return int(found), bool(is_in_range)


def rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@settings(max_examples=examples(500))
@given(st.lists(st.tuples(FLOATS, st.integers(-3, 5)), max_size=12))
@example([(LARGEST, 1), (LARGEST, 1), (-LARGEST, 1)])
@example([(LARGEST, 2)])
@example([(LARGEST, 5), (1e300, -1)])
@example([(LARGEST, 1), (math.ulp(LARGEST) / 2, 1)])
@example([(5e-324, 1), (-5e-324, 3)])
@example([(1.0, 1), (2.0**-53, 1), (5e-324, 1)])
@example([(1.0, 1), (2.0**-53, 1)])
@example([(-0.0, 3)])
def test_sums_of_floats_are_rounded_once(values: list[tuple[float, int]]) -> None:
    found, _ = total(SUM_FLOAT, [(bits(value), times) for value, times in values])
    exact = sum([Fraction(value) * times for value, times in values], Fraction(0))
    assert found == bits(rounded(exact))


@given(st.lists(st.sampled_from([math.nan, math.inf, -math.inf, 1.5]), max_size=6))
def test_what_is_no_number_goes_when_its_row_does(values: list[float]) -> None:
    gone = [(bits(value), -1) for value in values]
    found, _ = total(SUM_FLOAT, [(bits(value), 1) for value in [*values, 2.5]] + gone)
    assert found == bits(2.5)
    still, _ = total(SUM_FLOAT, [(bits(value), 1) for value in values])
    assert still == bits(sum(values) + 0.0) or (math.isnan(sum(values)) and still == bits(math.nan))


@given(st.lists(st.tuples(st.integers(0, (1 << 64) - 1), st.integers(1, 3)), max_size=6))
def test_whole_sums_are_exact_or_beyond(values: list[tuple[int, int]]) -> None:
    exact = sum([value * times for value, times in values])
    found, is_in_range = total(SUM_UNSIGNED, [(value - (value >> 63 << 64), times) for value, times in values])
    assert is_in_range == (exact < 1 << 64)
    assert not is_in_range or found % (1 << 64) == exact
    signed = [(value - (1 << 63), times) for value, times in values]
    exact = sum([value * times for value, times in signed])
    found, is_in_range = total(SUM, signed)
    assert is_in_range == (-(1 << 63) <= exact < 1 << 63)
    assert not is_in_range or found == exact


@pytest.mark.parametrize("times", [1 << 32, -(1 << 32), (1 << 53) + 1])
@pytest.mark.parametrize("word", [-1, 1, -7, 255, -255])
def test_small_words_may_be_there_very_often(word: int, times: int) -> None:
    sums = np.zeros(80, np.int64)
    for often in (times, times - 1, -times):
        assert add_word(SUM, sums, 3, np.int64(word), np.int64(often))
    assert total_of(SUM, sums, 3) == (word * (times - 1), True)


ORDERED: dict[str, list[Any]] = {
    "int64": [-(1 << 63), -1, 0, 1, (1 << 63) - 1],
    "int64?": [1 - (1 << 63), -1, 0, (1 << 63) - 1, None],
    "uint64": [0, 1, 1 << 63, (1 << 64) - 1],
    "uint64?": [0, 1 << 63, (1 << 64) - 2, None],
    "float64?": [-math.inf, -LARGEST, -5e-324, 0.0, 5e-324, 1.0, LARGEST, math.inf, math.nan, None],
    "bool?": [False, True, None],
    "string?": ["", "a", "a\x00", "ab", "b", "é", "日", "😀", None],
    "bytes": [b"", b"\x00", b"\x00\x00", b"\x01", b"\xff"],
}


def column_of(kind: str, values: list[Any]) -> Any:
    if not kind.startswith("uint64"):
        return values
    return np.ma.MaskedArray(np.array([value or 0 for value in values], np.uint64), [value is None for value in values])


def entered(kind: str, values: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """(their canonical words, (1, rows); what kernels know of the column)."""
    schema = tr.Schema(v=kind)
    batch = tr.Batch(schema, {"v": column_of(kind, values)})
    return Entering("test", schema).table_of(batch), KindRow.of_table(kinds_table(schema.kinds))


@given(st.data())
def test_rows_are_in_the_order_of_their_values(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(ORDERED)))
    at = data.draw(st.lists(st.integers(0, len(ORDERED[kind]) - 1), min_size=1, max_size=60))
    last = [value is None or value != value for value in ORDERED[kind]]
    words, kinds = entered(kind, [ORDERED[kind][each] for each in at])
    for is_downwards in (False, True):
        found = by_value(words, 1, kinds, is_downwards)[0].tolist()
        expected = [each - 100 * (1 + each) * (is_downwards and last[each]) for each in at]
        for one, other in zip(range(len(at)), range(1, len(at)), strict=False):
            assert np.sign(found[one] - found[other]) == np.sign(expected[one] - expected[other])


def texts_there() -> int:
    interned = interned_texts()
    return 0 if interned is None else interned.texts


@given(st.lists(st.lists(st.text(max_size=4), min_size=1, max_size=30), max_size=5))
def test_equal_texts_have_one_word(batches: list[list[str]]) -> None:
    """And others another, wherever the texts lie, those that are in the space already too."""
    space = text_space()
    assert space is not None
    known: dict[str, int] = {}
    for texts in batches:
        words = entered("string", texts)[0][0]
        again = tr.Batch.wrap(tr.Schema(v="string"), (words,), len(words), (space.heap,))
        assert again["v"].tolist() == texts
        assert Entering("test", tr.Schema(v="string")).table_of(again)[0].tolist() == words.tolist()
        for text, word in zip(texts, words.tolist(), strict=True):
            assert known.setdefault(text, word) == word
    assert len(set(known.values())) == len(known)


def test_many_texts_are_interned() -> None:
    random = np.random.default_rng(5)
    texts = [f"one of many {'x' * (number % 50)}{number}" for number in random.integers(0, 20_000, 60_000).tolist()]
    before = texts_there()
    words = entered("string", texts)[0][0].tolist()
    assert texts_there() == before + len(set(texts))
    assert Counter(Counter(texts).values()) == Counter(Counter(words).values())
    assert len(set(zip(texts, words, strict=True))) == len(set(texts))
    assert entered("string", texts[::-1])[0][0].tolist() == words[::-1]


def test_who_asks_for_a_text_enters_none() -> None:
    schema = tr.Schema(v="string?")
    entering = Entering("test", schema)
    entered("string", ["asked for"])
    before = texts_there()
    assert entering.has_all(tr.Batch(schema, {"v": ["asked for", None]}))
    assert not entering.has_all(tr.Batch(schema, {"v": ["asked for", "what nobody has"]}))
    assert texts_there() == before


def test_what_was_asked_for_is_entered_as_it_was() -> None:
    """By a word that came lately: of a text that lies in the space."""
    space, schema = text_space(), tr.Schema(v="string")
    assert space is not None
    entering = Entering("test", schema)
    words = entered("string", ["looked at", "and entered"])[0][0]
    there = tr.Batch.wrap(schema, (words,), len(words), (space.heap,))
    fresh = entered("string", [f"other {number}" for number in range(20_000)])[0][0]
    assert len(set(fresh.tolist())) == 20_000
    assert entering.has_all(there)
    assert entering.table_of(there)[0].tolist() == words.tolist()
