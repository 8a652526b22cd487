"""Ctrl-C at the worst instants: between a fork and its bookkeeping, while a kernel is compiled, in a finaliser."""

from __future__ import annotations

import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from numba.core import event

import tokenring.engine.group.processes
from tests.crash.group import ROOT, WATCHDOG_S, Group
from tests.crash.run_process import Command
from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import Worker, WorkerError, execute
from tokenring.tools.system.signals import Ended, ending_signals_raise


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("who", ["launcher before", "launcher", "worker", "both"])
def test_between_a_fork_and_its_bookkeeping(who: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No second launcher goes on with the user's program, and no worker is left."""
    real = os.fork

    def fork() -> int:
        if who == "launcher before":
            interrupt()
        pid = real()
        if who == "both" or (who == "worker") == (pid == 0):
            interrupt()
        return pid

    monkeypatch.setattr(tokenring.engine.group.processes.os, "fork", fork)
    started = os.getpid()
    try:
        try:
            results = execute(lambda worker: worker.index, workers=2)
        except KeyboardInterrupt:
            results = None
    finally:
        if os.getpid() != started:  # what must not be
            (tmp_path / "second").touch()
            os._exit(0)
    assert results == ([0, 1] if who == "worker" else None)
    assert not (tmp_path / "second").exists()


def test_a_handler_of_the_programs_own_is_called_and_the_run_goes_on() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    try:
        worker = [os.getpid()]
        assert execute(lambda _: os.kill(worker[0], signal.SIGTERM), workers=1) == [None]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]


def test_while_a_kernel_is_compiled_it_waits_for_that() -> None:
    import tokenring.shm.kernels.compiler_lock  # noqa: F401 - as before the first kernel is compiled

    steps: list[str] = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with event.trigger_event("numba:compiler_lock"), event.trigger_event("numba:compiler_lock"):
            interrupt()
            steps.append("compiled")
        steps.append("went on")
    assert steps == ["compiled"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class _Finalised:
    def __init__(self, run: Callable[[], None]) -> None:
        self._run = run

    def __del__(self) -> None:
        self._run()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_a_finaliser_it_is_not_lost(number: int) -> None:
    def swallow(times: int) -> None:
        os.kill(os.getpid(), number)
        for _ in range(times):
            time.sleep(0)

    with pytest.raises(Ended) as ended, ending_signals_raise():  # noqa: PT012
        held = [_Finalised(lambda: swallow(1000))]
        del held
        deadline = time.monotonic() + WATCHDOG_S
        while time.monotonic() < deadline:
            time.sleep(0.001)
    assert ended.value.number == number


class _Named:
    def __set_name__(self, owner: type, name: str) -> None:
        interrupt()
        time.sleep(0)


def test_while_a_class_is_made_it_is_not_wrapped() -> None:
    with pytest.raises(Ended), ending_signals_raise():
        type("Interrupted", (), {"named": _Named()})


NO_LIBRARY = {"TOKENRING_KERNELS": "numba", "PYTHONPATH": str(ROOT)}


def test_while_all_kernels_are_compiled(tmp_path: Path) -> None:
    """Nothing is in the cache: it would take half a minute. One line, at once, at whatever instant."""
    for _ in range(3):
        environment = os.environ | NO_LIBRARY | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-m", "tokenring", "warm-up"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, bufsize=0) as process:
            assert process.stderr is not None
            said = process.stderr.readline()
            assert re.fullmatch(rb"compiling \d+ kernels, once \(the environment asks for numba\)\n", said)
            time.sleep(random.uniform(0, 1))
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=WATCHDOG_S)
        assert (process.returncode, err.decode()) == (130, "tokenring: error: interrupted\n")


@pytest.mark.parametrize(
    "number", [*[pytest.param(one, marks=pytest.mark.slow) for one in (signal.SIGINT, signal.SIGTERM)], signal.SIGKILL]
)
def test_the_second_compiler_ends_with_the_first(number: int, tmp_path: Path) -> None:
    environment = os.environ | NO_LIBRARY | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "tokenring", "warm-up"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as process:
        deadline = time.monotonic() + WATCHDOG_S
        while not (seconds := psutil.Process(process.pid).children()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(random.uniform(0, 0.5))
        process.send_signal(number)
        _, err = process.communicate(timeout=WATCHDOG_S)
    assert psutil.wait_procs(seconds, timeout=WATCHDOG_S)[1] == []
    assert err.count(b"tokenring: error:") == (number != signal.SIGKILL)


def test_a_worker_that_left_a_helper_behind_is_seen_to_have_died() -> None:
    """The helper has the worker's pipe, and would have it for an hour."""
    helpers: list[int] = []

    def program(worker: Worker) -> None:
        pid = os.fork()
        if pid == 0:
            time.sleep(3600)
            os._exit(0)
        worker.report(pid)
        os._exit(3)

    begin = time.monotonic()
    with raises(WorkerError, "worker 0", "status 3"):
        execute(program, workers=1, on_note=lambda _, pid: helpers.append(pid))
    assert time.monotonic() - begin < WATCHDOG_S
    os.kill(helpers[0], signal.SIGKILL)


def _limited(limit: str, program: str, *arguments: str) -> tuple[int, str]:
    script = f"ulimit {limit}; exec {sys.executable} -m tests.crash.programs {program} {' '.join(arguments)}"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=WATCHDOG_S)
    return done.returncode, done.stderr


def test_too_few_files_for_so_many_workers() -> None:
    status, err = _limited("-n 64", "parked", "64")
    assert status == 1
    assert err.count("\n") == 1
    assert "ConfigError: 64 workers cannot be started (Too many open files)" in err
    assert "ulimit -n" in err


@pytest.mark.parametrize("wraps", [False, True])
def test_a_program_that_opens_too_many_files_is_told_the_limit(wraps: bool) -> None:
    def program(worker: Worker) -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        try:
            for _ in range(64):
                os.dup(0)
        except OSError as error:
            if wraps:
                raise RuntimeError("no shelf") from error
            raise

    with raises(tokenring.engine.OperatorError, "worker 0", "`ulimit -n`", "64"):
        execute(program, workers=1)


def test_a_group_that_cannot_get_a_process_ends_those_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    real, forks = os.fork, iter(range(10))

    def fork() -> int:
        if next(forks) == 2:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return real()

    monkeypatch.setattr(tokenring.engine.group.processes.os, "fork", fork)
    with raises(tokenring.engine.ConfigError, "3 workers", "`ulimit -u`"):
        execute(lambda worker: worker.step_while(lambda: True), workers=3)


@pytest.mark.parametrize("text", ["lone \ud800 surrogate", "x" * 5_000_000, "line\nof\0two"])
def test_an_odd_text_of_an_error_arrives(text: str) -> None:
    def program(worker: Worker) -> None:
        raise RuntimeError(text)

    with pytest.raises(tokenring.engine.OperatorError) as error:
        execute(program, workers=1)
    told = str(error.value)
    assert told.startswith("worker 0: RuntimeError: ")
    told.encode()
    assert len(told) < 30_000


def _has_used(pid: int, cpu_s: float) -> None:
    """Wait until it has had so much processor time, however many others want some, or has ended."""
    process = psutil.Process(pid)
    while process.status() != psutil.STATUS_ZOMBIE and sum(process.cpu_times()[:2]) < cpu_s:
        time.sleep(0.001)


def test_interrupted_at_any_instant_a_command_says_one_line() -> None:
    for _ in range(examples(12)):
        with Command("run", "q4", "--input", "/nowhere") as command:
            while b"-m\0tokenring" not in Path(f"/proc/{command.pid}/cmdline").read_bytes():
                time.sleep(0.001)
            _has_used(command.pid, random.uniform(0.1, 0.8))
            command.kill(command.pid, signal.SIGINT)
            status, out, err = command.end()
        assert (status, out) in [(130, ""), (2, "")], err
        assert err.count("\n") == 1, err


def test_interrupted_at_any_instant_of_its_start_a_group_is_gone() -> None:
    for _ in range(examples(9)):
        with Group("running", 4, fresh=True) as group:
            group.wait_for("before the fork" if random.random() < 0.5 else "pids")
            time.sleep(random.uniform(0, 0.05))
            group.kill(group.pid, signal.SIGINT)
            status, out, err = group.end()
            group.seconds_until_workers_are_gone()
        assert status != 0
        assert "result" not in out
        assert err.strip().endswith("KeyboardInterrupt")
        assert err.count("KeyboardInterrupt") == 1
        assert "Exception ignored" not in err


