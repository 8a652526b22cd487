"""A process that is started afresh goes with its launcher from its first moment, long before it has loaded anything."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.imports import ROOT
from tokenring.shm.memory import reclaim

WATCHDOG_S = 60
# What every process of ours imports; those that are started afresh come no further.
IN_THE_WAY = """
import importlib, os, sys, time

if sys.argv[0] == "-c":
    open(f"{os.getpid()}.here", "w").close()
    time.sleep(600)
here = sys.path.pop(0)
del sys.modules["orjson"]
importlib.import_module("orjson")
sys.path.insert(0, here)
"""
PROGRAM = """
import sys
import tokenring as tr

def program(worker):
    pass

if __name__ == "__main__":
    tr.execute(program, workers=2, start=sys.argv[1])
"""


@pytest.mark.parametrize(("start", "count"), [("spawn", 2), ("forkserver", 1)])
def test_a_killed_launcher_leaves_nobody_who_is_still_loading(tmp_path: Path, start: str, count: int) -> None:
    (tmp_path / "orjson.py").write_text(IN_THE_WAY)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "program.py", start]
    with subprocess.Popen(command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "HOME": str(Path.home())}) as launcher:
        try:
            while len(found := list(tmp_path.glob("*.here"))) < count:
                assert launcher.poll() is None
                time.sleep(0.01)
            loading = [psutil.Process(int(path.stem)) for path in found]
        finally:
            launcher.kill()
    try:
        _, alive = psutil.wait_procs(loading, timeout=WATCHDOG_S / 4)
        assert alive == []
    finally:
        for process in loading:
            if process.is_running():
                process.kill()
        reclaim()
