"""A worker's side of what is installed and removed: declared or found, promised, and done once all have promised."""

import traceback
from collections.abc import Mapping
from typing import Any

from tokenring.engine.declare import Scope
from tokenring.engine.errors import DataflowFailedError, TokenRingError, UsageError
from tokenring.engine.install.code import Code, taken_by
from tokenring.engine.install.failing import Alarm
from tokenring.engine.install.installed import Installed, fail, forget
from tokenring.engine.install.together import Together
from tokenring.engine.worker import Worker

_ELSEWHERE = "a constructor raised on another worker"


def declare(worker: Worker, name: str, code: Code) -> tuple[Scope, Alarm]:
    """Have a function declare a dataflow, without building it. UsageError if it cannot be, and what the function
    raises."""
    function = code.load()
    taken_by(str(code), function)
    scope = worker.new_scope(name)
    alarm = Alarm(worker, name)
    scope.when_failed = alarm.give
    try:
        worker.declare(scope, function)
    except TokenRingError:
        raise
    except BaseException as error:  # SystemExit too: who asked hears of it, and the group goes on
        at = traceback.extract_tb(error.__traceback__)[-1]
        raise UsageError(f"{code} raised {type(error).__name__}: {error} ({at.filename}:{at.lineno})") from error
    scope.close()
    graph = scope.graph
    if not graph.operators:
        raise UsageError(f"{code} declares nothing: it is called with a scope, and declares a dataflow there")
    for spec in graph.operators:
        if spec.manual is not None:
            raise UsageError(
                f"{code}: nobody could feed the input {spec.name!r} of a dataflow that is installed; import "
                f"arrangements, or use a source"
            )
    graph.validate()
    return scope, alarm


def build(worker: Worker, scope: Scope, alarm: Alarm, code: Code) -> tuple[bool, str]:
    """Build what all workers have declared; where a constructor raises on some worker, all of them drop it again.
    Whether it is there, and what was raised here."""
    name, installed = scope.graph.name, worker.kept(Installed)
    worker.build(scope)
    dataflow = scope.running
    own = dataflow.instance.failure
    alarm.number = installed.add(name, dataflow, code)
    if not worker.agreement.is_so_for_any(bool(own)):
        return True, ""
    fail(worker, name, own or _ELSEWHERE)
    drop(worker, name)
    return False, own


def install_here(worker: Worker, name: str, code: Code) -> None:
    """Install a dataflow where the programs of all workers do so at one place. UsageError if it cannot be, and what
    its function raises."""
    scope, alarm = declare(worker, name, code)
    is_there, why = build(worker, scope, alarm, code)
    if not is_there:
        raise UsageError(why or _ELSEWHERE)


def drop(worker: Worker, name: str) -> None:
    """Cancel a dataflow, as all workers do, and wait until nothing is left of it anywhere."""
    installed, failed = worker.kept(Installed), worker.dataflows.failed
    dataflow = installed.remove(name)
    dataflow.cancel()
    ending = [one for other, one in installed.named.items() if other in failed]  # who read what it exports
    worker.step_while(lambda: not all([one.done for one in (dataflow, *ending)]))
    forget(worker, [name])
    worker.barrier()


class _Named(Together):
    """A dataflow that is, or will be, installed by a name."""

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Note the name."""
        self.name = str(question["name"])
        self.installed = self.worker.kept(Installed)


class Installing(_Named):
    """A dataflow that a function declares."""

    _scope: Scope

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Declare it, without building it."""
        super().prepare(question)
        failure = self.worker.dataflows.failed.get(self.name)
        if failure is not None:
            raise DataflowFailedError(failure.text)
        there = self.installed.named.get(self.name)
        if there is not None and not there.done:
            raise UsageError(f"a dataflow is installed as {self.name!r} already; remove it, or give another name")
        gone = self.installed.last_removed
        if gone is not None and gone.instance.name == self.name and not gone.done:
            raise UsageError(f"dataflow {self.name!r} is just being removed: install it once that is done")
        of_installed = [dataflow.instance for dataflow in self.installed.numbered.values()]
        if self.name in [one.name for one in self.worker.dataflows.running if one not in of_installed]:
            raise UsageError(f"dataflow {self.name!r} is the program's own; give another name")
        self._code = Code(*question["code"])
        self._scope, self._alarm = declare(self.worker, self.name, self._code)

    @property
    def digest(self) -> int:
        """That of the graph."""
        return self._scope.graph.digest()

    def act(self) -> None:
        """Build it; where a constructor raises on some worker, all of them drop it again."""
        is_there, why = build(self.worker, self._scope, self._alarm, self._code)
        if is_there:
            self.tell_there()
        elif why:
            self.tell(error=f"{self.name!r} is not installed: {why}")

    def tell_there(self) -> None:
        """Say that it is there."""
        self.tell()


class Removing(_Named):
    """A dataflow that was installed."""

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Find it."""
        super().prepare(question)
        if self.name not in self.installed.named:
            there = ", ".join(map(repr, sorted(self.installed.named))) or "none"
            raise UsageError(f"no dataflow is installed as {self.name!r}; there are: {there}")
        self.worker.require_removable(self.name)

    def act(self) -> None:
        """Cancel it, and see it go, whether it has failed or not."""
        drop(self.worker, self.name)
        self.tell()
