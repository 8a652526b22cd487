"""What is installed comes at one place on all workers, whatever their programs do just then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.errors import raises
from tests.imports import ROOT
from tokenring.engine import UsageError, Worker, execute
from tokenring.engine.ask import Group, group_of, requested
from tokenring.engine.install import Installed, Installing, code_of, install, install_here, remove

WATCHDOG_S = 60
PROGRAMS = """
import sys
import time

from tokenring.engine import Schema, Worker, execute
from tokenring.engine.ask import tell_asker

VALUE = Schema("value")


class Keeping:  # as a snapshot does: while it is asked for, no step of the program's own returns
    def __init__(self, worker, folder, question):
        self.worker = worker
        worker.keep_program(True)
        tell_asker(worker, folder)

    def look(self):
        return 1_000_000

    def leave(self):
        self.worker.keep_program(False)


Worker.answering = {"keep": Keeping}


def ticking(context, token):
    def logic(output):
        if not token.live:
            return
        if context.stopping:
            token.drop()
        else:
            token.downgrade(token.time + 1)
            context.activate_after(1_000_000)

    return logic


def one(scope):
    (stream,) = scope.source("ticking", (VALUE,), ticking)
    stream.sink("sink", lambda context: lambda rows: list(rows))


def differs(scope, seen=[]):
    import os
    (stream,) = scope.source(f"of {os.getpid()}", (VALUE,), ticking)
    stream.sink("sink", lambda context: lambda rows: list(rows))


def fails(scope):
    def construct(context, token):
        raise ValueError("too late")

    scope.source("fails", (VALUE,), construct)


def fails_later(scope):
    def construct(context, token):
        calls = 0

        def logic(output):
            nonlocal calls
            calls += 1
            output.give(token, {"value": [calls]})
            if calls > 20 and context.worker_index == 1:
                raise ValueError("enough")
            context.activate()

        return logic

    (stream,) = scope.source("fails", (VALUE,), construct)
    stream.sink("sink", lambda context: lambda rows: list(rows))


def declares(worker):  # dataflows and barriers without end, at workers' own paces
    worker.report("ready")
    number = 0
    while True:
        number += 1
        with worker.dataflow(f"own {number}") as scope:
            rows, stream = scope.new_input(VALUE)
            stream.sink("sink", lambda context: lambda rows: list(rows))
        rows.send({"value": [worker.index]})
        for _ in range((number * (worker.index + 1)) % 7):
            worker.step()
        rows.close()
        worker.barrier()
        if number % 3 == worker.index:
            time.sleep(0.002)


def steps(worker):
    with worker.dataflow("live") as scope:
        one(scope)
    worker.report("ready")
    while not worker.stopping:
        worker.step_or_park(0.01)


def returns(worker):  # and leaves a source that goes on
    with worker.dataflow("live") as scope:
        one(scope)
    worker.report("ready")


if __name__ == "__main__":
    note = lambda worker, value: print(value, flush=True)
    execute(globals()[sys.argv[1]], workers=int(sys.argv[2]), on_note=note)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("programs") / "programs.py"
    path.write_text(PROGRAMS)
    return path


@contextmanager
def running(file: Path, program: str, workers: int, status: int | None = 0) -> Iterator[Group]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    line = [sys.executable, file, program, str(workers)]
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as launcher:
        try:
            assert launcher.stdout is not None
            assert [launcher.stdout.readline() for _ in range(workers)] == [b"ready\n"] * workers
            yield group_of(launcher.pid)
            if status is None:
                assert launcher.poll() is None
                return
            if not status:
                launcher.send_signal(signal.SIGINT)
            assert launcher.wait(WATCHDOG_S) == status
        finally:
            launcher.kill()


@pytest.mark.parametrize("program", ["steps", "returns"])
def test_dataflows_come_and_go_while_programs_are_kept_in_a_step(file: Path, program: str) -> None:
    with running(file, program, 2) as group, requested(group, "keep", {}) as request:
        assert len(request.answers(WATCHDOG_S)) == 2
        for number in range(3):
            install(group, code_of(f"{file}:one"), f"one {number}", WATCHDOG_S)
            remove(group, f"one {number}", WATCHDOG_S)


@pytest.mark.parametrize(("program", "workers"), [("returns", 1), ("returns", 2)])
def test_dataflows_come_and_go_after_the_program_has_returned(file: Path, program: str, workers: int) -> None:
    with running(file, program, workers) as group:
        code = code_of(f"{file}:one")
        for number in range(10):
            install(group, code, f"one {number}", WATCHDOG_S)
            install(group, code, f"other {number}", WATCHDOG_S)
            remove(group, f"one {number}", WATCHDOG_S)
        with raises(UsageError, "'one 3'", "'other 0'"):
            remove(group, "one 3", WATCHDOG_S)


def test_they_come_between_what_programs_declare(file: Path) -> None:
    with running(file, "declares", 2, status=None) as group:
        code = code_of(f"{file}:one")
        for _ in range(20):
            install(group, code, "one", WATCHDOG_S)
            remove(group, "one", WATCHDOG_S)


def test_the_name_of_one_that_is_being_removed_is_not_the_programs_own(file: Path, tmp_path: Path) -> None:
    def program(worker: Worker) -> None:
        code = code_of(f"{file}:one")
        install_here(worker, "one", code)
        going = worker.kept(Installed).remove("one")
        with raises(UsageError, "'one'", "being removed", "once that is done"):
            Installing(worker, tmp_path, {"name": "one", "code": list(code)})
        going.cancel()
        worker.step_while(lambda: not going.done)
        Installing(worker, tmp_path, {"name": "one", "code": list(code)})

    execute(program, workers=1)


def test_all_have_to_declare_the_same(file: Path) -> None:
    with running(file, "returns", 2) as group:
        with raises(UsageError, "worker 1", "'one'", "worker 0", "declare the same"):
            install(group, code_of(f"{file}:differs"), "one", WATCHDOG_S)
        install(group, code_of(f"{file}:one"), "one", WATCHDOG_S)


def test_a_file_without_a_guard_starts_no_groups_of_its_own(file: Path, tmp_path: Path) -> None:
    guardless = tmp_path / "guardless.py"
    guardless.write_text("from tokenring.engine import execute\nexecute(print, workers=1)\nfrom programs import one\n")
    with running(file, "returns", 1) as group, raises(UsageError, str(guardless), "if __name__ == '__main__'"):
        install(group, code_of(f"{guardless}:one"), "one", WATCHDOG_S)


def test_what_is_no_function_is_named() -> None:
    with raises(UsageError, "3 cannot be installed", "function"):
        code_of(3)  # type: ignore[arg-type]


def test_a_constructor_that_fails_is_an_error_and_the_group_goes_on(file: Path) -> None:
    with running(file, "returns", 2) as group:
        for _ in range(2):
            with raises(UsageError, "constructor", "'fails'", {"worker 0", "worker 1"}, "ValueError"):
                install(group, code_of(f"{file}:fails"), "fails", WATCHDOG_S)
        install(group, code_of(f"{file}:one"), "fails", WATCHDOG_S)


def test_one_that_fails_later_ends_alone_among_what_programs_declare(file: Path) -> None:
    with running(file, "declares", 2, status=None) as group:
        for _ in range(10):
            install(group, code_of(f"{file}:fails_later"), "one", WATCHDOG_S)
            remove(group, "one", WATCHDOG_S)  # before it has failed, meanwhile, or behind that
            install(group, code_of(f"{file}:one"), "one", WATCHDOG_S)
            remove(group, "one", WATCHDOG_S)
