"""Session windows: like sorted lists, rows that merge sessions, several workers, late rows, memory that comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.aggregates.reference import ROW, ROWS, Rows, aggregates, as_columns, expected, groups, without_nan
from tests.operators.helpers import bench
from tokenring.engine import MAX_TIME, OperatorError, Schema, Stream
from tokenring.operators import Count, First, Session, Sum, aggregate
from tokenring.operators.sessions.session_kernels import SessionCounts, SessionRow, end_sessions, extend

GAP = 5


def _sessions(rows: Rows) -> list[Rows]:
    found: list[Rows] = []
    last = -GAP
    for row in sorted(rows, key=lambda row: row[0]):
        if row[0] - last >= GAP:
            found.append([])
        found[-1].append(row)
        last = row[0]
    return found


@settings(max_examples=examples(40))
@given(
    rows=st.lists(ROW, min_size=1, max_size=25, unique_by=lambda row: row[0]),
    by=st.sampled_from([(), (1,), (1, 2)]),
    workers=st.integers(1, 2),
    size=st.integers(1, 25),
)
def test_like_lists(rows: Rows, by: Any, workers: int, size: int) -> None:
    names = [ROWS.names[at] for at in by]

    def declare(stream: Stream) -> Stream:
        return aggregate(stream, names, window=Session("at", GAP), **aggregates(False))

    with bench([ROWS], declare, workers, queue_bytes=1 << 16) as made:
        for number, start in enumerate(range(0, len(rows), size)):
            made.send(as_columns(rows[start : start + size]), worker=number % workers)
            made.settle()
        made.close()
        found = {row[2 : 4 + len(by)]: without_nan(row[4 + len(by) :]) for row in made.rows}
        assert found == {
            (some[0][0], some[-1][0] + GAP, *key): expected(some, False)
            for key, of_key in groups(rows, *by).items()
            for some in _sessions(of_key)
        }
        assert len(found) == len(made.rows)


def _declare(stream: Stream) -> Stream:
    return aggregate(stream, "key", window=Session("at", GAP), n=Count(), total=Sum("v"), first=First("v"))


def test_a_session_is_sent_once_nothing_can_prolong_it() -> None:
    with bench([Schema("at key v")], _declare) as made:
        made.send({"at": [0, 8, 20], "key": [1, 1, 2], "v": [1, 2, 3]})
        made.send({"at": [4], "key": [1], "v": [4]})  # between the two of key 1
        made.advance(12)
        assert made.sent() == []
        made.send({"at": [12], "key": [1], "v": [5]})
        made.advance(16)
        assert made.sent() == []
        made.advance(17)
        assert made.sent() == [(17, 0, 17, 1, 4, 12, 1)]
        made.close()
        assert made.sent() == [(25, 20, 25, 2, 1, 3, 3)]


def test_rows_a_gap_apart_are_in_different_sessions() -> None:
    with bench([Schema("at key v")], _declare) as made:
        made.send({"at": [0, GAP, 3 * GAP - 1, 2 * GAP], "key": [1] * 4, "v": [1, 2, 3, 4]})
        made.close()
        ends = [(GAP, 1), (2 * GAP, 1), (4 * GAP - 1, 2)]
        assert [(row[3], row[5]) for row in made.rows] == ends


def test_memory_is_used_again() -> None:
    with bench([Schema("at key v")], _declare, queue_bytes=1 << 16) as made:
        for turn in range(30):
            keys = list(range(turn * 100, turn * 100 + 100))
            made.send({"at": [turn * 10 + key % 3 for key in keys] * 2, "key": keys * 2, "v": [1] * 200})
            made.advance(turn * 10 + 10)
            assert [row[3:] for row in made.rows] == sorted((key, 2, 2, 1) for key in keys) or len(made.rows) == 100
            made.rows.clear()
        (logic,) = [o for o in made.group.workers[0].inspection.operators if o.name == "aggregate"]
        assert logic.held == 0
        made.close()


def test_late_rows() -> None:
    late: list[int] = []

    def declare(stream: Stream) -> Stream:
        results, rows = aggregate(stream, "key", window=Session("at", GAP), n=Count(), late=True, lateness=2)

        def construct(context: Any) -> Any:
            return lambda port: late.extend([at for _, batch in port for at in batch["at"].tolist()])

        rows.sink("late", construct)
        return results

    with bench([Schema("at key")], declare) as made:
        made.send({"at": [4, 4], "key": [1, 2]})
        made.send({"at": [7, 8], "key": [1, 1]}, time=10)
        made.advance(16)
        assert made.sent() == [(11, 4, 9, 2, 1), (11, 4, 13, 1, 2)]
        made.close()
        assert late == [7]


def test_a_late_row_is_never_lost_in_silence() -> None:
    with bench([Schema("at key v")], _declare) as made:
        made.send({"at": [3], "key": [1], "v": [1]})
        made.advance(9)
        made.send({"at": [8], "key": [1], "v": [1]})
        with raises(
            OperatorError, "operator 'aggregate'", "worker 0", "row at 8", "frontier", "at 9", "lateness=", "late=True"
        ):
            made.settle()


def test_near_the_end_of_time() -> None:
    with bench([Schema("at key v")], _declare) as made:
        made.send({"at": [MAX_TIME, MAX_TIME - 3], "key": [1, 1], "v": [1, 2]})
        made.close()
        assert made.sent() == [(MAX_TIME, MAX_TIME - 3, MAX_TIME + GAP, 1, 2, 3, 2)]


@pytest.mark.parametrize("step", [10, -10])
def test_many_open_sessions_of_a_key_are_no_longer_walked_through(step: int) -> None:
    """Rows that come in order, whichever way, are beside the session that had the last one; and each that ends is taken
    out where it stands."""
    count = 3000
    times = np.arange(count)[:: step // 10] * abs(step)
    table, timers = np.zeros((count, SessionRow.size), np.int64), np.zeros((count, 2), np.int64)
    heads, free, meta = np.zeros(1, np.int64), np.zeros(count, np.int64), np.zeros(SessionCounts.size, np.int64)
    rows, slot, lists = SessionRow.of_table(table), np.zeros(1, np.int64), np.zeros((3, count), np.int64)
    for time in times:
        steps, at = 0, heads[0] - 1
        while at >= 0 and abs(rows["start"][at] - time) > abs(step):
            steps, at = steps + 1, rows["later" if step > 0 else "earlier"][at] - 1
        assert steps == 0, "the one before it in time, or behind it, is where the search begins"
        extend(table, heads, free, timers, meta, np.array([time]), slot, 5, 0, lists[0], lists[1], lists[2])
        SessionCounts(meta).fresh = 0
    ended = np.empty(count, np.int64)
    for upto in range(0, count, 100):
        assert heads[0] > 0, "rows to come find those that are open"
        found = end_sessions(table, heads, free, timers, meta, 5, 10 * upto, ended)
        assert rows["start"][ended[:found]].tolist() == [*range(max(10 * (upto - 100), 0), 10 * upto, 10)]
    assert end_sessions(table, heads, free, timers, meta, 5, 10 * count, ended) == 100
    assert heads[0] == 0
