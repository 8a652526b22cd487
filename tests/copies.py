"""Runs programs in copies of a test's process, which has imported and loaded what takes a new one seconds."""

from __future__ import annotations

import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NoReturn

from tests.imports import ROOT
from tokenring.engine.kernel_library import import_everything

WATCHDOG_S = 120
import_everything(("shm", "engine", "operators"))  # once, and not in each copy


def in_a_copy(
    main: Callable[[], object], arguments: Sequence[str | Path], folder: Path, path: Path
) -> subprocess.CompletedProcess[str]:
    """What came of a call, as of a program started in `folder` with these sys.argv, `path` first where modules are
    looked for. It is not to warn: that is an error."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        pid = os.fork()
        if pid == 0:
            _be(main, arguments, folder, path, out, err, WATCHDOG_S)
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(sys.argv, os.waitstatus_to_exitcode(status), out.read(), err.read())


class Copy:
    """A copy that runs beside the test, as a program whose output is read from a pipe; killed at the end of the block,
    if it has not ended. What it said on standard error is then said on ours."""

    def __init__(self, main: Callable[[], object], *arguments: str | Path, folder: Path = ROOT) -> None:
        reading, writing = os.pipe()
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed at the end of the block
        with os.fdopen(writing, "w") as out:
            self.pid = os.fork()
            if self.pid == 0:
                os.close(reading)
                _be(main, arguments, folder, folder, out, self._said, 0)
        self.stdout = os.fdopen(reading)
        self._ended = os.pidfd_open(self.pid)
        self._status: int | None = None

    @classmethod
    def of_program(cls, program: Path, *arguments: str | Path) -> Copy:
        """One that is what a file says."""
        return cls(lambda: runpy.run_path(str(program), run_name="__main__"), program, *arguments)

    def __enter__(self) -> Copy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self.wait()
        sys.stderr.write(self.stderr())
        self.stdout.close()
        self._said.close()
        os.close(self._ended)

    def wait(self) -> int:
        """How it ended, once it has."""
        if self._status is None:
            assert select.select([self._ended], [], [], WATCHDOG_S)[0], f"process {self.pid} does not end"
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status

    def stderr(self) -> str:
        """What it has said there."""
        self._said.seek(0)
        return self._said.read()

    def send_signal(self, number: int) -> None:
        """If it has not ended."""
        if self._status is None:
            signal.pidfd_send_signal(self._ended, number)

    def kill(self) -> None:
        """At once."""
        self.send_signal(signal.SIGKILL)


def _be(
    main: Callable[[], object],
    arguments: Sequence[str | Path],
    folder: Path,
    path: Path,
    out: IO[str],
    err: IO[str],
    watchdog_s: int,
) -> NoReturn:
    """Call a program in place of what this copy was, and end it."""
    status: Any = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(watchdog_s)
        os.chdir(folder)
        sys.argv, sys.path[0:0] = [str(argument) for argument in arguments], [str(path)]
        for number, file in ((1, out), (2, err)):
            os.dup2(file.fileno(), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("error", category)
        main()
        status = 0
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)
