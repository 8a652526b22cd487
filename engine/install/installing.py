"""A worker's side of what is installed and removed: declared or found, promised, and done once all have promised."""

import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from tokenring.engine.ask import tell_asker, write_whole
from tokenring.engine.declare import Scope
from tokenring.engine.errors import TokenRingError, UsageError
from tokenring.engine.explain import Dataflow
from tokenring.engine.install.code import Code
from tokenring.engine.worker import Worker

_SOON_NS, _LATER_NS = 1_000_000, 20_000_000
PROPOSAL = "proposal.json"


class Installed:
    """The dataflows that were installed on this worker, by name."""

    def __init__(self) -> None:
        self.named: dict[str, Dataflow] = {}

    @property
    def running(self) -> list[str]:
        """The names of those that are not finished."""
        return sorted([name for name, dataflow in self.named.items() if not dataflow.done])


class _Common:
    """Something that all workers are to do, or none."""

    def __init__(self, worker: Worker, folder: Path, question: Mapping[str, Any]) -> None:
        self.worker, self.name = worker, str(question["name"])
        self.installed = worker.kept(Installed).named
        self._folder = folder
        self._number = 0  # of the last proposal that was seen, or made
        self._is_over = False
        self.prepare(question)

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Make ready, and change nothing yet; raises TokenRingErrors."""
        raise NotImplementedError

    def act(self) -> None:
        """Do it; all workers do."""
        raise NotImplementedError

    @property
    def digest(self) -> int:
        """What has to be the same on all workers."""
        return 0

    def look(self) -> int:
        """Propose it, or promise what was proposed."""
        if self._is_over:
            return 0
        assent = self.worker.assent
        if assent.promised:
            return _SOON_NS
        return self._propose() if self.worker.index == 0 else self._promise()

    def _propose(self) -> int:
        if self.worker.agreement.is_waiting:
            return _SOON_NS
        number = self._number = self.worker.assent.propose(self._do)
        try:
            write_whole(self._folder / PROPOSAL, {"number": number, "digest": self.digest})
        except OSError:
            self.worker.assent.abandon(number)
        return _LATER_NS  # if somebody refuses, it is proposed again

    def _promise(self) -> int:
        try:
            proposal = orjson.loads((self._folder / PROPOSAL).read_bytes())
        except OSError:
            return _SOON_NS
        number, assent = proposal["number"], self.worker.assent
        if number == self._number:
            return _SOON_NS
        self._number = number
        if assent.decided(number) is not None:
            return _SOON_NS
        if self.worker.agreement.is_waiting:
            assent.refuse(number)
        elif proposal["digest"] != self.digest:
            assent.refuse(number)
            self._fail(f"worker {self.worker.index} declares {self.name!r} otherwise than worker 0: declare the same")
        else:
            assent.promise(number, self._do)
        return _SOON_NS

    def _do(self) -> None:
        self._is_over = True
        self.act()
        with suppress(OSError):
            tell_asker(self.worker, self._folder)

    def _fail(self, error: str) -> None:
        self._is_over = True
        with suppress(OSError):
            tell_asker(self.worker, self._folder, error=error)

    def leave(self) -> None:
        """Who asked is gone: it is not done, if nobody has decided yet."""
        if self.worker.index == 0:
            self.worker.assent.abandon(self._number)


class Installing(_Common):
    """A dataflow that a function declares."""

    _scope: Scope

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Declare it, without building it."""
        there = self.installed.get(self.name)
        if there is not None and not there.done:
            raise UsageError(f"a dataflow is installed as {self.name!r} already; remove it, or give another name")
        code = Code(*question["code"])
        function = code.load()
        self._scope = self.worker.new_scope(self.name)
        try:
            self.worker.declare(self._scope, function)
        except TokenRingError:
            raise
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            raise UsageError(f"{code} raised {type(error).__name__}: {error} ({at.filename}:{at.lineno})") from error
        self._scope.close()
        graph = self._scope.graph
        if not graph.operators:
            raise UsageError(f"{code} declares nothing: it is called with a scope, and declares a dataflow there")
        for spec in graph.operators:
            if spec.manual is not None:
                raise UsageError(
                    f"{code}: nobody could feed the input {spec.name!r} of a dataflow that is installed; import "
                    f"arrangements, or use a source"
                )
        graph.validate()

    @property
    def digest(self) -> int:
        """That of the graph."""
        return self._scope.graph.digest()

    def act(self) -> None:
        """Build it."""
        self.worker.build(self._scope)
        self.installed[self.name] = self._scope.running


class Removing(_Common):
    """A dataflow that was installed."""

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Find it."""
        if self.name not in self.installed:
            there = ", ".join(map(repr, sorted(self.installed))) or "none"
            raise UsageError(f"no dataflow is installed as {self.name!r}; there are: {there}")
        self.worker.require_removable(self.name)

    def act(self) -> None:
        """Cancel it, and see it go."""
        dataflow = self.installed.pop(self.name)
        dataflow.cancel()
        self.worker.step_while(lambda: not dataflow.done)
