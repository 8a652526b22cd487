"""A worker's side of what is installed and removed: declared or found, promised, and done once all have promised."""

import traceback
from collections.abc import Mapping
from typing import Any

from tokenring.engine.declare import Scope
from tokenring.engine.errors import TokenRingError, UsageError
from tokenring.engine.explain import Dataflow
from tokenring.engine.install.code import Code
from tokenring.engine.install.together import Together


class Installed:
    """The dataflows that were installed on this worker, by name."""

    def __init__(self) -> None:
        self.named: dict[str, Dataflow] = {}

    @property
    def running(self) -> list[str]:
        """The names of those that are not finished."""
        return sorted([name for name, dataflow in self.named.items() if not dataflow.done])


class _Named(Together):
    """A dataflow that is, or will be, installed by a name."""

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Note the name."""
        self.name = str(question["name"])
        self.installed = self.worker.kept(Installed).named


class Installing(_Named):
    """A dataflow that a function declares."""

    _scope: Scope

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Declare it, without building it."""
        super().prepare(question)
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
        self.tell()


class Removing(_Named):
    """A dataflow that was installed."""

    def prepare(self, question: Mapping[str, Any]) -> None:
        """Find it."""
        super().prepare(question)
        if self.name not in self.installed:
            there = ", ".join(map(repr, sorted(self.installed))) or "none"
            raise UsageError(f"no dataflow is installed as {self.name!r}; there are: {there}")
        self.worker.require_removable(self.name)

    def act(self) -> None:
        """Cancel it, and see it go."""
        dataflow = self.installed.pop(self.name)
        dataflow.cancel()
        self.worker.step_while(lambda: not dataflow.done)
        self.tell()
