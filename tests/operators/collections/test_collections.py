"""Collections beside recomputation from scratch, at every time."""

from collections import Counter, defaultdict
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.collections.harness import UPDATE, Rows, at, check, run
from tokenring import Collection, collection


def joined(left: Rows, right: Rows) -> Rows:
    found: Rows = Counter()
    for (key, value), times in left.items():
        for (other, w), more in right.items():
            if key == other:
                found[key, value, w] += times * more
    return found


def without_values(pairs: Rows) -> Rows:
    """Keys and the values of the right side."""
    found: Rows = Counter()
    for (key, _, value), times in pairs.items():
        found[key, value] += times
    return found


def totals(rows: Rows) -> Rows:
    by_key: dict[int, list[int]] = defaultdict(list)
    for (key, value), times in rows.items():
        by_key[key] += [value] * times
    return Counter({(key, len(of), sum(of), min(of), max(of)): 1 for key, of in by_key.items()})


def reached(edges: Rows) -> Rows:
    """The least number of steps from node 0 to each, over edges."""
    found, last = {0: 0}, [0]
    while last:
        last = [v for (k, v), times in edges.items() if k in last and times and v not in found]
        found |= dict.fromkeys(last, max(found.values()) + 1)
    return Counter({(node, steps): 1 for node, steps in found.items()})


def closed(edges: Rows) -> Rows:
    """The transitive closure."""
    found = set(edges)
    while True:
        more = found | {(k, w) for k, v in found for other, w in found if v == other}
        if more == found:
            return Counter(dict.fromkeys(found, 1))
        found = more


def total(rows: Any) -> Any:
    return rows.aggregate("k", n=tr.Count(), s=tr.Sum("v"), low=tr.Min("v"), high=tr.Max("v"))


def reach(edges: Collection, root: Collection) -> Collection:
    roots = root.select(k=tr.col("k") * 0, v=tr.col("k") * 0).distinct("roots")

    def body(steps: Collection, loop: Any) -> Collection:
        nearer = steps.select("k", steps=tr.col("v")).join(edges.enter(loop), "k", "step")
        found = nearer.select(k=tr.col("v"), v=tr.col("steps") + 1)
        return found.concat(roots.enter(loop)).arrange("k").first(1).collection()

    return roots.iterate(body)


def closure(edges: Collection) -> Collection:
    def body(paths: Collection, loop: Any) -> Collection:
        ends = paths.select(begin=tr.col("k"), k=tr.col("v"))
        further = ends.join(edges.enter(loop), "k").select(k=tr.col("begin"), v=tr.col("v"))
        return further.concat(edges.enter(loop)).distinct()

    return edges.distinct("edges").iterate(body)


def labelled(edges: Collection, nodes: Collection) -> Collection:
    """Each node with the least node that reaches it over edges."""

    def body(labels: Collection, loop: Any) -> Collection:
        further = labels.select("k", label=tr.col("v")).join(edges.enter(loop), "k")
        found = further.select(k=tr.col("v"), v=tr.col("label")).concat(nodes.enter(loop))
        return found.arrange("k").first(1).collection()

    return nodes.iterate(body, "labels")


def trimmed(cycles: Collection, edges: Collection) -> Collection:
    """The edges whose ends are reached by the same least node over `cycles`, the other way round."""
    labels = labelled(cycles, edges.select(k=tr.col("v"), v=tr.col("v")).distinct("nodes"))
    begins = edges.join(labels.select("k", first=tr.col("v")), "k", "begins")
    turned = begins.select(k=tr.col("v"), begin=tr.col("k"), first=tr.col("first"))
    both = turned.join(labels.select("k", second=tr.col("v")), "k", "ends")
    return both.filter(tr.col("first") == tr.col("second")).select(k=tr.col("k"), v=tr.col("begin"))


def cycles(edges: Collection) -> Collection:
    """The edges within strongly connected components: after differential dataflow's example, a loop in a loop."""
    edges = edges.distinct("edges")

    def body(inner: Collection, loop: Any) -> Collection:
        entered = edges.enter(loop)
        return trimmed(trimmed(inner, entered), entered.select(k=tr.col("v"), v=tr.col("k")))

    return edges.iterate(body, "components")


def within(edges: Rows) -> Rows:
    paths = closed(edges)
    return Counter({(k, v): 1 for k, v in edges if k == v or (v, k) in paths})


PROGRAMS: dict[str, tuple[int, Callable[..., Collection], Callable[..., Rows]]] = {
    "totals": (1, total, totals),
    "sums": (
        1,
        lambda rows: rows.aggregate("k", n=tr.Count(), s=tr.Sum("v"), t=tr.Sum("k")),
        lambda rows: Counter({(k, n, s, k * n): 1 for k, n, s, _, _ in totals(rows)}),
    ),
    "distinct": (1, lambda rows: rows.distinct(), lambda rows: Counter(dict.fromkeys(rows, 1))),
    "filter": (
        1,
        lambda rows: rows.filter(tr.col("v") > 0),
        lambda rows: Counter({row: n for row, n in rows.items() if row[1]}),
    ),
    "join": (2, lambda left, right: left.join(right.select("k", w=tr.col("v")), "k"), joined),
    "antijoin": (
        2,
        lambda left, right: left.antijoin(right, "k"),
        lambda left, right: Counter({row: n for row, n in left.items() if row[0] not in {k for k, _ in right}}),
    ),
    "counts of a join": (
        2,
        lambda left, right: total(left.join(right.select("k", w=tr.col("v")), "k").select("k", v=tr.col("w"))),
        lambda left, right: totals(without_values(joined(left, right))),
    ),
    "reach": (2, reach, lambda edges, root: reached(edges) if root else Counter()),
    "closure": (1, closure, closed),
    "strong components": (1, cycles, within),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_time_has_what_comes_of_its_rows(name: str, workers: int) -> None:
    inputs, build, expected = PROGRAMS[name]
    check(build, expected, inputs, workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_comes_and_goes_in_a_round_goes_no_further(workers: int) -> None:
    """A body that adds rows and takes the same away: nothing changes, so the loop ends."""

    def build(rows: Collection) -> Collection:
        def body(inner: Collection, loop: tr.Loop) -> Collection:
            return inner.concat(inner.filter(tr.col("v") % 2 == 1).negate())

        return rows.iterate(body, rounds=4)

    check(build, lambda rows: Counter({row: n for row, n in rows.items() if row[1] % 2 == 0}), 1, workers)


def test_a_loop_without_an_end_says_what_changes_still() -> None:
    def build(rows: Collection) -> Collection:
        return rows.iterate(lambda inner, loop: inner.with_columns(v=tr.col("v") + 1), "upwards", rounds=20)

    with raises(tr.OperatorError, "operator 'upwards'", "20 rounds", "'k': 3", "rounds=200"):
        run([[(3, 0, 0, 1)]], build, 1, 0)


def test_a_row_that_is_taken_away_though_it_is_not_there_is_told_of() -> None:
    with raises(tr.OperatorError, "NegativeMultiplicityError", "operator 'aggregate'", "at 2", "key k=3"):
        run([[(3, 0, 0, 1), (3, 1, 2, -1)]], total, 1, 0)


def summed(rows: Collection) -> Collection:
    return rows.aggregate("k", s=tr.Sum("v"))


@pytest.mark.parametrize("build", [total, summed])
def test_a_sum_beyond_int64_is_told_of(build: Callable[..., Collection]) -> None:
    with raises(tr.OperatorError, "operator 'aggregate'", "at 1", "key k=3", "sum"):
        run([[(3, 1 << 62, 0, 1), (3, 1 << 62, 1, 1)]], build, 1, 0)


def test_sums_are_exact_as_far_as_int64_goes() -> None:
    high, low = (1 << 63) - 1, -(1 << 63)
    updates = [(1, high, 0, 1), (2, low, 0, 1), (1, -1, 1, 5), (2, high, 2, 1), (1, high, 3, -1)]
    found = run([updates], summed, 1, 0)
    for time, expected in ((0, {(1, high), (2, low)}), (1, {(1, high - 5), (2, low)}), (3, {(1, -5), (2, -1)})):
        assert at(found, time) == Counter(dict.fromkeys(expected, 1))


def test_an_update_before_its_message_is_told_of() -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(UPDATE)
            collection(stream, "time", "times").changes().collect()
        handle.advance_to(5)
        handle.send({"k": [1], "v": [2], "time": [4], "times": [1]})
        worker.run()

    with raises(tr.OperatorError, "operator 'updates'", "update at 4", "time 5"):
        tr.execute(program, workers=1)


@pytest.mark.parametrize(
    ("wrong", "cure"),
    [
        (
            lambda rows, texts: texts.aggregate("k", s=tr.Sum("t")),
            ("operator 'aggregate'", "Sum of column 't'", "string", "cast"),
        ),
        (lambda rows, texts: rows.aggregate("k", s=tr.Sum("w")), ("column 'w'", "columns are k, v")),
        (
            lambda rows, texts: rows.aggregate("k", n=tr.Count(where=lambda batch: batch["v"] > 0)),
            ("operator 'aggregate'", "function", "give an expression"),
        ),
        (
            lambda rows, texts: rows.arrange("k").aggregate(s=tr.Sum("k")),
            ("operator 'aggregate'", "column 'k' is of the key"),
        ),
        (
            lambda rows, texts: rows.arrange("k").aggregate(s=tr.Sum(tr.col("v") * 2)),
            ("operator 'aggregate'", "s is of an expression", "with_columns"),
        ),
        (
            lambda rows, texts: rows.reduce("k", None, tr.Schema("n")),
            ("operator 'reduce'", "a function", "the schema", "not None and Schema(n=int64)"),
        ),
        (
            lambda rows, texts: rows.reduce("k", lambda rows, times: rows, "n"),
            ("operator 'reduce'", "the schema", "and 'n'"),
        ),
        (lambda rows, texts: rows.arrange("w"), ("column 'w'", "columns are k, v")),
        (lambda rows, texts: rows.concat(texts), ("Schema(k=int64, t=string)", "Schema(k=int64, v=int64)", "select")),
        (lambda rows, texts: rows.join(rows, "k"), ("operator 'join'", "both sides", "column 'v'", "suffix='_right'")),
        (
            lambda rows, texts: rows.with_columns(k=Decimal("1.5")).join(texts.with_columns(k=Decimal("1.25")), "k"),
            ("operator 'join'", "decimal(2, 1)", "decimal(3, 2)", '.cast("decimal(3, 2)") of the other'),
        ),
        (
            lambda rows, texts: rows.iterate(lambda inner, loop: inner.select("k")),
            ("'iterate'", "Schema(k=int64)", "Schema(k=int64, v=int64)"),
        ),
        (lambda rows, texts: rows.distinct("k"), ("distinct('k')", "whole rows", "select('k').distinct()")),
        (
            lambda rows, texts: rows.aggregate("k", n=tr.First("v")),
            ("operator 'aggregate'", "n is to be Count(), or Count, CountDistinct", "ArgMin or ArgMax by it"),
        ),
        (
            lambda rows, texts: rows.arrange("k").aggregate("sums", n=tr.CountDistinct("v")),
            ("operator 'sums'", "not CountDistinct", ".collection().aggregate(...) of the arrangement"),
        ),
        (
            lambda rows, texts: rows.aggregate("k", n=tr.Count(), emit="final"),
            ("operator 'aggregate'", "collections have no emit=", "the stream before"),
        ),
        (
            lambda rows, texts: rows.changes().join(rows, on="k"),
            ("operator 'join'", "is no stream", "say .collection() of the streams"),
        ),
        (
            lambda rows, texts: texts.changes().aggregate("k", n=tr.Max("t")),
            ("operator 'aggregate', n", "Max of column 't'", "string", ".collection().aggregate("),
        ),
        (
            lambda rows, texts: texts.changes().top("k", order="k", k=1, ties="t"),
            ("operator 'top'", "'t' to order by is string", ".collection().top(key, order)"),
        ),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_built(wrong: Callable[..., Any], cure: Fact) -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            _, stream = scope.new_input(tr.Schema("k v"))
            _, texts = scope.new_input(tr.Schema("k", t="string"), "texts")
            wrong(collection(stream), collection(texts))

    with raises(tr.TokenRingError, cure):
        tr.execute(program, workers=1)
