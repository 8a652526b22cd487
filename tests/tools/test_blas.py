"""The command has one BLAS thread unless told otherwise; programs of one's own have what they would have without us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.group import ROOT, WATCHDOG_S

NAMES = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
PROGRAM = """
import os, tokenring as tr

def found(*_):
    return [os.environ.get(name) for name in {names}]
"""


def told(program: list[str], **said: str) -> list[list[str | None]]:
    """What a process that was told this finds, a line each."""
    environment = {name: value for name, value in os.environ.items() if name not in NAMES}
    done = subprocess.run(
        [sys.executable, *program], cwd=ROOT, env=environment | said, capture_output=True, text=True,
        timeout=WATCHDOG_S, check=True,
    )  # fmt: skip
    return [json.loads(line.replace("'", '"').replace("None", "null")) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({}, ["1", None, None]),
        ({"OPENBLAS_NUM_THREADS": "3"}, ["3", None, None]),
        ({"GOTO_NUM_THREADS": "2"}, [None, "2", None]),
        ({"OMP_NUM_THREADS": "2"}, [None, None, "2"]),
    ],
)
def test_workers_of_the_command_have_one_unless_told(
    start: str, said: dict[str, str], found: list[str | None], tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(names=NAMES))
    run = ["-m", "tokenring", "run", f"{tmp_path}/program.py:found", "--workers", "1", "--start", start]
    assert told(run, **said) == [found]


def test_programs_of_ones_own_have_what_they_would_have(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(names=NAMES) + "print(tr.execute(found, workers=1)[0])\nprint(found())\n")
    assert told([str(program)]) == [[None] * 3] * 2


def test_programs_that_the_command_starts_have_what_they_would_have() -> None:
    starting = (
        "from tokenring.tools.blas import environment_of_others, one_blas_thread; import os\n"
        "one_blas_thread()\n"
        f"for found in (os.environ, environment_of_others()): print([found.get(name) for name in {NAMES}])"
    )
    assert told(["-c", starting]) == [["1", None, None], [None] * 3]
    assert told(["-c", starting], OPENBLAS_NUM_THREADS="1") == [["1", None, None]] * 2
