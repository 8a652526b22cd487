"""A worker's side of what is installed and removed: declared or found, promised, and done once all have promised."""

import traceback
from collections.abc import Mapping
from typing import Any

from tokenring.engine.declare import Scope
from tokenring.engine.errors import DataflowFailedError, TokenRingError, UsageError
from tokenring.engine.install.code import Code
from tokenring.engine.install.failing import Alarm
from tokenring.engine.install.installed import Installed, fail, forget
from tokenring.engine.install.together import Together


class _Named(Together):
    """A dataflow that is, or will be, installed by a name."""

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Note the name."""
        self.name = str(question["name"])
        self.installed = self.worker.kept(Installed)

    def _drop(self) -> None:
        """Cancel it, as all workers do, and wait until nothing is left of it anywhere."""
        worker, failed = self.worker, self.worker.dataflows.failed
        dataflow = self.installed.remove(self.name)
        dataflow.cancel()
        ending = [one for name, one in self.installed.named.items() if name in failed]  # who read what it exports
        worker.step_while(lambda: not all([one.done for one in (dataflow, *ending)]))
        forget(worker, [self.name])
        worker.barrier()


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
        code = Code(*question["code"])
        function = code.load()
        self._scope = self.worker.new_scope(self.name)
        self._alarm = Alarm(self.worker, self.name, self.folder, question)
        self._scope.when_failed = self._alarm.give
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
        """Build it; where a constructor raises on some worker, all of them drop it again."""
        worker = self.worker
        worker.build(self._scope)
        dataflow = self._scope.running
        own = dataflow.instance.failure
        self._alarm.number = self.installed.add(self.name, dataflow)
        if not worker.agreement.is_so_for_any(bool(own)):
            self.tell()
            return
        fail(worker, self.name, own or "a constructor raised on another worker")
        self._drop()
        if own:
            self.tell(error=f"{self.name!r} is not installed: {own}")


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
        self._drop()
        self.tell()
