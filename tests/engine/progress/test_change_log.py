"""The change log: netting against a dictionary, growing, and the order that makes a prefix safe."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenring.engine import Config, InputPort, Notify, OperatorContext, OutputPort, Pipeline, Schema, Token
from tokenring.engine.progress.change_log import CHANGE_BYTES, ChangeLog, net, pack_two_changes, positives_first
from tokenring.engine.times.timestamp import AnyTime
from tokenring.engine.worker import worker as worker_module
from tokenring.engine.worker.simulation import SimulatedGroup

coordinates = st.one_of(st.integers(0, 2), st.integers(2**61, 2**61 + 3))
times = st.one_of(st.integers(0, 6), coordinates, *[st.tuples(*[coordinates] * depth) for depth in (2, 3, 4)])
changes = st.tuples(st.integers(0, 4), times, st.integers(-3, 3)).map(
    # a location's times have one depth
    lambda change: (change[0] * 4 + len(words(change[1])) - 1, change[1], change[2])
)


def words(time: AnyTime) -> tuple[int, ...]:
    return time if isinstance(time, tuple) else (time,)


def logged(entries: list[tuple[int, AnyTime, int]]) -> list[tuple[int, tuple[int, ...], int]]:
    """Changes as the log gives them back: all four coordinates."""
    return [(location, (*words(time), 0, 0, 0)[:4], delta) for location, time, delta in entries]


def _counted(log: list[tuple[int, tuple[int, ...], int]]) -> dict[tuple[int, tuple[int, ...]], int]:
    counts: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for location, time, delta in log:
        counts[location, time] += delta
    return {place: count for place, count in counts.items() if count}


def _filled(entries: list[tuple[int, AnyTime, int]], capacity: int = 4096) -> ChangeLog:
    log = ChangeLog(capacity)
    for location, time, delta in entries:
        log.add(location, time, delta)
    return log


@given(st.lists(changes, max_size=120))
def test_netting_is_counting(entries: list[tuple[int, AnyTime, int]]) -> None:
    """Few changes are merged by looking, many by hashing: both must agree with a dictionary."""
    log = _filled(entries)
    kept = net(log.words, log.offset // CHANGE_BYTES, log.scratch)
    log.offset = kept * CHANGE_BYTES
    assert len(log.changes()) == len({(location, time) for location, time, _ in log.changes()})
    assert {(location, time): delta for location, time, delta in log.changes()} == _counted(logged(entries))


@given(st.lists(changes.filter(lambda change: change[2] != 0), max_size=60))
def test_positives_first_keeps_every_change(entries: list[tuple[int, AnyTime, int]]) -> None:
    log = _filled(entries)
    positive = positives_first(log.words, len(entries))
    ordered = log.changes()
    assert positive == sum(delta > 0 for _, _, delta in entries)
    assert all(delta > 0 for _, _, delta in ordered[:positive])
    assert all(delta < 0 for _, _, delta in ordered[positive:])
    assert sorted(ordered) == sorted(logged(entries))


@given(st.lists(changes, max_size=200), st.integers(4, 9))
def test_a_small_log_nets_or_grows(entries: list[tuple[int, AnyTime, int]], capacity: int) -> None:
    log = _filled(entries, capacity)
    assert _counted(log.changes()) == _counted(logged(entries))
    assert log.offset < log.limit
    assert np.shares_memory(log.words, np.frombuffer(log.buffer, np.uint8))


def test_many_distinct_changes_grow_the_log_and_few_do_not() -> None:
    many, few = ChangeLog(8), ChangeLog(8)
    for number in range(10_000):
        many.add(number % 3, number, 1)
        few.add(0, 5, 1 - 2 * (number % 2))
    assert len(many.changes()) == 10_000
    assert _counted(few.changes()) == {}
    assert len(few.buffer) == 8 * CHANGE_BYTES, "what cancels out takes no room"


def test_extreme_words_survive() -> None:
    log = _filled([(2**40, 2**62 - 1, 2**62), (2**40, 2**62 - 1, -1)])
    assert net(log.words, 2, log.scratch) == 1
    log.offset = CHANGE_BYTES
    assert log.changes() == [(2**40, (2**62 - 1, 0, 0, 0), 2**62 - 1)]


def test_a_log_has_room_for_two_changes_whenever_it_is_written() -> None:
    """Filled to its last byte by writers of one change, of two, and of moves, in every mixture of ten."""

    def one(log: ChangeLog, number: int) -> None:
        log.add(0, number, 1)

    def two(log: ChangeLog, number: int) -> None:
        pack_two_changes(log.buffer, log.offset, 1, -1, number, 1, 1, number + 1)
        log.offset += 2 * CHANGE_BYTES
        if log.offset >= log.limit:
            log.make_room()

    def moves(log: ChangeLog, number: int) -> None:
        assert log.move_all(np.array([2, 3]), np.array([number, number]), 2, number + 1) == -1

    for mixture in itertools.product((one, two, moves), repeat=5):
        log = ChangeLog(4)
        for number, write in enumerate(mixture + mixture):
            write(log, 10 * number)
            assert log.offset < log.limit
            assert log.offset + 2 * CHANGE_BYTES <= len(log.buffer)


@pytest.mark.parametrize("capacity", [4, 5, 6, 7])
def test_a_worker_with_hardly_any_room_in_its_log(monkeypatch: pytest.MonkeyPatch, capacity: int) -> None:
    """Tokens kept, moved and dropped, messages sent and taken, inputs moved together: whoever writes finds room."""
    monkeypatch.setattr(worker_module, "_CHANGES", capacity)
    taken: list[int] = []

    def hold(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        held: list[Token] = [token]

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                for later in (1, 2, 3):
                    kept = reference.retain()
                    kept.downgrade(reference.time + later)
                    kept.downgrade(reference.time + later + 3)  # two of two changes, one right after the other
                    held.append(kept)
                with output.session(reference) as session:
                    session.give(batch)
            if rows.frontier > 40:
                for kept in held:
                    kept.drop()
                held.clear()

        return logic

    def sink(context: OperatorContext) -> Callable[[InputPort], None]:
        return lambda rows: taken.extend(reference.time for reference, _ in rows)

    group = SimulatedGroup(Config(workers=1, pin=False))
    try:
        (worker,) = group.workers
        with group.building(worker), worker.dataflow() as scope:
            handle, stream = scope.new_input(Schema("value"))
            stream.unary("hold", Schema("value"), hold, Pipeline(), Notify.ALWAYS).sink("sink", sink)
        for time in range(50):
            for _ in range(time % 5):
                handle.send({"value": [time]})
            handle.advance_to(time + 1)
            if time % 7 == 0:
                worker.step()
        handle.close()
        group.run()
    finally:
        group.close()
    assert sorted(taken) == [time for time in range(50) for _ in range(time % 5)]
