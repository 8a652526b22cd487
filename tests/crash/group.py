"""A launcher in a process of its own, watched from outside: what it prints, whom it starts, how it ends, what it
leaves."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import psutil

from tests.copies import PipedCopy
from tests.crash.programs import main

ROOT = Path(__file__).parents[2]
WATCHDOG_S = 60.0  # against hangs: the machine may be busy with other things


class Group:
    """`python -m tests.crash.programs <program>`, from its start to its end; fresh: as a Python of its own, not as a
    copy of the test's process."""

    def __init__(self, program: str, workers: int = 2, *, fresh: bool = False) -> None:
        self._launcher = self._fresh(program, workers) if fresh else self._copy(program, workers)
        self.pid = self._launcher.pid
        self.workers: list[int] = []
        self.seen = b""

    def _copy(self, program: str, workers: int) -> PipedCopy:
        return PipedCopy(lambda: sys.exit(main()), ["programs", program, str(workers)], ROOT)

    def _fresh(self, program: str, workers: int) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.crash.programs", program, str(workers)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=environment | {"PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )

    def __enter__(self) -> Group:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._launcher.poll() is None:
            self._launcher.kill()
            self._launcher.wait()
        for stream in (self._launcher.stdout, self._launcher.stderr):
            assert stream is not None
            stream.close()
        try:
            if kind is None:
                self.seconds_until_workers_are_gone()
        finally:  # copies' workers look like nobody's: whoever lives on would not be found
            for pid in filter(_lives, self.workers):
                os.kill(pid, signal.SIGKILL)

    def wait_for(self, what: str, times: int = 1) -> None:
        """Read the launcher's output until `what` has come so many times."""
        assert self._launcher.stdout is not None
        deadline = time.monotonic() + WATCHDOG_S
        with selectors.DefaultSelector() as selector:
            selector.register(self._launcher.stdout, selectors.EVENT_READ)
            while self.seen.count(what.encode()) < times:
                assert selector.select(deadline - time.monotonic()), f"no {what!r} within {WATCHDOG_S} s: {self.seen!r}"
                chunk = os.read(self._launcher.stdout.fileno(), 65536)
                assert chunk, f"the launcher ended without {what!r}: {self.seen!r} {self._launcher.stderr.read()!r}"  # type: ignore[union-attr]
                self.seen += chunk
        for line in self.seen.decode().splitlines():
            if line.startswith("pids "):
                self.workers = [int(pid) for pid in line.split()[1:]]

    def wait_for_error(self, line: str) -> None:
        """Read one line of what the launcher says on stderr, which must be this."""
        assert self._launcher.stderr is not None
        assert self._launcher.stderr.readline().decode() == line

    def kill(self, pid: int, signal_number: int = signal.SIGKILL) -> None:
        """Send a signal to the launcher or a worker."""
        os.kill(pid, signal_number)

    def end(self) -> tuple[int, str, str]:
        """Wait for the launcher's end: its status, everything it printed, what it said on stderr."""
        out, err = self._launcher.communicate(timeout=WATCHDOG_S)
        return self._launcher.returncode, (self.seen + out).decode(), err.decode()

    def seconds_until_workers_are_gone(self) -> float:
        """How long the workers live on; AssertionError if they outlive the watchdog."""
        begin = time.monotonic()
        while any(_lives(pid) for pid in self.workers):
            assert time.monotonic() < begin + WATCHDOG_S, f"workers live on: {self.workers}"
            time.sleep(0.01)
        return time.monotonic() - begin

    def segments(self) -> list[str]:
        """What the launcher has in /dev/shm."""
        return [name for name in os.listdir("/dev/shm") if f"tokenring-{self.pid}-" in name]

    def asleep(self) -> bool:
        """Whether every worker sleeps."""
        return all(psutil.Process(pid).status() == psutil.STATUS_SLEEPING for pid in self.workers)


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
