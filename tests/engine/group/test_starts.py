"""Workers started afresh, or forked from a fresh server: the same answers and errors, and programs named or refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.crash.group import ROOT, WATCHDOG_S
from tests.errors import assert_named, raises
from tokenring.engine import (
    Config,
    ConfigError,
    Exchange,
    OperatorError,
    Schema,
    UsageError,
    Worker,
    WorkerError,
    execute,
)
from tokenring.operators import Collected, collect, gather

FRESH = ("spawn", "forkserver")
ONE_OF_FRESH = ("forkserver", pytest.param("spawn", marks=pytest.mark.slow))
INHERITED: list[int] = []
"""What this process has put here, a fresh one has not."""


def sums(worker: Worker, rounds: int, by: int = 1) -> tuple[int, int, list[int]]:
    with worker.dataflow("sums") as scope:
        handle, stream = scope.new_input(Schema("key"))
        rows = collect(stream.unary("pass on", stream.schema, _pass_on, Exchange("key")))
    for number in range(rounds):
        handle.send({"key": [number * by]})
        handle.advance_to(number + 1)
        worker.step()
    worker.run()
    return worker.index, int(rows.columns()["key"].sum()), INHERITED


def _pass_on(context: Any, token: Any) -> Any:
    token.drop()

    def logic(rows: Any, output: Any) -> None:
        for reference, batch in rows:
            output.give(reference, batch)

    return logic


def kept(worker: Worker) -> Collected:
    with worker.dataflow("kept") as scope:
        handle, stream = scope.new_input(Schema("key"))
        rows = collect(stream)
    handle.send({"key": [worker.index]})
    return rows


def failing(worker: Worker) -> None:
    raise ArithmeticError("no")


def dying(worker: Worker) -> None:
    if worker.index == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    worker.step_while(lambda: True)


def waiting(worker: Worker) -> None:
    worker.report(os.getpid())
    worker.step_while(lambda: True)


@pytest.mark.parametrize("start", FRESH)
def test_the_same_answer_without_what_this_process_has(start: str) -> None:
    INHERITED.append(1)
    try:
        results = execute(partial(sums, rounds=20, by=3), config=Config(workers=2, pin=False, start=start))
    finally:
        INHERITED.clear()
    assert [(index, inherited) for index, _, inherited in results] == [(0, []), (1, [])]
    assert sum(total for _, total, _ in results) == 2 * 3 * sum(range(20))


@pytest.mark.parametrize("start", ONE_OF_FRESH)
def test_rows_are_gathered(start: str) -> None:
    assert gather(kept, workers=2, start=start).column("key").to_pylist() == [0, 1]


@pytest.mark.parametrize("start", ONE_OF_FRESH)
def test_failures_are_told(start: str) -> None:
    with raises(OperatorError, {"worker 0", "worker 1"}, "ArithmeticError: no"):
        execute(failing, workers=2, start=start)
    with raises(WorkerError, "worker 1", "SIGKILL"):
        execute(dying, workers=2, start=start)


def wait_for_all(*_: Any) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


@pytest.mark.parametrize("handler", [signal.SIG_IGN, wait_for_all])
@pytest.mark.parametrize("start", ["fork", *ONE_OF_FRESH])
def test_a_program_that_waits_for_all_children_takes_their_status_only(start: str, handler: Any) -> None:
    """Results and errors are what they were; that and how a fork server's workers died is for it to tell."""
    before = signal.signal(signal.SIGCHLD, handler)
    try:
        assert [index for index, *_ in execute(partial(sums, rounds=1), workers=2, start=start)] == [0, 1]
        with raises(OperatorError, {"worker 0", "worker 1"}, "ArithmeticError: no"):
            execute(failing, workers=2, start=start)
        with raises(WorkerError, "worker 1", *(["SIGKILL"] if start == "forkserver" else ["SIGCHLD", "os.waitpid"])):
            execute(dying, workers=2, start=start)
        with pytest.raises(ZeroDivisionError):
            execute(waiting, workers=2, start=start, on_start=lambda _: 1 // 0)  # type: ignore[arg-type]
    finally:
        signal.signal(signal.SIGCHLD, before)


@pytest.mark.parametrize("start", ONE_OF_FRESH)
def test_an_end_by_the_launcher_leaves_no_process(start: str) -> None:
    def stop(index: int, pid: int) -> None:
        raise LookupError(pid)

    with pytest.raises(LookupError):
        execute(waiting, workers=2, start=start, on_note=stop)


@pytest.mark.parametrize("start", FRESH)
@pytest.mark.parametrize("program", [lambda worker: None, partial(lambda worker: None)])
def test_what_cannot_be_imported_is_refused(start: str, program: Any) -> None:
    with raises(UsageError, "<lambda>", f"start={start!r}", "top level", "start='fork'"):
        execute(program, workers=1, start=start)


def test_an_unknown_start_is_named() -> None:
    with raises(ConfigError, "start", "'fork'", "'forkserver'", "'spawn'", "not 'thread'"):
        execute(failing, workers=1, start="thread")


SCRIPT = """
from tokenring.engine import execute
def program(worker):
    return worker.index
{guard}
    print(execute(program, workers=2, start="{start}"))
"""


def ran(path: Path) -> subprocess.CompletedProcess[str]:
    """A program that was run as Python runs a file, a folder or an archive."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=WATCHDOG_S, env=environment)


@pytest.mark.parametrize("start", ["fork", *FRESH])
def test_a_program_in_an_archive_is_forked_or_refused(tmp_path: Path, start: str) -> None:
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("__main__.py", SCRIPT.format(start=start, guard='if __name__ == "__main__":'))
    done = ran(tmp_path / "app.zip")
    if start == "fork":
        assert done.stdout == "[0, 1]\n"
    else:
        assert all(fact in done.stderr for fact in (f"start={start!r}", "in an archive", "start='fork'"))


@pytest.mark.parametrize("start", FRESH)
@pytest.mark.parametrize(
    ("name", "is_guarded"), [("script.py", True), ("script.py", False), ("script", True), ("__main__.py", True)]
)
def test_a_program_that_is_run_as_a_file(tmp_path: Path, start: str, name: str, is_guarded: bool) -> None:
    file = tmp_path / name
    file.write_text(SCRIPT.format(start=start, guard='if __name__ == "__main__":' if is_guarded else "if True:"))
    done = ran(tmp_path if name == "__main__.py" else file)
    if is_guarded:
        assert (done.stdout, done.stderr) == ("[0, 1]\n", "")
    else:
        assert done.returncode == 1
        assert "put the call below `if __name__ == '__main__':`" in done.stderr.splitlines()[-1] + done.stderr


READ = """
from tokenring.engine import UsageError, execute
from tokenring.engine.install import code_of
def program(worker):
    pass
for ask in (lambda: execute(program, workers=1, start="{start}"), lambda: code_of(program)):
    try:
        ask()
    except UsageError as error:
        print(error)
"""


@pytest.mark.parametrize("start", FRESH)
@pytest.mark.parametrize("file", ["-", "/dev/stdin"])
def test_a_program_that_is_read_from_standard_input(tmp_path: Path, file: str, start: str) -> None:
    """It can be run under neither start, nor can its functions be installed."""
    program = tmp_path / "script"
    program.write_text(READ.format(start=start))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with program.open() as read:
        said = subprocess.check_output(
            [sys.executable, file], stdin=read, text=True, timeout=WATCHDOG_S, env=environment
        )
    at_start, installed = said.splitlines()
    assert "standard input is in no file: put it into one, or use start='fork'" in at_start
    assert "program cannot be installed" in installed


def test_other_threads_at_a_fork_are_told_of() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with pytest.warns(RuntimeWarning) as told:
            execute(failing_not, workers=1)
        assert_named(told.list[0].message, "1 other thread", "start='spawn'")
        assert told.list[0].filename == __file__, "where execute was called"
    finally:
        done.set()
        thread.join()
        while threading.active_count() > 1:
            time.sleep(0.01)


def test_so_are_those_of_duckdb() -> None:
    """Though they have no name, as Arrow's have none, which has started few of those that it may."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.sql("select 1").to_arrow_table()
        with pytest.warns(RuntimeWarning) as told:
            execute(failing_not, workers=1)
    assert_named(told.list[0].message, "start='spawn'")


def run_beside_import(folder: Path, module: str, text: str, program: str) -> bytes:
    """What a program prints that begins while a thread imports a module which says `text`; it has an event `done`."""
    (folder / f"{module}.py").write_text(text)
    whole = (
        "import sys, threading, time\nfrom tokenring.engine import execute\ndone = threading.Event()\n"
        f"threading.Thread(target=__import__, args=[{module!r}], daemon=True).start()\n"
        f"while {module!r} not in sys.modules: time.sleep(0.001)\n{program}"
    )
    environment = os.environ | {"PYTHONPATH": f"{folder}:{ROOT}"}
    return subprocess.check_output([sys.executable, "-c", whole], timeout=20, env=environment)


def test_a_library_that_another_thread_imports_is_waited_for(tmp_path: Path) -> None:
    """Its threads are asked for, and a worker that is forked meanwhile would wait for that import for ever."""
    slow = "import time\ntime.sleep(1)\ncpu_count = io_thread_count = lambda: 0\n"
    program = "print(execute(lambda worker: __import__('pyarrow').cpu_count(), workers=1))"
    assert run_beside_import(tmp_path, "pyarrow", slow, program) == b"[0]\n"


def test_a_program_whose_import_waits_for_a_run_is_not_waited_for(tmp_path: Path) -> None:
    """Though it is called nearly as this package is."""
    waiting = "import __main__\n__main__.done.wait()\n"
    program = "print(execute(lambda worker: 1, workers=1))\ndone.set()"
    assert run_beside_import(tmp_path, "tokenring_app", waiting, program) == b"[1]\n"


def failing_not(worker: Worker) -> None:
    """Nothing to do."""


def test_no_other_threads_no_word(recwarn: pytest.WarningsRecorder) -> None:
    execute(failing_not, workers=1)
    assert not [str(told.message) for told in recwarn if issubclass(told.category, RuntimeWarning)]
