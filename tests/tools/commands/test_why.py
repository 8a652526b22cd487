"""`tokenring why` as it is typed: lists groups, explains one, and says what is wrong with a question."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.ask.test_ask import RETAINED_AT, stuck
from tests.imports import ROOT
from tests.nexmark.helpers import tokenring


def why(*arguments: str | int) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "tokenring", "why", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_a_stuck_run_is_explained(tmp_path: Path) -> None:
    with stuck(tmp_path) as (group, program):
        assert f"{group.launcher}: 2 workers: " in why().stdout
        assert group.launcher in [found["launcher"] for found in json.loads(why("--json").stdout)["groups"]]
        done = why(group.launcher, "--timeout", 60)
        assert (done.returncode, done.stderr) == (0, "")
        expected = [
            "the probe of operator 'inner/keeper' output 0 of dataflow 'stuck': its frontier is 3, held back by",
            "  operator 'inner/keeper' output 0, time 3:",
            f"    1 token on worker 0, made at {program}:{RETAINED_AT} (logic)",
            f"    1 token on worker 1, made at {program}:{RETAINED_AT} (logic)",
        ]
        assert done.stdout.splitlines()[-4:] == expected
        question = (group.launcher, "--operator", "stuck/inner/keeper", "--port", "input", "--time", 3, "--timeout", 60)
        said = why(*question).stdout
        assert "time 3 has passed; its frontier is 50" in said
        assert re.search(r"^operator 'inner/keeper' keeps \d.* on worker 0, \d.* on worker 1$", said, re.M)
        answer = json.loads(why(*question, "--json").stdout)
        assert answer["explanations"][0]["frontier"] == [50]
        (weights,) = answer["weights"]
        assert weights["operator"] == "inner/keeper"
        assert weights["workers"].keys() == {"0", "1"}
        assert weights["workers"]["0"]["state_bytes"] > 0
        wrong = why(group.launcher, "--operator", "nobody", "--timeout", 60)
        assert wrong.returncode == 2
        assert wrong.stderr == "tokenring: error: no operator 'nobody' is running; there are: input, inner/keeper\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("1",), "process 1 runs no group of this user; `tokenring why` lists those that do"),
        (("1", "--time", "soon"), "--time 'soon' is none; give a whole number, or several with commas for a loop"),
        (("1", "--time", "9" * 20), f"--time {'9' * 20} is none; times go from 0 to 4611686018427387903"),
        (("1", "--time", "7,-1"), "--time 7,-1 is none; times go from 0 to 4611686018427387903"),
        (("1", "--port", "input"), "--port needs an --operator"),
        (("1", "--operator", "a", "--port", "side"), "--port 'side' is none; give input, output"),
        (("--operator", "a"), "need a PROCESS"),
    ],
)
def test_a_question_that_makes_no_sense_says_why(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], error: str
) -> None:
    done = tokenring(capsys, "why", *arguments)
    assert done.status == 2
    assert error in done.err
