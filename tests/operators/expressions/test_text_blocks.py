"""Kernels that make text out of text: parts of it, and a choice of several."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tokenring.engine import Batch, Schema, Strings
from tokenring.engine.raw import address_of
from tokenring.operators.expressions.machine import split_part
from tokenring.operators.expressions.texts import _choose


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.none() | st.text("ab/ä", max_size=8), max_size=8),
    st.sampled_from("/ a ab ä //".split()),
    st.integers(0, 4),
)
def test_split_part_is_pythons(values: list[str | None], separator: str, index: int) -> None:
    texts, octets = Strings.of(values), np.frombuffer(separator.encode(), np.uint8)
    parts = np.empty(len(values), np.int64)
    split_part(texts.words, address_of(texts.heap), np.array([address_of(octets), len(octets)]), index, parts)
    cut = [None if text is None else text.split(separator)[index : index + 1] for text in values]
    assert Strings(parts, texts.heap).tolist() == [part[0] if part else None for part in cut]


@pytest.mark.parametrize("heaps", ["one heap", "several heaps"])
def test_the_first_text_whose_condition_is_true(heaps: str) -> None:
    schema = Schema.of({"a": "bool?", "one": "string?", "b": "bool", "two": "string", "three": "string?"})
    one, two, three = ["x", None, "äö", "y", "y"], ["p", "q", "", "r", "s"], [None, "z", "z", "zz", None]
    a, b = [True, True, None, False, False], [False, True, True, True, False]
    batch = Batch(schema, {"a": a, "one": one, "b": b, "two": two, "three": three})
    if heaps == "one heap":
        texts = Strings.of([*one, *two, *three])
        words = [batch.words("a"), texts.words[:5], batch.words("b"), texts.words[5:10], texts.words[10:]]
        batch = Batch.wrap(
            schema, tuple(words), 5, tuple([texts.heap if kind.is_text else None for kind in schema.kinds])
        )
    found = _choose(batch, ["a", "one", "b", "two", "three"])
    assert found.tolist() == ["x", None, "", "r", None]
    assert (found.heap is batch.heaps[1]) == (heaps == "one heap")
