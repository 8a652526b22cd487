"""best_offers against a naive oracle, and its edges: keys, ends, growth, offers that wait."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import Fact, raises
from tests.long_form import examples
from tests.operators.helpers import Bench, bench
from tokenring.engine import OperatorError, Schema, SchemaError, Stream
from tokenring.operators import best_offers
from tokenring.operators.paper.intervals import Intervals

INTERVALS = Schema("key start end least payload")
OFFERS = Schema("item when price")
HUGE = 2**63 - 1

Interval = tuple[int, int, int, int, int]
Offer = tuple[int, int, int]


def _declare(intervals: Stream, offers: Stream) -> Stream:
    return best_offers(
        intervals, offers, key="key", start="start", end="end", threshold="least", payload="payload",
        offer_key="item", offer_time="when", offer_value="price",
    )  # fmt: skip


@contextmanager
def _bench(workers: int = 1, **settings: Any) -> Iterator[Bench]:
    with bench([INTERVALS, OFFERS], _declare, workers, **settings) as made:
        yield made


def test_with_the_interval_itself() -> None:
    def declare(intervals: Stream, offers: Stream) -> Stream:
        return best_offers(
            intervals, offers, key="key", start="start", end="end", threshold="least", payload="payload",
            offer_key="item", offer_time="when", offer_value="price", with_key=True,
        )  # fmt: skip

    with bench([INTERVALS, OFFERS], declare) as made:
        made.send(_columns(INTERVALS, [(7, 0, 9, 0, 70), (8, 1, 5, 0, 80)]))
        made.send(_columns(OFFERS, [(7, 3, 300), (8, 4, 400), (7, 4, 200)]), to=1)
        made.close()
        assert [row[2:] for row in made.rows] == [(80, 400, 8, 5), (70, 300, 7, 9)]


def _columns(schema: Schema, rows: list[Any]) -> dict[str, list[int]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(schema.names)}


def _expected(intervals: list[Interval], offers: list[Offer]) -> list[tuple[int, int, int]]:
    """(end, payload, best) of every interval that had an offer, the slow way."""
    best = []
    for key, start, end, least, payload in intervals:
        values = [price for item, when, price in offers if item == key and start <= when < end and price >= least]
        if values:
            best.append((end, payload, max(values)))
    return sorted(best)


def _is_answer(sent: list[tuple[int, int, int]], expected: list[tuple[int, int, int]]) -> None:
    """The same rows; intervals that close together may go in one message, whose time is a lower bound of their ends."""
    assert sorted(row[1:] for row in sent) == sorted(row[1:] for row in expected)
    assert all(row[0] <= right[0] for row, right in zip(sorted(sent), sorted(expected), strict=True))


_keys = st.one_of(st.integers(-3, 3), st.sampled_from([HUGE, -HUGE - 1, 2**32, -(2**32)]))
_times = st.integers(0, 50)


@st.composite
def _histories(draw: st.DrawFn) -> tuple[list[Interval], list[Offer], int, list[Any]]:
    """Intervals and offers, dealt to workers, in any order that a source could send them: each at its own time or
    earlier, with the inputs advanced to what is still to come."""
    keys = draw(st.lists(_keys, unique=True, max_size=8))
    intervals = []
    for key in keys:
        start = draw(_times)
        end = start + draw(st.integers(0, 30))
        intervals.append((key, start, end, draw(st.integers(-4, 4)), draw(st.integers(-2, 2))))
    offers = draw(st.lists(st.tuples(_keys, _times, st.integers(-9, 9)), max_size=30))
    workers = draw(st.integers(1, 3))
    tagged = [(0, row[1], row) for row in intervals] + [(1, row[1], row) for row in offers]
    # Shuffled within groups of event time, as a disordered stream is.
    width = draw(st.sampled_from([1, 10, 100]))
    by_group: dict[int, list[Any]] = {}
    for entry in tagged:
        by_group.setdefault(entry[1] // width, []).append(entry)
    script = []
    for group in sorted(by_group):
        script.append((group * width, draw(st.permutations(by_group[group]))))
    return (
        intervals,
        offers,
        workers,
        [(at, [(draw(st.integers(0, workers - 1)), *row) for row in rows]) for at, rows in script],
    )


@settings(max_examples=examples(60))
@given(history=_histories(), settle_each=st.booleans())
def test_like_the_naive_oracle(history: tuple[Any, ...], settle_each: bool) -> None:
    intervals, offers, workers, script = history
    with _bench(workers) as made:
        for time, rows in script:
            made.advance(time)
            for worker, to, _, row in rows:
                made.send(_columns((INTERVALS, OFFERS)[to], [row]), worker=worker, to=to)
                if settle_each:
                    made.settle()
        made.close()
        _is_answer(made.sent(), _expected(intervals, offers))


def test_an_interval_closes_when_both_inputs_have_reached_its_end() -> None:
    with _bench() as made:
        made.send(_columns(INTERVALS, [(1, 0, 10, 0, 7)]), to=0)
        made.send(_columns(OFFERS, [(1, 5, 3)]), to=1)
        made.inputs[0][0].advance_to(50)
        made.settle()
        assert made.sent() == []
        made.inputs[0][1].advance_to(9)
        made.settle()
        assert made.sent() == []
        made.send(_columns(OFFERS, [(1, 9, 4)]), to=1)
        made.inputs[0][1].advance_to(10)
        made.settle()
        assert made.sent() == [(10, 7, 4)]
        made.send(_columns(OFFERS, [(1, 10, 99)]), to=1)
        made.close()
        assert made.sent() == []


@pytest.mark.parametrize("key", [0, 1, -1, HUGE, -HUGE - 1])
def test_a_key_that_is_opened_twice_is_an_error(key: int) -> None:
    with _bench() as made:
        made.send(_columns(INTERVALS, [(key, 0, 10, 0, 0)]), to=0)
        made.settle()
        made.send(_columns(INTERVALS, [(key, 3, 9, 0, 0)]), to=0)
        with raises(OperatorError, "operator 'best_offers'", f"interval key {key} (key)", "twice", "unique"):
            made.settle()


def test_a_key_opened_twice_within_a_batch_is_an_error() -> None:
    with _bench() as made:
        made.send(_columns(INTERVALS, [(4, 0, 10, 0, 0), (5, 0, 10, 0, 0), (4, 0, 11, 0, 0)]), to=0)
        with raises(OperatorError, "operator 'best_offers'", "interval key 4", "unique"):
            made.settle()


def test_thousands_of_open_intervals() -> None:
    """The table and the heap grow many times; ends come in no order; all close at once or one by one."""
    count = 5_000
    keys = [at * 2**40 - 2**62 if at % 2 else at for at in range(count)]
    intervals = [(key, 0, 1_000 + (at * 7919) % count, 0, at) for at, key in enumerate(keys)]
    offers = [(key, at % 1_000, at) for at, key in enumerate(keys) if at % 3] + [(key, 7, -1) for key in keys]
    with _bench(2, queue_bytes=1 << 16) as made:
        for start in range(0, count, 500):
            made.send(_columns(INTERVALS, intervals[start : start + 500]), worker=start // 500 % 2, to=0)
            made.settle()
        for start in range(0, len(offers), 700):
            made.send(_columns(OFFERS, offers[start : start + 700]), worker=start // 700 % 2, to=1)
            made.settle()
        expected = _expected_by_key(intervals, offers)
        for time in (1_000, 1_001, 2_500):
            made.advance(time)
            _is_answer(made.sent(), [row for row in expected if row[0] <= time])
            expected = [row for row in expected if row[0] > time]
        assert len(expected) > 2_000
        made.close()
        _is_answer(made.sent(), expected)


def _expected_by_key(intervals: list[Interval], offers: list[Offer]) -> list[tuple[int, int, int]]:
    by_key: dict[int, list[Offer]] = {}
    for offer in offers:
        by_key.setdefault(offer[0], []).append(offer)
    return sorted(row for interval in intervals for row in _expected([interval], by_key.get(interval[0], [])))


def test_waiting_offers_do_not_accumulate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offers for intervals that never come are forgotten once no interval can come for them; memory stays as it was."""
    made_states: list[Intervals] = []

    class Watched(Intervals):
        def __init__(self) -> None:
            super().__init__()
            made_states.append(self)

    monkeypatch.setattr(sys.modules["tokenring.operators.paper.best_offers"], "Intervals", Watched)
    with _bench() as made:
        for time in range(0, 20_000, 100):
            made.send(_columns(OFFERS, [(key, time, 1) for key in range(100)]), to=1, time=time)
            made.advance(time + 1)
        (state,) = made_states
        assert state.counts.pending <= 200
        assert len(state.pending) < 4_096
        made.close()
        assert made.sent() == []


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"payload": "price"}, ("result", "price, price")),
        ({"payload": "key", "with_key": True}, ("result", "key, price, key, end")),
        ({"offer_value": "when"}, ("offers", "item, when, when")),
    ],
)
def test_columns_that_would_be_one_are_refused(named: dict[str, Any], words: Fact) -> None:
    columns = {"key": "key", "start": "start", "end": "end", "threshold": "least", "payload": "payload"}
    columns |= {"offer_key": "item", "offer_time": "when", "offer_value": "price"}
    offers = Schema("item when price")

    def declare(intervals: Stream, offered: Stream) -> Stream:
        return best_offers(intervals, offered, **(columns | named))

    with (
        raises(SchemaError, "operator 'best_offers'", words),
        bench([Schema("key start end least payload price"), offers], declare),
    ):
        pass
