"""Durations wherever times are: what is taken beside a timestamp, beside whole numbers, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.helpers import bench
from tokenring.engine import MAX_TIME, Schema, SchemaError, Scope, Stream, UsageError
from tokenring.operators import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Count,
    Session,
    Sliding,
    Tumbling,
    aggregate,
    col,
    collection,
    delay,
    from_generator,
    interval_join,
    join,
    reduce,
    select,
    top,
)
from tokenring.operators.durations import span_of

STAMPED, NUMBERED = Schema("key", at="timestamp"), Schema("key at")
HALF_A_MINUTE = ["30s", "30 s", "30000ms", "30000 ms", "30000000us", "30000000000ns", 30 * SECOND, SECOND * 30]
HALF_A_MINUTE += [MINUTE - 30 * SECOND, timedelta(seconds=30), np.timedelta64(30, "s"), np.timedelta64(30_000, "ms")]

TAKES: dict[str, Callable[[Stream, Any], Any]] = {
    "Tumbling": lambda s, span: aggregate(s, window=Tumbling("at", span), n=Count()),
    "offset": lambda s, span: aggregate(s, window=Tumbling("at", HOUR, span), n=Count()),
    "Sliding": lambda s, span: aggregate(s, window=Sliding("at", span, span), n=Count()),
    "Session": lambda s, span: aggregate(s, "key", window=Session("at", span), n=Count()),
    "lateness": lambda s, span: aggregate(
        s, window=Tumbling("at", 5 if s.schema == NUMBERED else HOUR), n=Count(), lateness=span, late=True
    ),
    "top": lambda s, span: top(s, order="key", k=2, window=Tumbling("at", span)),
    "reduce": lambda s, span: reduce(s, "key", lambda rows, at: {"x": at}, Schema("x"), window=Tumbling("at", span)),
    "join": lambda s, span: join(s, s, on="key", columns="key", window=Sliding("at", span, span)),
    "upper": lambda s, span: interval_join(s, s, on="key", columns="key", left_time="at", right_time="at", upper=span),
    "lower": lambda s, span: interval_join(
        s, s, on="key", columns="key", left_time="at", right_time="at", lower=span, upper=span
    ),
}  # fmt: skip


def stream_of(schema: Schema) -> Stream:
    return Scope("spans").new_input(schema)[1]


@pytest.mark.parametrize("name", TAKES)
def test_what_is_taken_beside_a_timestamp(name: str) -> None:
    for span in HALF_A_MINUTE:
        TAKES[name](stream_of(STAMPED), span)
    for span in (3600, np.int64(3600)):
        with raises(SchemaError, "operator '", "3600 of a timestamp", "'3600s'", "'1h'"):
            TAKES[name](stream_of(STAMPED), span)
    for span in (True, 1.5, b"1h", "an hour", "1 fortnight", "1.5h", "", np.timedelta64(1, "M"), np.timedelta64("NaT")):
        with raises(SchemaError, {"'1h'", "no column"}):
            TAKES[name](stream_of(STAMPED), span)


@pytest.mark.parametrize("name", TAKES)
def test_what_is_taken_beside_whole_numbers(name: str) -> None:
    for number in (3600, np.int64(3600), 30 * SECOND):
        TAKES[name](stream_of(NUMBERED), number)
    for span in ("1h", timedelta(seconds=30), np.timedelta64(30, "s")):
        with raises(SchemaError, "operator '", "column of int64", "give a number"):
            TAKES[name](stream_of(NUMBERED), span)


def test_all_ways_to_say_it_are_one_length() -> None:
    assert {span_of(span, "timestamp", "x") for span in HALF_A_MINUTE} == {30_000_000_000}
    assert all(type(span_of(span, "timestamp", "x")) is int for span in HALF_A_MINUTE)
    assert span_of("-5min", "timestamp", "x") == -5 * MINUTE
    assert span_of(0, "timestamp", "x") == 0
    assert [DAY // HOUR, -HOUR + DAY, 3 * DAY - 1] == [24, 23 * 3600 * 10**9, 3 * 86400 * 10**9 - 1]
    with raises(SchemaError, "'100000000000d'", f"{MAX_TIME}"):
        span_of("100000000000d", "timestamp", "x")


def test_windows_are_as_long_as_they_say() -> None:
    hour = 3600 * 10**9

    def declare(stream: Stream) -> Stream:
        return aggregate(stream, "key", window=Tumbling("at", "1h", "30min"), n=Count())

    with bench([STAMPED], declare) as made:
        made.send({"key": [1, 1, 1], "at": np.array([0, hour // 2 - 1, hour // 2], "datetime64[ns]")})
        made.close()
        assert [row[-1] for row in made.sent()] == [2, 1]


def test_a_column_goes_before_a_duration() -> None:
    """`upper` may name a column; what reads like a duration is one where there is no such column."""
    schema = Schema("key", at="timestamp", end="timestamp")
    stream = stream_of(schema)
    interval_join(stream, stream, on="key", columns="key", left_time="at", right_time="at", upper="end")
    with raises(SchemaError, "column 'ende' of the left side", "upper=", "did you mean 'end'"):
        interval_join(stream, stream, on="key", columns="key", left_time="at", right_time="at", upper="ende")


def test_delays_are_of_the_streams_times() -> None:
    for by in (5, "5 ms", timedelta(milliseconds=5), 5 * SECOND):
        delay(stream_of(STAMPED), by)
    with raises(SchemaError, "operator 'delay'", "by", "'1h'", "not 0.5"):
        delay(stream_of(STAMPED), 0.5)  # type: ignore[arg-type]
    with raises(UsageError, "operator 'delay'", f"{SECOND}", "0 or more"):
        delay(stream_of(STAMPED), "-1s")


@pytest.mark.parametrize(
    "declare",
    [
        lambda rows, by: delay(select(rows, at=col("key")), by),
        lambda rows, by: collection(select(rows, key=col("key"))).delay(by),
        lambda rows, by: collection(select(rows, key=col("key"))).arrange("key").export("rows", history=by),
    ],
)
@pytest.mark.parametrize("timed_by", ["source", "collection"])
def test_no_delay_is_a_duration_where_times_are_whole_numbers(timed_by: str, declare: Any) -> None:
    def rows_of(schema: Schema) -> Any:
        by_source = timed_by == "source"
        made = from_generator(Scope("delays"), schema, lambda: iter([]), time="at" if by_source else 0)
        return made if by_source else collection(made, time="at").stream

    with raises(SchemaError, {"operator 'delay': by", "history"}, "'1h' of a column of int64", "give a number"):
        declare(rows_of(NUMBERED), "1h")
    declare(rows_of(NUMBERED), HOUR)
    declare(rows_of(STAMPED), "1h")


def test_truncate_reads_durations() -> None:
    stream = select(stream_of(STAMPED), hour=col("at").truncate("1h"), minute=col("at").truncate(timedelta(minutes=1)))
    assert stream.schema == Schema(hour="timestamp", minute="timestamp")
    with raises(UsageError, "truncate", "'1h'", "not 'hour'"):
        col("at").truncate("hour")


def test_nothing_is_later_than_the_end_of_all_time() -> None:
    rows = pa.table({"k": [1, 1, 2]})
    with raises(tr.OperatorError, "operator 'delay'", "last representable time", "emit='final'", "before that"):
        tr.run(lambda scope: scope.read_arrow(rows).count("k", emit="final").delay(5).collect(), workers=1)
