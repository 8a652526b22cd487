"""The safety property, on the real engine: random programs, adversarial schedules, an oracle that knows every live
token and message.

Replay one schedule with TOKENRING_SAFETY_SEED=<seed>; TOKENRING_SAFETY_SCHEDULES sets how many the long form runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from types import SimpleNamespace

import pytest

from tests.engine.safety import sabotage
from tests.engine.safety.declare import declare
from tests.engine.safety.oracle import Violation
from tests.engine.safety.paths import advances
from tests.engine.safety.plan import random_plan
from tests.engine.safety.schedule import Run, run_schedule
from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import GraphError, OperatorError, Scope
from tokenring.engine.data.remote_channel import RemoteChannel
from tokenring.engine.progress.exchange import ProgressChannel

SHORT = examples(75)
LONG = int(os.environ.get("TOKENRING_SAFETY_SCHEDULES", "10000"))
AT_ONCE = 200


def _run_all(seeds: range | list[int]) -> list[Run]:
    runs = []
    for seed in seeds:
        try:
            runs.append(run_schedule(seed))
        except Exception as error:
            again = "pytest tests/engine/safety/test_safety.py -k replay"
            error.add_note(f"replay with TOKENRING_SAFETY_SEED={seed} {again}")
            raise
    return runs


@pytest.mark.skipif("TOKENRING_SAFETY_SEED" not in os.environ, reason="set TOKENRING_SAFETY_SEED to replay a schedule")
def test_replay() -> None:
    run_schedule(int(os.environ["TOKENRING_SAFETY_SEED"]))


def test_random_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"ring full": 0, "queue full": 0, "split batch": 0}
    handle, postpone, exchange = ProgressChannel.handle, RemoteChannel._postpone, ProgressChannel.exchange

    def counting_handle(self: ProgressChannel, flags: int) -> int:
        seen["ring full"] += bool(flags & 4)
        return handle(self, flags)

    def counting_postpone(self: RemoteChannel, *args: object) -> None:
        seen["queue full"] += 1
        postpone(self, *args)  # type: ignore[arg-type]

    def counting_exchange(self: ProgressChannel, sent: bool) -> int:
        seen["split batch"] += len(self._log.changes()) > 16  # a quarter of the smallest ring
        return exchange(self, sent)

    monkeypatch.setattr(ProgressChannel, "handle", counting_handle)
    monkeypatch.setattr(RemoteChannel, "_postpone", counting_postpone)
    monkeypatch.setattr(ProgressChannel, "exchange", counting_exchange)
    runs = _run_all(range(SHORT))
    # The schedules are worth something only if they reach what they are for.
    assert all(seen.values()), seen
    assert sum(run.oracle.consumed for run in runs) > 100 * SHORT
    assert sum(run.compiled_actions for run in runs) > 100 * SHORT
    assert sum(run.compiled_in_loops for run in runs) > 50 * SHORT
    assert sum(run.tight for run in runs) > 10 * SHORT, "frontiers were rarely compared for equality"
    assert sum(run.lost for run in runs) > SHORT
    assert {run.workers for run in runs} == {1, 2, 3, 4, 5}
    assert {max(operator.depth for operator in run.plan.operators) for run in runs} == {1, 2, 3, 4}
    assert sum(run.oracle.most_minimal > 1 for run in runs) > SHORT / 10, "frontiers hardly ever had two elements"


def test_graphs_whose_cycles_stand_still_are_refused_and_no_others() -> None:
    """A4, against every cycle walked by hand. A third of the ways around add nothing."""
    refused = 0
    for seed in range(examples(1500)):
        rng = Random(seed)
        plan = random_plan(rng, nested=True)
        for operator in plan.operators:
            if rng.random() < 0.3:
                operator.increment = 0
        scope = Scope("random")
        declare(scope, plan, lambda number: SimpleNamespace(construct=lambda *_: None, compiled=lambda _: None))  # type: ignore[arg-type]
        if advances(plan):
            scope.graph.validate()
        else:
            refused += 1
            with raises(GraphError, "cycle that does not advance time"):
                scope.graph.validate()
    assert refused > 50


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SHORT, SHORT + LONG, AT_ONCE))
def test_many_random_schedules(first: int) -> None:
    """In parts, which the watchdog against hangs takes for one test each."""
    for seed in range(first, min(first + AT_ONCE, SHORT + LONG)):
        _run_all([seed])


# The test must be able to fail: each of these breaks one rule of the protocol in the engine under test.


@pytest.mark.parametrize(
    "breaks",
    [
        sabotage.publishes_in_the_middle_of_a_call,
        sabotage.forgets_to_count_sent_messages,
        sabotage.stands_still_around_loops,
        sabotage.sends_before_the_session,
        sabotage.loses_the_last_change,
    ],
)
def test_the_oracle_catches(breaks: Callable[[Run], None], capfd: pytest.CaptureFixture[str]) -> None:
    caught = 0
    for seed in range(120):
        try:
            run_schedule(seed, sabotage=breaks, most_actions_to_end=300)
        except (Violation, OperatorError) as error:
            caught += "Violation" in repr(error)  # within an operator's call it comes wrapped
        if caught == 3:
            return
    pytest.fail(f"{breaks.__name__} was noticed in {caught} of 120 schedules")
