"""The state of best_offers moves by bins, and answers are as if it had not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tests.operators.moving import changes, moving, rows_sent
from tokenring.engine import COMPLETE, Schema
from tokenring.operators import best_offers
from tokenring.operators.migrate import Bins, Leaving, offer, offers_to
from tokenring.operators.migrate.moves import Offered
from tokenring.operators.paper.best_offers import compiled_offers
from tokenring.operators.paper.intervals import Intervals, close_intervals, make_offers, open_intervals, settle_pending
from tokenring.operators.paper.moving_intervals import MovingIntervals

BINS = Bins(4)
INTERVALS = Schema("key start end least payload")
OFFERS = Schema("item when price")
RESULTS = Schema("payload price key end")
BIG = 2**63 - 1

Row = tuple[int, ...]
KEYS = st.one_of(st.integers(-3, 3), st.sampled_from([BIG, -BIG - 1, 2**32]))


class Kept:
    """A worker's part, its kernels called by hand: what compiled parts do with them."""

    def __init__(self) -> None:
        offered = Offered()
        self.state = Intervals()
        with offers_to(offered):
            offer(MovingIntervals(self.state))
        (self.moves,) = offered
        self.pending = COMPLETE
        self.sent: list[tuple[int, ...]] = []

    @property
    def least(self) -> int:
        return self.state.least_end if self.state.open else COMPLETE

    def take(self, side: int, rows: list[Row]) -> None:
        if not rows:
            return
        state, counts = self.state, self.state.counts
        columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
        if side == 0:
            state.reserve(len(rows))
            ends = state.ends
            assert open_intervals(state.table, ends.entries, ends.wheel, ends.counts.words, counts.words, *columns)
        else:
            if counts.pending + len(rows) >= state.pending_room:
                state.reserve_pending(len(rows))
            make_offers(state.table, state.pending, counts.words, *columns)
        self.pending = min(self.pending, self.least)

    def reach(self, frontier: int) -> None:
        state, ends = self.state, self.state.ends
        if state.counts.pending:
            settle_pending(state.table, state.pending, state.counts.words, frontier)
        assert self.pending == self.least
        if self.pending > frontier:
            return
        rows = np.empty((4, state.open), np.int64)
        closed = close_intervals(state.table, ends.entries, ends.wheel, ends.due, ends.counts.words, frontier, *rows)
        self.sent += zip(*rows[:, :closed].tolist(), strict=True)
        self.pending = self.least


def owner(key: int) -> int:
    return int(BINS.of_words(np.array([key]))[0])


@settings(max_examples=examples(150), deadline=None)
@given(
    intervals=st.lists(
        st.tuples(KEYS, st.integers(0, 30), st.integers(0, 30)), max_size=9, unique_by=lambda row: row[0]
    ),
    offers=st.lists(st.tuples(KEYS, st.integers(0, 60), st.integers(-9, 9)), max_size=30),
    moved=st.lists(st.booleans(), min_size=4, max_size=4),
    at=st.integers(0, 40),
    back=st.integers(0, 40),
)
def test_as_if_it_had_not_moved(intervals: list[Row], offers: list[Row], moved: list[bool], at: int, back: int) -> None:
    """Bins leave one worker for another at a time, and come back at a later one."""
    opened = [(key, start, start + length, -4, number) for number, (key, start, length) in enumerate(intervals)]
    chosen = np.array(moved)
    leaving = Leaving(BINS, chosen)
    here, there, alone = Kept(), Kept(), Kept()
    times = sorted({0, at, at + back, 100, *[row[1] for row in (*opened, *offers)]})
    for time in times:
        for each in (here, there, alone):
            each.reach(time)
        for source, target, when in ((here, there, at), (there, here, at + back)):
            if time == when:
                tables = source.moves.take_out(leaving)
                assert all([leaving.rows(table, ("key",)).all() for table in tables])
                source.pending = source.least
                due = target.moves.put_in(tables)
                assert (due == COMPLETE) or due >= time
                target.pending = min(target.pending, due)
        for side, rows in ((0, [row for row in opened if row[1] == time]), (1, [r for r in offers if r[1] == time])):
            away = [row for row in rows if chosen[owner(row[0])] and at <= time < at + back]
            alone.take(side, rows)
            there.take(side, away)
            here.take(side, [row for row in rows if row not in away])
    assert sorted(here.sent + there.sent) == sorted(alone.sent)
    for each in (here, there, alone):
        assert each.least == COMPLETE


def test_what_leaves_is_freed_and_the_rest_stays_as_it_was() -> None:
    kept = Kept()
    count = 5_000
    kept.take(0, [(key, 0, 10 + key % 977, 0, key) for key in range(count)])
    kept.take(1, [(key, 5, key) for key in range(2 * count)])
    leaving = Leaving(BINS, np.array([True, False, False, True]))
    opened, offers = kept.moves.take_out(leaving)
    assert opened.rows + kept.state.open == count
    assert 0 < offers.rows < count
    assert sorted(opened.words("key").tolist()) == [key for key in range(count) if owner(key) in (0, 3)]
    again = kept.moves.take_out(leaving)
    assert [table.rows for table in again] == [0, 0]
    other = Kept()
    assert other.moves.put_in([opened, offers]) == 10 + int((opened.words("key") % 977).min())
    for each in (kept, other):
        each.pending = each.least
        each.reach(2_000)
    assert sorted(row[0] for row in kept.sent + other.sent) == list(range(count))
    room = len(kept.state.ends.entries)
    kept.take(0, [(key, 2_000, 3_000, 0, key) for key in range(count)])
    assert len(kept.state.ends.entries) == room


@pytest.mark.parametrize("with_key", [True, False])
def test_the_compiled_form_offers_the_same(with_key: bool) -> None:
    offered = Offered()
    with offers_to(offered):
        logic = compiled_offers("key", [0, 1, 2, 3, 4], with_key)
    (moves,) = offered
    words: Any = logic.words.copy()
    kept = Kept()
    count = 3_000
    kept.take(0, [(key, 0, 10 + key, 0, key) for key in range(count)])
    tables = kept.moves.take_out(Leaving(BINS, np.ones(4, np.bool_)))
    assert moves.put_in(tables) == 10
    assert (words != logic.words).any()  # tables have grown, and the entries know where they are
    again = moves.take_out(Leaving(BINS, np.ones(4, np.bool_)))
    for before, after in zip(tables, again, strict=True):
        assert before.schema == after.schema
        assert sorted(zip(*before.columns, strict=True)) == sorted(zip(*after.columns, strict=True))


@settings(max_examples=examples(12), deadline=None)
@given(
    intervals=st.lists(
        st.tuples(KEYS, st.integers(0, 15), st.integers(0, 30)), min_size=5, max_size=9, unique_by=lambda row: row[0]
    ),
    offers=st.lists(st.tuples(KEYS, st.integers(0, 40), st.integers(-9, 9)), min_size=10, max_size=30),
    workers=st.integers(2, 3),
    moves=changes(2, 35),
)
def test_in_a_dataflow(intervals: list[Row], offers: list[Row], workers: int, moves: list[Any]) -> None:
    opened = [(key, start, start + length, -4, number) for number, (key, start, length) in enumerate(intervals)]
    both = [(to, row) for to, rows in ((0, opened), (1, offers)) for row in rows]
    sent = [(row[1], number % workers, to, [row]) for number, (to, row) in enumerate(both)]
    sent.sort(key=lambda message: message[0])

    def declare(*streams: Any) -> Any:
        return best_offers(
            *streams, key="key", start="start", end="end", threshold="least", payload="payload",
            offer_key="item", offer_time="when", offer_value="price",
        )  # fmt: skip

    schemas = [INTERVALS, OFFERS]
    there = rows_sent(schemas, moving(declare, workers, moves), sent, workers)
    here = rows_sent(schemas, declare, sent, workers)
    assert sorted([row[1:] for row in there]) == sorted([row[1:] for row in here])
