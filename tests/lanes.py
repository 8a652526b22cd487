"""`--lanes N`: the suite in N processes at a time, each file in one of its own, forked from one that stays small.

What a file leaves in memory goes with its process, so workers that tests fork are forked from little; it finds nothing
that another file has imported or changed; and only its own kernels are compiled for it.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, NoReturn

import pytest

from tokenring.engine.group.linux import die_with_parent

_SECONDS = "tokenring/lanes"  # in pytest's cache: how long each file took when it last ran
_BYTES_A_SECOND, _BYTES_A_TEST = 4_000, 700  # of a file that never ran; guesses, for the order and for the percentage
_TAKES_S = re.compile(rb"^TAKES_S = (\d+)", re.MULTILINE)  # of one that says so itself, as such guesses are far off
_GRACE_S = 10.0  # for a process that is to end before its time
_SAID = 20_000  # characters that are shown of the output of a process that ended before its time


class Lanes:
    """The session of the process that forks the others. It collects nothing, and reports what they tell.

    together(file): a name that those files have in common that are to share a process. make_ready(): what is done
    before the first; begin(): what each does first.
    """

    def __init__(
        self,
        config: pytest.Config,
        count: int,
        together: Callable[[Path], str],
        make_ready: Callable[[], object],
        begin: Callable[[], object],
    ) -> None:
        self._config = config
        self._count = count
        self._together = together
        self._make_ready = make_ready
        self._begin = begin
        assert config.cache is not None
        self._cache = config.cache
        self._seconds: dict[str, float] = config.cache.get(_SECONDS, {})

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Each process collects its own files."""
        session.items = []
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all files, those first that take longest."""
        given = self._given()
        self._make_ready()
        tests = {name: sum(map(_size, some)) // _BYTES_A_TEST + 1 for name, some in given.items()}
        waiting = sorted(given, key=lambda name: self._cost(name, given[name]))
        running: list[_Lane] = []
        try:
            while waiting or running:
                while waiting and len(running) < self._count:
                    name = waiting.pop()
                    running.append(_Lane(name, self._arguments(given[name]), self._begin))
                wait([end for lane in running for end in (lane.told, lane.process)])
                for lane in [lane for lane in running if lane.has_ended()]:
                    running.remove(lane)
                    tests[lane.name] = lane.tests
                    session.testscollected = sum(tests.values())
                    self._seconds[lane.name] = lane.seconds
                    self._report(lane)
                    if session.shouldfail or session.shouldstop:
                        raise session.Failed(session.shouldfail or session.shouldstop)
        finally:
            for lane in running:
                lane.end()
        self._cache.set(_SECONDS, self._seconds)
        return True

    def _given(self) -> dict[str, list[str]]:
        """What to run, files or tests in them, by the name of the process that runs it."""
        found: dict[str, list[str]] = {}
        for argument in self._config.args:
            path, mark, test = argument.partition("::")
            if not os.path.exists(path):
                raise pytest.UsageError(f"file or directory not found: {path}")
            for file in sorted(Path(path).rglob("test_*.py")) if os.path.isdir(path) else [Path(path)]:
                if file != Path(path) and self._ignores(file):
                    continue
                some = found.setdefault(self._together(file), [])
                if (one := f"{file}{mark}{test}") not in some:
                    some.append(one)
        return found

    def _ignores(self, file: Path) -> bool:
        ignores = self._config.hook.pytest_ignore_collect
        return any(ignores(collection_path=path.absolute(), config=self._config) for path in (file, *file.parents))

    def _cost(self, name: str, some: Sequence[str]) -> float:
        return self._seconds.get(name) or sum(map(_guessed_s, some))

    def _arguments(self, some: Sequence[str]) -> list[str]:
        """What pytest is called with for some files: as it was called, but for what is to run, and where."""
        chosen = self._config.option.file_or_dir
        options = [one for one in self._config.invocation_params.args if one not in chosen]
        base = self._config._tmp_path_factory.mktemp("lane")  # type: ignore[attr-defined]
        own = ["--lanes=0", "-p", "no:cacheprovider", "--continue-on-collection-errors", f"--basetemp={base}"]
        return [*options, *own, *some]

    def _report(self, lane: _Lane) -> None:
        hook = self._config.hook
        for message in lane.messages:
            if "report" in message:
                report = hook.pytest_report_from_serializable(config=self._config, data=message["report"])
                if isinstance(report, pytest.CollectReport):
                    hook.pytest_collectreport(report=report)
                else:
                    hook.pytest_runtest_logreport(report=report)
            elif "start" in message:
                hook.pytest_runtest_logstart(nodeid=message["start"], location=tuple(message["location"]))
            elif "deselected" in message:
                hook.pytest_deselected(items=[SimpleNamespace() for _ in range(message["deselected"])])
            elif "warning" in message:
                text, kind, file, line = message["warning"]
                warning = warnings.WarningMessage(text, type(kind, (Warning,), {}), file, line)
                hook.pytest_warning_recorded.call_historic(
                    kwargs={
                        "warning_message": warning,
                        "when": message["when"],
                        "nodeid": message["nodeid"],
                        "location": None,
                    }
                )


class _Lane:
    """A process that runs some files, seen from the one that forked it."""

    def __init__(self, name: str, arguments: list[str], begin: Callable[[], object]) -> None:
        self.name = name
        self.messages: list[dict[str, Any]] = []
        self.tests = 0
        self._started = time.monotonic()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it has ended
        self.told, tell = Pipe(duplex=False)
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            _live(parent, arguments, begin, tell, self._said)
        tell.close()
        self.process = os.pidfd_open(self._pid)

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return time.monotonic() - self._started

    def has_ended(self) -> bool:
        """Take what it has told; whether that was all."""
        ended = bool(wait([self.process], timeout=0))
        try:
            while self.told.poll():
                self.messages.append(self.told.recv())
        except EOFError:
            pass
        if not ended:
            return False
        status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        self.tests = sum([message.get("items", 0) for message in self.messages])
        if not any("end" in message for message in self.messages):
            self._fail(status)
        self._close()
        return True

    def end(self) -> None:
        """End it before its time, as Ctrl-C does."""
        os.kill(self._pid, signal.SIGINT)
        if not wait([self.process], timeout=_GRACE_S):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._close()

    def _fail(self, status: int) -> None:
        """It has ended before its time: the test that it was about has failed."""
        begun = [message for message in self.messages if "start" in message]
        nodeid = begun[-1]["start"] if begun else self.name
        location = begun[-1]["location"] if begun else (self.name, None, self.name)
        self._said.seek(0)
        said = self._said.read().decode(errors="replace")[-_SAID:]
        text = f"its process ended with status {status}:\n{said}"
        report = pytest.TestReport(nodeid, tuple(location), {}, "failed", text, "call")
        self.messages.append({"report": _sent(report)})
        self.tests = max(self.tests, 1)

    def _close(self) -> None:
        self.told.close()
        os.close(self.process)
        self._said.close()


def _live(
    parent: int, arguments: list[str], begin: Callable[[], object], tell: Connection, said: IO[bytes]
) -> NoReturn:
    """Be the process that runs some files, to its end. What it prints is only looked at if it does not come so far."""
    status = 70
    try:
        die_with_parent(parent)
        os.setpgid(0, 0)  # Ctrl-C on a terminal is passed on by the process that forked it, once
        for number in (1, 2):
            os.dup2(said.fileno(), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        sys.stdin = open(os.devnull)  # noqa: SIM115 - as long as the process
        begin()
        status = pytest.main(arguments, plugins=[_Teller(tell)])
        if status in (0, 1, 5):  # all passed, some failed, none there
            tell.send({"end": True})
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class _Teller:
    """Tells the process that forked this one what its tests come to."""

    def __init__(self, tell: Connection) -> None:
        self._connection = tell

    def _tell(self, **message: Any) -> None:
        self._connection.send(message)

    @pytest.hookimpl
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._tell(items=len(session.items))

    @pytest.hookimpl
    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._tell(deselected=len(items))

    @pytest.hookimpl
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:
            self._tell(report=_sent(report))

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._tell(start=nodeid, location=location)

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tell(report=_sent(report))

    @pytest.hookimpl
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, when: str, nodeid: str) -> None:
        kind, where = warning_message.category.__name__, (warning_message.filename, warning_message.lineno)
        self._tell(warning=(str(warning_message.message), kind, *where), when=when, nodeid=nodeid)


def _sent(report: pytest.TestReport | pytest.CollectReport) -> dict[str, Any]:
    """A report as `pytest_report_from_serializable` takes it."""
    return report._to_json() | {"$report_type": type(report).__name__}


def _guessed_s(one: str) -> float:
    found = _TAKES_S.search(Path(one.partition("::")[0]).read_bytes())
    return int(found[1]) if found else _size(one) / _BYTES_A_SECOND


def _size(one: str) -> int:
    return os.path.getsize(one.partition("::")[0])
