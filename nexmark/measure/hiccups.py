"""A hiccup meter: the gaps that processes which only read the clock see, on the cores that workers are to run on.

No engine can answer faster than the machine lets it run, so tail latencies are read beside this.
"""

import os
import signal
import time
from array import array
from typing import NoReturn

from tokenring.engine.cores import Claims, place
from tokenring.engine.group import DeferredSignals, starting
from tokenring.engine.worker import usable_cores
from tokenring.tools.errors import CommandError

_NOTABLE_NS = 20_000


def hiccups_ms(processes: int, seconds: float) -> list[dict[str, float]]:
    """Spin `processes` at once, each pinned to a core as a worker would be; for each, its largest gap, its 99.9th
    percentile of one-millisecond windows' largest gaps, and the share of time lost in gaps above 20 microseconds."""
    with Claims() as claims:
        cores = place(processes, True, 0, usable_cores(), claims).cores
    children: dict[int, int] = {}  # pid -> the pipe that its figures come through
    try:
        with starting(processes), DeferredSignals():
            for index in range(processes):
                read_end, write_end = os.pipe()
                pid = _fork(read_end, write_end)
                if pid == 0:
                    _meter(cores[index], seconds, write_end)
                os.close(write_end)
                children[pid] = read_end
        meters = []
        for index, pipe in enumerate(children.values()):
            values = array("d")
            values.frombytes(os.read(pipe, 1024))
            if not values:
                raise CommandError(f"the hiccup meter of worker {index} was killed before it had measured; try again")
            meters.append(dict(zip(("max", "p999", "lost_share"), values, strict=True)))
        return meters
    finally:
        for pid, pipe in children.items():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(pipe)


def _fork(read_end: int, write_end: int) -> int:
    try:
        return os.fork()
    except OSError:
        os.close(read_end)
        os.close(write_end)
        raise


def _meter(core: int, seconds: float, pipe: int) -> NoReturn:
    """A child's whole life. Signals end it here: what the parent does about them is not to be done twice."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.sched_setaffinity(0, {core})
        os.write(pipe, _spin(seconds).tobytes())
    finally:
        os._exit(0)


def _spin(seconds: float) -> "array[float]":
    start = last = time.monotonic_ns()
    end = start + int(seconds * 1e9)
    windows = [0] * (int(seconds * 1000) + 1)
    largest = lost = 0
    while last < end:
        now = time.monotonic_ns()
        gap = now - last
        if gap > _NOTABLE_NS:
            lost += gap
            largest = max(largest, gap)
            window = min((last - start) // 1_000_000, len(windows) - 1)
            windows[window] = max(windows[window], gap)
        last = now
    windows.sort()
    return array("d", [largest / 1e6, windows[int(0.999 * (len(windows) - 1))] / 1e6, lost / (seconds * 1e9)])
