"""Runs that hang by a newcomer's mistake, on real workers: they say which token or input it is, and who made it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

import tokenring.engine.explain.stall
from tokenring.engine import Exchange, ProbeGroup, Schema, Worker, execute
from tokenring.operators import collect

BID = Schema("auction price", channel="string")
ROWS = {"auction": range(10), "price": range(10), "channel": ["web"] * 10}
HERE = re.escape(__file__)

# A token never dropped


def _retaining(kept: list[Any]) -> Callable[..., Any]:
    def construct(context: Any, token: Any) -> Any:
        token.drop()

        def logic(rows: Any, output: Any) -> None:
            for reference, _ in rows:
                kept.append(reference.retain())

        return logic

    return construct


RETAINED_AT = _retaining.__code__.co_firstlineno + 6


def test_a_token_never_dropped_is_told_of(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tokenring.engine.explain.stall, "STALLED_S", 0.2)

    def program(worker: Worker) -> None:
        kept: list[Any] = []
        with worker.dataflow("newcomer's") as scope:
            handle, stream = scope.new_input(BID, "bids")
            probe = stream.unary("keeper", BID, _retaining(kept), Exchange("auction")).probe()
        if worker.index == 0:
            handle.send(ROWS)
        handle.advance_to(5)
        worker.step_while(lambda: probe.less_than(5) and not worker._stall._said)
        kept.clear()  # the end of a test, not of a run

    execute(program, workers=2)
    said = capfd.readouterr().err
    for worker in range(2):
        assert re.search(
            rf"tokenring: worker {worker}: nothing has moved for 0\.2 s, .*\n"
            rf"  operator 'keeper' output 0 holds a token at time 0, made at {HERE}:{RETAINED_AT} \(logic\)\n"
            r"  Later operators wait, .* Drop a token when it is not needed any more: .*\n.*tokenring why \d+\n",
            said,
        ), said


def test_a_source_that_forgets_is_told_of(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tokenring.engine.explain.stall, "STALLED_S", 0.2)

    def program(worker: Worker) -> None:
        tokens: list[Any] = []

        def construct(context: Any, token: Any) -> Any:
            tokens.append(token)
            return lambda output: output.give(token, ROWS) if token.live else None

        with worker.dataflow("newcomer's") as scope:
            (stream,) = scope.source("ticks", (BID,), construct)
            collect(stream)
        worker.step_while(lambda: not worker._stall._said)
        tokens[0].drop()

    execute(program, workers=1)
    said = capfd.readouterr().err
    assert "operator 'ticks' output 0 holds a token at time 0" in said
    assert "A source drops its token when it has no more to send" in said


def test_messages_that_nobody_takes_are_told_of(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Once nothing more can come: until then the operator may wait for that."""
    monkeypatch.setattr(tokenring.engine.explain.stall, "STALLED_S", 0.2)

    def program(worker: Worker) -> None:
        contexts: list[Any] = []

        def construct(context: Any) -> Any:
            contexts.append(context)
            return lambda rows: list(rows) if worker._stall._said else None

        with worker.dataflow("newcomer's") as scope:
            handle, stream = scope.new_input(BID, "bids")
            stream.sink("never takes", construct, Exchange("auction"))
        handle.send(ROWS)
        end = time.monotonic() + 0.5
        worker.step_while(lambda: time.monotonic() < end)
        assert not worker._stall._said, "the input is open"
        handle.close()
        worker.step_while(lambda: not worker._stall._said)
        contexts[0].activate()

    execute(program, workers=2)
    said = capfd.readouterr().err
    for worker in range(2):
        assert re.search(
            rf"tokenring: worker {worker}: nothing has moved for 0\.2 s, and nothing more can arrive at:\n"
            r"  operator 'never takes' does not take the messages that wait: [12] at input 0\n"
            r"  Later operators wait, .*\n.*take\(\) until it gives 0\.\n.*tokenring why \d+\n",
            said,
        ), said


def test_who_waits_with_reason_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An open window, a source that looks again, an open input: nothing of it is forgotten."""
    monkeypatch.setattr(tokenring.engine.explain.stall, "STALLED_S", 0.1)

    def window(context: Any, token: Any) -> Any:
        token.downgrade(10)

        def logic(rows: Any, output: Any) -> None:
            for _ in rows:
                pass
            if rows.frontier >= 10 and token.live:
                token.drop()

        return logic

    def program(worker: Worker) -> None:
        end = time.monotonic() + 0.5

        def poll(context: Any, token: Any) -> Any:
            def logic(output: Any) -> None:
                if time.monotonic() < end:
                    context.activate_after(10**7)
                elif token.live:
                    token.drop()

            return logic

        with worker.dataflow("newcomer's") as scope:
            handle, stream = scope.new_input(BID, "bids")
            stream.unary("window", BID, window)
            scope.source("poll", (BID,), poll)
        handle.advance_to(5)
        worker.step_while(lambda: time.monotonic() < end)

    execute(program, workers=2)
    assert capfd.readouterr().err == ""


def test_who_works_in_many_calls_has_not_forgotten(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its input is empty, it sends nothing for long, and it will run again: on a loaded machine that takes its time."""
    monkeypatch.setattr(tokenring.engine.explain.stall, "STALLED_S", 0.05)

    def construct(context: Any, token: Any) -> Any:
        token.drop()
        held: list[Any] = []
        calls = 0

        def logic(rows: Any, output: Any) -> None:
            nonlocal calls
            for reference, _ in rows:
                held.append(reference.retain())
            calls += 1
            if held and calls < 2_000:
                time.sleep(0.0002)
                context.activate()
            elif held:
                held.pop().drop()

        return logic

    def program(worker: Worker) -> None:
        with worker.dataflow("newcomer's") as scope:
            handle, stream = scope.new_input(BID, "bids")
            probe = stream.unary("slow", BID, construct).probe()
        handle.send(ROWS)
        handle.close()
        worker.step_while(lambda: not probe.done())

    execute(program, workers=1)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("way", ["step_while", "own loop", "group"])
def test_an_input_never_advanced_is_told_of(
    way: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The commonest mistake: to wait for a probe, and never to say that no more will come."""
    monkeypatch.setattr(tokenring.engine.explain.stall, "STALLED_S", 0.2)

    def program(worker: Worker) -> None:
        with worker.dataflow("newcomer's") as scope:
            handle, stream = scope.new_input(BID, "bids")
            probe = stream.probe()
        handle.send(ROWS)
        asked = ProbeGroup([probe]) if way == "group" else probe
        if way == "own loop":
            while asked.less_than(1) and not worker._stall._said_who_waits:
                worker.step()
        else:
            worker.step_while(lambda: asked.less_than(1) and not worker._stall._said_who_waits)

    execute(program, workers=1)
    said = capfd.readouterr().err
    assert re.search(
        r"tokenring: worker 0: nothing has moved for 0\.2 s, and the program waits for the probe of .*'bids'.*: its "
        r"frontier is 0, held back by\n +operator 'bids' output 0, time 0:\n +the manual input on worker 0, not "
        rf"closed, declared at {HERE}:\d+ \(program\)\n  An input holds back .* advance_to\(time\), or close\(\)\.\n"
        r".*why \d+\n",
        said,
    ), said
