"""A live job that is stopped in order: sources close, what they sent is finished; a second signal ends it at once."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.crash.group import Group
from tests.crash.run_process import Command

STOPPING = "stopping: sources close, and what is under way is finished; again to end at once\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_signal_closes_sources_and_all_is_counted(number: int, workers: int) -> None:
    with Group("live", workers, fresh=workers == 1 and number == signal.SIGINT) as group:
        group.wait_for("live", workers)
        group.kill(group.pid, number)
        status, out, err = group.end()
    assert (status, err) == (0, STOPPING)
    results = json.loads(out.rpartition("result ")[2])
    assert all(counted == sent > 0 for counted, sent in results)


@pytest.mark.parametrize("everybody", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_all_processes_is_meant_for_the_run(everybody: int) -> None:
    """systemd, a container's stop, a terminal: workers, which get it too, see to the end."""
    with Group("live") as group:
        group.wait_for("live", 2)
        for worker in group.workers:
            group.kill(worker, everybody)
        group.kill(group.pid, signal.SIGTERM)
        status, out, err = group.end()
    assert (status, err) == (0, STOPPING)
    assert all(counted == sent > 0 for counted, sent in json.loads(out.rpartition("result ")[2]))


def test_what_timeout_sends_twice_is_one_signal() -> None:
    """To its child, and then to all processes."""
    with Group("live") as group:
        group.wait_for("live", 2)
        group.kill(group.pid, signal.SIGTERM)
        group.wait_for_error(STOPPING)
        os.killpg(group.pid, signal.SIGTERM)
        status, out, err = group.end()
    assert (status, err) == (0, "")
    assert all(counted == sent > 0 for counted, sent in json.loads(out.rpartition("result ")[2]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_the_command_stops_its_program_in_order(number: int, start: str) -> None:
    arguments = ("run", "tests/crash/programs.py:live", "--workers", "2", "--start", start)
    with Command(*arguments, fresh=number == signal.SIGINT) as command:
        command.wait_for_workers(2, cpu_s=0.2 if start == "fork" else 1)
        os.killpg(command.pid, number)
        status, out, err = command.end()
    assert (status, err) == (0, STOPPING)
    assert all(counted == sent > 0 for counted, sent in map(json.loads, out.splitlines()))


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_the_second_ends_it_at_once(second: int) -> None:
    with Group("deaf", fresh=second == signal.SIGINT) as group:
        group.wait_for("running", 2)
        group.kill(group.pid, signal.SIGINT)
        group.wait_for_error(STOPPING)
        group.kill(group.pid, second)
        status, out, err = group.end()
        group.seconds_until_workers_are_gone()
    assert "result" not in out
    assert status == (-second if second == signal.SIGTERM else -signal.SIGINT)
    assert (err == "") == (second == signal.SIGTERM)


def test_a_program_that_promised_nothing_ends_at_the_first() -> None:
    with Group("running") as group:
        group.wait_for("running", 2)
        group.kill(group.pid, signal.SIGTERM)
        status, out, err = group.end()
        group.seconds_until_workers_are_gone()
    assert (status, err) == (-signal.SIGTERM, "")
    assert "result" not in out
