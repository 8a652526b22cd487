"""Keys of text that move: texts of keys that have left give their numbers back, the first one's too."""

from __future__ import annotations

import numpy as np

from tokenring.engine import Batch, Schema, Strings
from tokenring.operators.running.moving_texts import MovingTextKeys
from tokenring.operators.running.text_keys import TextKeys
from tokenring.operators.state import Keys

SCHEMA = Schema.of({"name": "string?", "number": "int64"})


def _batch(*rows: tuple[str | None, int]) -> Batch:
    return Batch(SCHEMA, {"name": [name for name, _ in rows], "number": [number for _, number in rows]})


def _numbers(texts: TextKeys, *names: str) -> list[int]:
    batch = Batch(SCHEMA.select(("name",)), {"name": list(names)})
    heap = batch.heaps[0]
    assert heap is not None
    numbers: list[int] = texts.numbers[0].numbers_of(Strings(batch.columns[0].view(np.int64), heap)).tolist()
    return numbers


def test_numbers_of_texts_that_left_are_given_again() -> None:
    texts = TextKeys(SCHEMA, SCHEMA.names)
    keys = Keys(texts.schema, SCHEMA.names)
    moving = MovingTextKeys(SCHEMA, keys, texts, SCHEMA.names)
    slots = moving.enter(_batch(("first", 1), ("second", 1), ("first", 2), (None, 1)))
    assert _numbers(texts, "first", "second") == [0, 1]
    moving.forget(slots[:2])  # "first" is another key's still
    assert _numbers(texts, "third", "first") == [1, 0]
    moving.forget(slots[2:])
    assert _numbers(texts, "fourth", "fifth") == [0, 2]
