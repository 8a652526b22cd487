"""Every operator gives the same answer under every mechanism, on any number of workers, whatever the order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import Bench, bench
from tokenring.engine import COMPLETE, GraphError, OperatorError, Schema, SchemaError, Scope, Stream, UsageError
from tokenring.operators import (
    Count,
    Max,
    Roll,
    Session,
    Sliding,
    Tumbling,
    aggregate,
    average_of_last,
    best_offers,
    fluent,
    no_op,
    running_average,
    word_count,
)
from tokenring.operators.mechanisms import MECHANISMS, TOKENS, mechanism, mechanism_of, use
from tokenring.operators.time import Window

WORDS = Schema("word at")
VALUES = Schema("key value at")
INTERVALS = Schema("key start end least payload")
OFFERS = Schema("item when price")
CROSSING = [name for name in MECHANISMS if name != "watermarks-P"]
WIDTH = 10

Row = tuple[int, ...]


@st.composite
def _scripts(draw: st.DrawFn, *columns: st.SearchStrategy[int]) -> tuple[int, list[Row], list[tuple[int, list[Any]]]]:
    """Workers, rows (*columns, time), and when they are sent: (what the inputs advance to, [(worker, rows)])."""
    workers = draw(st.integers(1, 3))
    rows = draw(st.lists(st.tuples(*columns, st.integers(0, 60)), max_size=40))
    width = draw(st.sampled_from([1, 7, 100]))
    by_group: dict[int, list[Row]] = {}
    for row in rows:
        by_group.setdefault(row[-1] // width, []).append(row)
    script = []
    for group in sorted(by_group):
        sends = []
        rest = draw(st.permutations(by_group[group]))
        while rest:
            size = draw(st.integers(1, len(rest)))
            sends.append((draw(st.integers(0, workers - 1)), rest[:size]))
            rest = rest[size:]
        script.append((group * width, sends))
    return workers, rows, script


def _play(made: Bench, schema: Schema, script: list[tuple[int, list[Any]]], settle: bool) -> list[Row]:
    """Follow a script; returns the rows that were sent, without their messages' times."""
    for time, sends in script:
        made.advance(time)
        for worker, rows in sends:
            made.send(_columns(schema, rows), worker=worker)
            if settle:
                made.settle()
    made.close()
    assert all(probe.frontier == COMPLETE for probe in made.probes)
    return sorted(row[1:] for row in made.sent())


def _columns(schema: Schema, rows: list[Any]) -> dict[str, list[int]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(schema.names)}


def _counts(rows: list[Row]) -> list[Row]:
    seen: Counter[int] = Counter()
    counted = []
    for word, at in sorted(rows, key=lambda row: row[1]):
        seen[word] += 1
        counted.append((word, at, seen[word]))
    return sorted(counted)


@pytest.mark.parametrize("way", CROSSING)
@settings(max_examples=examples(30))
@given(script=_scripts(st.integers(-2, 4)), settle=st.booleans())
def test_words_are_counted_in_order_of_time(way: str, script: Any, settle: bool) -> None:
    workers, rows, sends = script

    def declare(stream: Stream) -> Stream:
        return word_count(no_op(stream, "word"), "word", "at")

    with bench([WORDS], declare, workers, way, ["at"]) as made:
        assert _play(made, WORDS, sends, settle) == _counts(rows)


@pytest.mark.parametrize("way", CROSSING)
def test_texts_take_part(way: str) -> None:
    """In order of time and out of it: each distinct time may be a message of its own."""
    schema = Schema("at", word="string?")
    rows = [(3, "c"), (1, "a"), (1, None), (2, "bé"), (3, "a")]

    def declare(stream: Stream) -> Stream:
        return aggregate(no_op(stream, "word"), "word", window=Tumbling("at", 10), rows=Count())

    with bench([schema], declare, 2, way, ["at"]) as made:
        made.send(_columns(schema, rows))
        made.send(_columns(schema, sorted(rows, key=str)), worker=1)
        made.close()
        assert {row[-2]: row[-1] for row in made.rows} == {"a": 4, "bé": 2, "c": 2, None: 2}


def _some_late(way: str, window: Window, chosen: tuple[int, ...]) -> list[Row]:
    """The results, 0, or the rows that come too late for them, 1; behind that one those of these rows alone."""

    def declare(stream: Stream) -> Stream:
        for which in chosen:
            stream = aggregate(stream, "word", window=window, n=Count(), late=True)[which]
        return stream

    with bench([WORDS], declare, 2, way, ["at"]) as made:
        made.send({"word": [1, 1], "at": [3, 1]})
        made.advance(12)
        made.send({"word": [1, 2], "at": [9, 10]}, worker=1)
        made.advance(25)
        made.send({"word": [1, 2, 2, 1], "at": [26, 3, 24, 2]})
        made.close()
        return sorted(row[2:] for row in made.rows)


@pytest.mark.parametrize("chosen", [(0,), (1,), (1, 1), (1, 0)])
@pytest.mark.parametrize("window", [Tumbling("at", 10), Sliding("at", 20, 10), Session("at", 5)])
@pytest.mark.parametrize("way", ["notifications", "watermarks-X"])
def test_late_rows_are_those_of_tokens(way: str, window: Window, chosen: tuple[int, ...]) -> None:
    found = _some_late("tokens", window, chosen)
    assert bool(found) == (chosen != (1, 0))
    assert _some_late(way, window, chosen) == found


@pytest.mark.parametrize("way", ["tokens", "notifications"])
def test_rows_that_were_due_before_their_message_are_told(way: str) -> None:
    def declare(stream: Stream) -> Stream:
        return average_of_last(stream, "key", "value", rows=2, order="start")

    schema = Schema("key value start at")
    said = "operator 'average_of_last'", "at time 5", "due before it, at 3", "at earlier times"
    with raises(OperatorError, *said), bench([schema], declare, 1, way, ["at"]) as made:
        made.send({"key": [1], "value": [1], "start": [3], "at": [5]}, time=5)
        made.settle()


@pytest.mark.parametrize("way", MECHANISMS)
@settings(max_examples=examples(20))
@given(script=_scripts(st.integers(-2, 4)), settle=st.booleans())
def test_each_worker_counts_its_own_words(way: str, script: Any, settle: bool) -> None:
    workers, _, sends = script
    own: list[list[Row]] = [[] for _ in range(workers)]
    for _, pieces in sends:
        for worker, rows in pieces:
            own[worker] += rows

    def declare(stream: Stream) -> Stream:
        return word_count(no_op(stream, "word", local=True), "word", "at", local=True)

    with bench([WORDS], declare, workers, way, ["at"]) as made:
        assert _play(made, WORDS, sends, settle) == sorted(row for rows in own for row in _counts(rows))


@pytest.mark.parametrize("way", CROSSING)
@settings(max_examples=examples(20))
@given(script=_scripts(st.integers(-(2**62), 2**62)), settle=st.booleans())
def test_windows_have_their_maxima(way: str, script: Any, settle: bool) -> None:
    workers, rows, sends = script
    best: dict[int, int] = {}
    for value, at in rows:
        end = (at // WIDTH + 1) * WIDTH
        best[end] = max(value, best.get(end, value))

    def declare(stream: Stream) -> Stream:
        return aggregate(stream, window=Tumbling("at", WIDTH, start=None), value=Max("value"))

    schema = Schema("value at")
    with bench([schema], declare, workers, way, ["at"]) as made:
        assert _play(made, schema, sends, settle) == sorted(best.items())


@pytest.mark.parametrize("way", CROSSING)
@settings(max_examples=examples(20))
@given(script=_scripts(st.integers(0, 3), st.integers(-9, 9)), settle=st.booleans())
def test_the_last_average_of_each_key_is_right(way: str, script: Any, settle: bool) -> None:
    workers, rows, sends = script
    values: dict[int, list[int]] = {}
    for key, value, _ in rows:
        values.setdefault(key, []).append(value)

    def declare(stream: Stream) -> Stream:
        return running_average(stream, "key", "value")

    with bench([VALUES], declare, workers, way, ["at"]) as made:
        sent = _play(made, VALUES, sends, settle)
    assert sorted((key, count) for key, _, count in sent) == sorted(
        (key, count) for key, those in values.items() for count in range(1, len(those) + 1)
    )
    last = {key: average for key, average, count in sent if count == len(values[key])}
    assert last == {key: sum(those) // len(those) for key, those in values.items()}


@pytest.mark.parametrize("way", CROSSING)
@settings(max_examples=examples(30))
@given(
    intervals=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 40), st.integers(0, 20), st.integers(-3, 3)),
        unique_by=lambda row: row[0],
        max_size=6,
    ),
    offers=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 60), st.integers(-9, 9)), max_size=25),
    workers=st.integers(1, 3),
    data=st.data(),
)
def test_intervals_have_their_best_offers(way: str, intervals: Any, offers: Any, workers: int, data: Any) -> None:
    opened = [(key, start, start + length, least, 10 + key) for key, start, length, least in intervals]
    expected = []
    for key, start, end, least, payload in opened:
        prices = [price for item, at, price in offers if item == key and start <= at < end and price >= least]
        expected += [(payload, max(prices))] if prices else []

    def declare(left: Stream, right: Stream) -> Stream:
        return best_offers(
            left, right, key="key", start="start", end="end", threshold="least", payload="payload",
            offer_key="item", offer_time="when", offer_value="price",
        )  # fmt: skip

    rows = sorted([(row[1], 0, row) for row in opened] + [(row[1], 1, row) for row in offers])
    with bench([INTERVALS, OFFERS], declare, workers, way, ["start", "when"]) as made:
        for at, to, row in rows:
            if data.draw(st.booleans()):
                made.advance(at)
            made.send(_columns((INTERVALS, OFFERS)[to], [row]), worker=data.draw(st.integers(0, workers - 1)), to=to)
        made.close()
        assert sorted(row[1:] for row in made.sent()) == sorted(expected)


@pytest.mark.parametrize("way", MECHANISMS)
def test_what_is_finished_is_sent_and_the_probe_moves_on(way: str) -> None:
    def declare(stream: Stream) -> Stream:
        return word_count(stream, "word", "at", local=True)

    with bench([WORDS], declare, 2, way, ["at"]) as made:
        made.send({"word": [7, 7, 7], "at": [3, 5, 9]})
        made.settle()
        assert made.sent() == [] and all(probe.less_than(1) for probe in made.probes)
        made.advance(6)
        assert [row[1:] for row in made.sent()] == [(7, 3, 1), (7, 5, 2)]
        assert [probe.frontier for probe in made.probes] == [6, 6]
        made.inputs[0][0].advance_to(100)
        made.settle()
        local = way == "watermarks-P"
        assert [probe.frontier for probe in made.probes] == ([100, 6] if local else [6, 6])
        made.close()
        assert all(probe.done() for probe in made.probes)


def test_an_exchange_is_refused_where_watermarks_are_local() -> None:
    def declare(stream: Stream) -> Stream:
        return word_count(stream, "word", "at")

    refused = raises(GraphError, "operator 'word_count'", "watermarks-P", "local", "watermarks-X")
    with refused, bench([WORDS], declare, 2, "watermarks-P", ["at"]):
        pass


def test_a_stream_without_watermarks_is_refused() -> None:
    scope = Scope("marks")
    use(scope, "watermarks-X")
    _, stream = scope.new_input(WORDS)
    with raises(GraphError, "operator 'word_count'", "'input' output 0", "mechanism_of(scope).new_input(scope, schema"):
        word_count(stream, "word", "at")
    word_count(mechanism_of(scope).new_input(scope, WORDS, "at")[1], "word", "at")


BY_MESSAGES: dict[str, tuple[str, Callable[[Any, Path], object]]] = {
    "delay": ("coordinate by tokens", lambda rows, to: rows.delay(1)),
    "for_each, in_order=": ("coordinate by tokens", lambda rows, to: rows.for_each(print, in_order=True)),
    "arrange": ("coordinate by tokens", lambda rows, to: rows.arrange("word", "at")),
    "enrich": ("temporal_join(time=", lambda rows, to: rows.enrich(rows, on="word", columns="left.at")),
    "interval_join.left.late": (
        "leave late= out",
        lambda rows, to: rows.interval_join(
            rows, on="word", left_time="at", right_time="at", lower=0, upper=1, columns={"a": "left.at"}, late=True
        ),
    ),
    "to_csv": ("Roll(..., time=", lambda rows, to: rows.to_csv(to, roll=Roll(1))),
    "to_json_lines": ("Roll(..., time=", lambda rows, to: rows.to_json_lines(to, roll=Roll(1))),
    "updates": (".collection(time=", lambda rows, to: rows.collection(key="word")),
    "count.rows": (".collection(time=", lambda rows, to: rows.count("word", changes=True)),
    "aggregate.rows": (
        ".collection(time=",
        lambda rows, to: rows.aggregate("word", n=Count(), window=Tumbling("at", 1), changes=True),
    ),
}


@pytest.mark.parametrize("name", BY_MESSAGES)
def test_what_goes_by_messages_times_is_refused_where_watermarks_have_all_at_0(name: str, tmp_path: Path) -> None:
    cure, declare = BY_MESSAGES[name]
    table = pa.table({"word": [1], "at": [5]})
    for way, time in (("tokens", "at"), ("watermarks-X", 0)):  # where messages have rows' times, or there are none
        scope = fluent.Scope("right")
        use(scope, way)
        declare(scope.read_arrow(table, time=time), tmp_path)
    scope = fluent.Scope("wrong")
    for rows in (
        use(scope, "watermarks-X").new_input(scope, WORDS, "at")[1],
        scope.read_arrow(table, time="at"),
        scope.read_arrow(table, time=1000),
        scope.from_callback(WORDS, lambda: None),
    ):
        with raises(GraphError, f"operator {name!r}", "watermarks-X", cure):
            declare(rows.filter("at", ">", 0), tmp_path)


@pytest.mark.parametrize(("word", "time"), [("count", "at"), ("word", "count"), ("word", "word")])
def test_words_and_times_are_called_otherwise_than_their_counts(word: str, time: str) -> None:
    _, stream = Scope("words").new_input(Schema.of(dict.fromkeys((word, time), "int64")))
    with raises(SchemaError, "operator 'word_count'", "two columns", ".rename({"):
        word_count(stream, word, time)


def test_a_mechanism_is_said_first() -> None:
    scope = Scope("late")
    scope.new_input(WORDS)
    with raises(GraphError, "dataflow 'late'", "before", "mechanism='sequential'"):
        use(scope, "sequential")


def test_a_mechanism_is_that_of_the_whole_dataflow_and_of_no_other() -> None:
    scope = Scope("one")
    used = use(scope, "sequential")
    with scope.loop() as loop, scope.region("part") as region:
        assert (mechanism_of(loop), mechanism_of(region), mechanism_of(scope)) == (used, used, used)
    assert mechanism_of(Scope("other")) is TOKENS


def test_an_unknown_mechanism_is_refused() -> None:
    with raises(UsageError, "mechanism 'barriers'", "tokens, notifications, watermarks-X, watermarks-P, sequential"):
        mechanism("barriers")
