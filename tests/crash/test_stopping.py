"""A live job that is stopped in order: sources close, what they sent is finished; a second signal ends it at once."""

from __future__ import annotations

import json
import signal

import pytest

from tests.crash.group import Group

STOPPING = "stopping: sources close, and what is under way is finished; again to end at once\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_signal_closes_sources_and_all_is_counted(number: int, workers: int) -> None:
    with Group("live", workers) as group:
        group.wait_for("live", workers)
        group.kill(group.pid, number)
        status, out, err = group.end()
    assert (status, err) == (0, STOPPING)
    results = json.loads(out.rpartition("result ")[2])
    assert all(counted == sent > 0 for counted, sent in results)


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_the_second_ends_it_at_once(second: int) -> None:
    with Group("deaf") as group:
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
