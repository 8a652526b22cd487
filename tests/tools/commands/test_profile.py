"""`tokenring profile -- PROGRAM`: groups found in a program's child processes, its outcome passed on, nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import psutil
import pytest

from tests.copies import in_a_copy
from tests.crash.group import ROOT, WATCHDOG_S
from tests.nexmark.helpers import tokenring
from tokenring.__main__ import main
from tokenring.tools.profile import py_spy

PROGRAM = """
import sys
import time
from tokenring.engine import Schema, execute
from tokenring.operators import exchange

VALUE = Schema("value")


def busy(worker):
    with worker.dataflow() as scope:
        numbers, stream = scope.new_input(VALUE)
        probe = exchange(stream, "value").probe()
    begun = time.monotonic()
    least = max(float(sys.argv[1]), 2 * (begun - launched))  # others may use the cores, too, while workers start
    while min(time.monotonic() - begun, 3 * time.process_time()) < least:
        numbers.send({"value": range(100)})
        numbers.advance_to(numbers.time + 1)
        worker.step()
    numbers.close()
    worker.step_while(lambda: not probe.done())  # one is busy as long as the other


for _ in range(int(sys.argv[2])):
    launched = time.monotonic()
    execute(busy, workers=2)
print("done")
sys.exit(int(sys.argv[3]))
"""
NAMES = {f"{part}.{kind}" for part in ("worker-0", "worker-1", "merged") for kind in ("svg", "speedscope.json")}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "busy.py"
    path.write_text(PROGRAM)
    return path


def _start(out: Path, *program: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tokenring", "profile", "--out", str(out), "--", *map(str, program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        start_new_session=True,
        text=True,
    )


def _run(out: Path, *program: str | Path) -> tuple[int, str, str]:
    with _start(out, *program) as command:
        printed, said = command.communicate(timeout=WATCHDOG_S)
        return command.returncode, printed, said


def _run_here(out: Path, *program: str | Path) -> tuple[int, str, str]:
    """The same, without another start of the command."""
    done = in_a_copy(main, ("tokenring", "profile", "--out", out, "--", *program), ROOT, ROOT)
    return done.returncode, done.stdout, done.stderr


def test_groups_one_after_the_other_of_a_program_that_fails(tmp_path: Path, program: Path) -> None:
    """Launched by a child of the program, as by a script of the shell."""
    out = tmp_path / "out"
    status, printed, said = _run(out, "sh", "-c", f"{sys.executable} {program} 0.8 2 3; exit $?")
    assert (status, printed) == (3, "done\n"), said
    assert {path.name for path in out.iterdir()} == NAMES
    assert "2 group(s) in" in said
    assert "kernel " in said
    assert "ParkingLot.wait" not in said, "sleep is no work"
    document = orjson.loads((out / "merged.speedscope.json").read_bytes())
    frames = document["shared"]["frames"]
    for worker in (0, 1):
        profile = document["profiles"][1 + worker]
        stacks = [[frames[at]["name"] for at in sample] for sample in profile["samples"]]
        assert profile["name"] == f"worker {worker}"
        assert sum("busy" in stack for stack in stacks) > len(stacks) / 2, "it is the program that was sampled"
        assert not any("execute" in stack for stack in stacks), "the launcher's frames are cut off"


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("print('hello')", 1),
        ("import sys; print('hello'); sys.exit(5)", 5),
        ("import os; print('hello', flush=True); os.kill(os.getpid(), 9)", 137),
    ],
    ids=["ends", "fails", "killed"],
)
def test_a_program_without_a_group(tmp_path: Path, source: str, status: int) -> None:
    out = tmp_path / "out"
    ended, printed, said = _run_here(out, sys.executable, "-c", source)
    assert (ended, printed, said.count("\n")) == (status, "hello\n", 1)
    assert "without a profile: it was not seen to call `execute`" in said
    assert not out.exists()


def test_a_group_that_ends_at_once(tmp_path: Path) -> None:
    """Whether py-spy is quick enough is chance; either there is a profile, or one line says that there is none."""
    out = tmp_path / "out"
    status, _, said = _run_here(
        out, sys.executable, "-c", "from tokenring.engine import execute; execute(lambda worker: 1, workers=2)"
    )
    if (out / "merged.svg").exists():
        assert status == 0
    else:
        assert (status, said.count("\n"), "without a profile" in said, out.exists()) == (1, 1, True, False)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--"], "no program"),
        (["q4", "--", "true"], "q4"),
        (["--", "no/such/program"], "no/such/program: cannot be"),
        (["python", "my_program.py"], "A program goes behind `--`"),
    ],
)
def test_what_cannot_be_started(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], named: str
) -> None:
    outcome = tokenring(capsys, "profile", "--out", tmp_path / "out", *arguments)
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert named in outcome.err
    assert not (tmp_path / "out").exists()


def test_a_program_is_ended_where_py_spy_may_not_attach(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    powerless = tmp_path / "py-spy"
    real = py_spy.find_py_spy()
    powerless.write_text(f'#!/bin/sh\nexec setpriv --bounding-set -all --inh-caps -all "{real}" "$@"\n')
    powerless.chmod(0o755)
    monkeypatch.setattr(py_spy, "find_py_spy", lambda: str(powerless))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    out = tmp_path / "out"
    before = psutil.Process().children(recursive=True)  # of tests before this one
    outcome = tokenring(capsys, "profile", "--out", out, "--", sys.executable, program, "600", "1", "0")
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    assert "CAP_SYS_PTRACE" in outcome.err
    assert not out.exists()
    assert set(psutil.Process().children(recursive=True)) <= set(before)


@pytest.mark.parametrize("whom", ["command", "terminal"])
def test_ctrl_c_leaves_nothing(tmp_path: Path, program: Path, whom: str) -> None:
    """From a terminal the program hears of it too, and what it says of that is passed on."""
    out = tmp_path / "out"
    with _start(out, "sh", "-c", f"{sys.executable} {program} 600 1 0; exit $?") as command:
        deadline = time.monotonic() + WATCHDOG_S
        others: list[psutil.Process] = []
        while sum("py-spy" in other.name() for other in others) < 2:
            assert command.poll() is None, command.communicate()
            assert time.monotonic() < deadline, others
            time.sleep(0.05)
            others = [one for one in psutil.Process(command.pid).children(recursive=True) if one.is_running()]
        if whom == "command":
            os.kill(command.pid, signal.SIGINT)
        else:
            os.killpg(command.pid, signal.SIGINT)
        printed, said = command.communicate(timeout=WATCHDOG_S)
    assert (command.returncode, printed) == (130, "")
    assert said.splitlines()[-1] == "tokenring: error: interrupted"
    if whom == "command":
        assert said.count("\n") == 1
    _, alive = psutil.wait_procs(others, timeout=WATCHDOG_S)
    assert alive == []
    assert not out.exists()
