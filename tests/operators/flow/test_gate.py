"""The rule of a gate, asked directly: what holds rows back, and what a region that changes its mind gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import build, settle, simulated
from tests.operators.flow.test_limited import ROW, noted_gates
from tokenring import operators
from tokenring.engine import Scope, Stream, Worker
from tokenring.operators import limited
from tokenring.operators.flow.gate import BYTES, ROWS, TIMES, Gate, escape, new_gate, renew, room_for
from tokenring.shm.queues import clear_flag, set_flag


@contextmanager
def empty_region(most: int = 1000) -> Iterator[tuple[Any, Gate]]:
    """The world of a worker, and the gate of a region in which nothing is."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(ROW)
        operators.collect(limited(stream, lambda rows: operators.exchange(rows, "node"), most=most))
        return handle

    with noted_gates() as gates, simulated(1) as group:
        (handle,) = build(group, declare)
        group.workers[0].step()
        yield group.workers[0].world, gates[0]
        handle.close()
        group.run()


Strain = Callable[[Any, bool], None]


def flagged(world: Any, is_so: bool) -> None:
    """Some worker has too much that waits for room."""
    (set_flag if is_so else clear_flag)(world.state.congested_flags, world.state.me)


def pending_edge(world: Any, is_so: bool) -> None:
    """Rows of a compiled operator wait for room here."""
    world.state.pending_edges += 1 if is_so else -1


def pending_channel(world: Any, is_so: bool) -> None:
    """Rows of an operator in Python wait for room here."""
    world.state.pending_channels += 1 if is_so else -1


STRAINS = [flagged, pending_edge, pending_channel]


@pytest.mark.parametrize("strain", STRAINS)
def test_no_generation_begins_while_rows_wait_for_room(strain: Strain) -> None:
    """They are no messages yet, so that the region looks empty."""
    with empty_region() as (world, gate):
        before = gate.state.generation
        strain(world, True)
        assert not renew(world.address, gate.address)
        strain(world, False)
        assert gate.state.generation == before
        assert renew(world.address, gate.address)
        assert gate.state.generation == before + 1


@pytest.mark.parametrize("strain", STRAINS)
def test_nothing_is_let_in_anyway_while_rows_wait_for_room(strain: Strain) -> None:
    """Patience begins anew: what waits for a queue moves once there is room."""
    with empty_region() as (world, gate):
        address, now = gate.address, 1
        while not escape(world.address, address, now, 0):
            now += 1_000_000
        seen = gate.state.escapes
        strain(world, True)
        for later in range(1, 60):
            assert escape(world.address, address, now + later * 10**9, seen) == 0
            assert gate.state.held_since_ns == now + later * 10**9
        strain(world, False)
        assert escape(world.address, address, now + 100 * 10**9, seen) > 0


@pytest.mark.parametrize("unit", [ROWS, BYTES, TIMES])
def test_there_is_no_room_once_more_came_than_may_be_there(unit: int) -> None:
    """However little of the quota is used; distinct times are counted where they are let in, and nowhere else."""
    gate = new_gate(unit, 1000, 1)
    gate.state.quota = 800
    for metered, room in ((0, 100), (999, 100), (1000, 100), (1001, 0), (10**9, 0)):
        gate.state.metered = metered
        assert room_for(gate.address, 0, 0) == (100 if unit == TIMES else room)
    gate.state.metered = 0
    assert room_for(gate.address, 750, 0) == 50
    assert room_for(gate.address, 800, 0) == 0
    assert room_for(gate.address, 0, 100) == 0


def test_the_quota_is_what_came_of_the_rows_before() -> None:
    with empty_region(1000) as (world, gate):
        state = gate.state
        state.quota = 500
        state.let_in, state.metered = 400, 8000  # 20 of each
        assert renew(world.address, gate.address)
        assert state.quota == state.most // 20
        state.let_in, state.metered = 50, 50
        assert renew(world.address, gate.address)
        assert state.quota > 50


@pytest.mark.parametrize("in_loop", [False, True])
def test_a_region_that_begins_to_multiply_is_stopped_within_a_generation(in_loop: bool) -> None:
    """The quota was learnt while each row was one; of what comes then, a run's part is let in before it is seen. In a
    loop the entry is Python's."""
    most, factor, ones, many = 2000, 200, 4000, 2000

    def swell(batch: Any) -> Any:
        return {name: np.repeat(batch[name], batch["left"]) for name in ROW.names}

    def region(rows: Stream) -> Stream:
        return operators.exchange(operators.map_batches(rows, ROW, swell), "node")

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(ROW)
        if in_loop:
            with scope.loop() as loop:
                made = loop.leave(limited(loop.enter(stream), region, most=most))
        else:
            made = limited(stream, region, most=most)
        return handle, operators.collect(operators.count(made, "node", emit="final"))

    with noted_gates() as gates, simulated(1, queue_bytes=1 << 20) as group:
        ((handle, made),) = build(group, declare)
        for rows, left in ((ones, 1), (many, factor)):
            for _ in range(0, rows, 100):
                handle.send(
                    {"node": np.zeros(100, np.int64), "left": np.full(100, left), "at": np.zeros(100, np.int64)}
                )
            settle(group, 5000)
        handle.close()
        group.run()
        assert made.columns()["count"].tolist() == [ones + many * factor]
    assert most < gates[0].view()["most"] < most * factor // 4
