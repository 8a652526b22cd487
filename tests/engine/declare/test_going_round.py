"""Rows on their way around a loop are counted before progress is exchanged, whoever sent them."""

from __future__ import annotations

from typing import Any

from tokenring.engine import Config, InputHandle, Notify, Schema, Token
from tokenring.engine.worker.simulation import SimulatedGroup

VALUE = Schema("value")


def test_what_an_input_sends_straight_around_holds_the_frontier() -> None:
    """No operator's call ends in between, and its token moves on at once."""
    seen: list[tuple[int, int]] = []

    def sink(context: Any) -> Any:
        def logic(rows: Any) -> None:
            for reference, _ in rows:
                seen.append((reference.time, rows.frontier))

        return logic

    group = SimulatedGroup(Config(workers=1, pin=False, checks="exhaustive"))
    try:
        (worker,) = group.workers
        with group.building(worker), worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)
            first, second = scope.feedback(VALUE, 2), scope.feedback(VALUE, 3)
            first.connect(stream)
            second.connect(first.stream)
            probe = second.stream.sink("sink", sink, notify=Notify.NEVER)
        handle.send({"value": [1]})
        handle.advance_to(100)
        assert probe.frontier == 5
        handle.close()
        group.run()
    finally:
        group.close()
    assert seen == [(5, 5)]


def test_a_row_comes_round_at_each_round() -> None:
    """Sent on within the call that it came with, and there again in another call: one that feeds itself must end."""
    rounds: list[Any] = []
    calls = 0

    def count(context: Any, token: Token) -> Any:
        token.drop()

        def logic(fresh: Any, back: Any, output: Any) -> None:
            nonlocal calls
            calls += 1
            for rows in (fresh, back):
                for reference, batch in rows:
                    rounds.append((calls, reference.time))
                    if reference.time[1] < 3:
                        with output.session(reference) as session:
                            session.give(batch)

        return logic

    group = SimulatedGroup(Config(workers=1, pin=False, checks="exhaustive"))
    try:
        (worker,) = group.workers
        with group.building(worker), worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)
            with scope.loop() as loop:
                entered, back = loop.enter(stream), loop.feedback(VALUE)
                builder = loop.operator("count", Notify.NEVER)
                builder.input(entered)
                builder.input(back.stream)
                back.connect(builder.output(VALUE))
                builder.build(count)
        handle.send({"value": [1]})
        handle.close()
        group.run()
    finally:
        group.close()
    assert [time for _, time in rounds] == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert len({call for call, _ in rounds}) == 4


def test_what_a_listener_sends_straight_around_holds_the_frontier() -> None:
    """It is called in the exchange at a step's end, when no operator's call will end for a while."""
    arrived: list[int] = []
    watched: list[InputHandle] = []
    answering: list[InputHandle] = []

    def sink(context: Any) -> Any:
        return lambda rows: arrived.extend(reference.time for reference, _ in rows)

    def answer() -> None:
        if not answering[0].closed:
            answering[0].send({"value": [1]})
            answering[0].close()

    group = SimulatedGroup(Config(workers=2, pin=False, checks="exhaustive"))
    try:
        probes = []
        for worker in group.workers:
            with group.building(worker), worker.dataflow() as scope:
                handle, stream = scope.new_input(VALUE, "watched")
                watched.append(handle)
                probes.append(scope.probe(stream))
                handle, stream = scope.new_input(VALUE, "answering")
                answering.append(handle)
                back = scope.feedback(VALUE, 2)
                back.connect(stream)
                probes.append(back.stream.sink("sink", sink, notify=Notify.NEVER))
        first, second = group.workers
        while first.step() or second.step():
            pass
        probes[0].on_advance(answer)
        answering[1].close()
        watched[0].close()
        watched[1].close()
        for _ in range(3):
            first.step()
            assert probes[1].frontier <= 2 or arrived == [2]
        group.run()
    finally:
        group.close()
    assert answering[0].closed
    assert arrived == [2]
