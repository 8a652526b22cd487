"""What cases share: a staged folder with known answers, and ways to run a call and look at how it ended."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from tests.nexmark.helpers import seal_generated
from tokenring.engine.group.warm_up import warm_up
from tokenring.nexmark.commands import cli
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.run import on_behalf as run_query
from tokenring.nexmark.run import repeated as profile_run
from tokenring.nexmark.run import runner

READY = (profile_run, run_query, runner)
"""What commands load when they are called: here once for all forks."""
EVENTS = 5_000
WATCHDOG_S = 120.0  # against hangs: the machine may be busy with other things


@dataclass
class Ending:
    """How a call in a process of its own ended."""

    status: int | None
    """None: it did not, and was killed."""
    out: str
    err: str

    def complaint(self) -> str:
        """What a command must not do, however it was called; empty if it did not."""
        if self.status is None:
            return "it hangs"
        if "Traceback" in self.err or "Exception ignored" in self.err:
            return f"a traceback: {self.err[-300:]!r}"
        if self.status not in (0, 1, 2):
            return f"status {self.status}: {self.err[-300:]!r}"
        lines = [line for line in self.err.splitlines() if line.startswith("tokenring: error: ")]
        if self.status == 2 and len(lines) != 1:
            return f"status 2 without one line that says why: {self.err[-300:]!r}"
        return ""


class Setting:
    """A folder for everything, with staged events in it."""

    def __init__(self, folder: Path) -> None:
        warm_up()  # here, for all forks of this process
        self.folder = folder
        self.here = folder / "here"  # where calls run, so that a nasty file name litters nobody's folder
        self.here.mkdir()
        self._number = 0

    @cached_property
    def staged(self) -> Path:
        """Events that nobody has tampered with."""
        return seal_generated(self.folder / "events", GeneratorConfig(EVENTS, rate=2_000))

    @cached_property
    def answers(self) -> dict[str, Any]:
        """The results of queries over them."""
        return {query: self.result(query, self.staged)[1] for query in ("q1", "q4", "q7")}

    def new(self, name: str) -> Path:
        """A path that nothing has."""
        self._number += 1
        return self.folder / f"{self._number}-{name}"

    def result(self, query: str, staged: Path) -> tuple[Ending, Any]:
        """Run a query on one worker: how it ended, and its result, None if it gave none."""
        file = self.new("outcome.json")
        ending = self.command("run", query, "--input", str(staged), "--workers", "1", "--json", str(file))
        if not file.exists():
            return ending, None
        outcome = orjson.loads(file.read_bytes())
        file.unlink()
        return ending, outcome["result"] or outcome["result_rows"]

    def command(self, *arguments: str) -> Ending:
        """`tokenring` with these arguments, as its entry point runs it."""
        return self.call(lambda: cli.main(list(arguments)))

    def call(self, run: Callable[[], Any]) -> Ending:
        """A call in a fork of this process."""
        out, err = self.new("out"), self.new("err")
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            _redirected(run, out, err, self.here)
        deadline = time.monotonic() + WATCHDOG_S
        while not (ended := os.waitpid(pid, os.WNOHANG))[0] and time.monotonic() < deadline:
            time.sleep(0.005)
        if not ended[0]:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        texts = [path.read_text(errors="replace") if path.exists() else "" for path in (out, err)]
        out.unlink(missing_ok=True)
        err.unlink(missing_ok=True)
        return Ending(os.waitstatus_to_exitcode(ended[1]) if ended[0] else None, *texts)


def _redirected(run: Callable[[], Any], out: Path, err: Path, here: Path) -> None:
    """A child's whole life."""
    status = 99
    try:
        os.setpgid(0, 0)
        os.chdir(here)
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        sys.stdout = os.fdopen(1, "w", closefd=False)  # the caller may have had others
        sys.stderr = os.fdopen(2, "w", closefd=False, errors="backslashreplace")
        run()
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
