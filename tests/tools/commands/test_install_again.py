"""What is installed in a run with `--recovery` comes back after deaths.

Each run is a Python of its own: a copy of this one would know the program by its name from the test before.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.nexmark.helpers import tokenring
from tests.tools.commands.jobs import WATCHDOG_S, Job, expected
from tokenring.engine.ask import group_of
from tokenring.engine.install import code_of, install
from tokenring.operators.recovery import JobFolder


def views_once_there(capsys: pytest.CaptureFixture[str], launcher: str, before: list[int]) -> str:
    """What `tokenring views` says, once other workers than those have all in them."""
    deadline = time.monotonic() + WATCHDOG_S
    while time.monotonic() < deadline:
        said = tokenring(capsys, "views", launcher)
        if said.status == 0 and "counts" in said.out and not {*group_of(int(launcher)).workers} & {*before}:
            return said.out
        time.sleep(0.02)
    raise AssertionError(said)


def test_what_is_installed_comes_back_after_a_death(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With its view, its rows and its results; what was removed stays away."""
    job = Job(tmp_path)
    with job.start("--every", "1h", function="exporting", fresh=True) as command:
        launcher, workers = str(command.pid), command.wait_for_workers(2)
        views_once_there(capsys, launcher, [])
        for name in ("fed", "apart"):
            install(group_of(command.pid), code_of(f"{job.program}:{name}"), name, WATCHDOG_S)
        assert tokenring(capsys, "snapshot", launcher).status == 0
        command.kill(workers[0])
        assert "fed" in views_once_there(capsys, launcher, workers)
        assert tokenring(capsys, "query", launcher, "fed").status == 0
        assert tokenring(capsys, "remove", launcher, "fed").status == 0
        assert tokenring(capsys, "snapshot", launcher).status == 0
        workers = command.wait_for_workers(2, cpu_s=0)
        command.kill(workers[1])
        assert "fed" not in views_once_there(capsys, launcher, workers)
        job.let_go()
        status, _, err = command.end()
        assert status == 0 and "Traceback" not in err, err
    assert job.results() == job.results("apart") == expected()


def test_a_run_whose_installed_code_is_gone_says_what_to_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    job = Job(tmp_path)
    code = tmp_path / "code.py"
    code.write_text("def keys(scope):\n    return scope.import_arrangement('counts').collection().distinct()\n")
    with job.start("--every", "1h", function="exporting", fresh=True) as command:
        launcher = str(command.pid)
        views_once_there(capsys, launcher, [])
        assert not install(group_of(command.pid), code_of(f"{code}:keys"), "keys", WATCHDOG_S)
        command.kill(command.pid, signal.SIGKILL)
        ((_, snapshot, _),) = JobFolder(job.kept).all()
        assert snapshot is not None and list(snapshot.installed) == ["keys"], "nobody has to ask for it"
        command.end()
    code.unlink()
    with job.start(function="exporting", fresh=True) as command:
        status, out, err = command.end()
        assert (status, out) == (2, "") and "Traceback" not in err
        assert "dataflow 'keys'" in err and "code.py" in err and "--drop keys" in err
    job.let_go()
    with job.start("--drop", "keys", function="exporting", fresh=True) as command:
        status, out, err = command.end()
        assert (status, out) == (0, ""), err
    assert job.results() == expected()
