"""Whole groups that are killed, interrupted or fail: one clear error, a status that says so, no process and no
segment left.

Times are reported (`-rP` shows them), not asserted: watchdogs only stand against hangs.
"""

from __future__ import annotations

import signal
import time

import pytest

from tests.crash.group import Group


def _ended_in_order(group: Group) -> tuple[int, str, str]:
    begin = time.monotonic()
    status, out, err = group.end()
    gone_s = group.seconds_until_workers_are_gone()
    print(f"the launcher ended within {time.monotonic() - begin:.2f} s, workers were gone {gone_s:.2f} s later")
    assert group.segments() == []
    return status, out, err


def _one_error(group: Group, *texts: str) -> None:
    status, out, err = _ended_in_order(group)
    assert status == 1
    assert "result" not in out
    lines = [line for line in err.splitlines() if line.strip()]
    assert len(lines) == 1, f"one clear error, not {lines}"
    for text in texts:
        assert text in lines[0]


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_worker_killed_while_running(victim: int) -> None:
    with Group("running", 3, fresh=victim == 0) as group:
        group.wait_for("running", 3)
        group.kill(group.workers[victim])
        _one_error(group, f"WorkerError: worker {victim} was killed by SIGKILL")


def test_a_worker_killed_while_all_are_parked() -> None:
    with Group("parked") as group:
        group.wait_for("parked", 2)
        while not group.asleep():
            time.sleep(0.01)
        group.kill(group.workers[1])
        _one_error(group, "WorkerError: worker 1 was killed by SIGKILL")


@pytest.mark.parametrize("victim", [0, 1])
def test_a_worker_killed_during_the_start(victim: int) -> None:
    with Group("starting") as group:
        group.wait_for("starting", 2)
        group.kill(group.workers[victim])
        _one_error(group, f"WorkerError: worker {victim} was killed by SIGKILL")


@pytest.mark.parametrize("program", ["running", "parked", "starting"])
def test_the_launcher_killed(program: str) -> None:
    with Group(program, fresh=program == "running") as group:
        group.wait_for(program, 2)
        group.kill(group.pid)
        status, _, _ = _ended_in_order(group)
        assert status == -signal.SIGKILL


def test_the_launcher_terminated() -> None:
    with Group("running", fresh=True) as group:
        group.wait_for("running", 2)
        group.kill(group.pid, signal.SIGTERM)
        status, out, _ = _ended_in_order(group)
        assert status != 0
        assert "result" not in out


@pytest.mark.parametrize("program", ["running", "parked", "starting"])
def test_the_launcher_interrupted(program: str) -> None:
    with Group(program, fresh=program == "running") as group:
        group.wait_for(program, 2)
        group.kill(group.pid, signal.SIGINT)
        status, out, err = _ended_in_order(group)
        assert status != 0
        assert "result" not in out
        assert err.strip().endswith("KeyboardInterrupt")


def test_ctrl_c_reaches_the_whole_process_group_and_is_said_once() -> None:
    with Group("running", 3, fresh=True) as group:
        group.wait_for("running", 3)
        for pid in [*group.workers, group.pid]:
            group.kill(pid, signal.SIGINT)
        status, _, err = _ended_in_order(group)
        assert status != 0
        assert err.count("KeyboardInterrupt") == 1, "the workers say nothing"


def test_an_exception_in_an_operator() -> None:
    with Group("raising") as group:
        _one_error(group, "OperatorError", "'pass on'", "on worker", "ZeroDivisionError", "poisoned value 40")


def test_sys_exit_in_a_program() -> None:
    with Group("leaving") as group:
        _one_error(group, "OperatorError", "worker 1", "SystemExit", "7")


def test_a_worker_that_does_not_listen_is_ended_too() -> None:
    with Group("stubborn") as group:
        _one_error(group, "OperatorError", "worker 1", "RuntimeError", "enough")


def test_what_programs_print_arrives_once_through_a_pipe() -> None:
    with Group("printing", fresh=True) as group:
        status, out, err = _ended_in_order(group)
        assert (status, err) == (0, "")
        lines = out.splitlines()
        assert lines.count("before the fork") == 1
        assert sorted(line for line in lines if line.startswith("printed")) == [
            f"printed by worker {i}" for i in range(2)
        ]
        assert 'result ["value of 0", "value of 1"]' in lines


@pytest.mark.parametrize("workers", [2, 3])
def test_an_idle_group_uses_no_processor(workers: int) -> None:
    """Tokens are held and nothing comes for two seconds: what is used is a share of a core, not a time."""
    with Group("idle", workers) as group:
        status, out, err = _ended_in_order(group)
        assert status == 0, err
        shares = [float(share) for share in out.split("result [")[1].split("]")[0].split(",")]
        print(f"idle workers used {[f'{share:.2%}' for share in shares]} of a core each")
        assert max(shares) < 0.02
