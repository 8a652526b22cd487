"""What programs come to whose answers depend on neither times nor the order of arrival: plain Python over all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Row(NamedTuple):
    """See ROW."""

    node: int
    name: str
    weight: float
    left: int
    at: int
    id: int
    ref: int


Rows = list[Row]
Answer = Callable[[Rows, Rows], Any]


def words(rows: Rows) -> tuple[Any, ...]:
    """See programs.words."""
    lefts, by_id = [row.left for row in rows], sorted(rows, key=lambda row: row.id)
    return len(rows), sum(lefts), max(lefts), min(lefts), sum(lefts) / len(rows), by_id[0].left, by_id[-1].left


def everything(rows: Rows) -> tuple[Any, ...]:
    """See programs.all_of."""
    n, total, most, least, mean, first, last = words(rows)
    kinds, names = {row.left for row in rows}, {row.name for row in rows}
    return n, total, most, least, mean, len(kinds), len(names), first, last, max(row.weight for row in rows)


def groups(rows: Rows, key: Callable[[Row], tuple[Any, ...]]) -> dict[tuple[Any, ...], Rows]:
    found: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def on_grid(width: int, every: int) -> Callable[[Rows], Iterator[tuple[int, int, Rows]]]:
    """(start, end, rows) of each window that has rows."""

    def windows(rows: Rows) -> Iterator[tuple[int, int, Rows]]:
        for start in range(-width, max((row.at for row in rows), default=0) + 1):
            inside = [row for row in rows if start <= row.at < start + width]
            if start % every == 0 and inside:
                yield start, start + width, inside

    return windows


def in_sessions(rows: Rows) -> Iterator[tuple[int, int, Rows]]:
    """The same of stretches with gaps below 3."""
    ordered = sorted(rows, key=lambda row: row.at)
    begins = [at for at, row in enumerate(ordered) if at == 0 or row.at - ordered[at - 1].at >= 3]
    for begin, end in zip(begins, [*begins[1:], len(ordered)], strict=True):
        yield ordered[begin].at, ordered[end - 1].at + 3, ordered[begin:end]


WINDOWS = {"tumbling": on_grid(4, 4), "sliding": on_grid(6, 2), "session": in_sessions}


def by_window(name: str, key: Callable[[Row], tuple[Any, ...]], folded: Callable[[Rows], tuple[Any, ...]]) -> Answer:
    return lambda a, b: [
        (start, end, *each, *folded(inside))
        for each, rows in groups(a, key).items()
        for start, end, inside in WINDOWS[name](rows)
    ]


def joined(row: Row, other: Row) -> tuple[Any, ...]:
    """See streams.JOINED."""
    return row.node, row.name, row.at, other.name, other.left


def pairs(matches: Callable[[Row, Row], bool], how: str = "inner", in_window: bool = False) -> Answer:
    """Of rows of one node; lone ones of the left side with nulls, or by themselves."""

    def bounds(row: Row) -> tuple[int, ...]:
        return (row.at // 4 * 4, row.at // 4 * 4 + 4) if in_window else ()

    def answer(a: Rows, b: Rows) -> Any:
        found: list[tuple[Any, ...]] = []
        for row in a:
            others = [other for other in b if other.node == row.node and matches(row, other)]
            if how in ("semi", "anti"):
                found += [(*bounds(row), *row)] * (bool(others) == (how == "semi"))
            else:
                found += [(*bounds(row), *joined(row, other)) for other in others]
                found += [(*bounds(row), row.node, row.name, row.at, None, None)] * (how == "left" and not others)
        return found

    return answer


def within(row: Row, other: Row) -> bool:
    return row.at - 1 <= other.at <= row.at + 2


def same_window(row: Row, other: Row) -> bool:
    return row.at // 4 == other.at // 4


def node(row: Row) -> tuple[Any, ...]:
    return (row.node,)


PLAIN: dict[str, Answer] = {
    "exchange": lambda a, b: a,
    "final": lambda a, b: [(*key, *everything(rows)) for key, rows in groups(a, node).items()],
    "of all": lambda a, b: [(len(a), sum(row.left for row in a))] if a else [],
    "bursts": lambda a, b: [(*key, *words(rows)) for key, rows in groups(a, node).items()],
    "bursts by window": by_window("sliding", node, words),
    "tumbling kinds": by_window("tumbling", node, lambda rows: (len({row.left for row in rows}),)),
    "reduce": by_window("tumbling", node, lambda rows: (sum(row.left for row in rows),)),
    "distinct": lambda a, b: {(row.node, row.name) for row in a},
    "join": pairs(lambda row, other: True),
    "join of numbers": lambda a, b: [
        (row.node, row.left, row.at, row.id, other.left) for row in a for other in b if row.node == other.node
    ],
    **{name: by_window(name, node, words) for name in WINDOWS},
    **{f"{name} all": by_window(name, lambda row: (row.name, row.node), everything) for name in WINDOWS},
    **{
        f"{name} of all": by_window(name, lambda row: (), lambda rows: (len(rows),)) for name in ("tumbling", "sliding")
    },
    **{f"windowed {how}": pairs(same_window, how, True) for how in ("inner", "left", "semi", "anti")},
    **{f"interval {how}": pairs(within, how) for how in ("inner", "left", "semi", "anti")},
}


def answer_of(name: str, first: Rows, second: Rows) -> Counter[tuple[Any, ...]]:
    """How often each row is."""
    return Counter(map(tuple, PLAIN[name](first, second)))
