"""Workers of real groups: each on a core of its own and spinning there, or not, as the launcher chose."""

from __future__ import annotations

import logging
import os
from typing import Any

import pytest

from tokenring.engine import Config, Schema, Worker, execute
from tokenring.engine.cores import Claims, claims, placement
from tokenring.engine.cores.claims import taken_among
from tokenring.engine.worker import usable_cores
from tokenring.shm.memory import Layout, Segment

CORES = usable_cores()
SPIN_US = 20_000
MANY = 10  # rounds: more than a worker goes that parks at once
needs_two = pytest.mark.skipif(len(CORES) < 2, reason="two workers that spin need two cores")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no other group ran on this machine, and no quota held."""
    monkeypatch.setattr(claims, "_name", lambda core: f"\0tokenring-test-{os.getpid()}-{core}")
    monkeypatch.setattr(placement, "cpu_quota", lambda root: None)


def idle(worker: Worker) -> dict[str, Any]:
    """Where a worker runs, and how many rounds it looks for something to do before it parks, in each of some tries.

    Whoever shares the core may take it for the whole of a try: one in which a worker spins shows that it does.
    """
    with worker.dataflow("idle") as scope:
        scope.new_input(Schema("value"))
    worker.barrier()
    for _ in range(20):  # what is left of the beginning
        worker.step()
    tries = []
    for _ in range(100):
        before = worker.world.state.round
        found = worker.step_or_park(0.05)
        tries.append(0 if found else worker.world.state.round - before)
        if max(tries) > MANY or (len(tries) == 5 and not worker.config.spin_us):
            break
    worker.barrier()
    return {"cores": sorted(os.sched_getaffinity(0)), "rounds": max(tries), "told": worker.config.spin_us}


@needs_two
@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_pinned_workers_spin(start: str) -> None:
    first, second = execute(idle, config=Config(workers=2, spin_us=SPIN_US, start=start))
    assert len(first["cores"]) == len(second["cores"]) == 1
    assert first["cores"] != second["cores"]
    assert first["rounds"] > MANY
    assert second["rounds"] > MANY


@needs_two
def test_workers_without_a_core_of_their_own_spin_too() -> None:
    for found in execute(idle, config=Config(workers=2, spin_us=SPIN_US, pin=False)):
        assert (found["cores"], found["told"]) == (CORES, SPIN_US)
        assert found["rounds"] > MANY


def test_more_workers_than_cores_park_at_once() -> None:
    found = execute(idle, config=Config(workers=len(CORES) + 1, spin_us=SPIN_US))
    assert [one["told"] for one in found] == [0] * len(found)
    assert all(one["rounds"] <= 2 for one in found)
    assert [one["cores"] for one in found] == [[core] for core in (*CORES, CORES[0])]


def test_so_do_those_on_another_groups_cores() -> None:
    with Claims() as others:
        assert all(others.claim(core) for core in CORES)
        found = execute(idle, config=Config(workers=len(CORES), spin_us=SPIN_US))
    assert all(one["rounds"] <= 2 for one in found)


@needs_two
def test_another_groups_core_is_left_alone() -> None:
    with Claims() as others:
        assert others.claim(CORES[0])
        (found,) = execute(idle, config=Config(workers=1, spin_us=SPIN_US))
    assert found["cores"] == [CORES[1]]
    assert found["rounds"] > MANY


def test_a_groups_cores_are_taken_while_it_lives() -> None:
    seen: list[set[int]] = []
    execute(idle, config=Config(workers=1), on_start=lambda pids: seen.append(taken_among(CORES)))
    assert seen == [{CORES[0]}]
    assert not taken_among(CORES)


def test_unpinned_groups_take_none() -> None:
    seen: list[set[int]] = []
    execute(idle, config=Config(workers=1, pin=False), on_start=lambda pids: seen.append(taken_among(CORES)))
    assert seen == [set()]


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_workers_allocate_their_queues_before_anybody_may_send(start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher has left that to them: pages lie on the NUMA node of whoever asks for them."""
    made: list[Segment] = []
    allocated: list[int] = []

    def create(layout: Layout) -> Segment:
        made.append(real(layout))
        look()
        return made[0]

    def look(*_: object) -> None:
        allocated.append(os.fstat(made[0]._descriptor).st_blocks * 512)

    real = Segment.create
    monkeypatch.setattr(Segment, "create", create)
    execute(told, config=Config(workers=3, start=start), on_note=look)
    total = made[0].layout.total_bytes
    assert allocated[0] < total / 2
    assert all(one >= total for one in allocated[1:])
    assert len(allocated) == 1 + 3


def told(worker: Worker) -> None:
    """Tell the launcher that a dataflow is built."""
    with worker.dataflow("built") as scope:
        scope.new_input(Schema("value"))
    worker.report("built")


def test_the_launcher_logs_what_it_chose(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tokenring"):
        execute(idle, config=Config(workers=1, spin_us=7))
    (said,) = [record.getMessage() for record in caplog.records if record.name == "tokenring"]
    assert said == f"workers on cores {CORES[0]} (of {len(CORES)}; one a physical core), spinning 7 µs"
