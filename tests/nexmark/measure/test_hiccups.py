"""The hiccup meter: a figure for each process, and nothing left of it when somebody interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from types import FrameType

import psutil
import pytest

from tests.errors import raises
from tokenring.nexmark.measure import hiccups
from tokenring.nexmark.measure.hiccups import hiccups_ms
from tokenring.tools.errors import CommandError


def test_a_meter_for_each_process() -> None:
    meters = hiccups_ms(3, 0.05)
    assert len(meters) == 3
    for meter in meters:
        assert 0 <= meter["p999"] <= meter["max"]
        assert meter["max"] <= meter["lost_share"] * 50 + 1e-6, "the largest gap is among those in which time is lost"


def test_gaps_are_those_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read a microsecond apart, but for a gap of 30 us in each of ten milliseconds and one of 5 ms; 15 us is none."""
    instants = [7_000]
    for window in range(2_000):
        begin = 7_000 + window * 1_000_000
        ahead = 5_000_000 if window == 1_200 else 30_000 if window % 100 == 50 and window < 1_000 else 15_000
        if begin >= instants[-1]:
            instants += [begin, begin + ahead]
        instants += range(max(begin, instants[-1]) + 10_000, begin + 1_000_000, 10_000)
    told = iter(instants)
    monkeypatch.setattr(hiccups.time, "monotonic_ns", lambda: next(told))
    largest, p999, lost = hiccups._spin(1.99)
    assert largest == 5.0
    assert lost == pytest.approx((10 * 30_000 + 5_000_000) / 1.99e9)
    assert p999 == pytest.approx(0.03)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGUSR1 does here what Ctrl-C does in a terminal."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    yield
    signal.signal(signal.SIGUSR1, before)


def _once_they_spin(then: str) -> subprocess.Popen[bytes]:
    """A shell that waits for two meters and does something to `$meters`, or to us. A moment later: an exception in what
    Python itself does after a fork would be lost.
    """
    others = " ".join(str(child.pid) for child in psutil.Process().children())
    of_them = f'case " $$ {others} " in *" $pid "*) ;; *) meters="$meters $pid" ;; esac'
    look = f"meters=; for pid in $(cat /proc/{os.getpid()}/task/*/children); do {of_them}; done; set -- $meters"
    return subprocess.Popen(["sh", "-c", f"until {look}; [ $# = 2 ]; do sleep 0.01; done; sleep 0.3; {then}"])


def _interrupted_meter() -> None:
    with _once_they_spin(f"kill -USR1 {os.getpid()}"):
        hiccups_ms(2, 3600)


def test_an_interrupted_meter_leaves_no_process(interruptible: None) -> None:
    """The meters would spin for an hour; the leak check after the test sees whether they do."""
    with pytest.raises(KeyboardInterrupt):
        _interrupted_meter()


def test_a_meter_that_is_killed_is_one_error() -> None:
    with _once_they_spin("kill -9 $meters"), raises(CommandError, "meter of worker 0", "try again"):
        hiccups_ms(2, 3600)
