"""Joins of collections beside recomputation: pairs, and rows that meet none."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.collections.harness import Rows, at, check, run
from tokenring import Collection


def odd_keys(rows: Collection, value: str) -> Collection:
    """Keys that may be null, and a value of another name."""
    return rows.select(k=tr.when(tr.col("k") % 2 == 1).then(tr.col("k")), **{value: tr.col("v")})


def joined(how: str, is_nullable: bool = False) -> Callable[..., Rows]:
    """The join of rows (key, value) and (key, other) that is called so; with keys that are null where they are even."""

    def of(rows: Rows) -> Rows:
        found: Rows = Counter()
        for (k, v), times in rows.items():
            found[k if k % 2 or not is_nullable else None, v] += times
        return found

    def made(left: Rows, right: Rows) -> Rows:
        found: Rows = Counter()
        left, right = of(left), of(right)
        keys = {k for k, _ in left} & {k for k, _ in right} - {None}
        for (k, v), times in left.items():
            for (other, w), more in right.items():
                if k == other and k in keys:
                    found[k, v, w] += times * more
            if how in ("left", "full") and k not in keys:
                found[k, v, None] += times
        for (k, w), times in right.items():
            if how in ("right", "full") and k not in keys:
                found[k, None, w] += times
        return found

    return made


def outer(how: str, is_nullable: bool = False) -> Callable[..., Collection]:
    def build(left: Collection, right: Collection) -> Collection:
        if is_nullable:
            left, right = odd_keys(left, "v"), odd_keys(right, "w")
        else:
            right = right.select("k", w=tr.col("v"))
        made: Collection = getattr(left, f"{how}_join" if how != "inner" else "join")(right, "k")
        return made

    return build


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("is_nullable", [False, True])
@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_every_time_has_its_pairs_and_those_that_meet_none(how: str, is_nullable: bool, workers: int) -> None:
    check(outer(how, is_nullable), joined(how, is_nullable), 2, workers)


def by_two(left: Collection, right: Collection) -> Collection:
    """By both columns, which the right side calls otherwise, and whose other column is called as a key of the left."""
    other = right.select(a=tr.col("k"), b=tr.col("v"), k=tr.col("k") + tr.col("v"))
    return left.left_join(other, {"k": "a", "v": "b"}, suffix="_right")


def test_sides_meet_by_columns_of_other_names() -> None:
    def expected(left: Rows, right: Rows) -> Rows:
        return Counter(
            {(k, v, k + v if (k, v) in right else None): n * max(right[k, v], 1) for (k, v), n in left.items()}
        )

    check(by_two, expected, 2, 2)


@pytest.mark.parametrize("is_semi", [True, False])
def test_rows_that_meet_some_and_none_by_columns_of_other_names(is_semi: bool) -> None:
    def build(left: Collection, right: Collection) -> Collection:
        meet = left.semijoin if is_semi else left.antijoin
        return meet(right, left_on="k", right_on="v")

    def expected(left: Rows, right: Rows) -> Rows:
        there = {v for _, v in right}
        return Counter({row: n for row, n in left.items() if (row[0] in there) == is_semi})

    check(build, expected, 2, 2)


def test_outer_joins_go_round_in_loops() -> None:
    """From each node over one edge, where there is one, until nothing changes: which keys may be reached."""

    def build(edges: Collection, starts: Collection) -> Collection:
        def body(nodes: Collection, loop: Any) -> Collection:
            ends = nodes.left_join(edges.enter(loop).select("k", to=tr.col("v")), "k")
            return nodes.concat(ends.select(k=tr.col("to").fill_null(-1))).distinct()

        return starts.select("k").distinct("starts").iterate(body)

    def expected(edges: Rows, starts: Rows) -> Rows:
        found = {k for k, _ in starts}
        while True:
            more = {v for k, v in edges if k in found}
            more |= {-1} if found - {k for k, _ in edges} else set()
            if more <= found:
                return Counter({(k,): 1 for k in found})
            found |= more

    check(build, expected, 2, 2, seeds=2)


def test_text_that_is_missing_is_null() -> None:
    def program(worker: tr.Worker) -> list[Any]:
        with worker.dataflow() as scope:
            _, orders = scope.new_input(tr.Schema("id"), "orders")
            numbers, rows = scope.new_input(tr.Schema("k v time times"))
            nothing = orders.collection().with_columns(name=tr.lit("a"), v=tr.lit(0))
            made = rows.collection("time", "times").as_schema(tr.Schema("v", name="string?", at="timestamp?"))
            changes = made.concat(nothing.as_schema(made.schema).filter(tr.col("v") > 0)).changes().collect()
        numbers.send({"k": [1], "v": [5], "time": [0], "times": [1]})
        worker.run()
        return [column.tolist() for column in changes.columns().values()]

    assert tr.execute(program, workers=1) == [[[5], [None], [None], [0], [1]]]


@pytest.mark.parametrize(
    ("wrong", "cure"),
    [
        (lambda left, right: left.join(right, "k"), ("operator 'join'", "both sides", "column 'v'", "suffix='_right'")),
        (lambda left, right: left.join(right), ("operator 'join'", "on='id'", "left_on=", "right_on=")),
        (
            lambda left, right: left.join(right, "k", right_on="v"),
            ("operator 'join'", "on='id'", "left_on=", "right_on="),
        ),
        (
            lambda left, right: left.left_join(right, left_on="k v", right_on="k"),
            ("operator 'left_join'", "2 columns of the left", "1 of the right"),
        ),
        (
            lambda left, right: left.full_join(right, {"k": "key"}),
            ("operator 'full_join'", "column 'key'", "columns are k, v"),
        ),
        (
            lambda left, right: left.join(right.select(k=tr.col("k") > 1), "k"),
            ("operator 'join'", "'k' is int64", "'k' is bool", "cast"),
        ),
        (
            lambda left, right: left.arrange("k").join(right),
            ("operator 'join'", "is joined with another", ".arrange(...)", ".collection().join("),
        ),
        (lambda left, right: left.join(right, ""), ("operator 'join'", "0 columns of the left", "one at least")),
        (lambda left, right: left.join(right, "k", suffix=5), ("operator 'join'", "suffix", "'_right'", "not 5")),
        (lambda left, right: left.arrange("k").join(5), ("operator 'join'", "not with int", ".arrange(...)")),
        (
            lambda left, right: left.join(right.select(t=tr.col("k") > 1), {"k": "t"}),
            ("operator 'join'", "'k' is int64", "'t' is bool", "cast"),
        ),
    ],
)
def test_what_cannot_meet_is_refused_when_it_is_built(wrong: Callable[..., Any], cure: Fact) -> None:
    with raises(tr.SchemaError, cure):
        run([[], []], wrong, 1, 0)


@pytest.mark.parametrize("how", ["left", "full"])
@pytest.mark.parametrize(("kind", "null"), [("int64", -(2**63)), ("uint64", 2**64 - 1)])
def test_the_number_that_would_be_null_joins_no_rows_that_may_miss(kind: str, null: int, how: str) -> None:
    def make(scope: tr.Scope) -> Any:
        left = scope.read_arrow(pa.table({"k": [1, 2]})).collection()
        right = scope.read_arrow(pa.table({"k": [1], "v": pa.array([null], kind)})).collection()
        return getattr(left, f"{how}_join")(right, "k").changes().collect()

    said = (f"operator '{how}_join.columns'", "column 'v'", f"{null}, the number that stands for null in {kind}?")
    with raises(tr.OperatorError, *said, f"'k': 1, 'v': {null}"):
        tr.run(make, workers=1)


def test_rows_of_several_scopes_do_not_meet() -> None:
    def forgets(left: Collection, right: Collection) -> Collection:
        other = right.select("k", w=tr.col("v"))
        return left.iterate(lambda inner, loop: inner.join(other, "k").select("k", v=tr.col("w")), "around")

    with raises(tr.GraphError, "operator 'join'", "loop 'around'", "root scope", ".enter(loop)", ".leave(loop)"):
        run([[], []], forgets, 1, 0)


def test_a_key_that_comes_and_goes_takes_its_nulls_along() -> None:
    made = run([[(1, 5, 0, 1)], [(1, 7, 2, 1), (1, 7, 4, -1)]], outer("left"), 2, 0, early=0)
    for time, there in ((0, (1, 5, None)), (2, (1, 5, 7)), (5, (1, 5, None))):
        assert at(made, time) == Counter({there: 1})


def test_what_is_kept_by_a_key_is_not_kept_twice() -> None:
    """What is made of a key's rows is joined where it is, and so are rows of a key that the program sets."""
    scope = tr.Scope("kept")
    _, people = scope.new_collection(tr.Schema("id city"), "people", key="id")
    _, orders = scope.new_collection(tr.Schema("id cents"), "orders")
    dearest = orders.aggregate("id", cents=tr.Max("cents"))
    before = {operator.name for operator in scope.graph.operators}
    dearest.join(people, "id"), dearest.left_join(people, "id"), people.antijoin(dearest, "id")
    made = [operator.name for operator in scope.graph.operators if operator.name not in {*before, "union"}]
    assert made == ["join", "left_join", "left_join.left.keys", "left_join.left.met", "antijoin.keys", "antijoin"]
