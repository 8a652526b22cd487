"""A live job that ends in order: finished by SIGINT, stopped by SIGTERM; a second signal ends it at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.crash.group import ROOT, WATCHDOG_S, Group
from tests.crash.run_process import Command

FINISHING = "finishing: sources close, and what is under way is finished; again to end at once\n"
STOPPING = "stopping: sources end where they are, and what is not finished is dropped; again to end at once\n"
SAID = {signal.SIGINT: FINISHING, signal.SIGTERM: STOPPING}


def said_first(number: int, err: str) -> bool:
    """Whether the signal's line is said, and after a stop one that says what was open."""
    line, rest = SAID[signal.Signals(number)], err[len(SAID[signal.Signals(number)]) :]
    is_told = rest.startswith("stopped: 'live' is whole before time ") and rest.count("\n") == 1
    return err.startswith(line) and (is_told if number == signal.SIGTERM else rest == "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_signal_closes_sources_and_all_is_counted(number: int, workers: int) -> None:
    with Group("live", workers, fresh=workers == 1 and number == signal.SIGINT) as group:
        group.wait_for("live", workers)
        group.kill(group.pid, number)
        status, out, err = group.end()
    assert status == 0 and said_first(number, err)
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
    assert status == 0 and said_first(signal.SIGTERM, err)
    assert all(counted == sent > 0 for counted, sent in json.loads(out.rpartition("result ")[2]))


_BLOCK = """
import time
import tokenring as tr
from tests.crash.programs import live

said = []

def there(*_):
    said.append(1)
    if len(said) == 2:
        print("there", flush=True)

with tr.start(live, 2, on_note=there) as group:
    {body}
print("after")
"""
_WAITS = "print(all(a == b > 0 for a, b in group.wait()))"
_WORKS = """while len(said) < 2:
        group.poll()
    time.sleep(1000)"""


@pytest.mark.parametrize("body", [_WAITS, _WORKS], ids=["waits", "works"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_group_that_is_started_ends_as_one_that_is_executed(number: int, body: str) -> None:
    """In the block's own code, what the signal raises goes on once the group has ended in order."""
    command = [sys.executable, "-c", _BLOCK.format(body=body)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=WATCHDOG_S)
    if body == _WAITS:
        assert (process.returncode, out) == (0, "True\nafter\n")
        assert said_first(number, err)
    else:
        assert (process.returncode, out) == (-number, "")
        assert said_first(number, err.partition("Traceback")[0])
        assert ("KeyboardInterrupt" in err) == (number == signal.SIGINT)


def test_what_timeout_sends_twice_is_one_signal() -> None:
    """To its child, and then to all processes."""
    with Group("live") as group:
        group.wait_for("live", 2)
        group.kill(group.pid, signal.SIGTERM)
        group.wait_for_error(STOPPING)
        os.killpg(group.pid, signal.SIGTERM)
        status, out, err = group.end()
    assert status == 0 and said_first(signal.SIGTERM, STOPPING + err)
    assert all(counted == sent > 0 for counted, sent in json.loads(out.rpartition("result ")[2]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_the_command_stops_its_program_in_order(number: int, start: str) -> None:
    arguments = ("run", "tests/crash/programs.py:live", "--workers", "2", "--start", start)
    with Command(*arguments, fresh=number == signal.SIGINT) as command:
        command.wait_for_workers(2, cpu_s=0.2 if start == "fork" else 1.5)
        os.killpg(command.pid, number)
        status, out, err = command.end()
    assert status == 0 and said_first(number, err)
    assert all(counted == sent > 0 for counted, sent in map(json.loads, out.splitlines()))


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_the_second_ends_it_at_once(second: int) -> None:
    with Group("deaf", fresh=second == signal.SIGINT) as group:
        group.wait_for("running", 2)
        group.kill(group.pid, signal.SIGINT)
        group.wait_for_error(FINISHING)
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
