"""Cyclic garbage is freed, old or young, and tokens lost in it are told of."""

import gc
import resource
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import psutil
import pytest

import tokenring.engine.explain.stall
from tests.engine.helpers import VALUE
from tokenring.engine import Worker, execute
from tokenring.engine.running.garbage import Garbage


@pytest.fixture
def collector_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Node:
    """Part of a cycle."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize(("look", "objects"), [(Garbage.when_quiet, 2_000), (Garbage.when_built, 11_000)])
def test_garbage_that_grew_old_is_freed(look: Callable[[Garbage], None], objects: int) -> None:
    garbage = Garbage(lambda: 0, gc.collect)
    node = Node()
    gone = weakref.ref(node)
    gc.collect(1)
    gc.collect(1)  # it is old now
    del node
    kept: list[list[list[int]]] = []
    for _ in range(200):
        kept.append([[] for _ in range(objects)])
        look(garbage)
        if gone() is None:
            return
    raise AssertionError("it was never looked at")


@pytest.mark.usefixtures("collector_off")
def test_looking_at_all_stays_in_proportion_to_what_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where much lives, a look at all objects is worth many new ones."""
    looks: list[int] = []
    now_ns = 0

    def note(phase: str, info: dict[str, int]) -> None:
        nonlocal now_ns
        if phase == "start":
            looks.append(info["generation"])
            now_ns += 5_000_000 if info["generation"] == 2 else 0  # however quick this machine is

    monkeypatch.setattr("tokenring.engine.running.garbage.process_time_ns", lambda: now_ns)
    living: list[list[int]] = []
    garbage = Garbage(lambda: 0, gc.collect)
    gc.callbacks.append(note)
    try:
        for _ in range(100):
            living += [[] for _ in range(2_000)]
            garbage.when_quiet()
    finally:
        gc.callbacks.remove(note)
    assert len(looks) == 100
    assert 7 <= looks.count(2) <= 9, "one for each 25,000 objects made: 200 ns each"


@pytest.mark.usefixtures("collector_off")
def test_few_objects_that_hold_much_are_looked_at_as_memory_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    now_ns, taken, looks = 0, 1 << 30, 0

    def note(phase: str, info: dict[str, int]) -> None:
        nonlocal looks
        looks += phase == "stop" and info["generation"] == 2

    for clock in ("monotonic_ns", "process_time_ns"):
        monkeypatch.setattr(f"tokenring.engine.running.garbage.{clock}", lambda: now_ns)
    garbage = Garbage(lambda: taken, gc.collect)
    gc.callbacks.append(note)
    try:
        found = []
        for grown_mib in (0, 200, 100, 0, 200, 150, 0):  # 300 MiB are more than a fourth of a GiB
            taken += grown_mib << 20
            now_ns += 10**9
            garbage.when_busy()
            garbage.when_busy()
            found.append(looks)
    finally:
        gc.callbacks.remove(note)
    assert found == [0, 0, 1, 1, 1, 2, 2]


def test_a_busy_worker_frees_few_cycles_that_hold_much() -> None:
    taken = psutil.Process().memory_info().rss  # a worker's process begins as a copy, and looks as it grows by a part
    rounds, size_bytes = 4_000, max(1 << 20, taken >> 10)

    def program(worker: Worker) -> int:
        with worker.dataflow() as scope:
            rows, stream = scope.new_input(VALUE)
            stream.sink("cycles", construct)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(rounds):
            rows.send({"value": [number]})
            worker.step()
        rows.close()
        worker.run()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    def construct(context: Any) -> Any:
        def logic(messages: Any) -> None:
            for _ in messages:
                Node().held = np.ones(size_bytes // 8)  # type: ignore[attr-defined]

        return logic

    (grown_kib,) = execute(program, 1)
    assert grown_kib << 10 < rounds * size_bytes // 3


def test_a_token_lost_in_a_cycle_is_told_of_and_time_goes_on(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Though little is made: a worker that stands still looks."""
    monkeypatch.setattr(tokenring.engine.explain.stall, "STALLED_S", 0.2)

    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)

            def construct(context: Any, token: Any) -> Any:
                cycle = Node()
                cycle.token = token  # type: ignore[attr-defined]
                return lambda rows, output: None

            probe = stream.unary("loser", VALUE, construct).probe()
        handle.close()
        worker.step_while(lambda: not probe.done())

    execute(program, workers=1)
    said = capfd.readouterr().err
    assert "a token of operator 'loser' output 0 on worker 0 at time 0 was lost without drop()" in said
    assert "nothing has moved" not in said


def test_what_building_made_is_looked_at_before_the_run() -> None:
    """Else the first quiet moment of the run would last as long as that takes."""

    def program(worker: Worker) -> tuple[int, int]:
        with worker.dataflow() as scope:
            scope.new_input(VALUE)
            made = [[] for _ in range(20_000)]
        return len(made), gc.get_count()[0]

    for made, young in execute(program, workers=2):
        assert made == 20_000
        assert young < 1_000


@pytest.mark.parametrize("is_on", [True, False])
def test_what_the_launching_program_told_its_collector_stays_so(is_on: bool) -> None:
    """What it has frozen is not thawed, and nothing else is frozen."""
    gc.freeze()
    frozen = gc.get_freeze_count()
    if not is_on:
        gc.disable()
    try:
        kept = [Node() for _ in range(100)]
        assert execute(lambda worker: len(kept), workers=2) == [100, 100]
        assert gc.isenabled() is is_on
        assert frozen - 50 < gc.get_freeze_count() <= frozen, "some of what was frozen may have gone"
    finally:
        gc.enable()
