"""tumbling_max: rows in any order, many windows in one batch, the edges of windows, several workers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import MAX_TIME, Schema, Stream
from operators import tumbling_max
from tests.operators.helpers import bench

ROWS = Schema("at value")
WIDTH = 10


def _declare(stream: Stream) -> Stream:
    return tumbling_max(stream, "at", "value", WIDTH)


def _expected(rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    best: dict[int, int] = {}
    for at, value in rows:
        end = (at // WIDTH + 1) * WIDTH
        best[end] = max(value, best.get(end, value))
    return sorted(best.items())


def _send(made: Any, rows: list[tuple[int, int]], worker: int = 0) -> None:
    made.send({"at": [at for at, _ in rows], "value": [value for _, value in rows]}, worker=worker)


@settings(max_examples=80)
@given(
    rows=st.lists(st.tuples(st.integers(0, 120), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=60),
    workers=st.integers(1, 3),
    size=st.integers(1, 60),
)
def test_like_a_dictionary(rows: list[tuple[int, int]], workers: int, size: int) -> None:
    with bench([ROWS], _declare, workers) as made:
        for number, start in enumerate(range(0, len(rows), size)):
            _send(made, rows[start : start + size], number % workers)
            made.settle()
        made.close()
        assert made.sent() == [(end, end, value) for end, value in _expected(rows)]


@pytest.mark.parametrize("backwards", [False, True])
def test_many_windows_in_one_batch(backwards: bool) -> None:
    """More windows than the kernel reduces at once, and stretches long enough for its blocks."""
    rows = [(at, (at * 7919) % 1000) for at in range(3_000)]
    rows += [(50_000 + at % WIDTH, at) for at in range(5_000)] + [(50_000 + WIDTH, -1)]
    if backwards:
        rows.reverse()
    with bench([ROWS], _declare, queue_bytes=1 << 20) as made:
        _send(made, rows)
        made.close()
        assert made.sent() == [(end, end, value) for end, value in _expected(rows)]


def test_a_row_at_a_windows_end_belongs_to_the_next() -> None:
    with bench([ROWS], _declare) as made:
        _send(made, [(0, 1), (9, 2), (10, 3), (19, 4), (20, 5)])
        made.close()
        assert made.sent() == [(10, 10, 2), (20, 20, 4), (30, 30, 5)]


def test_a_window_is_sent_once_all_workers_have_passed_its_end() -> None:
    with bench([ROWS], _declare, workers=2) as made:
        _send(made, [(1, 5)], worker=0)
        _send(made, [(2, 7)], worker=1)
        made.inputs[0][0].advance_to(100)
        made.settle()
        assert made.sent() == []
        made.inputs[1][0].advance_to(WIDTH - 1)
        made.settle()
        assert made.sent() == []
        made.inputs[1][0].advance_to(WIDTH + 1)  # beyond: other workers' maxima stand at the end itself
        made.settle()
        assert made.sent() == [(10, 10, 7)]
        made.close()


def test_no_more_windows_are_held_than_are_open() -> None:
    with bench([ROWS], _declare) as made:
        operators = [o for o in made.group.workers[0].operators if o.name.startswith("tumbling_max")]
        for start, end in pairwise(range(0, 2_000, WIDTH)):
            _send(made, [(start, 1)])
            made.advance(end + 1)
            assert sum(operator.held for operator in operators) == 0
        made.close()
        assert len(made.sent()) == 199


def test_the_last_window_there_is() -> None:
    with bench([ROWS], _declare, workers=2) as made:
        _send(made, [(MAX_TIME, 3), (MAX_TIME - 2 * WIDTH, 4)], worker=0)
        _send(made, [(MAX_TIME - 1, 9)], worker=1)
        made.close()
        last = (MAX_TIME // WIDTH + 1) * WIDTH
        assert made.sent() == [(last - 2 * WIDTH, last - 2 * WIDTH, 4), (MAX_TIME, last, 9)]
