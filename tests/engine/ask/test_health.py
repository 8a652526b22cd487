"""Whether a group is ready and live: while it starts, runs, is parked, stands still, is stopped, and ends."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path

import tokenring as tr
from tests.errors import raises
from tokenring.engine import WorkerError
from tokenring.engine.ask import health

ROWS = tr.Schema("value")
WATCHDOG_S = 60.0


def serve(worker: tr.Worker, folder: str) -> None:
    """Does what the files of a folder say: busy, stuck; builds its dataflow once there is one called `build`."""

    def has(name: str) -> bool:
        return os.path.exists(os.path.join(folder, name))

    while not has("build"):
        time.sleep(0.01)
    with worker.dataflow() as scope:
        handle, stream = scope.new_input(ROWS)
        stream.for_each(lambda time, batch: None)
    while not worker.stopping:
        if has("busy"):
            handle.advance_to(handle.time + 1)
        if has("stuck") and worker.index == 1:
            time.sleep(0.01)
        else:
            worker.step_or_park(0.05)


def states(found: tr.Health) -> list[str]:
    return [one.state for one in found.workers]


def until(group: tr.RunningGroup, expected: list[str]) -> tr.Health:
    """How it is once the last workers are so: they come to it in their time."""
    deadline = time.monotonic() + WATCHDOG_S
    while True:
        found = group.health(0.5)
        if states(found)[-len(expected) :] == expected or time.monotonic() > deadline:
            return found


def test_health_follows_what_workers_do(tmp_path: Path) -> None:
    with tr.start(partial(serve, folder=str(tmp_path)), 2) as group:
        found = until(group, ["stands still"] * 2)
        assert (found.ready, found.live) == (False, False)
        (tmp_path / "build").touch()
        (tmp_path / "busy").touch()
        found = until(group, ["moves"] * 2)
        assert (found.ready, found.live, found.ending) == (True, True, "")
        (tmp_path / "busy").unlink()
        assert group.health(WATCHDOG_S).live, "parked, or moving: it wakes now and then"
        (tmp_path / "stuck").touch()
        found = until(group, ["stands still"])
        assert (found.ready, found.live) == (True, False)
        (tmp_path / "stuck").unlink()
        pid = group.health(WATCHDOG_S).workers[0].process
        os.kill(pid, signal.SIGSTOP)
        try:
            os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)  # a signal takes its time
            found = group.health(0.3)
            assert (found.ready, found.live, found.workers[0].state) == (True, False, "stopped")
            assert health(os.getpid(), 0.3) == health(pid, 0.3), "by the launcher's number, or a worker's"
            with raises(WorkerError, "1 of 2 workers", f"{pid} stand still", f"kill -CONT {pid}"):
                group.views(0.2)
        finally:
            os.kill(pid, signal.SIGCONT)
        assert group.health(WATCHDOG_S).live


def step_now_and_then(worker: tr.Worker, folder: str) -> None:
    """By steps of its own, first many and then few a second."""
    with worker.dataflow() as scope:
        handle, stream = scope.new_input(ROWS)
        stream.for_each(lambda time, batch: None)
    for _ in range(1000):
        worker.step()
    while not os.path.exists(os.path.join(folder, "over")):
        time.sleep(0.1)
        handle.advance_to(handle.time + 1)
        worker.step()


def test_a_worker_that_steps_now_and_then_is_live(tmp_path: Path) -> None:
    with tr.start(partial(step_now_and_then, folder=str(tmp_path)), workers=1) as group:
        assert until(group, ["moves"]).live
        assert [states(group.health(2.0)) for _ in range(3)] == [["moves"]] * 3
        (tmp_path / "over").touch()


def test_a_worker_that_was_killed_is_not_live_before_its_launcher_sees_to_it(tmp_path: Path) -> None:
    (tmp_path / "build").touch()
    program, said = partial(serve, folder=str(tmp_path)), "worker 0 was killed by SIGKILL"
    with raises(tr.WorkerError, said), tr.start(program, 2) as group:
        pid = until(group, ["parked"]).workers[0].process
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        found = health(os.getpid(), 0.3)
        assert (found.ready, found.live, found.workers[0].state) == (True, False, "died")
        group.health(WATCHDOG_S)


def test_a_process_without_a_group() -> None:
    with raises(tr.UsageError, str(os.getpid())):
        health(os.getpid())


def test_a_group_that_has_ended_is_not_to_be_asked_again() -> None:
    """Its block goes on, and with it what the launcher has of it. Whoever else has that may become a worker."""
    with tr.start(lambda worker: None, 2) as group:
        group.wait()
        with raises(tr.UsageError, f"process {os.getpid()}", "has ended"):
            health(os.getpid(), 0.3)
        other = os.fork()
        if not other:
            signal.pause()
        try:
            with raises(tr.UsageError, f"process {os.getpid()}", "starting, or ending"):
                health(os.getpid(), 0.3)
        finally:
            os.kill(other, signal.SIGKILL)
            os.waitpid(other, 0)
