"""A group of two in a process of its own whose rows change all the time, until it is told to stop."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from tests.copies import CopyBeside, written
from tests.imports import ROOT
from tokenring.__main__ import main
from tokenring.engine.ask.places import private_folder
from tokenring.nexmark.commands import cli

WATCHDOG_S = 60
KEPT = 50
_PROGRAM = f"""
from itertools import count
from time import monotonic

import tokenring as tr

ROW = tr.Schema(key="int64", name="string", time="int64", times="int64")


def program(worker):
    with worker.dataflow("base") as scope:
        rows, stream = scope.new_input(ROW)
        view = stream.collection("time", "times").arrange("key").export("rows", history=5)
    if worker.index == 0:
        rows.send({{"key": [-1], "name": ["stays"], "time": [0], "times": [1]}})
    for time in count():
        if worker.stopping:
            break
        if worker.index == 0:  # at each time one comes and one goes: there are always {KEPT}, and -1
            keys = [time, time - {KEPT}][: 1 + (time >= {KEPT})]
            columns = {{"key": keys, "name": [f"name {{key % 7}}" for key in keys]}}
            rows.send({{**columns, "time": [time] * len(keys), "times": [1, -1][: len(keys)]}})
        rows.advance_to(time + 1)
        if time == {2 * KEPT}:
            worker.step_while(lambda: view.upper <= {KEPT})
            worker.report("ready")
        due = monotonic() + 0.002
        while (left := due - monotonic()) > 0:  # whatever the other one says meanwhile
            worker.step_or_park(left)


if __name__ == "__main__":
    tr.execute(program, workers=2, on_note=lambda worker, value: print(value, flush=True))
"""


class Serving:
    """The group."""

    def __init__(self, launcher: int) -> None:
        self.launcher = launcher

    def folders(self) -> list[Path]:
        """What is left of those who asked."""
        return list(private_folder().glob(f"*-{self.launcher}-*"))

    def tokenring(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of ours about it, in this process."""
        line = [command, str(self.launcher), *arguments]
        out, err = (TextIOWrapper(BytesIO(), write_through=True) for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            cli.main(line)
        assert isinstance(ended.value.code, int)
        return subprocess.CompletedProcess(line, ended.value.code, *(written(file) for file in (out, err)))

    def typed(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The same, as it is typed."""
        line = [sys.executable, "-m", "tokenring", command, str(self.launcher), *arguments]
        return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)

    def beside(self, command: str, *arguments: str) -> CopyBeside:
        """The same, in a copy of this process that runs beside the test."""
        return CopyBeside(main, "tokenring", command, str(self.launcher), *arguments)


@contextmanager
def serving(folder: Path, program_text: str = _PROGRAM) -> Iterator[Serving]:
    """The group, or that of another program, each of whose two workers prints "ready"; it ends in order, and well, at
    the end of the block."""
    program = folder / "serving.py"
    program.write_text(program_text)
    with CopyBeside.of_program(program) as launcher:
        assert [launcher.stdout.readline() for _ in range(2)] == ["ready\n"] * 2, launcher.stderr()
        yield Serving(launcher.pid)
        launcher.send_signal(signal.SIGINT)
        assert launcher.wait() == 0
