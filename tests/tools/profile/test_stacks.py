"""Sampled stacks: counted by function, read and written, work told apart from waiting."""

from __future__ import annotations

from pathlib import Path

from tests.tools.profile.samples import STACKS, A, B
from tokenring.engine import Worker
from tokenring.engine.running.operator import RunningOperator
from tokenring.engine.worker.agreement import Agreement
from tokenring.tools.profile.frame import Frame
from tokenring.tools.profile.gate import wait_at_gate
from tokenring.tools.profile.operators import Seen
from tokenring.tools.profile.stacks import Recording, function_shares, labelled, read_recording, speedscope


def test_functions_are_counted_once_a_sample() -> None:
    shares = function_shares(STACKS)
    assert {key[0]: (share.own, share.total) for key, share in shares.items()} == {
        "a": (2, 5),
        "b": (3, 4),
        "<c>": (1, 1),
    }


def test_a_recording_survives_its_file(tmp_path: Path) -> None:
    one, two = Recording("worker 0", STACKS, 0.01), Recording("worker 1", STACKS[:2], 0.01, unread=3)
    merged = labelled([one, two])
    assert (len(merged.stacks), merged.unread) == (8, 3)
    file = tmp_path / "profile.json"
    file.write_bytes(speedscope("a run", [two]))
    again = read_recording(file, "worker 1", 100, 3, Seen())
    assert again == two


RUN, STEP = Frame("Worker.run", "engine/worker/worker.py", 1), Frame("Worker.step", "engine/worker/worker.py", 2)
PARK = Frame("Worker._park", "engine/worker/worker.py", 4)
OPERATOR = Frame("RunningOperator.run", "engine/running/operator.py", 5)
WAIT = Frame("Agreement._wait", "engine/worker/agreement.py", 6)


def test_waiting_is_told_apart_from_work() -> None:
    working = [(RUN, STEP), (RUN, STEP, B), (RUN, STEP, OPERATOR, A), (WAIT, STEP, OPERATOR, A)]
    waiting = [(WAIT,), (WAIT, STEP), (WAIT, STEP, B), (RUN, PARK, A)]
    assert Recording("worker 0", [*waiting, *working], 0.01).at_work == working


def test_the_frames_that_mean_waiting_are_there() -> None:
    assert callable(Worker._park)
    assert callable(Agreement._wait)
    assert callable(RunningOperator.run)
    assert callable(wait_at_gate)
