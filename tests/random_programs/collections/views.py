"""The steps of plans as operators of collections."""

from __future__ import annotations

from typing import Any

import tokenring as tr
from tests.random_programs.collections.plan import CAP, VALUES, Plan, Step, run_plan
from tokenring import Collection
from tokenring.operators.collections.words import TIMES


class Views:
    """Does each step to collections of the columns k and v, of so many keys."""

    def __init__(self, keys: int) -> None:
        self.keys = keys

    def do(self, step: Step, of: list[Collection]) -> Collection:
        """The step's result."""
        rows, a = of[0], step.constants
        match step.does:
            case "keep":
                return rows.filter(_kept(a))
            case "drop":
                return rows.concat(rows.filter(_kept(a)).negate())
            case "map":
                k, v = tr.col("k"), tr.col("v")
                return rows.select(k=(a[0] * k + a[1] * v + a[2]) % self.keys, v=(a[3] * k + a[4] * v + a[5]) % VALUES)
            case "concat":
                return rows.concat(of[1])
            case "cancel":
                return rows.concat(of[1].negate()).concat(of[1])
            case "distinct" | "consolidate":
                return getattr(rows, step.does)()
            case "join":
                return _joined(rows, of[1])
            case "signed join":
                return _joined(rows.negate(), of[1]).negate()
            case "left":
                return _paired(rows.left_join(_others(of[1]), "k"))
            case "full":
                return _paired(rows.full_join(_others(of[1]), "k"))
            case "texts":
                texts = rows.select(k=(tr.col("k") * 1_000_003).cast("string"), v=tr.col("v"))
                found = texts.aggregate("k", v=tr.Max("v"))
                return found.select(k=tr.col("k").cast("int64") // 1_000_003, v=tr.col("v"))
            case "floats":
                found = rows.aggregate("k", v=tr.Sum(tr.col("v").cast("float64") / 8.0))
                return found.select(k=tr.col("k"), v=(tr.col("v") * 8.0).cast("int64") % VALUES)
            case "semi":
                return rows.semijoin(of[1], "k")
            case "anti":
                return rows.antijoin(of[1], "k")
            case "first" | "last":
                most = 1 + a[0] % 2
                return rows.arrange("k").first(most if step.does == "first" else -most).collection()
            case "shared":
                return _shared(rows, of[1])
            case "lowered":
                return _lowered(of, a, self.keys)
            case "closed" | "rounds":
                assert step.body is not None
                return _looped(step, step.body, of, self)
        return _total(rows, step.does)


def _kept(a: tuple[int, ...]) -> tr.Expression:
    return (a[0] * tr.col("k") + a[1] * tr.col("v")) % 3 != a[2] % 3


def _others(rows: Collection) -> Collection:
    return rows.select("k", w=tr.col("v"))


def _paired(pairs: Collection) -> Collection:
    v, w = [tr.col(name).fill_null(1) if pairs.schema.kind(name).nullable else tr.col(name) for name in "vw"]
    return pairs.select(k=tr.col("k"), v=(3 * v + w) % VALUES)


def _joined(left: Collection, right: Collection) -> Collection:
    return _paired(left.join(_others(right), "k"))


def _total(rows: Collection, what: str) -> Collection:
    folds: dict[str, dict[str, Any]] = {
        "count": {"x": tr.Count()},
        "sum": {"x": tr.Sum("v")},
        "least": {"x": tr.Min("v")},
        "greatest": {"x": tr.Max("v")},
        "several": {"x": tr.Count(), "y": tr.Sum("v"), "z": tr.Max("v")},
    }
    found = rows.aggregate("k", **folds[what])
    added = tr.col("x") + 2 * tr.col("y") + 3 * tr.col("z") if what == "several" else tr.col("x")
    return found.select(k=tr.col("k"), v=added % VALUES)


def _shared(rows: Collection, other: Collection) -> Collection:
    """Two readers of one arrangement."""
    arranged = rows.arrange("k")
    pairs = _paired(arranged.join(_others(other).arrange("k")))
    counts = arranged.aggregate(n=tr.Count()).collection().select(k=tr.col("k"), v=tr.col("n") % VALUES)
    return pairs.concat(counts)


def _lowered(of: list[Collection], a: tuple[int, ...], keys: int) -> Collection:
    """The least value that reaches each key, growing by a step."""
    start, edges, more = of

    def body(inner: Collection, loop: Any) -> Collection:
        steps = edges.concat(more).select("k", w=tr.col("v")).enter(loop)
        v = tr.least(tr.col("v") + a[0] % 2, CAP)
        further = inner.join(steps, "k").select(k=(3 * tr.col("k") + tr.col("w")) % keys, v=v)
        reached = further.concat(start.enter(loop))
        return reached.aggregate("k", v=tr.Min("v")) if a[1] % 2 else reached.arrange("k").first(1).collection()

    return start.iterate(body).select(k=tr.col("k"), v=tr.col("v") % VALUES)


def _looped(step: Step, plan: Plan, of: list[Collection], views: Views) -> Collection:
    def body(inner: Collection, loop: Any) -> Collection:
        made = run_plan(plan, views, [inner, *[one.enter(loop) for one in of]])
        assert isinstance(made, Collection)
        if step.does == "closed":
            return made
        return made.filter(tr.col(TIMES[made.depth - 1]) < 1 + step.constants[0])

    return of[0].iterate(body, rounds=1_000)
