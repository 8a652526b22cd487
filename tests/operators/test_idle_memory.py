"""Operators that nothing has come to yet are small, for there may be thousands of them."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from tests.engine.helpers import simulated
from tokenring.engine import Schema, Stream, Worker
from tokenring.engine.bridge import compiled_part
from tokenring.operators import (
    Count,
    CountDistinct,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    distinct,
    join,
    rename,
    top,
)

SCHEMA = Schema.of({"key": "int64", "value": "int64", "at": "int64", "word": "string?"})
OPERATORS: dict[str, Callable[[Stream], object]] = {
    "aggregate": lambda rows: aggregate(rows, "key", n=Count(), total=Sum("value")),
    "by text": lambda rows: aggregate(rows, "word", n=Count()),
    "final": lambda rows: aggregate(rows, "key", n=Count(), emit="final"),
    "windows": lambda rows: aggregate(rows, "key", n=Count(), window=Tumbling("at", 10)),
    "sliding": lambda rows: aggregate(rows, "key", n=Count(), window=Sliding("at", 10, 5)),
    "sessions": lambda rows: aggregate(rows, "key word", n=Count(), window=Session("at", 10)),
    "different": lambda rows: aggregate(rows, "key", n=CountDistinct("value")),
    "distinct": lambda rows: distinct(rows, "word"),
    "best": lambda rows: top(rows, "key", order="value", k=1),
    "some": lambda rows: top(rows, "word", order="value", k=3),
    "joined": lambda rows: join(rows, rename(rows, value="other", at="then", word="said"), on="key"),
}
DATAFLOWS, EACH = 8, 10
TWO = "aggregate final windows sliding best".split()  # operators: rows of one key are one before they are exchanged
LIMIT_BYTES = dict.fromkeys(OPERATORS, 8 << 10) | dict.fromkeys(TWO, 12 << 10) | {"distinct": 5 << 10, "some": 5 << 10}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_idle_operator_is_small(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_part, "MADE_AT_ONCE", 0)  # as of the thousands
    with simulated(1) as group:
        (worker,) = group.workers
        _declare(worker, name)  # what is made once
        tracemalloc.start()
        try:
            for _ in range(DATAFLOWS):
                _declare(worker, name)
            gc.collect()  # what only cycles hold is gone sooner or later
            taken, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert taken < DATAFLOWS * EACH * LIMIT_BYTES[name]


def _declare(worker: Worker, name: str) -> None:
    with worker.dataflow() as scope:
        _, rows = scope.new_input(SCHEMA)
        for _ in range(EACH):
            OPERATORS[name](rows)
