"""Memory that the system does not have: the run ends with an error that says who asked for how much."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, build, settle, simulated
from tests.engine.native.scripted import NEW, RETURN, SEND, Line, M, forward, operate
from tests.errors import Fact, raises
from tokenring.engine import OperatorError, Scope, Worker, execute
from tokenring.engine.compiled import DONE, bare_message, entry, world_at
from tokenring.engine.graph import CompiledStage
from tokenring.operators import col, with_columns

ROWS = 1 << 24
COLUMN_BYTES = 8 * ROWS
LEFT_BYTES = 32 << 20


@pytest.mark.parametrize(("rows", "told"), [(1 << 45, "281,474,976,710,656"), (1 << 38, "2,199,023,255,"), (-3, "-24")])
def test_more_rows_than_any_memory_has(rows: int, told: str) -> None:
    def declare(worker: Worker, scope: Scope) -> None:
        _, stream = scope.new_input(VALUE)
        operate(stream, [(NEW, 0, rows, M), (SEND, 0, M, 0)], "greedy")

    with simulated() as group:
        build(group, declare)
        with raises(OperatorError, "operator 'greedy'", "worker 0", "MemoryError", told, "bytes", "ulimit -v"):
            settle(group)


@entry
def wide(world, state):  # type: ignore[no-untyped-def]
    """A stage that asks for a message of too many columns."""
    return bare_message(world_at(world), 1 << 50, 1)


class Wide:
    """That stage, as a function of batches."""

    def __call__(self, batch: Any) -> Any:
        return batch

    def compiled_stage(self) -> CompiledStage:
        return CompiledStage(wide, np.zeros(8, np.int64))


def test_a_stage_that_asks_for_too_much() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        (stream,) = operate(stream, forward(), "sender")
        stream.apply("wide", VALUE, Wide()).probe()
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        handle.send({"value": [1]})
        with raises(OperatorError, "operator 'sender'", "worker 0", "MemoryError", "9,007,199,254,", "bytes"):
            settle(group)


def _limit() -> None:
    """Leave this process little more memory than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + LEFT_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _program(worker: Worker, script: list[Line], then: bool) -> None:
    with worker.dataflow("limited") as scope:
        handle, stream = scope.new_input(VALUE)
        (stream,) = operate(stream, script, "compiled")
        if then:
            stream = with_columns(stream, more=col("value") + 1)
        stream.probe()
    values = np.arange(ROWS)
    _limit()
    handle.send({"value": values})
    worker.run()


@pytest.mark.parametrize(
    ("script", "then", "told"),
    [
        ([(NEW, 0, 2 * ROWS, M), (RETURN, DONE)], False, "268,435,"),
        (forward(), True, "134,217,"),
        ([(RETURN, DONE)], False, ("loop", "134,217,")),
    ],
    ids=["operator", "stage", "waits"],
)
def test_a_process_whose_memory_is_limited(script: list[Line], then: bool, told: Fact) -> None:
    with raises(OperatorError, "worker 0", "operator 'compiled'", "MemoryError", told, "bytes", "ulimit -v"):
        execute(lambda worker: _program(worker, script, then), workers=1)
