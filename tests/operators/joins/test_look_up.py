"""look_up against a dictionary for each time, and concatenate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tokenring.engine import GraphError, InputPort, OperatorContext, OutputPort, Schema, SchemaError, Stream, Token
from tokenring.operators import look_up, select, union

ASKED, KNOWN = Schema("number key"), Schema("key value")
Sides = tuple[list[tuple[int, int]], dict[int, int]]
sides = st.tuples(
    st.lists(st.tuples(st.integers(0, 99), st.integers(-5, 5)), max_size=12),
    st.dictionaries(st.integers(-5, 5), st.integers(-(2**40), 2**40), max_size=6),
)


def columns(schema: Schema, rows: list[tuple[int, ...]]) -> dict[str, Any]:
    return {name: [row[at] for row in rows] for at, name in enumerate(schema.names)}


@pytest.mark.parametrize("taken", ["key", "x y"])
def test_the_value_is_called_as_no_column_of_the_rows(taken: str) -> None:
    rows = Schema.of(dict.fromkeys(["key", taken], "int64"))
    with (
        raises(SchemaError, "operator 'look_up'", f"called {taken!r}", f".rename({{{taken!r}: 'other'}})"),
        bench([rows, Schema("key value")], lambda asked, known: look_up(asked, "key", known, taken)),
    ):
        pass


@settings(max_examples=examples(40))
@given(st.lists(sides, min_size=1, max_size=4), st.integers(1, 3), st.booleans())
def test_each_row_gets_what_its_time_knows(times: list[Sides], workers: int, table_first: bool) -> None:
    def declare(asked: Stream, known: Stream) -> Stream:
        return look_up(asked, "key", known, "value")

    with bench([ASKED, KNOWN], declare, workers, checks="exhaustive") as made:
        for time, (asked, known) in enumerate(times):
            for worker in range(workers):
                pair = [
                    (0, columns(ASKED, asked[worker::workers])),
                    (1, columns(KNOWN, list(known.items())[worker::workers])),
                ]
                for to, rows in reversed(pair) if table_first else pair:
                    made.send(rows, worker=worker, to=to, time=time)
        made.close()
        assert made.sent() == sorted(
            (time, number, key, known.get(key, 0)) for time, (asked, known) in enumerate(times) for number, key in asked
        )


def test_nothing_is_said_before_both_sides_are_finished() -> None:
    with bench([ASKED, KNOWN], lambda asked, known: look_up(asked, "key", known, "value")) as made:
        made.send({"number": [1], "key": [7]}, time=3)
        made.inputs[0][0].advance_to(9)
        made.settle()
        assert made.sent() == []
        made.send({"key": [7], "value": [70]}, to=1, time=3)
        made.settle()
        assert made.sent() == []
        made.inputs[0][1].advance_to(4)
        made.settle()
        assert made.sent() == [(3, 1, 7, 70)]
        made.send({"number": [2], "key": [7]}, time=9)
        made.close()
        assert made.sent() == [(9, 2, 7, 0)], "another time knows nothing of it"


def test_many_rows_of_many_times_in_bursts() -> None:
    """Tables that grow, and messages of many times in one call; of a key that is known twice the last counts."""
    times, keys = np.arange(6_000) // 2, np.arange(6_000) % 7

    def each(stream: Stream) -> Stream:
        def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
            token.drop()

            def logic(rows: InputPort, output: OutputPort) -> None:
                for reference, batch in rows:
                    output.give_each(reference, batch, batch.words(batch.schema.names[-1]))

            return logic

        return stream.unary("each", stream.schema, construct)

    def declare(asked: Stream, known: Stream) -> Stream:
        return look_up(each(asked), "key", select(each(known), "key", "value"), "found")

    sides = [Schema("key time"), Schema("key value time")]
    with bench(sides, declare, 2, queue_bytes=1 << 18) as made:
        made.send({"key": keys, "time": times})
        twice = {"key": keys.repeat(2), "value": np.arange(12_000), "time": times.repeat(2)}
        made.send(twice, to=1, worker=1)
        made.close()
        assert made.sent() == sorted((time, key, time, 2 * row + 1) for row, (time, key) in enumerate(zip(
            times.tolist(), keys.tolist(), strict=True)))  # fmt: skip


@pytest.mark.parametrize("count", [1, 2, 4])
def test_concatenate(count: int) -> None:
    with bench([KNOWN] * count, lambda *streams: union(*streams)) as made:
        for number in range(count):
            made.send({"key": [number], "value": [0]}, to=number, time=5 + number)
        made.close()
        assert made.sent() == [(5 + number, number, 0) for number in range(count)]


def test_concatenate_streams_of_two_scopes() -> None:
    def declare(stream: Stream) -> Stream:
        with stream.scope.loop("around") as loop:
            return union(stream, loop.enter(stream))

    with raises(GraphError, "operator 'union'", "loop 'around'", "loop.leave(stream)"), bench([KNOWN], declare):
        pass
