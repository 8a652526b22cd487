"""Rows that are left out before they cross: never one that counts, most of those that do not."""

from __future__ import annotations

import math
import random

import numpy as np
import pyarrow as pa
import pytest

import tokenring as tr
from tests.operators.helpers import bench
from tokenring.engine import Schema
from tokenring.operators.ranking.thinning import thinned

SCHEMA = Schema.of({"k": "int64?", "name": "string", "v": "float64?", "tie": "int64", "id": "int64"})
NAMES = ["a", "", "a name that is longer than eight bytes", "ä"]
VALUES = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, 2.0, 2.0]
Row = tuple[int | None, str, float | None, int, int]


def rows_of(dice: random.Random, count: int, keys: int) -> list[Row]:
    return [
        (dice.choice([None, dice.randrange(keys)]) if keys < 9 else dice.randrange(keys), dice.choice(NAMES),
         dice.choice(VALUES), dice.randrange(2), number)
        for number in range(count)
    ]  # fmt: skip


def left_of(
    messages: list[list[Row]], by: tuple[str, ...], orders: tuple[str, ...], largest: bool, equal_wins: bool = False
) -> list[list[Row]]:
    """What is left of each message, in order."""
    with bench([SCHEMA], lambda rows: thinned(rows, "best", by, orders, largest, equal_wins)) as made:
        for time, message in enumerate(messages):
            columns = map(list, zip(*message, strict=True))
            made.send(dict(zip(SCHEMA.names, columns, strict=True)), time=time)
        made.close()
        left = made.rows
    return [[row[2:] for row in left if row[1] == time] for time in range(len(messages))]


def best(rows: list[Row], *, by_name: bool, largest: bool, equal_wins: bool, ties: bool) -> dict[object, int]:
    """The number of the best row of each key, as the operators define it."""
    found: dict[object, Row] = {}
    for row in rows:
        k, name, v, tie, _ = row
        if v is None or math.isnan(v):
            continue
        key = (k, name) if by_name else k
        mine = (-v if largest else v, tie if ties else 0)
        if key in found:
            other = found[key]
            assert other[2] is not None
            theirs = (-other[2] if largest else other[2], other[3] if ties else 0)
            if mine > theirs or (mine == theirs and not equal_wins):
                continue
        found[key] = row
    return {key: row[4] for key, row in found.items()}


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("equal_wins", [False, True])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(("count", "keys"), [(64, 3), (3_000, 3), (40_000, 200)])
def test_no_row_that_counts_is_left_out(
    count: int, keys: int, by_name: bool, largest: bool, equal_wins: bool, ties: bool
) -> None:
    dice = random.Random(f"{count} {by_name} {largest} {equal_wins} {ties}")
    by = ("k", "name") if by_name else ("k",)
    rows = rows_of(dice, count, keys)
    (left,) = left_of([rows], by, ("v", "tie") if ties else ("v",), largest, equal_wins)
    wanted = best(rows, by_name=by_name, largest=largest, equal_wins=equal_wins, ties=ties)
    assert best(left, by_name=by_name, largest=largest, equal_wins=equal_wins, ties=ties) == wanted
    assert len(left) <= count // 2
    of_key: dict[object, list[int]] = {}
    for row in left:
        of_key.setdefault(row[:2] if by_name else row[0], []).append(row[4])
    assert all(numbers == sorted(numbers) for numbers in of_key.values()), "rows of one key are not in order"


@pytest.mark.parametrize(
    ("pays", "looked_at"),
    [
        ([True] * 8, [0, 1, 2, 3, 4, 5, 6, 7]),
        ([False] * 10 + [True], [0, 2, 6, 14, 30, *range(62, 240, 32)]),  # pauses of 1, 3, 7, 15, 31 and never more
        ([False, False, True, True, False, True], [0, 2, 6, 7, 8, 10]),  # and a short one again once it has paid
    ],
)
def test_messages_of_which_most_rows_stay_pass_as_they_are(pays: list[bool], looked_at: list[int]) -> None:
    """And so do some after one of them; small ones always."""
    of_each: list[Row] = [(number, "", 1.0, 0, number) for number in range(200)]
    of_one: list[Row] = [(0, "", 1.0, 0, number) for number in range(200)]
    paid = dict(zip(looked_at, pays, strict=True))
    messages = [of_one if paid.get(number, True) else of_each for number in range(looked_at[-1] + 1)]
    with_few = [message for each in messages for message in (each, of_one[:63])]
    made = [len(left) for left in left_of(with_few, ("k",), ("v",), True)]
    assert made[::2] == [1 if paid.get(number, False) else 200 for number in range(len(messages))]
    assert made[1::2] == [63] * len(messages)


def test_keys_of_one_hash_are_two() -> None:
    def mixed(word: int) -> int:
        word = word * 0xBF58476D1CE4E5B9 % 2**64
        return word ^ word >> 29

    other = mixed(1) ^ mixed(2) ^ 5
    one, two = (1, "", 1.0, 0, 5), (2, "", 1.0, 0, other - 2**64 * (other >> 63))
    assert mixed(mixed(1) ^ 5) == mixed(mixed(2) ^ other)
    assert left_of([[one] * 100 + [two] * 100], ("k", "id"), ("v",), True) == [[one, two]]


@pytest.mark.parametrize("emit", ["batch", "final"])
@pytest.mark.parametrize("how", ["top", "last_by"])
def test_rows_of_many_workers(how: str, emit: str) -> None:
    dice = random.Random(f"{how} {emit}")
    numbers = np.arange(50_000)
    keys, orders = [dice.randrange(500) for _ in numbers], [dice.randrange(10**6) for _ in numbers]
    urls = [f"https://example.org/{number}" for number in numbers]
    table = pa.table({"k": keys, "at": orders, "url": urls})

    def flow(scope: tr.Scope) -> object:
        rows = scope.read_arrow(table)
        if how == "last_by":
            return rows.last_by("k", order="at", emit=emit).collect()
        return rows.top("k", order="at", k=1, rank=None, emit=emit).collect()

    last: dict[int, tuple[int, str]] = {}
    for k, at, url in zip(keys, orders, urls, strict=True):
        if k not in last or at > last[k][0]:
            last[k] = at, url
    found: dict[int, tuple[int, str]] = {}
    for row in tr.run(flow, workers=2).to_pylist():
        if row["k"] not in found or row["at"] > found[row["k"]][0]:
            found[row["k"]] = row["at"], row["url"]
    # Two rows of one key and instant are of either worker first.
    assert {k: at for k, (at, _) in found.items()} == {k: at for k, (at, _) in last.items()}
    rows = {(k, at, url) for k, at, url in zip(keys, orders, urls, strict=True)}
    assert all((k, at, url) in rows for k, (at, url) in found.items())


@pytest.mark.parametrize("by", [(), ("k",), ("k", "s")])
def test_rows_of_windows(by: tuple[str, ...]) -> None:
    """Those of one instant stand for each other, those of one window do not."""
    dice = random.Random(f"{by}")
    rows = [(number // 700, dice.choice("abc"), dice.randrange(3), dice.randrange(9)) for number in range(20_000)]
    table = pa.table(dict(zip(["t", "s", "k", "v"], zip(*rows, strict=True), strict=True))).append_column(
        "id", [[*range(len(rows))]]
    )
    found = tr.run(
        lambda scope: (
            scope.read_arrow(table, time="t")
            .top(by, order="v", k=1, ties="id", window=tr.Sliding("t", 6, 3))
            .select("window_start", "id")
            .collect()
        ),
        workers=2,
    )
    best: dict[object, tuple[int, int]] = {}
    for number, (t, s, k, v) in enumerate(rows):
        for start in (t // 3 * 3 - 3, t // 3 * 3):
            key = start, tuple({"k": k, "s": s}[column] for column in by)
            best[key] = min(best.get(key, (1, 0)), (-v, number))
    wanted = sorted((start, number) for (start, _), (_, number) in best.items())  # type: ignore[misc]
    assert sorted(map(tuple, zip(*found.to_pydict().values(), strict=True))) == wanted
