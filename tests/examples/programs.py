"""Runs example programs: as their first lines say, and again with other options, without another start of Python."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, NoReturn

from tests.examples.documents import without_compiling
from tests.imports import ROOT

FOLDER = ROOT / "examples"
WATCHDOG_S = 120
Run = Callable[..., list[str]]


def run(name: str, *options: str) -> list[str]:
    """The lines that an example prints; it must end well and say nothing on stderr but that it compiles."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment["PYTHONPATH"] = str(ROOT)  # this tree's packages, whatever is installed
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *options],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )
    assert (done.returncode, without_compiling(done.stderr)) == (0, ""), done.stderr
    return done.stdout.splitlines()


def run_again(name: str, *options: str) -> list[str]:
    """As `run`, in a copy of this process, which has imported and loaded already what takes a program seconds. Only for
    an example that some test starts by `run`. It must not warn."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        pid = os.fork()
        if pid == 0:
            _be(FOLDER / f"{name}.py", options, out, err)
        _, status = os.waitpid(pid, 0)
        for file in (out, err):
            file.seek(0)
        said = without_compiling(err.read())
        assert (os.waitstatus_to_exitcode(status), said) == (0, ""), said
        return out.read().splitlines()


def _be(program: Path, options: tuple[str, ...], out: IO[str], err: IO[str]) -> NoReturn:
    """Run a program in place of what this copy was, and end it."""
    status = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(WATCHDOG_S)
        for number, file in ((1, out), (2, err)):
            os.dup2(file.fileno(), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        sys.argv, sys.path[0] = [str(program), *options], str(program.parent)
        os.chdir(ROOT)
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("error", category)
        runpy.run_path(str(program), run_name="__main__")
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
