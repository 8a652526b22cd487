"""What a worker's inner loop runs, seen from another process."""

from __future__ import annotations

import os
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.engine.helpers import VALUE
from tests.engine.native.scripted import RETURN, operate
from tokenring.engine import Worker, execute
from tokenring.engine.ask import LOOP, Doing, RunningNow
from tokenring.engine.compiled import AGAIN

WATCHDOG_S = 120
NAMES = ["busy 0", "busy 1", "busy " + "ä" * 400]
TOLD = {f"operator {name!r} of dataflow 'seen'"[:60] for name in NAMES}
"""The beginnings: there is room for so much of a name only, behind which file and line are told all the same."""


def busy(worker: Worker, end: str) -> None:
    """Run an operator again and again, until there is a file."""
    with worker.dataflow("seen") as scope:
        _, stream = scope.new_input(VALUE)
        for name in NAMES:
            operate(stream, [(RETURN, AGAIN)], name)
    deadline = time.monotonic() + WATCHDOG_S
    while not os.path.exists(end) and time.monotonic() < deadline:
        worker.step(0, time.monotonic_ns() + 10_000_000)
    scope.running.cancel()


@pytest.mark.parametrize(("start", "workers"), [("fork", 2), ("spawn", 1)])
def test_operators_are_seen_by_their_names(tmp_path: Path, start: str, workers: int) -> None:
    found: list[Counter[Doing | None]] = []
    lookers: list[RunningNow] = []

    def look(pids: list[int]) -> None:
        """At each worker in turn, until all operators and the loop were seen; the launcher waits for us meanwhile."""
        wanted = TOLD | {LOOP.what}
        for pid in pids:
            looker, seen = RunningNow(pid), Counter[Doing | None]()
            deadline = time.monotonic() + WATCHDOG_S
            while not wanted <= {doing.what[:60] for doing in seen if doing} and time.monotonic() < deadline:
                seen[looker.look()] += 1
                time.sleep(0.0002)
            found.append(seen)
            lookers.append(looker)
        (tmp_path / "end").touch()

    execute(partial(busy, end=str(tmp_path / "end")), workers=workers, start=start, on_start=look)
    assert len(found) == workers
    for seen in found:
        operators = {doing for doing in seen if doing and doing.line}
        assert {doing.what[:60] for doing in operators} == TOLD
        assert {Path(doing.file).name for doing in operators} == {"scripted.py"}
        assert LOOP in seen
    for looker in lookers:
        with pytest.raises(ProcessLookupError):
            looker.look()
        looker.close()


def test_a_process_that_is_no_worker() -> None:
    looker = RunningNow(os.getpid())
    assert looker.look() is None
    looker.close()
    with pytest.raises(ProcessLookupError):
        RunningNow(2**22 + 1).look()
