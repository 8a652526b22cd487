"""`tokenring run` or `tokenring profile` in a process of its own, watched and hurt from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psutil

from tests.copies import PipedCopy
from tests.crash.group import ROOT, WATCHDOG_S
from tokenring.__main__ import main
from tokenring.engine.ask.calling import is_worker


class Command:
    """The command, from its start to its end; fresh: as a Python of its own, not as a copy of the test's process."""

    def __init__(
        self, *arguments: str | Path, environment: Mapping[str, str] | None = None, fresh: bool = True
    ) -> None:
        self._process = self._fresh(arguments, environment or {}) if fresh else self._copy(arguments)
        self.pid = self._process.pid
        self.others: list[psutil.Process] = []
        """Workers, and what else the command started, as of the last look."""

    def _copy(self, arguments: Sequence[str | Path]) -> PipedCopy:
        return PipedCopy(main, ["tokenring", *arguments], ROOT)

    def _fresh(self, arguments: Sequence[str | Path], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tokenring", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | dict(environment),
            start_new_session=True,
            preexec_fn=_hears_of_hangups,
        )

    def __enter__(self) -> Command:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()
        for process in self.others:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def wait_for_workers(self, count: int, py_spies: int = 0, cpu_s: float = 0.05) -> list[int]:
        """The workers' pids, once all can be asked and have used so much processor time, and py-spies are there."""
        deadline = time.monotonic() + WATCHDOG_S
        while time.monotonic() < deadline:
            assert self._process.poll() is None, self._process.communicate(timeout=WATCHDOG_S)
            self.others = psutil.Process(self.pid).children()
            workers = [child.pid for child in self.others if _is_worker(child, self.pid, cpu_s)]
            if len(workers) == count and len(self.others) == count + py_spies:
                return sorted(workers)
            time.sleep(0.03)
        raise AssertionError(f"no {count} workers within {WATCHDOG_S} s, but {self.others}")

    def kill(self, pid: int, number: int = signal.SIGKILL) -> None:
        """Send a signal to the command or one of its workers."""
        os.kill(pid, number)

    def end(self) -> tuple[int, str, str]:
        """Wait for the command's end, and for that of everything it started: its status, its output, its errors."""
        out, err = self._process.communicate(timeout=WATCHDOG_S)
        _, alive = psutil.wait_procs(self.others, timeout=WATCHDOG_S)
        assert alive == []
        return self._process.returncode, out.decode(), err.decode()


def _hears_of_hangups() -> None:
    """What runs under nohup ignores hang-ups, children included; these tests are about programs that do not."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _is_worker(process: psutil.Process, launcher: int, cpu_s: float) -> bool:
    """Whether it is one that takes questions: before, a question to it may find that the group is only starting."""
    try:
        maps = Path(f"/proc/{process.pid}/maps").read_text()
        works = "/dev/shm/tokenring" in maps and is_worker(process.pid, launcher)
        return works and process.cpu_times().user >= cpu_s
    except (OSError, psutil.NoSuchProcess):
        return False
