"""Functions of text are computed once for each word where that is safe, and give what they give without."""

from __future__ import annotations

import numpy as np
import pytest

from tokenring.engine import Batch, Schema, Strings
from tokenring.operators.expressions import remembered
from tokenring.operators.expressions.remembered import Made, Remembered

TEXT = Schema.of({"text": "string?"})


class Upper:
    """A function of text that counts the rows it is asked for."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, batch: Batch) -> Made:
        self.rows += batch.rows
        made = Strings.of([None if text is None else text.upper() * 2 for text in batch["text"].tolist()])
        return made.words, made.heap


def fixed(values: list[str | None]) -> Strings:
    """Texts in a heap that nobody writes."""
    texts = Strings.of(values)
    texts.heap.flags.writeable = False
    return texts


def rows(texts: Strings, places: list[int]) -> Batch:
    return Batch.wrap(TEXT, (texts.words[places],), len(places), (texts.heap,))


def seen(made: Made) -> list[str | None]:
    words, heap = made
    assert heap is not None
    return Strings(words, heap).tolist()


def test_each_word_is_computed_once_and_what_was_given_stays() -> None:
    upper, values = Upper(), [f"text {place}" * 100 for place in range(40)] + [None, ""]
    texts, expected = fixed(values), [None if text is None else text.upper() * 2 for text in values]
    function = Remembered(upper, "text")
    given_out = []
    for start in range(0, 42, 6):  # the heap of what was made grows several times
        places = [*range(start, start + 6), start, 0, 41, 40]
        given_out.append((places, function(rows(texts, places))))
    assert upper.rows == len(values)
    for places, made in given_out:
        assert seen(made) == [expected[place] for place in places]


def test_another_heap_and_one_that_is_written_are_not_mistaken() -> None:
    upper = Upper()
    function = Remembered(upper, "text")
    for values in (["ab", "cd"], ["ef", "gh"], ["ij", "kl"]):  # the same words each time
        texts = fixed(values)
        assert seen(function(rows(texts, [0, 1] * 4))) == [value.upper() * 2 for value in values] * 4
    assert upper.rows == 6
    texts = Strings.of(["ab", "cd"])
    assert seen(function(rows(texts, [0, 0]))) == ["ABAB", "ABAB"]
    texts.heap[:2] = np.frombuffer(b"xy", np.uint8)
    assert seen(function(rows(texts, [0, 0]))) == ["XYXY", "XYXY"]


@pytest.mark.parametrize(("uses", "computed"), [(2, 10 + 20 + 20), (6, 10 + 5 + 5)])
def test_it_is_given_up_where_few_words_come_again(monkeypatch: pytest.MonkeyPatch, uses: int, computed: int) -> None:
    monkeypatch.setattr(remembered, "MOST", 9)
    upper = Upper()
    function = Remembered(upper, "text")
    texts = fixed([f"text {place}" for place in range(20)])
    for places in ([*range(10)] * uses, [*range(10, 15)] * 2 * uses, [*range(5)] * 2 * uses):
        assert seen(function(rows(texts, places))) == [f"TEXT {place}" * 2 for place in places]
    assert upper.rows == computed
