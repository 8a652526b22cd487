"""Running a Spark job: whatever it leaves running ends with it, and its failure is told from what it logged."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tokenring.nexmark.spark.process import _failure, end_session, plain_path

# A leader that dies at once, and a child of its session that does not heed SIGTERM.
STUBBORN = """
import os, signal, time
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    time.sleep(600)
"""


def test_an_orphan_that_does_not_heed_sigterm_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenring.nexmark.spark.process._GRACE_SECONDS", 0.3)
    command = [sys.executable, "-c", STUBBORN]
    leader = subprocess.Popen(command, stdout=subprocess.PIPE, text=False, start_new_session=True)
    assert leader.stdout is not None
    orphan = psutil.Process(int(leader.stdout.readline()))
    leader.stdout.close()
    leader.wait()
    end_session(leader)
    assert leader.returncode == 0
    deadline = time.monotonic() + 60
    while orphan.is_running() and orphan.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_path_that_spark_would_misread_gets_another_name(tmp_path: Path) -> None:
    with plain_path(tmp_path) as same:
        assert same == tmp_path
    odd = tmp_path / "a, {b} [c]"
    odd.mkdir()
    with plain_path(odd) as link:
        assert os.path.samefile(link, odd)
        assert not set(str(link)) & set(" ,{}[]")
    assert not link.parent.exists()


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("26/11/20 ERROR Executor: failed\nCaused by: A: x\nCaused by: B: y\nTraceback", "B: y | Executor: failed | "),
        ("warming up\nValueError: no\n", "status 3): ValueError: no"),
        ("", "it said nothing"),
    ],
)
def test_the_innermost_cause_is_told(log: str, told: str) -> None:
    assert told in _failure("nexmark.job", 3, log)
