"""CountDistinct with many conditions: sets of a column share their values, in words of flags."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np

from tests.operators.helpers import bench
from tokenring.engine import Batch, Schema, Stream
from tokenring.operators import CountDistinct, Tumbling, aggregate
from tokenring.operators.folds import FoldState
from tokenring.operators.folds.sets import MOST_FLAGS

SETS = 7 * MOST_FLAGS + 3


def _at_least(number: int) -> object:
    def condition(batch: Batch) -> np.ndarray:
        return np.asarray(batch["value"] >= number)

    return condition


def _declare(stream: Stream, **window: object) -> Stream:
    counts = {f"n{at}": CountDistinct("value", where=_at_least(at)) for at in range(SETS)}
    return aggregate(stream, "key", **window, **counts)  # type: ignore[call-overload, no-any-return]


def _expected(rows: list[tuple[int, int]], key: int) -> tuple[int, ...]:
    values = {value for mine, value in rows if mine == key}
    return tuple(sum(value >= at for value in values) for at in range(SETS))


def test_more_sets_than_a_word_has_flags() -> None:
    rows = [(at % 2, at * 37 % 90) for at in range(300)]
    with bench([Schema("key value")], _declare) as made:
        for piece in (rows[:100], rows[100:]):
            made.send({"key": [key for key, _ in piece], "value": [value for _, value in piece]})
            made.settle()
        made.close()
        last = {row[2]: row[3:] for row in made.rows}
        assert last == {key: _expected(rows, key) for key in (0, 1)}


def test_a_slot_that_is_used_again_starts_with_empty_sets() -> None:
    with bench([Schema("key value at")], lambda stream: _declare(stream, window=Tumbling("at", 10))) as made:
        for end in (10, 20, 30):
            made.send({"key": [1, 1], "value": [5, end], "at": [end - 1] * 2})
            made.advance(end)
        made.close()
        assert [row[5:] for row in made.rows] == [_expected([(1, 5), (1, end)], 1) for end in (10, 20, 30)]


def test_sets_of_many_columns_find_room_together() -> None:
    """All of them are looked at each time that one lacks some."""
    names = [f"c{at}" for at in range(50)]
    counts: Any = {f"n{at}": CountDistinct(name) for at, name in enumerate(names)}
    schema, made_room = Schema(" ".join(["key", *names])), FoldState.make_room
    looked_at = patch.object(FoldState, "make_room", autospec=True, side_effect=made_room)
    with looked_at as asked, bench([schema], lambda stream: aggregate(stream, "key", **counts)) as made:
        made.send({"key": [1] * 300} | {name: np.arange(300) * at for at, name in enumerate(names)})
        made.close()
        assert made.rows[-1][3:] == (1, *[300] * 49)
        assert asked.call_count < 20
