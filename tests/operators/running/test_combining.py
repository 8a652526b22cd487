"""Combining: what is sent is what it is without it, and how many rows cross says whether it was worth it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tokenring.engine import OperatorError, Schema, Stream
from tokenring.operators import Count, Max, Mean, Min, Sum, aggregate, col
from tokenring.operators.folds import Plan

ROWS = Schema.of({"a": "int64", "b": "int64", "value": "int64?", "wide": "uint64", "side": "bool"})
module = import_module("tokenring.operators.running.running")  # the function of that name hides it


def asked() -> dict[str, Any]:
    return {
        "n": Count(),
        "present": Count("value"),
        "sided": Count(where=col("side")),
        "total": Sum("value"),
        "some": Sum("value", where=col("side")),
        "wide": Sum("wide"),
        "least": Min("wide"),
        "most": Max("value", where=~col("side")),
        "mean": Mean("value"),
        "sides": Sum("side"),
    }


def batch(rng: np.random.Generator, rows: int, keys: int, constant: bool) -> dict[str, Any]:
    """Rows of which most have one key."""
    a = np.where(rng.random(rows) < 0.6, 7, rng.integers(-keys, keys, rows))
    return {
        "a": a,
        "b": np.full(rows, 2**40) if constant else rng.integers(0, 2, rows),
        "value": np.ma.masked_array(rng.integers(-50, 50, rows), rng.random(rows) < 0.1),
        "wide": rng.integers(0, 2**46, rows).astype(np.uint64) * np.uint64(16),
        "side": rng.random(rows) < 0.5,
    }


def sent(batches: list[dict[str, Any]], by: str, workers: int, **what: Any) -> list[Any]:
    with bench([ROWS], lambda stream: aggregate(stream, by, **what), workers, queue_bytes=1 << 20) as made:
        for number, rows in enumerate(batches):
            made.send(rows, worker=number % workers, time=number)
            made.settle()
        made.close()
        return [tuple(map(repr, row)) for row in made.rows]


@settings(max_examples=examples(15), deadline=None)
@given(
    seed=st.integers(0, 1000),
    sizes=st.lists(st.sampled_from([1, 63, 64, 1024, 1025, 3000]), min_size=1, max_size=4),
    keys=st.sampled_from([1, 20, 700, 10**9]),
    by=st.sampled_from(["a", "a b", "b a", "b"]),
    workers=st.integers(1, 2),
    constant=st.booleans(),
    only_counts=st.booleans(),
)
def test_nobody_can_tell(
    seed: int, sizes: list[int], keys: int, by: str, workers: int, constant: bool, only_counts: bool
) -> None:
    rng = np.random.default_rng(seed)
    batches = [batch(rng, size, keys, constant) for size in sizes]
    what = {"n": Count()} if only_counts else asked()
    with pytest.MonkeyPatch.context() as patched:
        combining = sent(batches, by, workers, **what)
        patched.setattr(Plan, "combines", False)
        plain = sent(batches, by, workers, **what)
    assert sorted(combining) == sorted(plain)


def crossing(messages: list[np.ndarray]) -> list[int]:
    """How many rows cross for each message of keys."""
    schema = Schema("key window")

    def declare(stream: Stream) -> Stream:
        plan = Plan.of("counted", stream.schema, ("key", "window"), {"n": Count()})
        return module.combined_rows(stream, plan)[0]

    with bench([schema], declare) as made:
        counts = []
        for time, keys in enumerate(messages):
            made.send({"key": keys, "window": np.full(len(keys), time // 2)}, time=time)
            made.settle()
            rows = made.sent()
            assert sum(row[-1] for row in rows) == len(keys)
            assert [row[0] for row in rows] == [time] * len(rows)
            counts.append(len(rows))
        made.close()
        return counts


def test_rows_of_one_key_are_one() -> None:
    rng = np.random.default_rng(1)
    hot = [np.where(rng.random(16_000) < 0.75, 5, 1_000 + rng.integers(0, 1_000, 16_000)) for _ in range(3)]
    different = [len(np.unique(keys)) for keys in hot]
    for rows, least in zip(crossing(hot), different, strict=True):
        assert least <= rows < 2 * least, "a key has more rows than one only where another took its cell"


def test_keys_that_do_not_repeat_pass_on_and_are_looked_at_again_later() -> None:
    all_different = [np.arange(at * 2_000, (at + 1) * 2_000) for at in range(31)]
    all_the_same = [np.full(2_000, 3)] * 3
    rows = crossing([*all_different, *all_the_same])
    assert rows[:31] == [2_000] * 31
    assert rows[31:] == [2_000, 1, 1], "the first, and 31 behind it, were not combined"


def test_few_rows_pass_on() -> None:
    assert crossing([np.zeros(63, np.int64), np.zeros(64, np.int64)]) == [63, 1]


def test_only_a_total_that_leaves_its_range_raises() -> None:
    """Not what rows of one message come to by themselves."""
    rows = {name: np.zeros(64, np.int64) for name in ("a", "b")} | {
        "value": np.zeros(64, np.int64), "wide": np.zeros(64, np.uint64), "side": np.zeros(64, np.bool_)
    }  # fmt: skip
    below, above = rows | {"value": np.repeat([1 - 2**62, 0], 32)}, rows | {"value": np.repeat([2**62, 0], [3, 61])}
    below["value"][1:32] = 0
    with bench([ROWS], lambda stream: aggregate(stream, "a b", total=Sum("value"))) as made:
        for _ in range(2):
            made.send(below)
        made.send(above)
        made.settle()
        assert made.rows[-1][-1] == 2**62 + 2
        made.send(above)
        with raises(OperatorError, "operator 'aggregate'", "OverflowError", "sum of 'value'", "64 bits", "float64"):
            made.settle()


def test_what_does_not_combine() -> None:
    """Sums of floats, whose order matters, go as rows."""
    schema = Schema("key", share="float64")
    assert not Plan.of("p", schema, ("key",), {"total": Sum("share")}).combines
    assert Plan.of("p", schema, ("key",), {"n": Count()}).combines
