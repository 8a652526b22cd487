"""All ways in which aggregates are asked for, and which rows each of their results is of, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.operators.helpers import bench
from tokenring.engine import Schema, Stream
from tokenring.operators import Session, Sliding, Tumbling, aggregate
from tokenring.operators.aggregates import Aggregate

ROWS = Schema.of(
    {"at": "int64", "key": "int64?", "value": "int64?", "share": "float64", "wide": "uint64", "side": "bool"}
)
Row = tuple[Any, ...]
"""As ROWS has it: at, key, value, share, wide, side."""
Groups = dict[tuple[Any, ...], list[Row]]
Oracle = Callable[[list[Row]], Any]
SHARES = st.sampled_from([0.0, -0.0, 1.5, -2.25, 1e9, 1e9 + 1, math.nan])
ROW = st.tuples(
    st.integers(0, 40), st.sampled_from([None, 1, 2]), st.sampled_from([None, -3, 0, 7, 10**9, 10**9 + 2]), SHARES,
    st.sampled_from([0, 7, 2**63 + 1, 2**64 - 2]), st.booleans(),
)  # fmt: skip


def _windows(width: int, every: int) -> Callable[[list[Row]], Groups]:
    def groups(rows: list[Row]) -> Groups:
        found: Groups = {}
        for row in rows:
            for start in range(-width, row[0] + 1):
                if start % every == 0 and start <= row[0] < start + width:
                    found.setdefault((start, start + width, row[1]), []).append(row)
        return found

    return groups


def _sessions(rows: list[Row]) -> Groups:
    found: Groups = {}
    for key in {row[1] for row in rows}:
        own = sorted([row for row in rows if row[1] == key], key=lambda row: row[0])
        session: list[Row] = []
        for row in [*own, None]:
            if session and (row is None or row[0] - session[-1][0] >= 3):
                found[session[0][0], session[-1][0] + 3, key] = session
                session = []
            if row is not None:
                session.append(row)
    return found


def _by_key(rows: list[Row]) -> Groups:
    found: Groups = {}
    for row in rows:
        found.setdefault((row[1],), []).append(row)
    return found


def _together(rows: list[Row]) -> Groups:
    return {(): rows} if rows else {}


MODES: dict[str, tuple[dict[str, Any], Callable[[list[Row]], Groups]]] = {
    "final": ({"by": "key", "emit": "final"}, _by_key),
    "final of all": ({"emit": "final"}, _together),
    "batch": ({"by": "key"}, _by_key),
    "batch of all": ({}, _together),
    "each": ({"by": "key", "emit": "each"}, _by_key),
    "tumbling": ({"by": "key", "window": Tumbling("at", 8, start="start")}, _windows(8, 8)),
    "sliding": ({"by": "key", "window": Sliding("at", 12, 4, start="start"), "lateness": 5}, _windows(12, 4)),
    "sessions": ({"by": "key", "window": Session("at", 3, start="start"), "lateness": 2}, _sessions),
}


_ROOM = {"queue_bytes": 1 << 19, "checks": "exhaustive"}


def declared(mode: str, aggregates: dict[str, Aggregate]) -> Callable[[Stream], Stream]:
    return lambda rows: aggregate(rows, **MODES[mode][0], **aggregates)


def results(
    mode: str, aggregates: dict[str, Aggregate], rows: Sequence[Row], workers: int, size: int = 3
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """What the aggregates are in the end, by window and key. Messages have `size` rows, and the least time of what is
    still to come."""
    count = len(aggregates)
    with bench([ROWS], declared(mode, aggregates), workers, **_ROOM) as made:
        for number, start in enumerate(range(0, len(rows), size)):
            columns: dict[str, Any] = dict(
                zip(ROWS.names, map(list, zip(*rows[start : start + size], strict=True)), strict=True)
            )
            columns["wide"] = np.array(columns["wide"], np.uint64)
            made.advance(min(row[0] for row in rows[start:]))
            made.send(columns, worker=number % workers)
            made.settle()
        made.close()
        return {row[2:-count]: row[-count:] for row in made.rows}  # of updates the last one stays


def assert_alike(found: dict[Any, Any], oracles: Sequence[Oracle], groups: Groups) -> None:
    """The results are those of each group."""
    assert set(found) == set(groups)
    for key, rows in groups.items():
        for one, oracle in zip(found[key], oracles, strict=True):
            expected = oracle(rows)
            assert is_close(one, expected), (key, one, expected, rows)


def is_close(one: Any, other: Any) -> bool:
    """Null floats come out as NaN, as NaN does."""
    one, other = (None if value != value else value for value in (one, other))
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
