"""Collections of columns of all kinds, null and not, beside recomputation from scratch."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tests.operators.collections.harness import TIMES, Rows, at, made_of, together
from tokenring import Collection

NAN, INF = math.nan, math.inf
VALUES: dict[str, list[Any]] = {
    "int64": [0, -1, 5, (1 << 63) - 1, -(1 << 63)],
    "uint64": [0, 1, 7, 1 << 63, (1 << 63) + 9, (1 << 64) - 2],
    "float64": [NAN, -0.0, 0.0, INF, -INF, 1.5, -2.25, 0.1, 1e300, -1e300, 5e-324],
    "bool": [False, True],
    "timestamp": [0, -1, 1 << 40, (1 << 63) - 1],
    "date": [date.min, date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date.max],
    "decimal(18, 2)": [Decimal(text) for text in ("0.00", "-0.01", "12345678901234.56", "-99999999999999.99", "0.05")],
    "string": ["", "a", "ab", "b", "é", "e\u0301", "日本", "x" * 300, "x" * 299 + "y"],
    "bytes": [b"", b"\x00", b"\x00\x00", b"\xff", b"a", b"ab"],
}
KINDS = [*VALUES, *[f"{kind}?" for kind in VALUES]]
SUMMED = ("int64", "uint64", "float64", "bool", "decimal(18, 2)")


def values_of(kind: str) -> list[Any]:
    """Those of a kind, with null, and without the one that stands for it."""
    if not kind.endswith("?"):
        return VALUES[kind]
    return [None, *[value for value in VALUES[kind[:-1]] if value != -(1 << 63)]]


def canonical(value: Any) -> Any:
    """Equal for values that are."""
    return value if not isinstance(value, float) else "nan" if math.isnan(value) else value + 0.0


def canonical_rows(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(map(canonical, row)) for row in rows]


def in_order(value: Any) -> Any:
    """What values are sorted by: NaN, then null, last."""
    if value is None or value == "nan":
        return (2 if value is None else 1, 0)
    return (0, value.encode() if isinstance(value, str) else value)


def downwards(values: list[Any]) -> list[Any]:
    """From the greatest on, NaN and null last."""
    plain = sorted([value for value in values if in_order(value)[0] == 0], key=in_order, reverse=True)
    return [*plain, *[value for value in values if value == "nan"], *[value for value in values if value is None]]


def made_up_of(kind: str, seed: int, rows: int) -> list[tuple[Any, ...]]:
    """Updates of (key, value, number), of which no row is ever there less than not at all."""
    random = np.random.default_rng(seed)
    values = values_of(kind)
    keys = [values[number] for number in random.permutation(len(values))[:4]]
    there: Rows = Counter()
    updates = []
    for time in np.sort(random.integers(0, TIMES, rows)).tolist():
        row = keys[random.integers(len(keys))], values[random.integers(len(values))], int(random.integers(2))
        known = tuple(map(canonical, row))
        times = -1 if there[known] > 0 and random.integers(2) else 1
        there[known] += times
        updates.append((*row, time, times))
    return updates


def by_key(rows: Rows) -> dict[Any, list[Any]]:
    found = defaultdict(list)
    for (key, value, _), times in rows.items():
        found[key] += [value] * times
    return found


def extreme(values: list[Any], order: Callable[[list[Any]], list[Any]]) -> Any:
    return order([value for value in values if value is not None] or [None])[0]


def sum_of(values: list[Any]) -> Any:
    """Exactly, and then the nearest float."""
    present = [value for value in values if value is not None]
    if not present or not any(isinstance(value, float | str) for value in present):
        return sum(present) if present else None
    if "nan" in present or (INF in present and -INF in present):
        return "nan"
    if INF in present or -INF in present:
        return INF if INF in present else -INF
    exact = sum(map(Fraction, present))
    try:
        return float(exact)
    except OverflowError:
        return INF if exact > 0 else -INF


def rising(values: list[Any]) -> list[Any]:
    return sorted(values, key=in_order)


def joined(left: Rows, right: Rows) -> Rows:
    found: Rows = Counter()
    for (key, value, number), times in left.items():
        for (other, w, m), more in right.items():
            if key == other and key is not None:
                found[key, value, number, w, m] += times * more
    return found


def programs(kind: str) -> dict[str, tuple[Callable[..., Collection], Callable[[Rows, Rows], Rows]]]:
    """What is made of two inputs, and what that is to be."""

    def keys(rows: Rows) -> set[Any]:
        return {key for key, _, _ in rows if key is not None}

    def renamed(rows: Collection) -> Collection:
        return rows.select("k", w=tr.col("v"), m=tr.col("n"))

    def some(count: int, order: Callable[[list[Any]], list[Any]]) -> Callable[[Rows, Rows], Rows]:
        return lambda a, b: Counter((key, each) for key, of in by_key(a).items() for each in order(of)[:count])

    made: dict[str, tuple[Callable[..., Collection], Callable[[Rows, Rows], Rows]]] = {
        "consolidate": (lambda a, b: a.consolidate(), lambda a, b: a),
        "distinct": (lambda a, b: a.select("v").distinct(), lambda a, b: Counter({(v,): 1 for _, v, _ in a})),
        "extremes": (
            lambda a, b: a.aggregate("k", low=tr.Min("v"), high=tr.Max("v"), n=tr.Count("v")),
            lambda a, b: Counter(
                (key, extreme(of, rising), extreme(of, downwards), sum(value is not None for value in of))
                for key, of in by_key(a).items()
            ),
        ),
        "counts": (
            lambda a, b: a.aggregate("k", n=tr.Count(), v=tr.Count("v")),
            lambda a, b: Counter(
                (key, len(of), sum(value is not None for value in of)) for key, of in by_key(a).items()
            ),
        ),
        "first": (lambda a, b: a.select("k", "v").arrange("k").first(3).collection(), some(3, rising)),
        "last": (lambda a, b: a.select("k", "v").arrange("k").first(-3).collection(), some(3, downwards)),
        "join": (lambda a, b: a.join(renamed(b), "k"), joined),
        "semijoin": (
            lambda a, b: a.semijoin(b, "k"),
            lambda a, b: Counter({row: times for row, times in a.items() if row[0] in keys(b)}),
        ),
        "antijoin": (
            lambda a, b: a.antijoin(b, "k v"),
            lambda a, b: Counter(
                {row: n for row, n in a.items() if None in row or row[:2] not in {other[:2] for other in b}}
            ),
        ),
    }
    if kind.removesuffix("?") in SUMMED:
        small = tr.col("v") if "int" not in kind else tr.col("v") % 1000
        short = (lambda value: value) if "int" not in kind else (lambda value: None if value is None else value % 1000)

        def sums(a: Rows) -> dict[Any, Any]:
            return {key: sum_of([short(value) for value in of]) for key, of in by_key(a).items()}

        made["sums"] = (
            lambda a, b: a.aggregate("k", s=tr.Sum(small)),
            lambda a, b: Counter(sums(a).items()),
        )
        made["sums and extremes"] = (
            lambda a, b: a.aggregate("k", s=tr.Sum(small), low=tr.Min("v")),
            lambda a, b: Counter((key, s, extreme(by_key(a)[key], rising)) for key, s in sums(a).items()),
        )
    return made


def alone(kind: str) -> Any:
    """One worker, which does what each of two does but to send rows: null is known to be kept by these."""
    return pytest.param(kind, 1, marks=[pytest.mark.slow] if kind.endswith("?") else [])


@pytest.mark.parametrize(("kind", "workers"), [one for kind in KINDS for one in (alone(kind), (kind, 2))])
def test_columns_of_every_kind_are_kept(kind: str, workers: int) -> None:
    schema = tr.Schema.of({"k": kind, "v": kind, "n": "int64", "time": "int64", "times": "int64"})
    programs_of = programs(kind)
    all_updates = [[made_up_of(kind, 10 * seed + number, 50) for number in range(2)] for seed in range(2)]

    def build(a: Collection, b: Collection) -> dict[str, Collection]:
        return {name: make(a, b) for name, (make, _) in programs_of.items()}

    made = [made_of(updates, build, seed, schema=schema) for seed, updates in enumerate(all_updates)]
    for seed, (found, updates) in enumerate(zip(together(made, workers), all_updates, strict=True)):
        known = [canonical_rows(each) for each in updates]
        for name, (_, expected) in programs_of.items():
            changes = canonical_rows(found[name])
            for time in range(TIMES):
                assert at(changes, time) == expected(*[at(each, time) for each in known]), (name, seed, time)


@pytest.mark.parametrize("workers", [1, 2])
def test_null_keys_meet_nothing_however_many_there_are(workers: int) -> None:
    """Nor what is a number on the other side by the same word: 400 million pairs would take a minute."""
    least = -(1 << 63)

    def program(worker: tr.Worker) -> list[tuple[Any, ...]]:
        with worker.dataflow() as scope:
            left, lefts = scope.new_input(tr.Schema("n", k="int64?"), "left")
            right, rights = scope.new_input(tr.Schema("k m"), "right")
            arranged = lefts.collection().arrange("k")
            pairs = [
                arranged.join(rights.collection().arrange("k")).select("k", "n", "m"),
                arranged.join(lefts.collection().select("k", m=tr.col("n")).arrange("k"), "itself"),
            ]
            made = [each.changes().collect() for each in pairs]
        if worker.index == 0:
            left.send({"n": range(20_001), "k": [None] * 20_000 + [5]})
            right.send({"k": [least] * 20_000 + [5], "m": range(20_001)})
        worker.run()
        columns = [each.columns() for each in made]
        return [row for each in columns for row in zip(*[each[name].tolist() for name in "knm"], strict=True)]

    found = [row for part in tr.execute(program, workers=workers) for row in part]
    assert found == [(5, 20_000, 20_000)] * 2
