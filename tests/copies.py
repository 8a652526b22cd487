"""Runs programs in copies of a test's process, which has imported and loaded what takes a new one seconds."""

from __future__ import annotations

import os
import runpy
import select
import selectors
import signal
import subprocess
import sys
import tempfile
import time
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
        status = Copy(main, arguments, folder, path, out, err).wait()
        return subprocess.CompletedProcess(arguments, status, written(out), written(err))


class Copy:
    """Such a call while it runs, as subprocess.Popen has it; what it writes goes to two files. It begins when nothing
    but the calling thread runs, and is waited for. others: files of the test's that it is not to hold open."""

    def __init__(
        self,
        main: Callable[[], object],
        arguments: Sequence[str | Path],
        folder: Path,
        path: Path,
        out: IO[str],
        err: IO[str],
        *,
        own_session: bool = False,
        watchdog_s: int = WATCHDOG_S,
        others: Sequence[IO[Any]] = (),
    ) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            if own_session:
                os.setsid()
            for file in others:
                os.close(file.fileno())
            _be(main, arguments, folder, path, out, err, watchdog_s)
        self._ended = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        """How it ended, if it has."""
        if self.returncode is None and select.select([self._ended], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        """How it ended, once it has."""
        if self.returncode is None:
            assert select.select([self._ended], [], [], WATCHDOG_S)[0], f"process {self.pid} does not end"
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            os.close(self._ended)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """If it has not been waited for."""
        if self.returncode is None:
            signal.pidfd_send_signal(self._ended, number)

    def kill(self) -> None:
        """At once."""
        self.send_signal(signal.SIGKILL)


class CopyBeside(Copy):
    """A copy that runs beside the test, as a program whose output is read from a pipe; killed at the end of the block,
    if it has not ended. What it said on standard error is then said on ours."""

    def __init__(self, main: Callable[[], object], *arguments: str | Path, folder: Path = ROOT) -> None:
        reading, writing = os.pipe()
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed at the end of the block
        self.stdout = os.fdopen(reading)
        with os.fdopen(writing, "w") as out:
            super().__init__(main, arguments, folder, folder, out, self._said, watchdog_s=0, others=(self.stdout,))

    @classmethod
    def of_program(cls, program: Path, *arguments: str | Path) -> CopyBeside:
        """One that is what a file says."""
        return cls(lambda: runpy.run_path(str(program), run_name="__main__"), program, *arguments)

    def __enter__(self) -> CopyBeside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self.wait()
        sys.stderr.write(self.stderr())
        self.stdout.close()
        self._said.close()

    def stderr(self) -> str:
        """What it has said there."""
        return written(self._said)


class PipedCopy(Copy):
    """A copy in a session of its own, both of whose outputs are read from pipes, as bytes."""

    def __init__(self, main: Callable[[], object], arguments: Sequence[str | Path], folder: Path) -> None:
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        self.stdout, self.stderr = os.fdopen(out, "rb"), os.fdopen(err, "rb")
        with os.fdopen(out_end, "w") as out_file, os.fdopen(err_end, "w") as err_file:
            read = (self.stdout, self.stderr)
            super().__init__(main, arguments, folder, folder, out_file, err_file, own_session=True, others=read)

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """What it prints until its end, and says on stderr."""
        said = {self.stdout: b"", self.stderr: b""}
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            for file in said:
                selector.register(file, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(deadline - time.monotonic())
                assert ready, f"it has not ended within {timeout} s"
                for key, _ in ready:
                    chunk = os.read(key.fd, 65536)
                    said[key.fileobj] += chunk  # type: ignore[index]
                    if not chunk:
                        selector.unregister(key.fileobj)
        self.wait()
        return said[self.stdout], said[self.stderr]


def written(file: IO[str]) -> str:
    """All that a file has, from its beginning."""
    file.seek(0)
    return file.read()


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
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(folder)
        sys.argv, sys.path[0:0] = [str(argument) for argument in arguments], [str(path)]
        for number, file in ((1, out), (2, err)):
            os.dup2(file.fileno(), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", buffering=1, closefd=False)
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
