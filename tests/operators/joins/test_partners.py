"""Rows that have no partner stay on their worker: none that has one, none that would be missed."""

from __future__ import annotations

import math
import mmap
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tokenring as tr
from tests.errors import raises
from tokenring.engine import Batch
from tokenring.operators.joins import partners
from tokenring.operators.sources import schema_of

ROWS, PIECE = 6_000, 500
TEXTS = ["", "a", "ä", "longer than a word is", None]
KEYS: dict[str, list[Any]] = {
    "int64": [None, -1, 0, 2**63 - 1, -(2**63) + 1, *range(400)],
    "text": [*TEXTS, *[f"number {i}" for i in range(400)]],
    "float64": [None, 0.0, -0.0, math.inf, *[i / 7 for i in range(400)]],
}
HOWS = ["inner", "left", "right", "full", "semi", "anti"]


class Seen:
    """How many rows were looked at, and how many of them were left."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._counts = np.frombuffer(mmap.mmap(-1, 16), np.int64)  # worker 0 writes, whose rows are looked at
        self._keys_are_here: list[bool] = []  # in each worker its own
        take, with_partners = partners._Keys.take, partners._with_partners

        def taken(keys: partners._Keys, rows: tr.InputPort) -> None:
            take(keys, rows)
            if rows.frontier == tr.COMPLETE:
                self._keys_are_here.append(True)

        def counted(stream: tr.Stream, at: int) -> tr.Stream:
            def count(batch: Batch) -> Batch:
                self._counts[at] += batch.rows if self._keys_are_here else 0
                return batch

            return stream.map_batches(stream.schema, count)

        def looked_at(columns: Any, side: tr.Stream, *more: Any) -> tr.Stream:
            return counted(with_partners(columns, counted(side, 0), *more), 1)

        monkeypatch.setattr(partners._Keys, "take", taken)
        monkeypatch.setattr(partners, "_with_partners", looked_at)

    @property
    def rows(self) -> int:
        return int(self._counts[0])

    @property
    def left(self) -> int:
        return int(self._counts[1])

    def after_keys(self, scope: tr.Scope, table: pa.Table, waits: bool = True) -> tr.Stream:
        """The table's rows, piece by piece, sent by worker 0 once the other side's keys are there."""

        def pieces() -> Iterator[pa.Table]:
            tries = 0
            while waits and not self._keys_are_here and tries < 20_000:  # a watchdog: 20 s and more
                tries += 1
                time.sleep(0.001)
                yield table.slice(0, 0)
            for start in range(0, len(table), PIECE):
                yield table.slice(start, PIECE)

        return scope.from_generator(schema_of("rows", table.schema, None, None, "rows", lambda _: True), pieces)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(monkeypatch)


def table_of(dice: random.Random, kind: str, rows: int) -> pa.Table:
    keys = [dice.choice(KEYS[kind]) for _ in range(rows)]
    return pa.table({"k": keys, "j": [dice.randrange(2) for _ in range(rows)], "n": list(range(rows))})


def joined(left: pa.Table, right: pa.Table, how: str, on: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    """Numbers of the rows of each pair, in plain Python."""
    by: dict[Any, list[int]] = {}
    for row in right.to_pylist():
        if None not in (key := tuple([row[name] for name in on])):
            by.setdefault(key, []).append(row["n"])
    found: Counter[tuple[Any, ...]] = Counter()
    matched = set()
    for row in left.to_pylist():
        partners_of = by.get(key := tuple([row[name] for name in on]), [])
        matched |= {key} if partners_of else set()
        if how in ("semi", "anti"):
            found[row["n"],] += bool(partners_of) == (how == "semi")
        elif partners_of:
            found.update([(row["n"], n) for n in partners_of])
        elif how in ("left", "full"):
            found[row["n"], None] += 1
    if how in ("right", "full"):
        for row in right.to_pylist():
            found[None, row["n"]] += tuple([row[name] for name in on]) not in matched
    return +found


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("on", [("k",), ("k", "j")])
@pytest.mark.parametrize(("kind", "workers"), [("int64", 2), ("text", 1), ("text", 2), ("float64", 2)])
def test_the_join_is_what_it_was(kind: str, workers: int, on: tuple[str, ...], how: str, seen: Seen) -> None:
    dice = random.Random(f"{kind} {on} {how}")
    left, right = table_of(dice, kind, ROWS), table_of(dice, kind, 60)

    def dataflow(scope: tr.Scope) -> Any:
        few = scope.read_arrow(right, time=0).filter(tr.col("n") < 20)
        columns = {"left": "left.n"} if how in ("semi", "anti") else {"left": "left.n", "right": "right.n"}
        many = seen.after_keys(scope, left, waits)
        return many.join(few, on=" ".join(on), how=how, columns=columns).collect()

    waits = how not in ("left", "full", "anti")  # those want the left's rows that match nothing
    answer = tr.run(dataflow, workers=workers)
    assert Counter(zip(*answer.to_pydict().values(), strict=True)) == joined(left, right.slice(0, 20), how, on)
    if waits:
        assert seen.left < ROWS / 4 and seen.rows == ROWS
    else:
        assert seen.rows == 0


def test_the_filtered_side_may_be_the_left_one(seen: Seen) -> None:
    dice = random.Random(4)
    left, right = table_of(dice, "int64", 60), table_of(dice, "int64", ROWS)

    def dataflow(scope: tr.Scope) -> Any:
        few = scope.read_arrow(left, time=0).filter(tr.col("n") < 20)
        many = seen.after_keys(scope, right)
        return few.join(many, on="k", how="left", columns={"left": "left.n", "right": "right.n"}).collect()

    answer = tr.run(dataflow, workers=3)
    wanted = joined(left.slice(0, 20), right, "left", ("k",))
    assert Counter(zip(*answer.to_pydict().values(), strict=True)) == wanted
    assert seen.left < ROWS / 4 and seen.rows == ROWS


def test_rows_that_a_condition_of_the_join_leaves_out_are_no_partners(seen: Seen) -> None:
    """They cross, since their keys are looked at, but no row waits for them."""
    left = table_of(random.Random(5), "int64", ROWS)
    right = pa.table({"k": list(range(400)), "n": list(range(400))})

    def dataflow(scope: tr.Scope) -> Any:
        wanted, many = tr.col("n") < 20, seen.after_keys(scope, left)
        few = scope.read_arrow(right, time=0)
        columns = {"left": "left.n", "right": "right.n"}
        return many.join(few, on="k", unique="right", right_where=wanted, columns=columns).collect()

    answer = tr.run(dataflow, workers=2)
    wanted = joined(left, right.slice(0, 20), "inner", ("k",))
    assert Counter(zip(*answer.to_pydict().values(), strict=True)) == wanted
    assert seen.left < ROWS / 4 and seen.rows == ROWS


def test_a_second_row_of_a_unique_side_is_found_although_it_has_no_partner(seen: Seen) -> None:
    left = pa.table({"k": [1] * ROWS, "n": list(range(ROWS))})

    def dataflow(scope: tr.Scope) -> Any:
        few = scope.read_arrow(pa.table({"k": [5]}), time=0).filter(tr.col("k") > 0)
        return scope.read_arrow(left, time=0).join(few, on="k", unique="left", columns="n").collect()

    with raises(tr.OperatorError, "'join'", "second row", "k=1"):
        tr.run(dataflow, workers=2)
    assert seen.rows == 0


@pytest.mark.parametrize("why", ["not filtered", "too many", "may not end"])
def test_where_it_does_not_pay_all_rows_cross(why: str, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(why)
    left, right = table_of(dice, "int64", ROWS), table_of(dice, "int64", 60)
    monkeypatch.setattr(partners, "_MOST_KEYS", 10 if why == "too many" else 100)

    def dataflow(scope: tr.Scope) -> Any:
        few = scope.read_arrow(right, time=0)
        if why == "may not end":
            few = few.exchange("k")
        if why != "not filtered":
            few = few.filter(tr.col("n") < 20)
        columns = {"left": "left.n", "right": "right.n"}
        return seen.after_keys(scope, left, waits=why == "too many").join(few, on="k", columns=columns).collect()

    answer = tr.run(dataflow, workers=2)
    wanted = joined(left, right.slice(0, 60 if why == "not filtered" else 20), "inner", ("k",))
    assert Counter(zip(*answer.to_pydict().values(), strict=True)) == wanted
    assert seen.left == seen.rows


def test_messages_of_which_most_rows_stay_pass_as_they_are(seen: Seen) -> None:
    left = table_of(random.Random(6), "int64", ROWS)
    right = pa.table({"k": [None, -1, 0, 2**63 - 1, -(2**63) + 1, *range(400)], "n": list(range(405))})

    def dataflow(scope: tr.Scope) -> Any:
        many, few = seen.after_keys(scope, left), scope.read_arrow(right, time=0).filter(tr.col("n") < 400)
        return many.join(few, on="k", columns={"left": "left.n", "right": "right.n"}).collect()

    answer = tr.run(dataflow, workers=2)
    wanted = joined(left, right.slice(0, 400), "inner", ("k",))
    assert Counter(zip(*answer.to_pydict().values(), strict=True)) == wanted
    assert seen.left == seen.rows == ROWS
