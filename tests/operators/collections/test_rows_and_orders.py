"""Row operators, thresholds, orders and means of collections, beside recomputation at every time."""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.collections.harness import TIMES, Rows, at, check, made_up, run
from tokenring import Collection
from tokenring.operators.collections import distances, least_labels


def repeated(batch: Any) -> Any:
    """Of each row (k, v) as many as v says, numbered."""
    of = np.repeat(np.arange(batch.rows), batch["v"])
    starts = np.repeat(np.cumsum(batch["v"]) - batch["v"], batch["v"])
    return of, {"k": batch["k"][of], "number": np.arange(len(of)) - starts}


def times_of(rows: Rows, made: Callable[[int, int], list[tuple[Any, ...]]]) -> Rows:
    found: Rows = Counter()
    for (k, v), times in rows.items():
        for row in made(k, v):
            found[row] += times
    return found


def by_key(rows: Rows) -> dict[int, list[int]]:
    found = defaultdict(list)
    for (k, v), times in sorted(rows.items()):
        found[k] += [v] * times
    return found


def topped(rows: Rows) -> Rows:
    """Of each key the two rows with the greatest v % 3, of these with the least v."""
    found: Rows = Counter()
    for k, values in by_key(rows).items():
        for v in sorted(values, key=lambda v: (-(v % 3), v))[:2]:
            found[k, v] += 1
    return found


def best(rows: Collection) -> Collection:
    kept = rows.with_columns(m=tr.col("v") % 3).top("k", "m v", 2, largest=[True, False])
    return kept.drop_columns("m")


def greatest_of_all(rows: Rows) -> Rows:
    ordered = sorted([(v, k) for (k, v), times in rows.items() for _ in range(times)])[-3:]
    return Counter([(k, v) for v, k in ordered])


PROGRAMS: dict[str, tuple[Callable[[Collection], Collection], Callable[[Rows], Rows]]] = {
    "flat_map": (
        lambda rows: rows.flat_map(tr.Schema("k number"), repeated),
        lambda rows: times_of(rows, lambda k, v: [(k, n) for n in range(v)]),
    ),
    "map_batches": (
        lambda rows: rows.map_batches(tr.Schema("s"), lambda batch: {"s": batch["k"] * 10 + batch["v"]}),
        lambda rows: times_of(rows, lambda k, v: [(10 * k + v,)]),
    ),
    "rename, drop": (
        lambda rows: rows.rename(k="a").drop_columns("v").rename({"a": "b"}),
        lambda rows: times_of(rows, lambda k, v: [(k,)]),
    ),
    "threshold": (
        lambda rows: rows.threshold(2),
        lambda rows: Counter({row: min(times, 2) for row, times in rows.items()}),
    ),
    "threshold by a function": (
        lambda rows: rows.threshold(lambda counts: counts // 2),
        lambda rows: Counter({row: times // 2 for row, times in rows.items() if times > 1}),
    ),
    "top": (best, topped),
    "smallest": (
        lambda rows: rows.top("k", "v", largest=False),
        lambda rows: Counter([(k, min(values)) for k, values in by_key(rows).items()]),
    ),
    "top of all": (lambda rows: rows.top("", "v", 3), greatest_of_all),
    "mean": (
        lambda rows: rows.aggregate("k", n=tr.Count(), m=tr.Mean("v"), s=tr.Sum("v")),
        lambda rows: Counter([(k, len(of), sum(of) / len(of), sum(of)) for k, of in by_key(rows).items()]),
    ),
    "mean of an arrangement": (
        lambda rows: rows.arrange("k").aggregate(m=tr.Mean("v"), s=tr.Sum("v")).collection(),
        lambda rows: Counter([(k, sum(of) / len(of), sum(of)) for k, of in by_key(rows).items()]),
    ),
    "mean of floats": (
        lambda rows: rows.with_columns(v=tr.col("v") / 2).aggregate("k", m=tr.Mean("v")),
        lambda rows: Counter([(k, sum(of) / 2 / len(of)) for k, of in by_key(rows).items()]),
    ),
    "mean of some": (
        lambda rows: rows.aggregate("k", most=tr.Max("v"), m=tr.Mean(tr.col("v") * 2, where=tr.col("v") > 1)),
        lambda rows: Counter(
            [
                (k, max(of), 2 * np.mean([v for v in of if v > 1]) if max(of) > 1 else None)
                for k, of in by_key(rows).items()
            ]
        ),
    ),
    "different values": (
        lambda rows: rows.aggregate("k", d=tr.CountDistinct("v")),
        lambda rows: Counter([(k, len(set(of))) for k, of in by_key(rows).items()]),
    ),
    "different values of some, and others": (
        lambda rows: rows.aggregate(
            "k", d=tr.CountDistinct(tr.col("v") // 2), n=tr.Count(), e=tr.CountDistinct("v", where=tr.col("v") > 2)
        ),
        lambda rows: Counter(
            [
                (k, len({v // 2 for v in of}), len(of), len({v for v in of if v > 2}))
                for k, of in by_key(rows).items()
            ]
        ),
    ),
    "key of expressions": (
        lambda rows: rows.aggregate(["k", (tr.col("v") // 2).alias("half")], n=tr.Count(), m=tr.Mean("v")),
        lambda rows: Counter(
            [
                (k, half, len(of), np.mean(of))
                for k, values in by_key(rows).items()
                for half in {v // 2 for v in values}
                for of in [[v for v in values if v // 2 == half]]
            ]
        ),
    ),
    "count by an expression": (
        lambda rows: rows.count((tr.col("v") % 2).alias("odd")),
        lambda rows: Counter([*Counter([v % 2 for _, v in rows.elements()]).items()]),
    ),
    "all": (
        lambda rows: rows.aggregate(n=tr.Count(), m=tr.Mean("v")),
        lambda rows: Counter([(rows.total(), np.mean([v for _, v in rows.elements()]))]) if rows else Counter(),
    ),
}  # fmt: skip


def without_nan(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple([None if value != value else value for value in row]) for row in found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_time_has_what_comes_of_its_rows(name: str) -> None:
    build, expected = PROGRAMS[name]
    for seed, workers in ((0, 1), (1, 2)):
        updates = made_up(seed, 50, 4, 5)
        found = without_nan(run([updates], build, workers, seed))
        assert all(row[-1] for row in found)
        for time in range(TIMES):
            assert at(found, time) == expected(at(updates, time)), (seed, time)


def test_row_operators_go_round_in_loops() -> None:
    """Each v halved until it is 0, its multiplicity at most 1."""

    def build(rows: Collection) -> Collection:
        def body(inner: Collection, loop: Any) -> Collection:
            halves = inner.map_batches(tr.Schema("k v"), lambda batch: {"k": batch["k"], "v": batch["v"] // 2})
            return halves.concat(rows.enter(loop)).threshold(1)

        return rows.threshold(1, "first").iterate(body)

    def expected(rows: Rows) -> Rows:
        found = {(k, v >> shift) for k, v in rows for shift in range(4)}
        return Counter(dict.fromkeys(found, 1))

    check(build, expected, 1, 2, seeds=2)


ENDS: dict[str, list[Any]] = {
    "int64": [-(2**63), -(2**63) + 1, 0, 2**63 - 1],
    "int64?": [-(2**63) + 1, 0, 2**63 - 1, None],
    "uint64": [0, 1, 2**64 - 2, 2**64 - 1],
    "uint64?": [0, 1, 2**64 - 2, None],
    "timestamp?": [-(2**63) + 1, 0, 2**63 - 1, None],
    "bool?": [False, True, None],
}
"""Values in order, null the last one either way."""


@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("largest", [True, False])
def test_ways_of_order_at_the_ends_of_kinds(kind: str, largest: bool) -> None:
    """A column that goes the other way than the first one is ordered as it is by itself."""
    schema, values = tr.Schema(n="int64", v=kind), ENDS[kind]
    rows = tr.Batch(schema, {"n": [7] * len(values), "v": values})
    there = [value for value in values if value is not None]
    wanted = (there[::-1] if largest else there) + [None] * (None in values)

    def flow(scope: tr.Scope, k: int) -> Any:
        collection = scope.read_arrow(rows.to_arrow()).collection()
        return collection.top("", ["n", "v"], k, largest=[not largest, largest]).changes().collect()

    for k in range(1, len(values) + 1):
        found = tr.run(lambda scope, k=k: flow(scope, k), workers=1)["v"]
        found = (found.cast("int64") if kind == "timestamp?" else found).to_pylist()
        assert sorted(found, key=str) == sorted(wanted[:k], key=str)


@pytest.mark.parametrize("largest", [True, False])
def test_a_text_goes_another_way_than_the_column_before_it(largest: bool) -> None:
    there = [(1, "a"), (1, "b"), (2, "a"), (2, "c"), (None, "b"), (1, None)]
    rows = tr.Batch(tr.Schema(n="int64?", t="string?"), dict(zip("nt", zip(*there, strict=True), strict=True)))

    def flow(scope: tr.Scope, k: int) -> Any:
        collection = scope.read_arrow(rows.to_arrow()).collection()
        return collection.top("", "n t", k, largest=[largest, not largest]).select("n", "t").changes().collect()

    wanted = [(2, "a"), (2, "c"), (1, "a"), (1, "b"), (1, None), (None, "b")]
    if not largest:
        wanted = [(1, "b"), (1, "a"), (1, None), (2, "c"), (2, "a"), (None, "b")]
    for k in range(1, len(wanted) + 1):
        found = tr.run(lambda scope, k=k: flow(scope, k), workers=1).select(["n", "t"]).to_pylist()
        assert sorted([(row["n"], row["t"]) for row in found], key=str) == sorted(wanted[:k], key=str)


@pytest.mark.parametrize("by", ["two", "each its own", "until"])
def test_rows_are_there_later(by: str) -> None:
    updates = made_up(5, 50, 4, 5)

    def build(rows: Collection) -> Collection:
        if by == "until":
            return rows.delay(until=tr.col("v") * 2)
        return rows.delay(2 if by == "two" else tr.col("v"))

    found = run([updates], build, 2, 0)
    for time in range(TIMES + 10):
        later = [
            (k, v, max(when, 2 * v) if by == "until" else when + (2 if by == "two" else v), times)
            for k, v, when, times in updates
        ]
        assert at(found, time) == at(later, time), time


def test_a_row_is_never_there_earlier() -> None:
    with raises(tr.OperatorError, "operator 'delay'", "3 before its time", "0 or more"):
        run([[(1, 2, 3, 1)]], lambda rows: rows.delay(tr.col("v") - 5), 1, 0)


@pytest.mark.parametrize("v", [2**62, 2**63 - 1])
@pytest.mark.parametrize("by", ["number", "each its own", "until"])
def test_no_row_is_there_after_the_last_time(by: str, v: int) -> None:
    """What stands behind was named, with no cure."""
    later, found = {
        "number": (lambda rows: rows.delay(2**62 - 1), 3 + 2**62 - 1),
        "each its own": (lambda rows: rows.delay(tr.col("v")), 3 + v),
        "until": (lambda rows: rows.delay(until=tr.col("v")), v),
    }[by]
    facts = "operator 'delay'", str(found), f"the last time is {2**62 - 1}", f"'v': {v}", ".filter("
    with raises(tr.OperatorError, "operator 'delay' on worker 0", *facts):
        run([[(1, 2, 3, 0), (1, v, 3, 1)]], later, 1, 0)


def edges_of(rows: tr.Collection) -> tr.Collection:
    return rows.select(src=tr.col("k"), dst=tr.col("v"))


def in_loop(rows: tr.Collection, at_round: Any) -> tr.Collection:
    with rows.stream.scope.loop() as loop:
        return rows.enter(loop, at_round).leave(loop)


def test_rows_enter_a_loop_at_rounds_that_there_are() -> None:
    updates = [(1, 2, 3, 1), (2, 0, 4, 1)]
    assert sorted(run([updates], lambda rows: in_loop(rows, tr.col("v") + 1), 1, 0)) == updates
    for round_, said in (("-2", tr.col("v") - 2), ("4611686018427387904", tr.col("v") + 2**62)):
        with raises(tr.OperatorError, "operator 'enter'", "at_round", round_, "row 0", "from 0 to"):
            run([[(1, 0, 3, 1)]], lambda rows, said=said: in_loop(rows, said), 1, 0)


@pytest.mark.parametrize(
    ("wrong", "cure"),
    [
        (lambda rows: rows.delay(-1), ("operator 'delay'", "1 before their times", "0 or more")),
        (lambda rows: rows.delay(), ("operator 'delay'", "by=", "until=")),
        (
            lambda rows: rows.delay(until=tr.when(tr.col("v") > 1).then(5)),
            ("operator 'delay'", "when((v > 1)).then(5)", "int64?", ".fill_null(...)"),
        ),
        (
            lambda rows: rows.delay(until=tr.col("v") / 2),
            ("operator 'delay'", "until=", "float64", "int64 or timestamp", ".cast(...)"),
        ),
        (
            lambda rows: rows.iterate(lambda inner, loop: inner.delay(1)),
            ("operator 'delay'", "not in loop", "leave()"),
        ),
        (lambda rows: rows.threshold(0), ("operator 'threshold'", "most", "1 or more", "not 0")),
        (lambda rows: rows.threshold(2**62), ("operator 'threshold'", "most", f"from 1 to {2**62 - 1}")),
        (lambda rows: in_loop(rows, 2**62), ("operator 'enter'", "at_round", f"from 0 to {2**62 - 1}")),
        (lambda rows: rows.arrange("k").first(-(2**62)), ("rows", f"from {1 - 2**62} to {2**62 - 1}")),
        (lambda rows: rows.threshold("3"), ("operator 'threshold'", "most", "whole number", "not '3'")),
        (lambda rows: rows.top("k", "v", 1.5), ("operator 'top'", "k must", "whole number", "not 1.5")),
        (lambda rows: rows.top("k", "v", True), ("operator 'top'", "k must", "whole number", "not True")),
        (lambda rows: rows.arrange("k").first(0), ("operator 'first'", "rows", "above or below 0", "not 0")),
        (lambda rows: rows.arrange("k").first(1.5), ("operator 'first'", "rows", "whole number", "not 1.5")),
        (lambda rows: rows.arrange("k").export("x", history=-5), ("export 'x'", "history", "0 or more", "-5")),
        (lambda rows: rows.arrange("k").export("x", history="1 day"), ("export 'x'", "history", "'1h'", "'1 day'")),
        (lambda rows: in_loop(rows, -1), ("operator 'enter'", "at_round", "0 or more", "-1")),
        (lambda rows: rows.top("k", ""), ("operator 'top'", "0 columns of order", "name one column")),
        (lambda rows: rows.arrange(None), ("operator 'arrange'", "columns are named", "not by None")),
        (lambda rows: rows.count(tr.col("k") % 2), ("operator 'count'", "(k % 2)", ".alias('name')")),
        (lambda rows: rows.top((tr.col("k") % 2).alias("a"), "v"), ("'top'", "not (k % 2).alias('a')", "with_columns")),
        (lambda rows: rows.top(["k", tr.col("v")], "v"), ("operator 'top'", "v: compute it before, by with_columns")),
        (lambda rows: rows.aggregate("k", n=tr.Sum("w")), ("operator 'aggregate', n", "column 'w'", "are k, v")),
        (lambda rows: rows.aggregate("k", n=tr.ArgMax("v", "w")), ("operator 'aggregate', n", "column 'w'")),
        (lambda rows: rows.enter(5), ("operator 'enter'", "5 is no loop", "scope.loop()")),
        (lambda rows: rows.leave(None), ("operator 'leave'", "None is no loop", "scope.loop()")),
        (lambda rows: distances(edges_of(rows), 5), ("operator 'distances'", "5 is no collection")),
        (lambda rows: distances(5, rows), ("operator 'distances'", "5 is no collection")),
        (lambda rows: least_labels(edges_of(rows), 5), ("operator 'least_labels'", "5 is no collection")),
        (lambda rows: in_loop(rows, "v"), ("operator 'enter'", "at_round", "whole number", "'v'")),
        (
            lambda rows: in_loop(rows, tr.col("v").cast("float64")),
            ("operator 'enter'", "at_round", "float64", "a round must be int64", 'cast("int64")'),
        ),
        (
            lambda rows: in_loop(rows, tr.when(tr.col("v") > 1).then(5)),
            ("operator 'enter'", "at_round", "int64?", "a round must be int64", "fill_null"),
        ),
        (lambda rows: rows.top("k", "v", 0), ("operator 'top'", "1 or more", "not 0")),
        (lambda rows: rows.top("k", "w"), ("operator 'top'", "column 'w'", "columns are k, v")),
        (lambda rows: rows.top("k", "v", largest=[True, False]), ("operator 'top'", "1 columns", "2 ways")),
        (
            lambda rows: rows.select(s=tr.lit("b"), t=tr.lit("a")).top("", "s t", largest=[True, False]),
            ("operator 'top'", "'t' is string", "the same for all texts"),
        ),
        (
            lambda rows: rows.as_schema(tr.Schema("v", k="float64")),
            ("operator 'as_schema'", "'k'", "int64", "float64", '.cast("float64")'),
        ),
        (lambda rows: rows.as_schema(tr.Schema("v", k="string?")), ("operator 'as_schema'", "'k'", "not string?")),
        (lambda rows: rows.as_schema(tr.Schema("v w")), ("operator 'as_schema'", "column 'w'", "int64?")),
        (lambda rows: rows.rename(x="y"), ("operator 'rename'", "column 'x'", "columns are k, v")),
        (
            lambda rows: rows.as_schema(tr.Schema("v", k="int64?")).aggregate(
                "k", n=tr.Count(), d=tr.CountDistinct("v")
            ),
            ("operator 'aggregate'", "CountDistinct", "key", "null", ".fill_null(...)"),
        ),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_built(wrong: Callable[..., Any], cure: Fact) -> None:
    stream = tr.Scope("wrong").new_input(tr.Schema("k v"))[1]
    with raises(tr.UsageError, cure):
        wrong(stream.collection())


def test_a_null_does_not_become_a_number() -> None:
    def build(rows: Collection) -> Collection:
        return rows.with_columns(k=tr.when(tr.col("v") > 5).then(1)).as_schema(rows.schema)

    with raises(tr.OperatorError, "operator 'as_schema'", "column 'k'", "fill_null(...)"):
        run([[(1, 2, 3, 1)]], build, 1, 0)


@pytest.mark.parametrize(
    ("function", "cure"),
    [
        (lambda batch: (np.array([0, 7]), {"k": [1, 2]}), ("row 7", "batch of 1")),
        (lambda batch: (np.array([0]), {"k": [1, 2]}), ("2 rows", "int64 (1,)")),
        (lambda batch: (np.array([0]), {"v": [1]}), ("'k' is missing", "'v' is too much")),
        (lambda batch: None, ("returned a NoneType", "return of, columns", "Schema(k=int64)")),
        (lambda batch: (np.array([0]), {"k": [1]}, 3), ("returned 3 things", "return of, columns")),
        (lambda batch: (np.array([0]), batch), ("made rows of Schema(k=int64, v=int64)", "said Schema(k=int64)")),
    ],
)
def test_a_function_that_makes_no_rows_is_told_of(function: Callable[..., Any], cure: Fact) -> None:
    with raises(tr.OperatorError, "operator 'flat_map'", "SchemaError", cure):
        run([[(1, 2, 3, 1)]], lambda rows: rows.flat_map(tr.Schema("k"), function), 1, 0)


def test_a_row_is_made_of_each() -> None:
    with raises(tr.OperatorError, "operator 'map_batches'", "2 rows of 1", "flat_map"):
        run([[(1, 2, 3, 1)]], lambda rows: rows.map_batches(tr.Schema("k"), lambda batch: {"k": [1, 2]}), 1, 0)
