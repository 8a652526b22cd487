"""Signals that end a process, held back: none is lost, and their handlers are there again whatever happens."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tokenring.shm.kernels.deferred_signals import ENDING_SIGNALS, DeferredSignals


def handlers() -> list[Any]:
    return [signal.getsignal(number) for number in ENDING_SIGNALS]


def test_the_first_that_came_is_raised_at_the_end() -> None:
    before = handlers()
    came = []

    def held() -> None:
        with DeferredSignals(defaults=ENDING_SIGNALS):
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.raise_signal(number)
                came.append(number)

    with pytest.raises(KeyboardInterrupt):
        held()
    assert (came, handlers()) == ([signal.SIGINT, signal.SIGTERM], before)


@pytest.mark.parametrize("times", [1, 2])
def test_handlers_are_there_again_if_one_raises_meanwhile(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """While they are replaced, and once more while they are put back."""
    before, install, raised = handlers(), signal.signal, []

    def interrupted(number: int, handler: Any) -> None:
        install(number, handler)
        if number == signal.SIGTERM and len(raised) < times:
            raised.append(number)
            raise KeyboardInterrupt

    monkeypatch.setattr(signal, "signal", interrupted)
    with pytest.raises(KeyboardInterrupt), DeferredSignals(defaults=ENDING_SIGNALS):
        raise AssertionError("it began")
    monkeypatch.undo()
    assert (len(raised), handlers()) == (times, before)
