"""Every mechanism drives the compiled parts of every operator, whatever its key is: by counts of runs, and answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from tests.operators.helpers import Bench, bench
from tokenring.engine import Schema, Stream
from tokenring.operators import (
    Count,
    CountDistinct,
    Max,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    best_offers,
    last_by,
    no_op,
    running_average,
    top,
    word_count,
)

WAYS = ["tokens", "notifications", "watermarks-X", "sequential"]
KEYS = {
    "int64": [3, -4, 2**62],
    "int64?": [3, None, -4],
    "string": ["pear", "", "a longer one: äöü"],
    "string?": ["pear", None, ""],
    "float64": [0.5, -1e300, 7.25],
    "bool": [True, False],
}
Rows = list[tuple[Any, int, int]]
"""key, at, value."""


def _rows(key: str) -> Rows:
    random = Random(key)
    return [(random.choice(KEYS[key]), random.randrange(300), value) for value in random.sample(range(1000), 200)]


def _grouped(rows: Iterable[tuple[Any, ...]]) -> dict[Any, list[tuple[int, int]]]:
    found: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for *key, at, value in rows:
        found[tuple(key)].append((at, value))
    return found


def _in_windows(rows: Rows, width: int, every: int) -> list[tuple[Any, ...]]:
    """(start, end, key, count, sum, greatest)."""
    inside = [
        (start, key, at, value)
        for key, at, value in rows
        for start in range(at // every * every, at - width, -every)
        if start <= at < start + width
    ]
    return [
        (start, start + width, key, len(found), sum(value for _, value in found), max(value for _, value in found))
        for (start, key), found in _grouped(inside).items()
    ]


def _in_sessions(rows: Rows, gap: int) -> list[tuple[Any, ...]]:
    sessions = []
    for (key,), found in _grouped(rows).items():
        times = sorted(found)
        first = 0
        for i in range(1, len(times) + 1):
            if i == len(times) or times[i][0] - times[i - 1][0] >= gap:
                some = times[first:i]
                sessions.append((some[0][0], some[-1][0] + gap, key, len(some), sum(value for _, value in some)))
                first = i
    return sessions


def _last(rows: list[tuple[Any, ...]], width: int = 1) -> list[tuple[Any, ...]]:
    """The last row of each key, which is `width` columns."""
    return list({row[:width]: row for row in rows}.values())


def _same(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return rows


TOTALS = {"n": Count(), "total": Sum("value")}
Case = tuple[Callable[[Stream], Stream], Callable[[Rows], list[Any]], Callable[[list[Any]], list[Any]]]
CASES: dict[str, Case] = {
    "tumbling": (
        lambda rows: aggregate(rows, "key", window=Tumbling("at", 40), **TOTALS, most=Max("value")),
        lambda rows: _in_windows(rows, 40, 40),
        _same,
    ),
    "sliding": (
        lambda rows: aggregate(rows, "key", window=Sliding("at", 40, 10), **TOTALS, most=Max("value")),
        lambda rows: _in_windows(rows, 40, 10),
        _same,
    ),
    "late tumbling": (
        lambda rows: aggregate(rows, "key", window=Tumbling("at", 40), lateness=7, **TOTALS, most=Max("value")),
        lambda rows: _in_windows(rows, 40, 40),
        _same,
    ),
    "distinct sets": (
        lambda rows: aggregate(rows, "key", window=Tumbling("at", 100), kinds=CountDistinct("value")),
        lambda rows: [row[:4] for row in _in_windows(rows, 100, 100)],  # no value comes twice
        _same,
    ),
    "session": (
        lambda rows: aggregate(rows, "key", window=Session("at", 9), **TOTALS),
        lambda rows: _in_sessions(rows, 9),
        _same,
    ),
    "final": (
        lambda rows: aggregate(rows, "key", emit="final", **TOTALS),
        lambda rows: [(key, len(all_), sum(value for _, value in all_)) for (key,), all_ in _grouped(rows).items()],
        _same,
    ),
    "running": (
        lambda rows: aggregate(rows, "key", **TOTALS),
        lambda rows: [(key, len(all_), sum(value for _, value in all_)) for (key,), all_ in _grouped(rows).items()],
        _last,
    ),
    "each": (
        lambda rows: aggregate(rows, "key", emit="each", **TOTALS),
        lambda rows: [(key, len(all_), sum(value for _, value in all_)) for (key,), all_ in _grouped(rows).items()],
        _last,
    ),
    "top, final": (
        lambda rows: top(rows, "key", order="value", k=2, emit="final"),
        lambda rows: [
            (key, at, value, rank)
            for (key,), all_ in _grouped(rows).items()
            for rank, (at, value) in enumerate(sorted(all_, key=lambda row: -row[1])[:2], 1)
        ],
        _same,
    ),
    "best": (
        lambda rows: top(rows, "key", order="value", k=1),
        lambda rows: [(key, *max(all_, key=lambda row: row[1]), 1) for (key,), all_ in _grouped(rows).items()],
        _last,
    ),
    "top of all": (
        lambda rows: top(rows, order="value", k=3),
        lambda rows: [(*row, rank) for rank, row in enumerate(sorted(rows, key=lambda row: -row[2])[:3], 1)],
        lambda rows: list({row[-1]: row for row in rows}.values()),
    ),
    "last_by": (
        lambda rows: last_by(rows, "key", order="value"),
        lambda rows: [(key, *max(all_, key=lambda row: row[1])) for (key,), all_ in _grouped(rows).items()],
        _last,
    ),
    "no_op": (lambda rows: no_op(rows, "key"), lambda rows: list(rows), _same),
}
OF_INTEGERS: dict[str, Case] = {
    "word_count": (
        lambda rows: word_count(rows, "key", "at"),
        lambda rows: [
            (key, at, count) for (key,), all_ in _grouped(rows).items() for count, (at, _) in enumerate(sorted(all_), 1)
        ],
        _same,
    ),
    "running_average": (
        lambda rows: running_average(rows, "key", "value"),
        lambda rows: [
            (key, sum(value for _, value in all_) // len(all_), len(all_)) for (key,), all_ in _grouped(rows).items()
        ],
        _last,
    ),
}


def _ordered(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    return sorted(map(repr, rows))


def _play(made: Bench, rows: Rows, workers: int) -> list[tuple[Any, ...]]:
    """Rows in four stretches of time, in order of none within each; asserts that all that ran was compiled."""
    pythons = ("input", "recorder")
    ran: dict[str, int] = defaultdict(int)

    def note() -> None:
        for worker in made.group.workers:
            for operator in worker.inspection.operators:
                if operator.name not in pythons:
                    assert operator.compiled >= 0, f"{operator.name} runs in Python"
                    ran[operator.name] += int(worker.world.operators["runs"][operator.compiled])

    for stretch in range(4):
        made.advance(75 * stretch)
        some = [row for row in rows if row[1] // 75 == stretch]
        for worker in range(workers):
            share = some[worker::workers]
            columns = {name: [row[at] for row in share] for at, name in enumerate(("key", "at", "value"))}
            made.send(columns, worker=worker)
    made.advance(280)
    note()
    made.close()
    assert ran
    assert all(ran.values()), ran
    return [row[2:] for row in made.rows]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", WAYS)
def test_every_operator_is_compiled_under_every_mechanism(way: str, name: str, key: str, workers: int) -> None:
    declare, expected, told = CASES[name]
    rows = _rows(key)
    with bench([Schema(key=key, at="int64", value="int64")], declare, workers, way, ["at"]) as made:
        assert _ordered(told(_play(made, rows, workers))) == _ordered(expected(rows))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", OF_INTEGERS)
@pytest.mark.parametrize("way", WAYS)
def test_operators_of_the_paper_are_compiled_under_every_mechanism(way: str, name: str, workers: int) -> None:
    declare, expected, told = OF_INTEGERS[name]
    rows = _rows("int64")
    with bench([Schema("key at value")], declare, workers, way, ["at"]) as made:
        assert _ordered(told(_play(made, rows, workers))) == _ordered(expected(rows))


@pytest.mark.parametrize("way", WAYS)
def test_offers_meet_intervals_by_compiled_parts_under_every_mechanism(way: str) -> None:
    def declare(intervals: Stream, offers: Stream) -> Stream:
        return best_offers(
            intervals, offers, key="key", start="start", end="end", threshold="least", payload="payload",
            offer_key="item", offer_time="when", offer_value="price",
        )  # fmt: skip

    schemas = [Schema("key start end least payload"), Schema("item when price")]
    with bench(schemas, declare, 2, way, ["start", "when"]) as made:
        made.send({"key": [1, 2, 3], "start": [0, 5, 5], "end": [40, 20, 5], "least": [0, 50, 0], "payload": [7, 8, 9]})
        made.send({"item": [1, 1, 2, 2, 3], "when": [1, 39, 6, 19, 5], "price": [10, 20, 49, 60, 1]}, to=1)
        made.advance(30)
        assert _ordered(row[2:] for row in made.rows) == ["(8, 60)"]
        for worker in made.group.workers:
            assert all(each.compiled >= 0 for each in worker.inspection.operators if each.name == "best_offers")
        made.close()
        assert _ordered(row[2:] for row in made.rows) == ["(7, 20)", "(8, 60)"]
