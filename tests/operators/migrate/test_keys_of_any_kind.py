"""Compiled operators by texts, nulls and both zeros, whose keys move at every time: what plain Python says of all rows.

A program has every such operator at once, so that all are fed the same rows and moved at the same times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from tests.operators.migrate import runs
from tests.random_programs import EPOCHS, INPUTS, Trial, complaint
from tests.random_programs.rows import KEYS, ONS, Row, Step
from tests.random_programs.trial import Sent
from tokenring.engine import Schema, Stream
from tokenring.operators import (
    Count,
    CountDistinct,
    First,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    col,
    filter,
    interval_join,
    join,
    last_by,
    select,
    top,
)
from tokenring.operators.state.key_words import TextNumbers

HOWS = ("inner", "left", "right", "full", "semi", "anti")
OF_ONE = ("tumbling words", "sliding words", "session words", "kinds", "last_by", "top final")
OF_ONE_IN_ORDER = ("last_by batch", "last_by each", "top batch", "top each", "batch words", "each words")
OF_TWO = (
    *(f"{join} {how}" for join in ("windowed", "interval") for how in HOWS),
    *(f"join {how}" for how in ("inner", "left", "semi", "anti")),
    *("temporal inner", "temporal left"),
)
OF_TWO_BY_MESSAGES = ("enrich inner", "enrich left")
"""Where one of them is, windows keep no rows of a worker's own until others are due with them."""
BINS, ROWS = 8, 4


def steps_by(key: str, workers: int, in_order: bool, of_two: tuple[str, ...]) -> tuple[Step, ...]:
    """Each operator by this key, where it may be one, of the inputs, and of two of them these; with fewer workers by
    other constants."""
    which, on = KEYS.index(key), tuple(key.split())
    does = [(one, (0,), which) for one in (OF_ONE_IN_ORDER if in_order else OF_ONE)]
    if on in ONS and not in_order:
        does += [(one, (0, 1), ONS.index(on)) for one in of_two]
    return tuple([
        Step(one, of, (which, (at + workers) % 2 * (not in_order), (at + workers) % 2, 0))
        for at, (one, of, which) in enumerate(does)
    ])  # fmt: skip


def _rows(random: Random, workers: list[int], ends: tuple[int, int]) -> Iterator[Sent]:
    """Texts that come all the time, and others that come at one time; some are long."""
    ids = 0
    for number in range(INPUTS):
        for worker in workers:
            for epoch in range(ends[number]):
                for _ in range(ROWS):
                    ids += 1
                    text = random.choice([None, "", "a", "ä name", f"of {epoch} only", f"{epoch % 3} " * 40])
                    k, w = random.choice([None, 0, 1]), random.choice([0.0, -0.0, 1.5])
                    row = Row(k, text, w, random.randrange(5), epoch + random.randrange(3), ids)
                    yield Sent(worker, number, epoch, 0, row)


def trial(key: str, workers: int, in_order: bool, ends: tuple[int, int], of_two: tuple[str, ...] = OF_TWO) -> Trial:
    """of_two: see `steps_by`. ends: see Trial. Rows that join nothing are known when an input ends, and no bin moves
    before."""
    random = Random(f"{key} {workers} {in_order}")
    moves = [(time, number, random.randrange(workers)) for time in range(EPOCHS + 4) for number in range(BINS)]
    steps, feeders = steps_by(key, workers, in_order, of_two), [0] if in_order else list(range(workers))
    return Trial(
        name="", steps=steps, sent=tuple(_rows(random, feeders, ends)), workers=workers,
        bins=BINS, moves=tuple(moves), ends=ends, order=key,
        looked_at=tuple(range(INPUTS, INPUTS + len(steps))), doubted=0.0,
    )  # fmt: skip


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize(("key", "workers"), [("s", 2), ("k s", 3), ("s k", 2), ("w", 3)])
def test_answers_are_those_of_all_rows(key: str, workers: int, in_order: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    arrived: dict[int, TextNumbers] = {}  # which keeps them, since a number is given again
    numbers_of = TextNumbers.numbers_of

    def counted(numbers: TextNumbers, *texts: Any) -> Any:
        arrived[id(numbers)] = numbers
        return numbers_of(numbers, *texts)

    monkeypatch.setattr(TextNumbers, "numbers_of", counted)
    program = trial(key, workers, in_order, (EPOCHS, 3))
    assert not complaint(program)
    assert len(arrived) >= workers * len(program.steps) * ("s" in key.split()), "all are compiled, and have moved"
    if not in_order:
        assert not complaint(trial(key, workers, in_order, (EPOCHS, 3), OF_TWO_BY_MESSAGES))


SCHEMA = Schema.of({"at": "int64", "name": "string?", "side": "int64"})
ROUNDS, TEXTS, STEPS, SLACK_BYTES = 12, 60, 12, 1 << 14


def _joined(rows: Stream, **how: Any) -> Stream:
    left, right = (filter(rows, col("side") == side) for side in (0, 1))
    return interval_join(left, right, on="name", left_time="at", right_time="at", lower=0, upper=1, **how)


PASSING: dict[str, Callable[[Stream], Stream]] = {
    "sliding": lambda rows: aggregate(rows, "name", window=Sliding("at", 4, 2), n=Count()),
    "session": lambda rows: aggregate(rows, "name", window=Session("at", 2), n=Count()),
    "interval": lambda rows: _joined(rows, columns=["name"]),
    "without": lambda rows: _joined(filter(rows, col("side") == 0), how="anti", columns=["name"]),
}


WINDOWS = {"sliding": 2}
"""That a row is in, if more than one."""


@pytest.mark.parametrize("name", PASSING)
def test_texts_that_came_by_moves_leave_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys come on one worker, move to the other, which gets no row, and are of the past there."""
    numbers_of, lengths, kept_bytes = TextNumbers.numbers_of, [], []

    def counted(numbers: TextNumbers, *texts: Any) -> Any:
        made = numbers_of(numbers, *texts)
        lengths.append(numbers._numbered.table.capacity)
        kept_bytes.append(numbers._texts._part[1])
        return made

    monkeypatch.setattr(TextNumbers, "numbers_of", counted)
    texts = [[f"{number} {text} {'long' * 150}" for text in range(TEXTS)] for number in range(ROUNDS)]
    messages: list[Any] = []
    for number, some in enumerate(texts):
        messages += [[(2 * number, text, side) for text in some for side in (0, 1)], []]
    changes = [(time, number, time % 2) for time in range(2 * ROUNDS) for number in range(runs.BINS)]

    def names(rows: Stream) -> Stream:
        return select(PASSING[name](rows), "name")

    found = runs.run(SCHEMA, names, messages, 2, changes, (0, 1) * STEPS, from_all=False, with_times=False)
    assert found == sorted([repr((text,)) for some in texts for text in some for _ in range(WINDOWS.get(name, 1))])
    assert len(lengths) >= ROUNDS - 1, "texts have moved"
    half = len(lengths) // 2
    assert max(lengths[half:]) <= max(lengths[:half]) and max(kept_bytes[half:]) <= max(kept_bytes[:half]) + SLACK_BYTES


OWN = ["#all", "#pane", "#closed", "#0", "#1.value", "#key0", "#time", "#to"]
"""What columns of operators' own are called."""
BY_NAMES: dict[str, Callable[[Stream, list[str]], Stream]] = {
    "tumbling": lambda rows, by: aggregate(rows, by, window=Tumbling("at", 4), n=Count(), first=First("v")),
    "sliding": lambda rows, by: aggregate(rows, by, window=Sliding("at", 4, 2), n=Count(), first=First("v")),
    "session": lambda rows, by: aggregate(rows, by, window=Session("at", 2), n=Count(), first=First("v")),
    "different": lambda rows, by: aggregate(rows, by, window=Tumbling("at", 4), n=CountDistinct("v")),
    "final": lambda rows, by: aggregate(rows, by, emit="final", n=Count(), first=First("v")),
    "running": lambda rows, by: aggregate(rows, by, n=Count(), first=First("v")),
    "of all": lambda rows, by: aggregate(rows, window=Session("at", 2), **{f"n{at}": Sum(by[at]) for at in range(8)}),
    "best": lambda rows, by: top(rows, "v", order=by[0], ties=by[1:], k=2, emit="final"),
    "best of windows": lambda rows, by: top(rows, "v", order="at", ties=by, k=1, window=Tumbling("at", 4)),
    "best of all": lambda rows, by: top(rows, order="at", ties=by, k=1, emit="final"),
    "last": lambda rows, by: last_by(rows, by, order="at", emit="final"),
    "outer join": lambda rows, by: join(
        rows, filter(rows, col("v") == 0), on="at", how="left", columns=[f"left.{each}" for each in ("at", *by)]
    ),
}


@pytest.mark.parametrize("name", BY_NAMES)
def test_columns_may_be_called_as_those_of_operators(name: str) -> None:
    changes = [(time, number, time % 2) for time in range(9) for number in range(runs.BINS)]
    messages = [[(time, time % 3, time % 2)] for time in range(9)]

    def named(names: list[str]) -> list[str]:
        def make(rows: Stream) -> Stream:
            return BY_NAMES[name](select(rows, "at", "v", **{each: col("k") for each in names}), names)

        return runs.run(Schema("at v k"), make, messages, 2, changes, (0, 1), with_times=False)

    assert named(OWN) == named([f"k{number}" for number in range(len(OWN))]) != []
