"""running_average and tumbling_average: rounding, overflow, the paper's example."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tokenring.engine import Exchange, OperatorError, Schema, SchemaError, Stream
from tokenring.operators import running_average, tumbling_average

KEYED = Schema("key value")
TIMED = Schema("at value")
HUGE = 2**63 - 1


def _running(stream: Stream) -> Stream:
    return running_average(stream, "key", "value")


@settings(max_examples=examples(60))
@given(
    rows=st.lists(st.tuples(st.sampled_from([0, 1, -1, HUGE, -HUGE - 1]), st.integers(-100, 100)), max_size=40),
    size=st.integers(1, 10),
)
def test_every_row_gets_the_average_so_far_rounded_down(rows: list[tuple[int, int]], size: int) -> None:
    seen: dict[int, list[int]] = {}
    expected = []
    for key, value in rows:
        values = seen.setdefault(key, [])
        values.append(value)
        expected.append((key, sum(values) // len(values), len(values)))
    with bench([KEYED], _running) as made:
        for start in range(0, len(rows), size):
            piece = rows[start : start + size]
            made.send({"key": [key for key, _ in piece], "value": [value for _, value in piece]})
            made.settle()
        assert [row[2:] for row in made.rows] == expected
        made.close()


@pytest.mark.parametrize(("values", "average"), [([-1, 0], -1), ([-7, 0, 0], -3), ([7, 0, 0], 2), ([-3], -3)])
def test_negative_sums_round_like_python(values: list[int], average: int) -> None:
    with bench([KEYED], _running) as made:
        made.send({"key": [5] * len(values), "value": values})
        made.settle()
        assert made.rows[-1][2:] == (5, average, len(values))
        made.close()


def test_keys_meet_from_all_workers_and_keep_their_times() -> None:
    with bench([KEYED], _running, workers=3) as made:
        for worker in range(3):
            made.send({"key": list(range(10)), "value": [worker] * 10}, worker=worker, time=worker + 1)
            made.settle()
        homes = {(key, worker) for worker, _, key, _, _ in made.rows}
        assert len(homes) == 10, "each key has one worker"
        assert len({worker for _, worker in homes}) > 1
        assert sorted(row[1:] for row in made.rows if row[2] == 4) == [(1, 4, 0, 1), (2, 4, 0, 2), (3, 4, 1, 3)]
        made.close()


def test_many_keys() -> None:
    keys = [at * 2**20 - 2**33 for at in range(5_000)]
    with bench([KEYED], _running, queue_bytes=1 << 20) as made:
        for value in (3, 4):
            made.send({"key": keys, "value": [value] * len(keys)})
        made.close()
        assert made.sent() == sorted([(0, key, 3, 1) for key in keys] + [(0, key, 3, 2) for key in keys])


@pytest.mark.parametrize(("values", "fits"), [([HUGE, 0], True), ([HUGE, 1], False), ([-HUGE - 1, -1], False)])
def test_a_sum_beyond_int64_is_an_error(values: list[int], fits: bool) -> None:
    with bench([KEYED], _running) as made:
        made.send({"key": [1, 1], "value": values})
        if fits:
            made.settle()
            assert made.rows[-1][2:] == (1, HUGE // 2, 2)
            made.close()
        else:
            with raises(OperatorError, "operator 'running_average'", "OverflowError", "sum of 'value'", "int64"):
                made.settle()


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [("key", "key", "column 'key'"), ("count", "value", ".rename({'count': 'other'})"), ("average", "value", "rename")],
)
def test_columns_must_differ(key: str, value: str, says: str) -> None:
    with (
        raises(SchemaError, "running_average", says),
        bench([Schema(f"{key} value")], lambda s: running_average(s, key, value)),
    ):
        pass


# The paper's example


def test_windows_are_sent_at_their_ends_and_not_before() -> None:
    with bench([TIMED], lambda stream: tumbling_average(stream, "at", "value", 10)) as made:
        made.send({"at": [3, 12, 9, 10], "value": [1, 10, 4, 20]})
        made.settle()
        assert made.sent() == []
        made.advance(9)
        assert made.sent() == []
        made.send({"at": [9], "value": [4]})
        made.advance(10)
        assert made.sent() == [(10, 10, 3.0)]
        made.advance(19)
        assert made.sent() == []
        made.close()
        assert made.sent() == [(20, 20, 15.0)]


@pytest.mark.parametrize(
    ("kind", "values"),
    [("int64", [HUGE, 1, HUGE]), ("uint64", [2**64 - 1, 2**63]), ("int64", [-HUGE, -3]), ("float64", [0.1] * 9)],
)
def test_sums_are_exact(kind: str, values: list[Any]) -> None:
    with bench([Schema("at", value=kind)], lambda stream: tumbling_average(stream, "at", "value", 10)) as made:
        made.send({"at": [0] * len(values), "value": values})
        made.close()
        assert made.sent() == [(10, 10, pytest.approx(sum(values) / len(values)))]


def test_tokens_of_open_windows_hold_time_back_and_only_they() -> None:
    with bench([TIMED], lambda stream: tumbling_average(stream, "at", "value", 10)) as made:
        made.send({"at": [25, 5], "value": [1, 1]})
        made.settle()
        operator = next(o for o in made.group.workers[0].inspection.operators if o.name == "tumbling_average")
        assert operator.held == 2
        made.advance(12)
        assert operator.held == 1
        made.advance(40)
        assert operator.held == 0
        made.close()


@pytest.mark.parametrize("exchanged", [False, True])
def test_workers_average_their_own_rows_unless_exchanged(exchanged: bool) -> None:
    pact = Exchange("at") if exchanged else None
    with bench([TIMED], lambda stream: tumbling_average(stream, "at", "value", 10, pact), workers=2) as made:
        made.send({"at": [1], "value": [2]}, worker=0)
        made.send({"at": [1], "value": [4]}, worker=1)
        made.close()
        assert made.sent() == ([(10, 10, 3.0)] if exchanged else [(10, 10, 2.0), (10, 10, 4.0)])
