"""One `py-spy record` for each worker, and a look beside it: started with the run, and never left behind."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

import psutil

from tokenring.tools.errors import CommandError, InputError
from tokenring.tools.profile.operators import Looking, Seen

_ATTACHED = "Sampling process"  # what py-spy says once it has found the interpreter in the process
_ATTACH_S = 30.0  # machines are busy while workers start
_WRITE_S = 30.0
_DENIED = re.compile(r"permission denied|operation not permitted", re.IGNORECASE)
_ERRORS = re.compile(r"Samples: \d+ Errors: (\d+)")
_CURE = (
    "let it: run as the same user with `sysctl kernel.yama.ptrace_scope=0`, or give it CAP_SYS_PTRACE "
    "(`setcap cap_sys_ptrace+ep` on the py-spy binary, `docker run --cap-add SYS_PTRACE`), or run as root"
)


def find_py_spy() -> str:
    """The py-spy installed with this interpreter, or else the one on PATH."""
    beside = os.path.dirname(sys.executable)
    found = shutil.which("py-spy", path=os.pathsep.join((beside, os.environ.get("PATH", os.defpath))))
    if found is None:
        raise InputError(f"py-spy was found neither in {beside} nor on PATH; install it with `pip install py-spy`")
    return found


@dataclass
class Recorder:
    """py-spy on one process, which texts call `name`."""

    name: str
    watched: psutil.Process
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    file: Path
    seen: Seen
    """What its inner loop was seen to do beside that."""

    @property
    def attached(self) -> bool:
        """Whether py-spy has found the interpreter in the process."""
        return _ATTACHED in self._said()

    @property
    def is_over(self) -> bool:
        """Whether the process it looks at has ended; whose child that is does not matter."""
        try:
            return not self.watched.is_running() or self.watched.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    def check(self) -> None:
        """Raise InputError if py-spy was not allowed to attach."""
        if self.process.poll() and isinstance(failure := self.failure(), InputError):
            raise failure

    def finish(self) -> int | None:
        """After the process's end: how many samples py-spy could not read; None if it wrote no file."""
        try:
            self.process.wait(_WRITE_S)
        except subprocess.TimeoutExpired:
            raise CommandError(f"py-spy goes on although {self.name} has ended; try again") from None
        if self.process.returncode != 0 or not self.file.exists():
            return None
        errors = _ERRORS.search(self._said())
        return int(errors[1]) if errors else 0

    def failure(self) -> CommandError:
        """What went wrong, once py-spy has ended."""
        said = self._said()
        if _DENIED.search(said):
            return InputError(f"py-spy may not look at {self.name} (permission denied); {_CURE}")
        last = [line for line in said.splitlines() if line.strip()]
        return CommandError(f"py-spy failed on {self.name}: {last[-1] if last else 'it said nothing'}")

    def _said(self) -> str:
        self.log.seek(0)
        return self.log.read().decode(errors="replace")


class Recorders:
    """py-spy on every worker, as a context: whatever happens inside, none is left when it ends."""

    def __init__(self, folder: Path, frequency: int) -> None:
        self._py_spy = find_py_spy()
        self._folder = folder
        self._frequency = frequency
        self._recorders: list[Recorder] = []
        self._looking = Looking(frequency)

    def __enter__(self) -> Recorders:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._looking.end()
        for recorder in self._recorders:
            recorder.process.kill()  # does nothing to one that has ended
            recorder.process.wait()
            recorder.log.close()

    def start(self, name: str, watched: psutil.Process) -> Recorder:
        """Start sampling a process; returns before py-spy has attached."""
        number = len(self._recorders)
        file = self._folder / f"{number}.json"
        log = open(self._folder / f"{number}.log", "w+b")  # noqa: SIM115 - closed by __exit__
        # Without stopping the worker: a worker that is stopped holds up all others, which would be what we see.
        # With sleep: without stopping, py-spy cannot tell sleep from work well, and would leave some of both out.
        command = [self._py_spy, "record", "--nonblocking", "--idle", "--format", "speedscope", "--full-filenames"]
        command += ["--rate", str(self._frequency), "--output", str(file), "--pid", str(watched.pid)]
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        except OSError as error:
            log.close()
            raise InputError(f"{self._py_spy}: cannot be started ({error.strerror}); reinstall py-spy") from None
        recorder = Recorder(name, watched, process, log, file, self._looking.at(watched.pid))
        self._recorders.append(recorder)
        return recorder

    def attach(self, pids: list[int]) -> None:
        """Start sampling these workers; returns when all are attached, or one has died, of which others will hear from
        the launcher. Raises InputError if attaching is not allowed."""
        try:
            recorders = [self.start(f"worker {worker}", psutil.Process(pid)) for worker, pid in enumerate(pids)]
        except psutil.NoSuchProcess:
            return
        deadline = time.monotonic() + _ATTACH_S
        for recorder in recorders:
            while not recorder.attached:
                if any(one.is_over for one in recorders):
                    return
                if recorder.process.poll() is not None:
                    raise recorder.failure()
                if time.monotonic() > deadline:
                    raise CommandError(f"py-spy has not attached to {recorder.name} within {_ATTACH_S:.0f} s")
                time.sleep(0.01)

    def collect(self) -> list[tuple[Path, int, Seen]]:
        """After the workers' end: each one's speedscope file, how many of its samples py-spy could not read, and what
        was seen beside it."""
        collected = []
        for recorder in self._recorders:
            unread = recorder.finish()
            if unread is None:
                raise recorder.failure()
            collected.append((recorder.file, unread, recorder.seen))
        return collected
