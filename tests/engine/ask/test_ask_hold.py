"""A breakpoint from outside holds a running group's frontier, and no longer than who asked for it lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic as clock

import pytest

from tests.copies import CopyBeside
from tests.errors import raises
from tests.imports import ROOT
from tests.nexmark.helpers import tokenring
from tokenring.__main__ import main
from tokenring.engine import UsageError
from tokenring.engine.ask.ask_hold import Held, hold
from tokenring.engine.ask.asker import Group, ask
from tokenring.engine.ask.places import private_folder

WATCHDOG_S = 60
MOVING = """
import sys
from pathlib import Path

from tokenring.engine import Exchange, Notify, Schema, execute

VALUE = Schema("value")


def same(context, token):
    token.drop()

    def logic(rows, output):
        for reference, batch in rows:
            output.give(reference, batch)

    return logic


def program(worker):
    with worker.dataflow("moving") as scope:
        numbers, stream = scope.new_input(VALUE)
        probe = stream.unary("same", VALUE, same, Exchange("value"), Notify.NEVER).probe()
    worker.report("ready")
    while True:
        numbers.advance_to(int(Path(sys.argv[1]).read_text() or numbers.time))
        worker.step_or_park(0.005)


execute(program, workers=2, on_note=lambda worker, value: print(value, flush=True))
"""


class Moving:
    """A group of two whose input stands at the time that is written into a file."""

    def __init__(self, launcher: int, goal: Path) -> None:
        self.launcher = launcher
        self._goal = goal

    def go_to(self, time: int) -> None:
        """Move the input on."""
        draft = self._goal.with_suffix(".part")
        draft.write_text(str(time))
        draft.rename(self._goal)

    def frontier(self, port: str = "output") -> int:
        """Where a port of the operator is."""
        (explanation,) = ask(self.launcher, "same", (port, 0), timeout_s=WATCHDOG_S).explanations
        (found,) = explanation.frontier
        assert isinstance(found, int)
        return found

    def reaches(self, time: int, port: str = "output") -> bool:
        """Wait for a frontier to get there, and to stay."""
        deadline = clock() + WATCHDOG_S
        while (found := self.frontier(port)) < time:
            assert clock() < deadline, f"the frontier stands at {found}"
        return self.frontier(port) == time

    def folders(self) -> list[Path]:
        """What is left of those who asked."""
        return list(private_folder().glob(f"hold-{self.launcher}-*"))


@pytest.fixture
def moving(tmp_path: Path) -> Iterator[Moving]:
    program, goal = tmp_path / "moving.py", tmp_path / "goal"
    program.write_text(MOVING)
    goal.write_text("5")
    with CopyBeside.of_program(program, goal) as launcher:
        assert [launcher.stdout.readline() for _ in range(2)] == ["ready\n"] * 2, launcher.stderr()
        group = Moving(launcher.pid, goal)
        assert group.reaches(5)
        yield group


@contextmanager
def held(group: Moving, *more: str, typed: bool = False) -> Iterator[CopyBeside | subprocess.Popen[str]]:
    """`tokenring hold` at 7, which nothing passes; in a copy of this process, or as it is typed."""
    command = ["hold", str(group.launcher), "--operator", "same", "--port", "output"]
    command += ["--time", "7", "--timeout", str(WATCHDOG_S), *more]
    with _typed(command) if typed else CopyBeside(main, "tokenring", *command) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said == "holding operator 'same' output 0 at 7, on worker(s) 0, 1; Ctrl-C releases it\n"
            yield process
        finally:
            process.kill()


def _typed(command: list[str]) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "tokenring", *command]
    return subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: CopyBeside | subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for its end: its status, what it has said since, and its errors."""
    if isinstance(process, CopyBeside):
        out = process.stdout.read()
        return process.wait(), out, process.stderr()
    out, err = process.communicate(timeout=WATCHDOG_S)
    return process.returncode, out, err


def test_no_frontier_passes_it_until_it_is_released(moving: Moving) -> None:
    with hold(moving.launcher, "same", ("output", 0), 7, WATCHDOG_S) as found:
        assert found.workers == (0, 1)
        moving.go_to(9)
        assert moving.reaches(9, "input")
        assert moving.reaches(7)
    assert moving.reaches(9)
    assert not moving.folders()


def test_an_asker_that_is_killed_holds_nothing_up(moving: Moving) -> None:
    with held(moving) as process:
        moving.go_to(9)
        assert moving.reaches(9, "input")
        assert moving.reaches(7)
        process.kill()
        process.wait()
        assert moving.reaches(9)
    assert not moving.folders()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_releases_it(moving: Moving, number: int) -> None:
    with held(moving, typed=number == signal.SIGINT) as process:
        moving.go_to(9)
        process.send_signal(number)
        expected = (
            (0, "\nreleased\n", "") if number == signal.SIGINT else (143, "", "tokenring: error: ended by SIGTERM\n")
        )
        assert ended(process) == expected
    assert moving.reaches(9)


def test_it_can_be_kept_for_a_while(moving: Moving) -> None:
    with held(moving, "--for", "300ms") as process:
        assert ended(process) == (0, "released\n", "")


def test_a_while_has_a_unit(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = tokenring(capsys, "hold", 1, "--operator", "same", "--time", 7, "--for", "1")
    assert outcome.status == 2 and "--for 1" in outcome.err and "'1h'" in outcome.err


def test_a_group_that_ends_is_told(moving: Moving) -> None:
    with held(moving) as process:
        os.kill(moving.launcher, signal.SIGKILL)
        status, _, err = ended(process)
        assert (status, err) == (1, f"tokenring: error: the group of process {moving.launcher} has ended\n")


def test_it_ends_with_the_workers_where_their_launcher_starts_others() -> None:
    worker = subprocess.Popen(["true"])
    worker.wait()
    assert not Held(Group(os.getpid(), (worker.pid,), ""), "", (0,)).lasts


def test_what_cannot_be_held_is_refused(moving: Moving) -> None:
    for operator, at, said in (
        ("same", 1, ("'same' output 0 at 1", "worker 0", "worker 1", "frontier", "5", "later time")),
        ("nobody", 9, ("operator 'nobody'", "input, same")),
    ):
        with raises(UsageError, said), hold(moving.launcher, operator, ("output", 0), at, WATCHDOG_S):
            raise AssertionError("it is not held")
    with raises(UsageError, "process 1", "tokenring why"), hold(1, "same", ("", 0), 1):
        raise AssertionError("it is not held")
