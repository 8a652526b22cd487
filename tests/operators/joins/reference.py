"""Rows to join, and joins as nested loops: what the operators are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.operators.helpers import Bench
from tokenring.engine import Schema

LEFT = Schema("at", key="string?", n="int64?", name="string?")
RIGHT = Schema("at", code="string", n="int64?", text="string?")
ON = {"key": "code", "n": "n"}
COLUMNS = {"at": "left.at", "code": "code", "n": "left.n", "name": "name", "then": "right.at", "text": "text"}

Row = tuple[Any, ...]
TEXTS = st.sampled_from(["x", "yy", "a longer text than eight", None])
NUMBERS = st.sampled_from([1, 2, None])
LEFT_ROW = st.tuples(st.integers(0, 40), st.sampled_from(["a", "bb", None]), NUMBERS, TEXTS)
RIGHT_ROW = st.tuples(st.integers(0, 40), st.sampled_from(["a", "bb"]), NUMBERS, TEXTS)


def messages(most: int = 30) -> Any:
    """Rows of both sides, one a message: (side, row), in the order of sending."""
    either = st.one_of(st.tuples(st.just(0), LEFT_ROW), st.tuples(st.just(1), RIGHT_ROW))
    return st.lists(either, min_size=1, max_size=most)


def feed(made: Bench, sent: list[tuple[int, Row]], size: int, workers: int, lag: int) -> None:
    """Send rows in this order, each at the latest time that this and later rows of its side allow, less `lag`."""
    schemas = (LEFT, RIGHT)
    left_over = [[row for side, row in sent if side == at] for at in (0, 1)]
    for number, start in enumerate(range(0, len(sent), size)):
        for side in (0, 1):
            rows = [row for at, row in sent[start : start + size] if at == side]
            floor = min([row[0] for row in left_over[side]], default=0)
            del left_over[side][: len(rows)]
            if rows:
                for inputs in made.inputs:
                    inputs[side].advance_to(max(inputs[side].time, floor - lag))
                made.send(as_columns(schemas[side], rows), worker=number % workers, to=side)
        made.settle()


def as_columns(schema: Schema, rows: list[Row]) -> dict[str, Any]:
    return {name: [row[at] for row in rows] for at, name in enumerate(schema.names)}


def equal(left: Row, right: Row) -> bool:
    """Whether the keys are: a null is not."""
    return left[1:3] == right[1:3] and left[2] is not None


def kept(made: Bench, name: str) -> tuple[int, int]:
    """The rows that the operators of all workers keep, of the left side and of the right."""
    operators = [o for worker in made.group.workers for o in worker.inspection.operators]
    views: Any = [o.view() for o in operators if o.name == name and o.view]  # type: ignore[misc]
    return sum(view["left"] for view in views), sum(view["right"] for view in views)


def pairs(sent: list[tuple[int, Row]], matches: Callable[[Row, Row], bool]) -> list[Row]:
    """(at, code, n, name, then, text) of every two rows that match; nulls never do."""
    lefts, rights = ([row for side, row in sent if side == at] for at in (0, 1))
    return sorted(
        [
            (left[0], right[1], left[2], left[3], right[0], right[3])
            for left in lefts
            for right in rights
            if equal(left, right) and matches(left, right)
        ],
        key=repr,
    )
