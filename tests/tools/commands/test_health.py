"""`tokenring health` as it is typed: what it says, and its status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import tokenring as tr
from tests.engine.ask.test_health import WATCHDOG_S, serve, until
from tests.imports import ROOT


def health(*arguments: str | float, of: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command on the group of a process; 0: of this one."""
    command = [sys.executable, "-m", "tokenring", "health", str(of or os.getpid()), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_it_exits_by_what_it_says(tmp_path: Path) -> None:
    with tr.start(partial(serve, folder=str(tmp_path)), 2) as group:
        until(group, ["stands still"] * 2)
        said = health("--within", 0.2)
        assert said.returncode == 1 and said.stdout.startswith("not ready, not live\n")
        (tmp_path / "build").touch()
        until(group, ["moves"] * 2)
        said = health("--within", WATCHDOG_S)
        assert said.returncode == 0 and said.stdout.startswith("ready, live\n")
        assert said.stdout.count("1 of 1 dataflows built") == 2
        stopped = group.health().workers[1].process
        os.kill(stopped, signal.SIGSTOP)
        try:
            said = health("--within", 0.2, "--json")
            answer = json.loads(said.stdout)
            assert (said.returncode, answer["ready"], answer["live"]) == (1, True, False)
            assert answer["workers"][1]["state"] == "stopped"
            assert health("--within", 0.2, "--ready").returncode == 0
            assert health("--within", 0.2, "--live").returncode == 1
        finally:
            os.kill(stopped, signal.SIGCONT)
    said = health()
    assert said.returncode == 1 and str(os.getpid()) in said.stderr and said.stderr.count("\n") == 1
    assert health("--live", "--ready").returncode == 2


def test_it_names_a_launcher_that_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "build").touch()
    program = (
        "from functools import partial; import tokenring as tr; from tests.engine.ask.test_health import serve; "
        f"tr.execute(partial(serve, folder={str(tmp_path)!r}), workers=1)"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT) as launcher:
        try:
            deadline = time.monotonic() + WATCHDOG_S
            while (said := health("--within", 0.3, of=launcher.pid)).returncode:
                assert time.monotonic() < deadline, said
            assert "launcher" not in said.stdout
            os.kill(launcher.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, launcher.pid, os.WSTOPPED | os.WNOWAIT)
            said = health("--within", 0.3, of=launcher.pid)
            assert said.returncode == 1
            assert f"launcher (pid {launcher.pid}) is stopped: `kill -CONT {launcher.pid}`" in said.stdout
            assert json.loads(health("--within", 0.3, "--json", of=launcher.pid).stdout)["launcher_is_stopped"]
        finally:
            os.kill(launcher.pid, signal.SIGCONT)
            launcher.terminate()
