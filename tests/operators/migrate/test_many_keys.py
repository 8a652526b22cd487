"""As much state as it takes to have its tables grow, lie close together, be numbered and be rearranged, in moves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random

import pytest

from tests.operators.migrate import runs
from tests.operators.migrate.two_benches import Rows, with_moves, without_moves
from tokenring.engine import Schema, Stream
from tokenring.operators import (
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    col,
    distinct,
    top,
)

SCHEMA = Schema.of({"key": "int64", "near": "int64", "far": "int64", "name": "string", "at": "int64", "id": "int64"})
MESSAGES, ROWS = 5, 500
Make = Callable[[Stream], Stream]


def _messages(seed: int) -> list[Rows]:
    random = Random(seed)
    made: list[Rows] = []
    for time in range(MESSAGES):
        rows = []
        for number in range(ROWS):
            key, near, far = random.randrange(400), random.randrange(60), random.choice([3, -(2**62), 2**62, number])
            name, at = f"name {random.randrange(500)}" * random.randrange(1, 4), time * 10 + random.randrange(25)
            rows.append((key, near, far, name, at, time * ROWS + number))
        made.append(rows)
    return made


SETS = {"nears": CountDistinct("near"), "fars": CountDistinct("far"), "n": Count()}
WORDS = {"n": Count(), "total": Sum("near"), "first": First("near", order="id"), "last": Last("far", order="id")}
NAMED = {"first": First("name", order="id"), "last": Last("name", order="id"), "n": Count()}
NAMES = {"names": CountDistinct("name"), "long": CountDistinct("name", where=col("near") % 2 == 0), **NAMED}
RUNNING: dict[str, tuple[Make, tuple[str, ...]]] = {
    "words": (lambda rows: aggregate(rows, "key", emit="each", **WORDS), ("key",)),
    "sets": (lambda rows: aggregate(rows, "key", **SETS), ("key",)),
    "names": (lambda rows: aggregate(rows, "key", **NAMES), ("key",)),
    "far keys": (lambda rows: aggregate(rows, "far key", **SETS), ("far", "key")),
    "texts": (lambda rows: aggregate(rows, "name", n=Count(), top=Max("at")), ("name",)),
    "texts and numbers": (lambda rows: aggregate(rows, "key name", n=Count()), ("key", "name")),
    "firsts": (lambda rows: distinct(rows, "name near"), ("name", "near")),
    "top": (lambda rows: top(rows, "key", order="near", k=3, ties="id"), ("key",)),
}
WINDOWS: dict[str, Make] = {
    "tumbling": lambda rows: aggregate(rows, "key", window=Tumbling("at", 20), **WORDS),
    "tumbling sets": lambda rows: aggregate(rows, "key", window=Tumbling("at", 20), **SETS),
    "sliding": lambda rows: aggregate(rows, "key", window=Sliding("at", 30, 10), n=Count(), total=Sum("near")),
    "sliding anew": lambda rows: aggregate(rows, "key", window=Sliding("at", 30, 10), **WORDS),
    "sliding sets": lambda rows: aggregate(rows, "key", window=Sliding("at", 30, 10), **SETS),
    "sliding names": lambda rows: aggregate(rows, "name", window=Sliding("at", 30, 10), **NAMED),
    "names of sliding": lambda rows: aggregate(rows, "key", window=Sliding("at", 30, 10), **NAMES),
    "names": lambda rows: aggregate(rows, "key", window=Tumbling("at", 20), **NAMES),
    "best": lambda rows: top(rows, "key", order="near", ties="id", k=2, window=Sliding("at", 30, 10)),
    "best in the end": lambda rows: top(rows, "key", order="id", k=2, window=Sliding("at", 30, 10), lateness=15),
    "all that are best": lambda rows: top(rows, "near", order="at", ties="all", k=2, window=Tumbling("at", 20)),
    "session names": lambda rows: aggregate(rows, "key", window=Session("at", 8), **NAMES),
    "session": lambda rows: aggregate(rows, "key", window=Session("at", 8), **WORDS),
    "session sets": lambda rows: aggregate(rows, "key", window=Session("at", 8), **SETS),
}


@cache
def of_running(name: str) -> list[str]:
    """What is to come, with moves and without."""
    return without_moves(SCHEMA, RUNNING[name][0], _messages(1))


@pytest.mark.parametrize("name", sorted(RUNNING))
def test_running(name: str) -> None:
    random, messages = Random(name), _messages(1)
    owners = [[random.random() < 0.5 for _ in range(8)] for _ in messages]
    (make, key), expected = RUNNING[name], of_running(name)
    assert with_moves(SCHEMA, make, key, messages, owners) == expected


def _in_time() -> list[Rows]:
    """Messages whose times go as rows' own do."""
    return [one for rows in _messages(2) for one in (rows, *[[]] * 9)]


def _is_together(name: str) -> bool:
    return not name.startswith("session")  # sessions that end together are sent at the first one's end


@cache
def of_windows(name: str) -> list[str]:
    """The same."""
    return runs.run(SCHEMA, WINDOWS[name], _in_time(), 1, with_times=_is_together(name))


@pytest.mark.parametrize("name", sorted(WINDOWS))
def test_windows(name: str) -> None:
    random, messages, expected = Random(name), _in_time(), of_windows(name)
    changes = [(random.randrange(60), bin_, random.randrange(2)) for bin_ in range(8) for _ in range(6)]
    made = runs.run(
        SCHEMA, WINDOWS[name], messages, 2, changes, (0, 1, 1, 0), with_times=_is_together(name)
    )
    assert made == expected
