"""Reductions of collections by Python functions, beside recomputation at every time, in loops too."""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.collections.harness import Rows, at, check, run
from tokenring import Collection

MADE = tr.Schema("low middle kinds")


def summary(rows: Any, times: np.ndarray) -> Any:
    """The least value, the one in the middle, how many different ones; nothing of a key with one row."""
    if times.sum() == 1:
        return None
    every = np.repeat(rows["v"], times)
    return {"low": [rows["v"][0]], "middle": [every[len(every) // 2]], "kinds": [rows.rows]}


def summaries(rows: Rows) -> Rows:
    by_key = defaultdict(list)
    for (k, v), times in rows.items():
        by_key[k] += [v] * times
    return Counter(
        [(k, min(of), sorted(of)[len(of) // 2], len(set(of))) for k, of in by_key.items() if len(of) > 1]
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_every_time_has_what_the_function_makes(workers: int) -> None:
    check(lambda rows: rows.reduce("k", summary, MADE), summaries, 1, workers, seeds=3)


def labelled(edges: Collection, nodes: Collection) -> Collection:
    """Each node with the least node that reaches it over edges, found by a function."""

    def body(labels: Collection, loop: Any) -> Collection:
        further = labels.select("k", label=tr.col("v")).join(edges.enter(loop), "k")
        found = further.select(k=tr.col("v"), v=tr.col("label")).concat(nodes.enter(loop))
        return found.reduce("k", lambda rows, times: {"v": rows["v"][:1]}, tr.Schema("v"))

    return nodes.iterate(body, "labels")


def expected_labels(edges: Rows, nodes: Rows) -> Rows:
    labels: dict[int, int] = {}
    for k, v in nodes:
        labels[k] = min(v, labels.get(k, v))
    while True:
        before = dict(labels)
        for k, v in edges:
            if k in labels:
                labels[v] = min(labels[k], labels.get(v, labels[k]))
        if labels == before:
            return Counter(labels.items())


@pytest.mark.parametrize("workers", [1, 2])
def test_functions_go_round_in_loops(workers: int) -> None:
    check(labelled, expected_labels, 2, workers, seeds=4)


def test_loops_in_loops_have_what_the_function_makes() -> None:
    """Labels within labels: what changes at incomparable times adds up."""

    def build(edges: Collection, nodes: Collection) -> Collection:
        def body(inner: Collection, loop: Any) -> Collection:
            return labelled(edges.enter(loop), inner.concat(nodes.enter(loop)).distinct())

        return nodes.distinct("nodes").iterate(body, "outer")

    check(build, expected_labels, 2, 2, seeds=2)


def test_rows_of_any_kind_come_in_order() -> None:
    schema = tr.Schema("k", name="string?", weight="float64")
    seen: list[Any] = []

    def listed(rows: Any, times: np.ndarray) -> Any:
        seen.append((rows["name"].tolist(), rows["weight"].tolist(), times.tolist()))
        return {"first": rows["name"][:1], "heaviest": [rows["weight"].max()]}

    def program(worker: tr.Worker) -> tuple[list[Any], list[Any]]:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(schema)
            made = rows.reduce("k", listed, tr.Schema(first="string?", heaviest="float64")).changes().collect()
        handle.insert({"k": [1] * 4, "name": ["b", None, "a", "b"], "weight": [-1.5, 3.0, 7.0, -2.5]})
        handle.insert({"k": [1], "name": ["b"], "weight": [-2.5]})
        worker.run()
        return seen, [column.tolist() for column in made.columns().values()]

    assert tr.execute(program, workers=1) == [
        (
            [(["a", "b", "b", None], [7.0, -2.5, -1.5, 3.0], [1, 2, 1, 1])],
            [[1], ["a"], [7.0], [0], [1]],
        )
    ]


def fails(rows: Any, times: np.ndarray) -> Any:
    raise KeyError("no such thing")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (fails, "KeyError: 'no such thing'"),
        (lambda rows, times: {"v": rows["v"]}, ("SchemaError", "'low' is missing", "'v' is too much")),
        (
            lambda rows, times: {"low": [1.5], "middle": [1], "kinds": [1]},
            ("SchemaError", "column 'low'", "float64", "int64"),
        ),
    ],
)
def test_a_function_that_fails_is_told_of(function: Callable[..., Any], said: Fact) -> None:
    with raises(tr.OperatorError, "operator 'reduce'", "key k=3", "at 4", said):
        run([[(3, 1, 4, 1)]], lambda rows: rows.reduce("k", function, MADE), 1, 0)


def test_a_row_that_is_taken_away_though_it_is_not_there_is_told_of() -> None:
    with raises(tr.OperatorError, "NegativeMultiplicityError", "operator 'reduce'", "at 2", "key k=3"):
        run([[(3, 0, 0, 1), (3, 1, 2, -1)]], lambda rows: rows.reduce("k", summary, MADE), 1, 0)


def test_columns_of_the_key_are_not_made_again() -> None:
    with raises(tr.SchemaError, "operator 'reduce'", "columns k", "others"):
        run([[]], lambda rows: rows.reduce("k", summary, tr.Schema("k")), 1, 0)


def test_what_is_kept_is_what_is_there() -> None:
    """One arrangement, reduced by two functions."""

    def build(rows: Collection) -> Collection:
        kept = rows.arrange("k")
        low = kept.reduce(lambda rows, times: {"v": rows["v"][:1]}, tr.Schema("v"), "low").collection()
        high = kept.reduce(lambda rows, times: {"v": rows["v"][-1:]}, tr.Schema("v"), "high").collection()
        return low.concat(high)

    found = run([[(1, 5, 0, 1), (1, 7, 1, 1), (1, 5, 3, -1)]], build, 2, 0)
    for time, there in ((0, [(1, 5)] * 2), (1, [(1, 5), (1, 7)]), (3, [(1, 7)] * 2)):
        assert at(found, time) == Counter(there)
