"""The safety property, on the real engine: random programs, adversarial schedules, an oracle that knows every live
token and message.

Replay one schedule with TOKENRING_SAFETY_SEED=<seed>; TOKENRING_SAFETY_SCHEDULES sets how many the long form runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from engine import OperatorError
from engine.change_batch import ChangeLog
from engine.channel import RemoteChannel
from engine.ports import OutputPort
from engine.progress_channel import ProgressChannel
from tests.engine.safety.oracle import Violation
from tests.engine.safety.schedule import Run, run_schedule

SHORT = 250
LONG = int(os.environ.get("TOKENRING_SAFETY_SCHEDULES", "10000"))


def _run_all(seeds: range | list[int]) -> list[Run]:
    runs = []
    for seed in seeds:
        try:
            runs.append(run_schedule(seed))
        except Exception as error:
            error.add_note(f"replay with TOKENRING_SAFETY_SEED={seed} pytest tests/engine/test_safety.py -k replay")
            raise
    return runs


@pytest.mark.skipif("TOKENRING_SAFETY_SEED" not in os.environ, reason="set TOKENRING_SAFETY_SEED to replay a schedule")
def test_replay() -> None:
    run_schedule(int(os.environ["TOKENRING_SAFETY_SEED"]))


def test_random_schedules() -> None:
    runs = _run_all(range(SHORT))
    # The schedules are worth something only if they reach what they are for.
    assert sum(run.oracle.consumed for run in runs) > 100 * SHORT
    assert sum(run.tight for run in runs) > 10 * SHORT, "frontiers were rarely compared for equality"
    assert sum(run.lost for run in runs) > SHORT
    assert {run.workers for run in runs} == {1, 2, 3, 4}


def test_schedules_fill_rings_and_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"ring full": 0, "queue full": 0, "split batch": 0}
    handle, postpone, exchange = ProgressChannel._handle, RemoteChannel._postpone, ProgressChannel.exchange

    def counting_handle(self: ProgressChannel, flags: int) -> int:
        seen["ring full"] += bool(flags & 4)
        return handle(self, flags)

    def counting_postpone(self: RemoteChannel, *args: object) -> None:
        seen["queue full"] += 1
        postpone(self, *args)  # type: ignore[arg-type]

    def counting_exchange(self: ProgressChannel, sent: bool) -> int:
        seen["split batch"] += len(self._log.changes()) > 16  # a quarter of the smallest ring
        return exchange(self, sent)

    monkeypatch.setattr(ProgressChannel, "_handle", counting_handle)
    monkeypatch.setattr(RemoteChannel, "_postpone", counting_postpone)
    monkeypatch.setattr(ProgressChannel, "exchange", counting_exchange)
    _run_all(range(60))
    assert all(seen.values()), seen


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_many_random_schedules() -> None:
    for seed in range(SHORT, SHORT + LONG):
        _run_all([seed])


# The test must be able to fail: each of these breaks one rule of the protocol in the engine under test.


def _publishes_in_the_middle_of_a_call(run: Run) -> None:
    """Invariant 2: a batch holds all consequences of the actions it reports."""

    def hook(worker_index: int) -> None:
        run.group.workers[worker_index]._exchange(True)

    run.mid_call = hook


def _forgets_to_count_sent_messages(run: Run) -> None:
    for worker in run.group.workers:
        for channel in worker.plane.channels.values():
            channel._count = lambda time, messages: None  # type: ignore[method-assign]


def _sends_before_the_session(run: Run) -> None:
    """Invariant 1: a message goes out at its token's time or later."""
    push = OutputPort.push

    for worker in run.group.workers:
        for operator in worker.operators:
            for port in operator.outputs:
                for channel in port.channels:
                    honest = channel.push
                    channel.push = lambda time, batch, honest=honest: honest(max(0, time - 1), batch)  # type: ignore[method-assign]
    assert push is OutputPort.push


def _loses_the_last_change(run: Run) -> None:
    """What is logged must be published, all of it."""
    rng = run.rng

    class Leaky(ChangeLog):
        __slots__ = ()

        def add(self, location: int, time: int, delta: int) -> None:
            if rng.random() < 0.5:
                super().add(location, time, delta)

    for worker in run.group.workers:
        worker.log.__class__ = Leaky


@pytest.mark.parametrize(
    "sabotage",
    [
        _publishes_in_the_middle_of_a_call,
        _forgets_to_count_sent_messages,
        _sends_before_the_session,
        _loses_the_last_change,
    ],
)
def test_the_oracle_catches(sabotage: Callable[[Run], None], capfd: pytest.CaptureFixture[str]) -> None:
    caught = 0
    for seed in range(40):
        try:
            run_schedule(seed, sabotage, most_actions_to_end=300)
        except (Violation, OperatorError) as error:
            caught += "Violation" in repr(error)  # within an operator's call it comes wrapped
    assert caught >= 3, f"{sabotage.__name__} was noticed in {caught} of 40 schedules"
