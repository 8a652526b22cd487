"""`tokenring snapshot PID`: a snapshot now, of runs that keep them, and what is said of others."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import orjson
import pytest

from tests.crash.run_process import Command
from tests.nexmark.helpers import tokenring
from tests.tools.commands.jobs import WATCHDOG_S, Job, expected

Capture = pytest.CaptureFixture[str]


def test_a_snapshot_is_taken_now(capsys: Capture, tmp_path: Path) -> None:
    job = Job(tmp_path)
    with job.start("--every", "1h") as command:
        launcher, workers = command.pid, command.wait_for_workers(2)
        taken = orjson.loads(tokenring(capsys, "snapshot", str(launcher), "--json").out)
        first = job.wait_for(1)
        assert (first.number, taken["number"], taken["time"]) == (1, 1, first.manifest["time"])
        assert (taken["rows"], taken["bytes"]) == (first.rows, first.bytes) and taken["seconds"] > 0
        said = tokenring(capsys, "snapshot", str(workers[1]))
        assert (said.status, said.err) == (0, "") and said.out.startswith("snapshot 2, of time ")
        assert job.wait_for(2).number == 2
        held = tokenring(capsys, "snapshots", job.kept)
        assert held.out.endswith(f"results up to snapshot 2 have appeared; process {launcher} runs it now\n")
        refused = tokenring(capsys, "snapshots", job.kept, "--prune", "1")
        assert (refused.status, refused.err.count("\n")) == (2, 1) and f"process {launcher}" in refused.err
        os.kill(workers[0], signal.SIGSTOP)
        late = tokenring(capsys, "snapshot", str(launcher), "--timeout", "0.3")
        os.kill(workers[0], signal.SIGCONT)
        assert (late.status, late.out, late.err.count("\n")) == (1, "", 1)
        assert "0.3 s" in late.err and f"tokenring why {launcher}" in late.err and "--timeout" in late.err
        assert orjson.loads(tokenring(capsys, "snapshot", str(launcher), "--json").out)["number"] >= 3
        assert not [*job.kept.glob("wanted-*"), *job.kept.glob("told-*")]
        job.let_go()
        assert command.end() == (0, "", "")
    assert job.results() == expected()


def test_what_has_been_left_is_removed_by_the_next_run(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.let_go()
    job.kept.mkdir()
    for name in ("lock", "wanted-1", "told-2.json"):
        (job.kept / name).touch()
    with job.start("--every", "1h") as command:
        assert command.end()[0] == 0
    assert {path.name for path in job.kept.iterdir()} == {"lock", "job.json", "last.json", "snapshot-000001"}


def test_why_none_could_be_taken_is_said(capsys: Capture, tmp_path: Path) -> None:
    """The program steps, and has not declared its dataflow."""
    job = Job(tmp_path)
    with job.start("--every", "1h", function="late") as command:
        command.wait_for_workers(2, cpu_s=0)
        said = tokenring(capsys, "snapshot", str(command.pid))
        assert (said.status, said.out, said.err.count("\n")) == (1, "", 1)
        assert "not built" in said.err
        command.kill(command.pid, signal.SIGTERM)
        _, _, err = command.end()
        assert "could not be taken" not in err


def test_a_run_that_ends_meanwhile(capsys: Capture, tmp_path: Path) -> None:
    job = Job(tmp_path)
    with job.start("--every", "1h") as command:
        launcher, workers = command.pid, command.wait_for_workers(2)
        os.kill(workers[0], signal.SIGSTOP)  # so that none is taken before
        killer = os.fork()
        if killer == 0:
            time.sleep(0.5)
            os.kill(launcher, signal.SIGKILL)
            os._exit(0)
        said = tokenring(capsys, "snapshot", str(launcher), "--timeout", str(WATCHDOG_S))
        os.waitpid(killer, 0)
        assert (said.status, said.out, said.err.count("\n")) == (1, "", 1)
        assert f"process {launcher} has ended" in said.err
        command.end()


def test_a_run_that_keeps_none_and_a_process_that_runs_nothing(capsys: Capture, tmp_path: Path) -> None:
    job = Job(tmp_path)
    with job.start() as command:  # the folder's file, held by a run, is not that of another one
        command.wait_for_workers(2, cpu_s=0)
        with Command("run", f"{job.program}:streaming", "--workers", "1", fresh=False) as without:
            without.wait_for_workers(1, cpu_s=0)
            said = tokenring(capsys, "snapshot", str(without.pid))
            assert (said.status, said.out, said.err.count("\n")) == (2, "", 1)
            assert f"process {without.pid} keeps no snapshots" in said.err and "--recovery DIR" in said.err
    said = tokenring(capsys, "snapshot", str(os.getpid()))
    assert (said.status, said.out, said.err.count("\n")) == (2, "", 1)
    assert f"process {os.getpid()} runs no group" in said.err
