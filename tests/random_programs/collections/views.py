"""The steps of plans as operators of collections."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tokenring as tr
from tests.random_programs.collections.plan import CAP, VALUES, Plan, Step, run_plan
from tokenring import Collection
from tokenring.operators.collections.words import TIMES

_BY_KEY = ("floats", "count", "sum", "several")
_JOINS = ("join", "signed join", "shared", "left", "full")
_AS_THEY_ARE = ("least", "greatest", "first", "last", "distinct", "consolidate", "cancel", "semi", "anti")
"""Steps that know nothing of their rows' keys, and steps that know nothing of the values either."""
_MOST = 2**63 - 1
_LONG = "a long text " * 90 + "/"


class Form(NamedTuple):
    """What stands for the numbers of keys and of values. keys: "ends", "floats", "texts" or "nulls"; values: "", or a
    float for each, in the order of the numbers where NaN is "last" or "first"."""

    keys: str
    values: str

    def key(self) -> tr.Expression:
        """Of a number."""
        k = tr.col("k")
        match self.keys:
            case "ends":
                return tr.when(k % 2 == 0).then(_MOST - k).otherwise(k - _MOST)
            case "texts":
                return tr.lit(_LONG) + k.cast("string")
            case "nulls":
                return tr.when(k != 0).then(k)
        zero = tr.when(tr.col("v") % 2 == 0).then(0.0).otherwise(-0.0)
        some = tr.when(k == 0).then(_nan("v")).when(k == 1).then(zero).when(k == 2).then(math.inf)
        return some.when(k == 3).then(-math.inf).otherwise(k.cast("float64") / 8.0)

    def key_back(self) -> tr.Expression:
        """The number that it stands for."""
        k = tr.col("k")
        match self.keys:
            case "ends":
                return tr.when(k > 0).then(_MOST - k).otherwise(k + _MOST)
            case "texts":
                return k.split_part("/", 2).cast("int64").fill_null(0)
            case "nulls":
                return k.fill_null(0)
        some = tr.when(k != k).then(0).when(k == 0.0).then(1).when(k == math.inf).then(2).when(k == -math.inf).then(3)
        return some.otherwise((tr.when(k.between(-1e9, 1e9)).then(k).otherwise(0.0) * 8.0).cast("int64"))

    def value(self) -> tr.Expression:
        """Of a number."""
        v = tr.col("v")
        if not self.values:
            return v
        zero = tr.when(tr.col("k") % 2 == 0).then(0.0).otherwise(-0.0)
        floats = [tr.lit(-math.inf), zero, tr.lit(math.inf)]
        least, low, high, most = [*floats, _nan("k")] if self.values == "last" else [_nan("k"), *floats]
        return tr.when(v == 0).then(least).when(v == 1).then(low).when(v == 2).then(high).otherwise(most)

    def value_back(self) -> tr.Expression:
        """The number that it stands for."""
        v = tr.col("v")
        if not self.values:
            return v
        least, nan = (0, 3) if self.values == "last" else (1, 0)
        some = tr.when(v == -math.inf).then(least).when(v == 0.0).then(least + 1)
        return some.when(v == math.inf).then(least + 2).otherwise(nan)


def _nan(column: str) -> tr.Expression:
    """A NaN of either sign."""
    made = tr.col(column).cast("float64") * 0.0 / 0.0
    return tr.when(tr.col(column) % 2 == 0).then(math.nan).otherwise(made)


def form_of(step: Step) -> Form | None:
    """In which form a step's rows are, if not in their own."""
    does, a = step.does, step.constants
    if does not in (*_BY_KEY, *_JOINS, *_AS_THEY_ARE) or not a or a[4]:
        return None
    keys = ("ends", "floats", "texts", "ends" if does in (*_JOINS, "semi", "anti") else "nulls")[a[5]]
    values = ("", "last" if does in ("least", "first") else "first")[does in _AS_THEY_ARE and a[3] < 2]
    return Form(keys, values)


class Views:
    """Does each step to collections of the columns k and v, of so many keys."""

    def __init__(self, keys: int) -> None:
        self.keys = keys

    def do(self, step: Step, of: list[Collection]) -> Collection:
        """The step's result, of rows in another form if its constants say so."""
        form = form_of(step)
        if not form:
            return self._do(step, of)
        made = self._do(step, [rows.select(k=form.key(), v=form.value()) for rows in of])
        return made.select(k=form.key_back(), v=form.value_back())

    def _do(self, step: Step, of: list[Collection]) -> Collection:
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
    if what in ("least", "greatest"):
        return found.select(k=tr.col("k"), v=tr.col("x"))
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
