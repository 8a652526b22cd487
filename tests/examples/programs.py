"""Runs example programs: as their first lines say, and again with other options, without another start of Python."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas  # noqa: F401  # or each copy and each of its workers imports it: pyarrow does, for a list of values

from tests.copies import in_a_copy
from tests.examples.documents import without_compiling
from tests.imports import ROOT
from tests.long_form import LONG

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


def main_of(program: Path) -> Callable[[], object]:
    """What a copy calls to be this program."""
    return lambda: runpy.run_path(str(program), run_name="__main__")


def run_again(name: str, *options: str) -> list[str]:
    """As `run`, in a copy of this process. Only for an example that some test starts by `run`, or `run_in_short`."""
    program = FOLDER / f"{name}.py"
    done = in_a_copy(main_of(program), (program, *options), ROOT, FOLDER)
    assert (done.returncode, without_compiling(done.stderr)) == (0, ""), done.stderr
    return done.stdout.splitlines()


run_in_short = run if LONG else run_again
"""For all of a file's examples but one, whose start shows that such a program starts."""
