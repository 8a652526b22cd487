"""Collections that are defined through each other in a loop, beside recomputation."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.collections.harness import TIMES, Rows, at, check, made_up, run_several
from tokenring import Collection

LINE = tr.Schema(line="string", first="int64")


def as_lines(stops: Collection) -> Collection:
    """Rows (line, k): line v stops at k."""

    def named(batch: tr.Batch) -> dict[str, Any]:
        return {"line": [f"line {v}" for v in batch["v"].tolist()], "k": batch["k"]}

    return stops.map_batches(tr.Schema(line="string", k="int64"), named)


def travelled(stops: Collection, start: Collection) -> dict[str, Collection]:
    """The cities that are reached, and the lines that go there, with the least city at which each is boarded."""
    lines_of = as_lines(stops)
    with stops.stream.scope.loop("travel") as loop:
        cities = loop.variable(tr.Schema("k"), "cities")
        lines = loop.variable(LINE, "lines")
        never = loop.variable(tr.Schema("nothing"), "never")
        inside = lines_of.enter(loop)
        boarded = cities.rows.join(inside, "k").select("line", first=tr.col("k"))
        lines.set(boarded.aggregate("line", first=tr.Min("first")))
        left = lines.rows.join(inside, "line").select("k")
        reached = cities.set(start.select("k").enter(loop).concat(left, never.rows.rename(nothing="k")).distinct())
        never.set(never.rows)
        return {"cities": reached.leave(loop), "lines": lines.rows.leave(loop), "again": cities.rows.leave(loop)}


def travelled_from_scratch(stops: Rows, start: Rows) -> tuple[Rows, Rows]:
    cities = {k for k, _ in start}
    while True:
        lines = {v for k, v in stops if k in cities}
        more = cities | {k for k, v in stops if v in lines}
        if more == cities:
            break
        cities = more
    first = {v: min(k for k, line in stops if line == v and k in cities) for v in lines}
    return Counter(dict.fromkeys([(k,) for k in cities], 1)), Counter(
        dict.fromkeys([(f"line {v}", k) for v, k in first.items()], 1)
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_two_of_other_schemas_are_what_they_are_from_scratch(workers: int) -> None:
    for seed in range(4):
        updates = [made_up(seed, 60, 12, 8), made_up(90 + seed, 12, 12, 1)]
        found = run_several(updates, travelled, workers, seed)
        for time in range(TIMES):
            cities, lines = travelled_from_scratch(*[at(each, time) for each in updates])
            assert at(found["cities"], time) == at(found["again"], time) == cities, (seed, time)
            assert at(found["lines"], time) == lines, (seed, time)


def test_nothing_comes_of_nothing_and_goes_with_what_it_came_of() -> None:
    steps = [(k, k // 2, 0, 1) for k in range(30)] + [(k + 1, k // 2, 0, 1) for k in range(1, 30, 2)]
    updates: list[Any] = [steps, [(0, 0, 1, 1), (0, 0, 3, -1)]]  # a chain of 15 lines, and its begin for a while
    found = run_several(updates, travelled, 1, 2)
    sizes = [[sum(at(found[name], time).values()) for name in ("cities", "lines")] for time in range(4)]
    assert sizes == [[0, 0], [31, 15], [31, 15], [0, 0]]


@pytest.mark.parametrize("is_inside", [False, True])
def test_one_that_begins_with_rows_is_an_iteration(is_inside: bool) -> None:
    def build(edges: Collection) -> Collection:
        with edges.stream.scope.loop("closure") as loop:
            paths = loop.variable(edges.enter(loop) if is_inside else edges, "paths")
            ends = paths.rows.rename(k="begin", v="k")
            further = ends.join(edges.enter(loop), "k").select(k=tr.col("begin"), v=tr.col("v"))
            return paths.set(paths.rows.concat(further).distinct()).leave(loop)

    def expected(edges: Rows) -> Rows:
        found = set(edges)
        while True:
            more = found | {(a, d) for a, b in found for c, d in edges if b == c}
            if more == found:
                return Counter(dict.fromkeys(found, 1))
            found = more

    check(build, expected, 1, 1, 2)


def test_loops_within_loops_have_variables_of_their_own() -> None:
    def build(rows: Collection) -> Collection:
        with rows.stream.scope.loop("outer") as outer:
            most = outer.variable(rows.select("k"), "most")
            with outer.loop("inner") as inner:
                below = inner.variable(most.rows, "below")
                smaller = below.rows.filter(tr.col("k") > 0).select(k=tr.col("k") - 1)
                down = below.set(below.rows.concat(smaller).distinct()).leave(inner)
            return most.set(down).leave(outer)

    check(build, lambda rows: Counter({(k,): 1 for k in range(1 + max((k for k, _ in rows), default=-1))}), 1, 1, 2)


def test_rows_enter_at_the_round_that_an_expression_says() -> None:
    """Each row meets the number of its round first, of those that come by round for round."""

    def build(rows: Collection) -> Collection:
        with rows.stream.scope.loop("rounds") as loop:
            number = loop.variable(rows.filter(tr.col("k") == 0).select(n=tr.col("v") * 0).distinct(), "number")
            met = loop.variable(tr.Schema("k n"), "met")
            late = rows.enter(loop, tr.col("k")).select("k")
            here = late.with_columns(all=tr.lit(0)).join(number.rows.with_columns(all=tr.lit(0)), "all")
            number.set(number.rows.filter(tr.col("n") < 5).select(n=tr.col("n") + 1))
            return met.set(met.rows.concat(here.select("k", "n")).aggregate("k", n=tr.Min("n"))).leave(loop)

    found = run_several([[(k, 0, 0, 1) for k in range(4)]], lambda rows: {"made": build(rows)}, 1, 1)["made"]
    assert at(found, 0) == {(k, k): 1 for k in range(4)}


@pytest.mark.parametrize(
    ("wrong", "cure"),
    [
        (
            lambda loop, rows, of: of.set(rows.enter(loop).select("k")),
            ("'of'", "Schema(k=int64)", "Schema(k=int64, v=int64)"),
        ),
        (lambda loop, rows, of: of.set(of.rows.arrange("k")), ("'of'", "Arranged", ".collection()")),
        (lambda loop, rows, of: of.set(rows), ("'of'", "loop 'loop'", "root scope", ".enter(loop)")),
        (lambda loop, rows, of: [of.set(of.rows), of.set(of.rows)], ("'of'", "set before", "concat")),
        (lambda loop, rows, of: None, ("variable of", "no input", "set(rows)")),
        (lambda loop, rows, of: loop.variable("k v"), ("'variable'", "'k v'", "Schema", "collection")),
        (
            lambda loop, rows, of: rows.iterate(lambda inner, loop: inner.arrange("k")),
            ("'iterate'", "Arranged", ".collection()"),
        ),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_built(wrong: Any, cure: Fact) -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            _, rows = scope.new_collection(tr.Schema("k v"))
            with scope.loop("loop") as loop:
                wrong(loop, rows, loop.variable(tr.Schema("k v"), "of"))

    with raises(tr.TokenRingError, cure) as raised:
        tr.execute(program, workers=1)
    assert not isinstance(raised.value, tr.OperatorError)


def test_one_without_an_end_says_what_changes_still() -> None:
    def build(rows: Collection) -> Collection:
        with rows.stream.scope.loop("upwards") as loop:
            rising = loop.variable(rows, "rising", rounds=20)
            return rising.set(rising.rows.with_columns(v=tr.col("v") + 1)).leave(loop)

    with raises(tr.OperatorError, "operator 'rising'", "20 rounds", "'k': 3", "rounds=200"):
        run_several([[(3, 0, 0, 1)]], lambda rows: {"made": build(rows)}, 1, 0)
