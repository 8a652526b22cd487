"""Tumbling and sliding windows: like lists of rows, out of order, several workers, late rows, the ends of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.aggregates.reference import ROW, ROWS, Rows, aggregates, as_columns, expected, groups, without_nan
from tests.operators.helpers import bench
from tokenring.engine import MAX_TIME, GraphError, OperatorError, Schema, SchemaError, Stream
from tokenring.operators import (
    Count,
    Last,
    Max,
    Min,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    col,
    exchange,
    filter,
    interval_join,
    join,
    lit,
    reduce,
    scan,
    select,
    top,
    union,
    with_columns,
)
from tokenring.operators.time.windows import FixedWindow, Panes, Window

LATE = Schema("at v")
WINDOWS: list[Window] = [Tumbling("at", 10), Tumbling("at", 7, 3), Sliding("at", 12, 4), Sliding("at", 10, 4, 1)]


def _windows(window: Any, at: int) -> list[tuple[int, int]]:
    every = getattr(window, "every", window.width)
    starts = range(-100 * every + window.offset, at + 1, every)
    return [(start, start + window.width) for start in starts if start <= at < start + window.width]


def _by_window(window: Any, rows: Rows) -> dict[tuple[int, int], Rows]:
    found: dict[tuple[int, int], Rows] = {}
    for row in rows:
        for each in _windows(window, row[0]):
            found.setdefault(each, []).append(row)
    return found


@settings(max_examples=examples(30))
@given(
    rows=st.lists(ROW, min_size=1, max_size=25, unique_by=lambda row: row[0]),
    window=st.sampled_from(WINDOWS),
    by=st.sampled_from([(), (1,), (1, 2)]),
    merging=st.booleans(),
    workers=st.integers(1, 2),
    size=st.integers(1, 25),
)
def test_like_lists(rows: Rows, window: Any, by: Any, merging: bool, workers: int, size: int) -> None:
    names = [ROWS.names[at] for at in by]
    with bench(
        [ROWS],
        lambda stream: aggregate(stream, names, window=window, **aggregates(merging)),
        workers,
        queue_bytes=1 << 16,
    ) as made:
        for number, start in enumerate(range(0, len(rows), size)):
            made.send(as_columns(rows[start : start + size]), worker=number % workers)
            made.settle()
        made.close()
        found = {row[1 : 3 + len(by)]: without_nan(row[3 + len(by) :]) for row in (sent[1:] for sent in made.rows)}
        assert found == {
            (*each, *key): expected(some, merging)
            for each, inside in _by_window(window, rows).items()
            for key, some in groups(inside, *by).items()
        }


@pytest.mark.parametrize("window", [Tumbling("at", 10), Sliding("at", 10, 5)], ids=str)
@pytest.mark.parametrize("by", ["", "key"])
def test_a_window_is_sent_at_its_end_and_nothing_stays(window: Window, by: str) -> None:
    schema = Schema("at key")
    with bench([schema], lambda stream: aggregate(stream, by, window=window, n=Count()), workers=2) as made:
        everything = [o for worker in made.group.workers for o in worker.inspection.operators]
        operators = [o for o in everything if o.name.startswith("aggregate")]
        for start in range(0, 200, 20):
            made.send({"at": [start + 9, start], "key": [1, 1]})
            made.inputs[0][0].advance_to(start + 11)
            made.settle()
            assert made.sent() == [], "the other worker may have more"
            made.inputs[1][0].advance_to(start + 11)
            made.settle()
            sent = [row[:3] + row[-1:] for row in made.sent()]
            ends = [(start + 10, start, start + 10, 2)]
            assert sent == (ends if isinstance(window, Tumbling) else [(start + 5, start - 5, start + 5, 1), *ends])
            made.advance(start + 20)
            made.sent()
            assert sum(operator.held for operator in operators) == 0
        made.close()


@dataclass(frozen=True)
class Overlapping(FixedWindow):
    """Windows of a kind of one's own: each row is in `depth` of them."""

    time: str
    width: int
    depth: int
    offset: int = 0
    start: str | None = "window_start"
    end: str | None = "window_end"

    def _panes(self, lateness: int) -> Panes:
        return self._cut(self.width // self.depth, lateness)


@pytest.mark.parametrize(
    "declare",
    [
        lambda rows, window: aggregate(rows, "v", window=window, n=Count()),
        lambda rows, window: top(rows, order="v", k=2, window=window),
        lambda rows, window: reduce(rows, "v", lambda _, starts: {"x": starts}, Schema("x"), window=window),
        lambda rows, window: join(rows, rows, on="v", columns={"mine": "left.at", "other": "right.at"}, window=window),
    ],
    ids=["aggregate", "top", "reduce", "join"],
)
def test_a_fixed_window_of_a_kind_of_ones_own(declare: Callable[[Stream, FixedWindow], Stream]) -> None:
    sent = []
    for window in (Overlapping("at", 12, 3), Sliding("at", 12, 4)):
        with bench([LATE], lambda rows, window=window: declare(rows, window)) as made:
            made.send({"at": [3, 1, 20, 13, 7], "v": [1, 2, 1, 2, 1]})
            made.close()
            sent.append(made.sent())
    assert sent[0] == sent[1] != []


@pytest.mark.parametrize("backwards", [False, True])
def test_many_windows_in_one_batch(backwards: bool) -> None:
    """More windows than a call of the kernel takes, and stretches long enough for its blocks."""
    rows = [(at, (at * 7919) % 1000) for at in range(3_000)]
    rows += [(50_000 + at % 10, at) for at in range(5_000)] + [(50_010, -1)]
    if backwards:
        rows.reverse()
    by_end: dict[int, list[int]] = {}
    for at, value in rows:
        by_end.setdefault(at // 10 * 10 + 10, []).append(value)

    def declare(stream: Stream) -> Stream:
        window = Tumbling("at", 10)
        return aggregate(stream, window=window, n=Count(), total=Sum("v"), low=Min("v"), high=Max("v"))

    with bench([Schema("at v")], declare, queue_bytes=1 << 20) as made:
        made.send({"at": [at for at, _ in rows], "v": [value for _, value in rows]})
        made.close()
        assert made.sent() == [
            (end, end - 10, end, len(some), sum(some), min(some), max(some)) for end, some in sorted(by_end.items())
        ]


def test_sums_of_large_numbers_in_stretches() -> None:
    large = 2**62
    with bench([Schema("at v")], lambda s: aggregate(s, window=Tumbling("at", 10), total=Sum("v"))) as made:
        made.send({"at": [1] * 4, "v": [large, -large, large, 5]})
        made.close()
        assert made.sent() == [(10, 0, 10, large + 5)]


def test_a_sum_that_overflows_is_refused() -> None:
    with bench([Schema("at v")], lambda s: aggregate(s, window=Tumbling("at", 10), total=Sum("v"))) as made:
        made.send({"at": [1] * 2, "v": [2**63 - 1, 1]})
        with raises(OperatorError, "operator 'aggregate'", "sum of 'v'", "64 bits", "float64"):
            made.settle()


@pytest.mark.parametrize("by", ["", "v"])
@pytest.mark.parametrize(("value", "count"), [(-(2**62), 4), (2**62, 4), (-(2**62), 4096), (-(2**53), 4096)])
def test_a_sum_that_comes_round_to_what_it_was_is_refused(value: int, count: int, by: str) -> None:
    """Four times a quarter of all there are is 0 where nobody looks, within a stretch of rows and beyond it."""
    with bench(
        [LATE], lambda s: aggregate(s, by, window=Tumbling("at", 10), total=Sum("v")), queue_bytes=1 << 20
    ) as made:
        made.send({"at": [1] * count, "v": [value] * count})
        if -(2**63) <= value * count < 2**63:
            made.close()
            assert [row[-1] for row in made.sent()] == [value * count]
        else:
            with raises(OperatorError, "operator 'aggregate'", "sum of 'v'", "64 bits", "float64"):
                made.settle()


@pytest.mark.parametrize("by", ["", "v"])
def test_the_last_window_there_is(by: str) -> None:
    with bench([Schema("at v")], lambda s: aggregate(s, by, window=Tumbling("at", 10), n=Count()), workers=2) as made:
        made.send({"at": [MAX_TIME, MAX_TIME - 20], "v": [4, 4]}, worker=0)
        made.send({"at": [MAX_TIME - 1], "v": [4]}, worker=1)
        made.close()
        last = (MAX_TIME // 10 + 1) * 10
        assert [row[:3] + row[-1:] for row in made.sent()] == [
            (last - 20, last - 30, last - 20, 1),
            (MAX_TIME, last - 10, last, 2),
        ]


def test_timestamps_and_the_last_value_by_time() -> None:
    schema = Schema("v", at="timestamp", name="string")

    def declare(stream: Stream) -> Stream:
        return aggregate(stream, window=Tumbling("at", "10ns"), last=Last("name"))

    with bench([schema], declare, workers=2) as made:
        made.send({"v": [1], "at": [9], "name": ["late"]}, worker=0)
        made.send({"v": [1], "at": [8], "name": ["early"]}, worker=1)
        made.close()
        (row,) = made.sent()
        assert (row[0], row[3]) == (10, "late")


@pytest.mark.parametrize("window", [Tumbling("at", 10), Sliding("at", 20, 10)], ids=str)
@pytest.mark.parametrize("lateness", [0, 5])
def test_late_rows_go_to_a_stream_of_their_own(window: Window, lateness: int) -> None:
    late: list[Any] = []

    def declare(stream: Stream) -> Stream:
        results, rows = aggregate(stream, window=window, n=Count(), late=True, lateness=lateness)
        assert rows.schema == LATE

        def construct(context: Any) -> Any:
            def logic(port: Any) -> None:
                late.extend([(reference.time, *row) for reference, batch in port for row in zip(*batch, strict=True)])

            return logic

        rows.sink("late", construct)
        return results

    with bench([LATE], declare, workers=2) as made:
        made.send({"at": [3, 25], "v": [1, 2]}, time=0)
        made.send({"at": [9, 10, 30], "v": [3, 4, 5]}, time=10 + lateness - 1)
        made.send({"at": [9, 19, 12], "v": [6, 7, 8]}, time=10 + lateness)
        made.settle()
        made.close()
        assert late == [(10 + lateness, 9, 6)]
        counts = {row[2]: (row[0], row[3]) for row in (sent[1:] for sent in made.rows)}
        if isinstance(window, Tumbling):
            assert counts == {end: (end + lateness, n) for end, n in [(10, 2), (20, 3), (30, 1), (40, 1)]}
        else:
            assert counts == {end: (end + lateness, n) for end, n in [(10, 2), (20, 5), (30, 4), (40, 2), (50, 1)]}


def test_a_late_row_is_never_lost_in_silence() -> None:
    with bench([LATE], lambda stream: aggregate(stream, window=Tumbling("at", 10), n=Count())) as made:
        made.send({"at": [3, 14], "v": [1, 2]}, time=2)
        made.send({"at": [4], "v": [3]}, time=8)
        made.advance(12)
        made.send({"at": [13, 4], "v": [3, 3]}, time=12)
        ended = ("window that ended at 10", "frontier", "at 12")
        with raises(OperatorError, "operator 'aggregate'", *ended, "lateness=", "late=True"):
            made.settle()


OUTER: dict[str, Callable[..., Stream]] = {
    "top": lambda s, window, **more: top(s, order="n", k=1, window=window, rank=None, **more),
    "top of two": lambda s, window, **more: filter(top(s, order="n", k=2, window=window, **more), col("rank") == 1),
    "reduce": lambda s, window, **more: reduce(
        s, "", lambda rows, _: {"n": [rows["n"].max()]}, Schema("n"), window=window, **more
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTER)
@pytest.mark.parametrize(("then", "least"), [(4, 2), (-15, 22)])
def test_a_late_row_is_in_time_by_the_lateness_that_is_advised(name: str, then: int, least: int) -> None:
    """The window of `then` ends at 10, or at -10, and its message comes at 12."""
    for lateness in (least - 1, least):

        def declare(stream: Stream, lateness: int = lateness) -> Stream:
            made = OUTER[name](stream, Tumbling("at", 10), lateness=lateness)
            return select(made, "window_start", "window_end", "n")

        with bench([Schema("at n")], declare) as made:
            made.send({"at": [33], "n": [1]}, time=0)
            made.advance(12)
            made.send({"at": [then], "n": [2]})
            if lateness == least:
                made.close()
                start = then // 10 * 10
                assert made.sent() == [(start + 10 + lateness, start, start + 10, 2), (40 + lateness, 30, 40, 1)]
            else:
                with raises(OperatorError, f"operator '{name.split()[0]}'", "earlier times", "lateness="):
                    made.settle()


@settings(max_examples=examples(10))
@given(
    ats=st.lists(st.integers(0, 90), min_size=1, max_size=40),
    window=st.sampled_from(WINDOWS),
    lateness=st.integers(0, 30),
    workers=st.integers(1, 2),
)
@pytest.mark.parametrize("name", OUTER)
def test_lateness_is_that_of_aggregates(name: str, ats: list[int], window: Any, lateness: int, workers: int) -> None:
    """Rows in any order that it allows: at the same times the same windows."""

    def declare(stream: Stream) -> Stream:
        made = select(OUTER[name](stream, window, lateness=lateness), "window_start", "window_end", "n")
        wanted = aggregate(stream, window=window, lateness=lateness, n=Max("n"))
        return union(with_columns(made, which=lit(0)), with_columns(wanted, which=lit(1)))

    with bench([Schema("at n")], declare, workers) as made:
        for number in range(len(ats)):
            time = max(ats[: number + 1])
            at = max(ats[number], time - lateness)
            made.send({"at": [at], "n": [number]}, worker=number % workers, time=time)
            made.settle()
        made.close()
        found = [sorted(row[1:-1] for row in made.rows if row[-1] == which) for which in (0, 1)]
        assert found[0] == found[1]


@pytest.mark.parametrize("name", OUTER)
def test_windows_of_windows_go_by_ends(name: str) -> None:
    def declare(stream: Stream) -> Stream:
        inner = filter(aggregate(stream, "v", window=Tumbling("at", 5, end="to"), n=Count()), col("n") > 0)
        for windows, time, cure in (
            (inner, "window_start", "by 'to', with offset=1"),
            (select(inner, "n", x=col("window_start")), "x", "which their window's end= names"),
        ):
            with raises(GraphError, f"operator '{name.split()[0]}'", f"by '{time}'", "'aggregate'", cure):
                OUTER[name](windows, Tumbling(time, 10, start="a", end="b"))
        OUTER[name](with_columns(inner, window_start=col("to")), Tumbling("window_start", 10, start="a", end="b"))
        OUTER[name](inner, Tumbling("window_start", 10, start="a", end="b"), lateness=5)
        return select(OUTER[name](inner, Tumbling("to", 10, offset=1, start=None, end=None)), "n")

    with bench([LATE], declare, workers=2) as made:
        made.send({"at": [0, 4, 5, 9, 9, 9, 10, 14], "v": [1, 1, 2, 2, 2, 3, 1, 1]}, worker=1)
        made.close()
        assert made.sent() == [(11, 3), (21, 2)]


NARROW: dict[str, Any] = {"start": "a", "end": "b"}
BY_STARTS: dict[str, Callable[[Stream], Stream]] = {
    "aggregate": lambda s: aggregate(s, window=Tumbling("start", 2, **NARROW), n=Sum("n")),
    "sessions": lambda s: aggregate(s, window=Session("start", 2, **NARROW), n=Sum("n")),
    "top": lambda s: top(s, order="n", k=1, window=Tumbling("start", 2, **NARROW)),
    "scan": lambda s: scan(s, "n", lambda state, row: (state, None), Schema("m"), order="start"),
    "join": lambda s: interval_join(
        s, s, on="n", left_time="start", right_time="start", upper=1, columns={"n": "left.n"}
    ),
}


@pytest.mark.parametrize("name", BY_STARTS)
def test_who_goes_by_starts_of_windows_unseen_is_told_of_their_ends(name: str) -> None:
    def declare(stream: Stream) -> Stream:
        inner = aggregate(stream, window=Tumbling("at", 5, start="start", end="window_end"), n=Count())
        return BY_STARTS[name](exchange(inner, "start"))

    with bench([LATE], declare) as made:
        made.send({"at": [3, 7], "v": [1, 1]})
        with raises(OperatorError, "TimeRegressionError", "results of windows come at their ends", "window_end"):
            made.close()


def test_joins_by_starts_of_windows_are_refused_where_late_rows_are_not_taken() -> None:
    def declare(stream: Stream) -> Stream:
        inner, outer = aggregate(stream, "v", window=Tumbling("at", 5), n=Count()), Tumbling("at", 10, **NARROW)
        refused = GraphError, "operator 'join'", "by 'window_start'", "by 'window_end', with offset=1"
        with raises(*refused):
            join(inner, stream, on="v", window=Tumbling("window_start", 10, **NARROW), right_time="at", columns="n at")
        with raises(*refused):
            join(stream, inner, on="v", window=outer, right_time="window_start", columns="n at")
        return join(stream, inner, on="v", window=outer, right_time="window_start", columns="n", late=True)[0]

    with bench([LATE], declare):
        pass


@pytest.mark.parametrize("by", ["", "v"])
@pytest.mark.parametrize("window", [Tumbling("at", 10), Sliding("at", 20, 10)], ids=str)
def test_a_late_row_of_the_window_that_was_sent_last(window: Window, by: str) -> None:
    """What remembers the window that rows went to before forgets it when that is sent."""
    with bench([LATE], lambda s: aggregate(s, by, window=window, n=Count())) as made:
        made.send({"at": [3], "v": [1]}, time=0)
        made.advance(30)
        assert sum(row[-1] for row in made.sent()) == window.width // 10
        made.send({"at": [4], "v": [1]})
        with raises(
            OperatorError, {"window that ended at 10", "window that ended at 20"}, "frontier", "at 30", "late=True"
        ):
            made.settle()


def test_a_row_before_its_message_in_a_window_that_was_never_open() -> None:
    with bench([LATE], lambda stream: aggregate(stream, window=Tumbling("at", 10), n=Count())) as made:
        made.send({"at": [4], "v": [3]}, time=12)
        with raises(OperatorError, "operator 'aggregate.local'", "time 12", "at 10", "late=True"):
            made.settle()


def test_windows_that_leave_gaps_are_refused() -> None:
    def declare(stream: Stream) -> Stream:
        with raises(SchemaError, "operator 'aggregate'", "every=7", "windows of 5"):
            aggregate(stream, window=Sliding("at", 5, 7), n=Count())
        return stream

    with bench([LATE], declare):
        pass


@settings(max_examples=examples(25))
@given(
    rows=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 4), st.integers(-9, 9)), min_size=1, max_size=60),
    step=st.integers(1, 80),
    window=st.sampled_from([Sliding("at", 60, 5), Sliding("at", 50, 20)]),
)
def test_counts_and_sums_move_on_with_the_window(rows: list[tuple[int, int, int]], step: int, window: Any) -> None:
    """Keys that come, go, and come again, in windows of many panes, with gaps between."""
    rows = sorted(row if row[0] < 100 else (row[0] + 500, *row[1:]) for row in rows)
    with bench([Schema("at key v")], lambda s: aggregate(s, "key", window=window, n=Count(), total=Sum("v"))) as made:
        for start in range(0, 900, step):
            some = [row for row in rows if start <= row[0] < start + step]
            if some:
                made.send({name: [row[at] for row in some] for at, name in enumerate(("at", "key", "v"))})
            made.advance(start + step)
        made.close()
        found: dict[Any, list[int]] = {}
        for at, key, value in rows:
            for each in _windows(window, at):
                found.setdefault((*each, key), []).append(value)
        assert sorted(row[2:] for row in made.rows) == sorted(
            (*place, len(values), sum(values)) for place, values in found.items()
        )
