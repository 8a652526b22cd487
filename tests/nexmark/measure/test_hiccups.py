"""The hiccup meter: a figure for each process, and nothing left of it when somebody interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from types import FrameType

import psutil
import pytest

from tokenring.nexmark.measure.hiccups import hiccups_ms
from tokenring.tools.errors import CommandError


def test_a_meter_for_each_process() -> None:
    meters = hiccups_ms(3, 0.05)
    assert len(meters) == 3
    for meter in meters:
        assert 0 <= meter["p999"] <= meter["max"]
        assert meter["lost_share"] >= 0


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
    with _once_they_spin("kill -9 $meters"), pytest.raises(CommandError, match="meter of worker 0"):
        hiccups_ms(2, 3600)
