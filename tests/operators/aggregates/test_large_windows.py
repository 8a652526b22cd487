"""Windows of more groups than are sent at once come in several messages, and are whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.operators.helpers import bench
from tokenring.engine import Batch, Schema, Stream
from tokenring.operators import Count, CountDistinct, Max, Sliding, Tumbling, aggregate, filter_batches
from tokenring.operators.aggregates.panes import MOST_SENT

KEYS = 2 * MOST_SENT + 1_000
SHAPES = {
    "panes": (10, 10, {"n": Count(), "most": Max("value")}),
    "values": (10, 10, {"n": CountDistinct("value")}),
    "moved on": (20, 10, {"n": Count()}),
    "merged anew": (20, 10, {"n": Count(), "most": Max("value")}),
}
TIMES = (3, 5, 14)
"""Of three messages: all keys, every second one, every third one."""


def _declare(width: int, every: int, what: dict[str, Any], seen: list[int]) -> Callable[[Stream], Stream]:
    def small(batch: Batch) -> np.ndarray:
        seen.append(batch.rows)
        return np.ones(batch.rows, np.bool_)

    window = Tumbling("at", width) if width == every else Sliding("at", width, every)
    return lambda stream: filter_batches(aggregate(stream, "key", window=window, **what), small)


def _expected(width: int, every: int, what: dict[str, Any]) -> list[tuple[int, ...]]:
    """(start, end, key, results), of rows whose values are their times."""
    found = []
    for start in range(every - width, TIMES[-1] + 1, every):
        inside = [(at, step) for step, at in enumerate(TIMES, 1) if start <= at < start + width]
        for key in range(KEYS):
            times = [at for at, step in inside if key % step == 0]
            if times:
                results = {"n": len(times), "most": max(times)}
                found.append((start, start + width, key, *[results[name] for name in what]))
    return sorted(found)


@pytest.mark.parametrize("way", ["tokens", "notifications", "watermarks-X", "sequential"])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_large_window_is_sent_in_pieces(shape: str, workers: int, way: str) -> None:
    width, every, what = SHAPES[shape]
    seen: list[int] = []
    with bench(
        [Schema("key at value")], _declare(width, every, what, seen), workers, way, times=["at"], queue_bytes=1 << 22
    ) as made:
        for step, at in enumerate(TIMES, 1):
            keys = np.arange(0, KEYS, step)
            for worker in range(workers):
                mine = keys[worker::workers]
                made.send(
                    {"key": mine, "at": np.full(len(mine), at), "value": np.full(len(mine), at)}, worker=worker, time=at
                )
            made.settle()
        made.close()
    assert max(seen) <= MOST_SENT
    assert sorted(tuple(row[2:]) for row in made.rows) == _expected(width, every, what)
