"""Keys that never come again leave when their windows do: what is kept does not grow, counted and not timed."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tokenring.operators.folds import FoldState
from tokenring.operators.folds.sets import ValueSets
from tokenring.operators.state import KeptTexts, Keys, NumberedTexts

EACH = 400  # keys a window, none of which ever was before
WARM, LONG = 12, 72  # windows
WINDOWS = {"tumbling": tr.Tumbling("at", 10), "sliding": tr.Sliding("at", 30, 10), "sessions": tr.Session("at", 5)}
AGGREGATES: dict[str, dict[str, Any]] = {
    "folds": {"n": tr.Count(), "total": tr.Sum("value"), "last": tr.Last("value")},
    "distinct": {"n": tr.CountDistinct("value"), "some": tr.CountDistinct("value", where=tr.col("value") % 2 == 0)},
    "texts": {"first": tr.First("name"), "last": tr.Last("name", where=tr.col("value") % 3 > 0)},
    "distinct texts": {"n": tr.CountDistinct("name")},
}


def held_bytes() -> int:
    """What all keys and states have room for."""
    found = 0
    for each in gc.get_objects():
        if isinstance(each, KeptTexts):
            found += each._part[1]
        if isinstance(each, Keys | ValueSets | FoldState | NumberedTexts):
            names = [name for kind in type(each).__mro__ for name in getattr(kind, "__slots__", ())]
            values = [getattr(each, name) for name in names] + list(getattr(each, "__dict__", {}).values())
            values += [value for held in values if isinstance(held, dict) for value in held.values()]
            found += sum(value.nbytes for value in values if isinstance(value, np.ndarray) and value.base is None)
    return found


@pytest.mark.parametrize(("kind", "step"), [("int64", 1), ("int64", 7_919 * 10**9), ("string", 1)])
@pytest.mark.parametrize("what", list(AGGREGATES))
@pytest.mark.parametrize("window", list(WINDOWS))
def test_never_repeating_keys(window: str, what: str, kind: str, step: int) -> None:
    def program(worker: tr.Worker) -> list[int]:
        with worker.dataflow() as scope:
            schema = tr.Schema.of({"at": "int64", "key": kind, "value": "int64", "name": "string"})
            handle, rows = scope.new_input(schema)
            sent = rows.aggregate("key", window=WINDOWS[window], **AGGREGATES[what]).collect()
        sizes = []
        for number in range(LONG):
            numbers = np.arange(number * EACH, (number + 1) * EACH) * step
            keys: Any = numbers if kind == "int64" else [f"{n:020}" for n in numbers.tolist()]
            names = [f"{n} {'long' * 20}" for n in numbers.tolist()]
            handle.send({"at": np.full(EACH, 10 * number), "key": keys, "value": numbers, "name": names})
            handle.advance_to(10 * (number + 1))
            for _ in range(4):
                worker.step()
            if number >= WARM:
                sizes.append(held_bytes())
        handle.close()
        worker.run()
        assert len(sent.columns()["key"]) == EACH * LONG * (3 if window == "sliding" else 1)
        return sizes

    (sizes,) = tr.execute(program, workers=1)
    half = len(sizes) // 2  # texts are moved together now and then: what counts is the most there is
    assert 0 < max(sizes[half:]) <= 1.01 * max(sizes[:half])
