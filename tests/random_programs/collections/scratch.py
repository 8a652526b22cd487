"""The steps of plans done to all rows at once: what collections are to come to."""

from __future__ import annotations

from collections import Counter, defaultdict

from tests.random_programs.collections.plan import CAP, VALUES, Step, run_plan

Rows = Counter[tuple[int, int]]


class Scratch:
    """Does each step to counters of rows, of so many keys."""

    def __init__(self, keys: int) -> None:
        self.keys = keys

    def do(self, step: Step, of: list[Rows]) -> Rows:
        """The step's result."""
        rows, a = of[0], step.constants
        match step.does:
            case "keep":
                return Counter({row: n for row, n in rows.items() if _is_kept(row, a)})
            case "drop":
                return Counter({row: n for row, n in rows.items() if not _is_kept(row, a)})
            case "map":
                return _summed(
                    ((a[0] * k + a[1] * v + a[2]) % self.keys, (a[3] * k + a[4] * v + a[5]) % VALUES, n)
                    for (k, v), n in rows.items()
                )
            case "concat":
                return rows + of[1]
            case "cancel" | "consolidate":
                return rows
            case "distinct":
                return Counter(dict.fromkeys(rows, 1))
            case "join" | "signed join":
                return _joined(rows, of[1])
            case "left" | "full":
                return _outer(rows, of[1], step.does == "full")
            case "texts":
                return _total(rows, "greatest")
            case "floats":
                return _total(rows, "sum")
            case "semi" | "anti":
                there = {k for k, _ in of[1]}
                return Counter({row: n for row, n in rows.items() if (row[0] in there) == (step.does == "semi")})
            case "first" | "last":
                most = 1 + a[0] % 2
                return _summed(
                    (k, v, 1)
                    for k, values in _by_key(rows).items()
                    for v in (values[:most] if step.does == "first" else values[-most:])
                )
            case "shared":
                return _joined(rows, of[1]) + _total(rows, "count")
            case "lowered":
                return _lowered(of, a, self.keys)
            case "closed" | "rounds":
                return self._looped(step, of)
        return _total(rows, step.does)

    def _looped(self, step: Step, of: list[Rows]) -> Rows:
        assert step.body is not None
        now, rounds = of[0], 0
        while True:
            after: Rows = run_plan(step.body, self, [now, *of])
            rounds += 1
            if after == now or (step.does == "rounds" and rounds > step.constants[0]):
                return after
            now = after


def _summed(rows: object) -> Rows:
    found: Rows = Counter()
    for k, v, n in rows:  # type: ignore[attr-defined]
        found[k, v] += n
    return found


def _is_kept(row: tuple[int, int], a: tuple[int, ...]) -> bool:
    return (a[0] * row[0] + a[1] * row[1]) % 3 != a[2] % 3


def _by_key(rows: Rows) -> dict[int, list[int]]:
    """Each key's values, in order, each as often as it is there."""
    found: dict[int, list[int]] = defaultdict(list)
    for (k, v), n in sorted(rows.items()):
        found[k] += [v] * n
    return found


def _joined(left: Rows, right: Rows) -> Rows:
    by_key: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (k, w), m in right.items():
        by_key[k].append((w, m))
    return _summed((k, (3 * v + w) % VALUES, n * m) for (k, v), n in left.items() for w, m in by_key[k])


def _outer(left: Rows, right: Rows, is_full: bool) -> Rows:
    """Pairs, and what meets none, with 1 for the missing side."""
    lefts, rights = {k for k, _ in left}, {k for k, _ in right}
    alone = [(k, (3 * v + 1) % VALUES, n) for (k, v), n in left.items() if k not in rights]
    alone += [(k, (3 + w) % VALUES, n) for (k, w), n in right.items() if is_full and k not in lefts]
    return _joined(left, right) + _summed(alone)


def _total(rows: Rows, what: str) -> Rows:
    def of(values: list[int]) -> int:
        found = {"count": len(values), "sum": sum(values), "least": min(values), "greatest": max(values)}
        return found.get(what, len(values) + 2 * sum(values) + 3 * max(values)) % VALUES

    return _summed((k, of(values), 1) for k, values in _by_key(rows).items())


def _lowered(of: list[Rows], a: tuple[int, ...], keys: int) -> Rows:
    edges: dict[int, list[int]] = defaultdict(list)
    for k, w in [*of[1], *of[2]]:
        edges[k].append(w)
    found: dict[int, int] = {}
    due = list(of[0])
    while due:
        k, v = due.pop()
        if v < found.get(k, CAP + 1):
            found[k] = v
            due += [((3 * k + w) % keys, min(v + a[0] % 2, CAP)) for w in edges[k]]
    return _summed((k, v % VALUES, 1) for k, v in found.items())
