"""`tokenring health` as it is typed: what it says, and its status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import tokenring as tr
from tests.engine.ask.test_health import WATCHDOG_S, serve, until
from tests.imports import ROOT


def health(*arguments: str | float) -> subprocess.CompletedProcess[str]:
    """Run the command on the group of this process."""
    command = [sys.executable, "-m", "tokenring", "health", str(os.getpid()), *map(str, arguments)]
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
