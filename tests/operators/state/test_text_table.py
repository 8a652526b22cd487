"""Texts by number: those that came lately are known by their words alone, as long as these mean the same bytes."""

from __future__ import annotations

import gc

import numpy as np

from tokenring.engine.columns import heap_address
from tokenring.engine.raw import LENGTH_BITS
from tokenring.engine.texts import in_text_space
from tokenring.operators.state import KeptTexts, NumberedTexts
from tokenring.operators.state.text_table import UNKNOWN

TEXTS = [b"apple", b"b", b"a pear, longer than 8 bytes", b"apple pie"]
"""No two have one place among the words that came lately."""


def copied(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Words of texts, and the copy of their bytes that these count from."""
    starts = np.cumsum([0, *map(len, texts)])[:-1]
    words = starts << LENGTH_BITS | [len(text) for text in texts]
    return words, in_text_space(np.frombuffer(b"".join(texts), np.uint8))


def numbered() -> tuple[KeptTexts, NumberedTexts]:
    """No text yet, and room for some; what was copied before is gone."""
    gc.collect()
    kept = KeptTexts()
    table = NumberedTexts(kept.store)
    kept.make_room([table.kept], 1000)
    return kept, table


def numbers(table: NumberedTexts, words: np.ndarray, heap: np.ndarray, add: bool = True) -> list[int]:
    found = table.number(words, heap_address(heap), add)
    assert found is not None
    return [int(number) for number in found]


def test_words_of_a_copy_are_known_until_one_is_gone() -> None:
    """Here the table has forgotten all that it could find by bytes."""
    _kept, table = numbered()
    words, heap = copied(TEXTS)
    assert numbers(table, words, heap) == [0, 1, 2, 3]
    table._cells[:] = 0
    assert numbers(table, words, heap, add=False) == [0, 1, 2, 3]
    more = copied(TEXTS)
    assert numbers(table, words, heap, add=False) == [0, 1, 2, 3], "one that came makes no difference"
    del more
    assert numbers(table, words, heap, add=False) == [UNKNOWN] * 4


def test_what_lies_where_a_copy_was_is_another_text() -> None:
    _kept, table = numbered()
    words, heap = copied([b"apple", b"pear!"])
    assert numbers(table, words, heap) == [0, 1]
    before = heap_address(heap)
    del heap
    words, heap = copied([b"lemon", b"apple"])
    assert heap_address(heap) == before
    assert numbers(table, words, heap) == [2, 0]
