"""Aggregates of columns of all kinds, in all windows and modes, are what plain Python makes of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, simulated
from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import bench, no_text_space
from tokenring.engine import GraphError, OperatorError, Schema, Stream
from tokenring.operators import (
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Mean,
    Min,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    col,
    distinct,
    last_by,
    top,
)

Row = tuple[Any, ...]
Oracle = Callable[[list[Row]], Any]
NAN = float("nan")
ROWS = Schema.of(
    {
        "at": "int64", "side": "bool", "value": "int64?", "share": "float64?", "wide": "uint64", "plain": "int64",
        "name": "string?", "number": "int64",
    }
)  # fmt: skip
AT, SIDE, VALUE, SHARE, WIDE, PLAIN, NAME, NUMBER = range(8)
NAMES = ["", "a", "yy", "a name that is longer than eight bytes", "ä", None]
ROW = st.tuples(
    st.integers(0, 60),
    st.booleans(),
    st.one_of(st.none(), st.integers(-50, 50)),
    st.sampled_from([None, 0.5, -1.25, 0.0, -0.0, NAN]),
    st.sampled_from([0, 7, 2**63 + 1]),
    st.integers(-3, 3),
    st.sampled_from(NAMES),
)


def some(rows: list[Row], at: int, sided: bool = False) -> list[Any]:
    return [row[at] for row in rows if row[at] is not None and (row[SIDE] or not sided)]


def chosen(rows: list[Row], at: int, sided: bool = False) -> list[Any]:
    """The values of a column by `number`, which no two rows have."""
    present = [row for row in rows if row[at] is not None and (row[SIDE] or not sided)]
    return [row[at] for row in sorted(present, key=lambda row: row[NUMBER])] or [None]


def without_nan(values: Iterable[float]) -> list[float]:
    return [value for value in values if value == value]


AGGREGATES: dict[str, tuple[Any, Oracle]] = {
    "n": (Count(), len),
    "present": (Count("value"), lambda rows: len(some(rows, VALUE))),
    "named": (Count("name", where=col("side")), lambda rows: len(some(rows, NAME, True))),
    "total": (Sum("value"), lambda rows: sum(found) if (found := some(rows, VALUE)) else None),
    "sided": (Sum("value", where=col("side")), lambda rows: sum(found) if (found := some(rows, VALUE, True)) else None),
    "shares": (Sum("share"), lambda rows: sum(found) if (found := some(rows, SHARE)) else None),
    "mean": (Mean("value"), lambda rows: sum(found) / len(found) if (found := some(rows, VALUE)) else None),
    "low": (Min("value"), lambda rows: min(some(rows, VALUE), default=None)),
    "high": (Max("value", where=col("side")), lambda rows: max(some(rows, VALUE, True), default=None)),
    "top_share": (Max("share"), lambda rows: max(without_nan(some(rows, SHARE)), default=None)),
    "widest": (Max("wide"), lambda rows: max(some(rows, WIDE))),
    "sides": (Sum("side"), lambda rows: sum(some(rows, SIDE))),
    "first": (First("value", order="number"), lambda rows: chosen(rows, VALUE)[0]),
    "last": (Last("share", where=col("side"), order="number"), lambda rows: chosen(rows, SHARE, True)[-1]),
    "first_name": (First("name", order="number"), lambda rows: chosen(rows, NAME)[0]),
    "last_name": (Last("name", order="number", where=col("side")), lambda rows: chosen(rows, NAME, True)[-1]),
}
DIFFERENT: dict[str, tuple[Any, Oracle]] = {
    "values": (CountDistinct("value"), lambda rows: len({*some(rows, VALUE)})),
    "sided_values": (CountDistinct("value", where=col("side")), lambda rows: len({*some(rows, VALUE, True)})),
    "wides": (CountDistinct("wide", where=~col("side")),
              lambda rows: len({row[WIDE] for row in rows if not row[SIDE]})),
    "names": (CountDistinct("name"), lambda rows: len({*some(rows, NAME)})),
    "sided_names": (CountDistinct("name", where=col("side")), lambda rows: len({*some(rows, NAME, True)})),
    "different_shares": (CountDistinct("share"), lambda rows: len({repr(share + 0.0) for share in some(rows, SHARE)})),
}  # fmt: skip
"""Of these the rows themselves cross, and all that is asked for beside them."""
BY = {
    "": (), "plain": (PLAIN,), "side wide": (SIDE, WIDE), "value": (VALUE,), "name": (NAME,),
    "plain name": (PLAIN, NAME),
}  # fmt: skip


def windows_of(width: int, every: int) -> Callable[[list[Row]], dict[Row, list[Row]]]:
    def groups(rows: list[Row]) -> dict[Row, list[Row]]:
        found: dict[Row, list[Row]] = {}
        for row in rows:
            for start in range((row[AT] - width) // every * every, row[AT] + 1, every):
                if start <= row[AT] < start + width:
                    found.setdefault((start, start + width), []).append(row)
        return found

    return groups


def sessions_of(gap: int) -> Callable[[list[Row]], dict[Row, list[Row]]]:
    def groups(rows: list[Row]) -> dict[Row, list[Row]]:
        found: dict[Row, list[Row]] = {}
        session: list[Row] = []
        for row in sorted(rows, key=lambda row: row[AT]):
            if session and row[AT] - session[-1][AT] >= gap:
                session = []
            session.append(row)
            if len(session) > 1:
                del found[session[0][AT], session[-2][AT] + gap]
            found[session[0][AT], row[AT] + gap] = list(session)
        return found

    return groups


WAYS: dict[str, tuple[dict[str, Any], Callable[[list[Row]], dict[Row, list[Row]]]]] = {
    "tumbling": ({"window": Tumbling("at", 10)}, windows_of(10, 10)),
    "sliding": ({"window": Sliding("at", 12, 4)}, windows_of(12, 4)),
    "sliding unevenly": ({"window": Sliding("at", 10, 4)}, windows_of(10, 4)),
    "session": ({"window": Session("at", 4)}, sessions_of(4)),
    "final": ({"emit": "final"}, lambda rows: {(): rows}),
    "running": ({}, lambda rows: {(): rows}),
    "each": ({"emit": "each"}, lambda rows: {(): rows}),
}


def expected(rows: list[Row], way: str, by: str, asked: dict[str, tuple[Any, Oracle]]) -> set[str]:
    keys: dict[Row, list[Row]] = {}
    for row in rows:
        keys.setdefault(tuple(row[at] for at in BY[by]), []).append(row)
    found = set()
    for key, of_key in keys.items():
        for bounds, group in WAYS[way][1](of_key).items():
            found.add(spelt((*bounds, *key, *[oracle(group) for _, oracle in asked.values()])))
    return found


def spelt(row: Iterable[Any]) -> str:
    """Null floats come out as NaN, and sums of them in any order."""
    return repr([
        None if cell is None or cell != cell else round(cell, 6) + 0.0 if isinstance(cell, float) else cell
        for cell in (cell.item() if hasattr(cell, "item") else cell for cell in row)
    ])  # fmt: skip


def columns_of(rows: list[Row]) -> dict[str, Any]:
    columns: dict[str, Any] = {name: [row[at] for row in rows] for at, name in enumerate(ROWS.names)}
    return columns | {"wide": np.array(columns["wide"], np.uint64)}


def found(
    rows: list[Row], way: str, by: str, asked: dict[str, tuple[Any, Oracle]], size: int, workers: int, in_order: bool
) -> set[str]:
    aggregates: dict[str, Any] = {name: one for name, (one, _) in asked.items()}
    last: dict[Any, Any] = {}
    with bench(
        [ROWS], lambda stream: aggregate(stream, by, **WAYS[way][0], **aggregates), workers, queue_bytes=1 << 20
    ) as made:
        for number, start in enumerate(range(0, len(rows), size)):
            if in_order:
                made.advance(rows[start][AT])
            made.send(columns_of(rows[start : start + size]), worker=number % workers)
            made.settle()
        made.close()
        for _, _, *cells in made.rows:
            key = repr(cells[: -len(asked)])
            assert way in ("running", "each") or key not in last, "results of windows do not change"
            last[key] = cells
    return {spelt(row) for row in last.values()}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=examples(20))
@given(
    rows=st.lists(ROW, min_size=1, max_size=40),
    by=st.sampled_from(list(BY)),
    workers=st.integers(1, 2),
    size=st.integers(1, 25),
    different=st.booleans(),
    in_order=st.booleans(),
)
def test_all_aggregates(
    rows: Any, way: str, by: str, workers: int, size: int, different: bool, in_order: bool
) -> None:
    """Keys come into windows, and leave them; sessions go on, and become one."""
    if in_order:
        rows.sort(key=lambda row: row[0])
    if way == "each" or (way == "running" and different):
        by = by or "plain"
    rows = [(*row, (at * 7) % 41) for at, row in enumerate(rows)]
    asked = AGGREGATES | DIFFERENT if different else AGGREGATES
    in_order = in_order and workers == 1
    assert found(rows, way, by, asked, size, workers, in_order) == expected(rows, way, by, asked)


def many_rows(keys: int) -> list[Row]:
    """Out of order, with thousands of times and keys, and texts that hardly repeat."""
    return [
        (at * 7919 % 6_000, at % 2 == 0, at % 40, None, at, at % keys, f"{at * 31 % 2_999} {'long' * (at % 9)}", at)
        for at in range(6_000)
    ]


@pytest.mark.parametrize("way", ["tumbling", "sliding", "session", "final", "running"])
@pytest.mark.parametrize("by", ["plain", "name"])
@pytest.mark.parametrize("different", [False, True])
def test_tables_grow(by: str, way: str, different: bool) -> None:
    """Within messages of thousands of rows, of keys, panes, sessions, sets and texts; and places are used again."""
    rows = many_rows(1_500)
    names = ["n", "first_name", "last_name", "high"] + (["values", "names"] if different else [])
    asked = {name: (AGGREGATES | DIFFERENT)[name] for name in names}
    told = found(rows, way, by, asked, 2_500, 1, False)
    assert len(told) >= 1_500
    assert told == expected(rows, way, by, asked)


@pytest.mark.parametrize("way", ["tumbling", "sliding", "session", "final", "running"])
@pytest.mark.parametrize("workers", [1, 2])
def test_one_column_tells_keys_apart_until_it_does_not(way: str, workers: int) -> None:
    rows = [(*row[:NAME], f"of {row[PLAIN]}", row[NUMBER]) for row in many_rows(5_000)]
    rows += [(*row[:NAME], None, 6_000 + at) for at, row in enumerate(rows[::4])]
    asked = {name: AGGREGATES[name] for name in ("n", "high", "last_name")}
    told = found(rows, way, "plain name", asked, 900, workers, False)
    assert len(told) >= 6_000
    assert told == expected(rows, way, "plain name", asked)


def test_sessions_with_sets_of_many_values_become_one() -> None:
    """More values than there is room for come from one session into another, several times over."""
    rows = [(10 * (at % 40), True, at, None, at, 0, f"{at}", at) for at in range(4_000)]
    rows += [(10 * at + step, True, 10**6 + at, None, 0, 0, "x", 4_000 + at) for at in range(39) for step in (3, 6)]
    asked = {name: (AGGREGATES | DIFFERENT)[name] for name in ("n", "values", "names", "wides", "last_name")}
    assert found(rows, "session", "plain", asked, 1_000, 1, False) == expected(rows, "session", "plain", asked)


@pytest.mark.parametrize("by", ["plain", "plain side", "name"])
def test_rows_of_keys(by: str) -> None:
    """The first row of each key, the last, and the best ones, of thousands of keys."""
    rows = [(*row[:VALUE], None, NAN if row[AT] % 5 == 0 else 0.5, *row[WIDE:]) for row in many_rows(3_000)]
    at = [ROWS.position(name) for name in by.split()]
    keys: dict[Row, list[Row]] = {}
    for row in rows:
        keys.setdefault(tuple(row[each] for each in at), []).append(row)
    oracles: dict[str, tuple[Callable[[Stream], Stream], Callable[[list[Row]], list[Row]]]] = {
        "distinct": (lambda stream: distinct(stream, by), lambda of_key: of_key[:1]),
        "last_by": (lambda stream: last_by(stream, by, order="at", emit="final"),
                    lambda of_key: [max(reversed(of_key), key=lambda row: row[AT])]),
        "top": (lambda stream: top(stream, by, order="at", k=2, emit="final", rank=None),
                lambda of_key: sorted(of_key, key=lambda row: -row[AT])[:2]),
        "top of numbers": (lambda stream: top(stream, by, order="share", k=1, emit="final", rank=None, largest=False),
                           lambda of_key: [row for row in of_key if row[SHARE] == row[SHARE]][:1]),
    }  # fmt: skip
    for make, oracle in oracles.values():
        with bench([ROWS], make, queue_bytes=1 << 20) as made:
            for start in range(0, len(rows), 1_500):
                made.send(columns_of(rows[start : start + 1_500]))
                made.settle()
            made.close()
            told = sorted(spelt(row[2:]) for row in made.rows)
        assert told == sorted(spelt(row) for of_key in keys.values() for row in oracle(of_key))


@pytest.mark.parametrize("by", ["", "plain"])
def test_errors(by: str) -> None:
    """A sum that is too great; a row that comes too late."""
    rows = [(1, True, None, None, 0, 5, "x", 0), (11, True, None, None, 0, 5, "x", 1)]
    for late in (False, True):
        with bench([ROWS], lambda s: aggregate(s, by, window=Tumbling("at", 10), total=Sum(col("plain") * 1))) as made:
            columns = columns_of(rows)
            if late:
                made.send(columns)
                made.settle()
                made.advance(12)
            else:
                columns["plain"], columns["at"] = [2**62, 2**62], [1, 1]
            made.send(columns)
            with raises(OperatorError, "operator 'aggregate'", "late=True" if late else "of '(plain * 1)' left"):
                made.settle()


@pytest.mark.parametrize("window", [Tumbling("at", 4), Sliding("at", 6, 2), Session("at", 4)])
@pytest.mark.parametrize("by", ["", "plain", "plain name"])
@pytest.mark.parametrize("what", [First("name"), CountDistinct("name"), CountDistinct("share"), Sum("value")])
def test_windows_are_compiled(window: Any, by: str, what: Any) -> None:
    def declare(worker: Any, scope: Any) -> Any:
        _, rows = scope.new_input(ROWS, "rows")
        aggregate(rows, by, window=window, n=Count(), what=what)
        return scope

    with simulated(2) as group:
        scope, _ = build(group, declare)
        compiled = [spec.is_compiled for spec in scope.graph.operators if spec.name.startswith("aggregate")]
    assert all(compiled)


def test_texts_for_which_there_is_no_room_are_refused_when_operators_are_made() -> None:
    def declare(worker: Any, scope: Any, by: str) -> None:
        _, rows = scope.new_input(ROWS, "rows")
        aggregate(rows, by, window=Tumbling("at", 4), n=Count())

    with no_text_space():
        with simulated(1) as group:
            build(group, lambda worker, scope: declare(worker, scope, "plain"))  # looks at no text
        refused = ("operator 'aggregate.local'", "text", "`ulimit -v`", "numbers")
        with raises(GraphError, *refused), simulated(1) as group:
            build(group, lambda worker, scope: declare(worker, scope, "name"))
