"""The dataflows that were installed on a worker: by name, and by a number that all workers have given them."""

from collections.abc import Iterable

from tokenring.engine.errors import DataflowFailedError
from tokenring.engine.explain import Dataflow, stop
from tokenring.engine.install.code import Code
from tokenring.engine.running import Failure
from tokenring.engine.worker import Worker


class Installed:
    """What one worker has, beside its `Dataflows`."""

    def __init__(self) -> None:
        self.named: dict[str, Dataflow] = {}
        self.numbered: dict[int, Dataflow] = {}
        self.codes: dict[str, Code] = {}
        """What declares each, by its name."""
        self.last_removed: Dataflow | None = None
        """Which may be there still."""
        self._numbers = 0

    @property
    def running(self) -> list[str]:
        """The names of those that are not finished."""
        return sorted([name for name, dataflow in self.named.items() if not dataflow.done])

    def add(self, name: str, dataflow: Dataflow, code: Code) -> int:
        """One was built, as on all workers; its number."""
        self._numbers += 1
        self.named.pop(name, None)  # they are in the order in which they were installed
        self.codes[name] = code
        self.named[name] = self.numbered[self._numbers] = dataflow
        return self._numbers

    def remove(self, name: str) -> Dataflow:
        """One is to go."""
        self.last_removed = dataflow = self.named.pop(name)
        self.numbered = {number: one for number, one in self.numbered.items() if one is not dataflow}
        return dataflow


def fail(worker: Worker, name: str, why: str) -> list[Dataflow]:
    """Let an installed dataflow, and all that import what it exports, stop on this worker, and whoever asks for them
    hear why; returns them. DataflowFailedError if a dataflow of the program's own imports it.
    """
    installed = worker.kept(Installed)
    found: list[Dataflow] = []
    to_do = [(name, why)]
    while to_do:
        one, said = to_do.pop()
        dataflow = installed.named.get(one)
        if dataflow is None:
            raise DataflowFailedError(f"dataflow {one!r} is the program's own, and {said}")
        if dataflow in found:
            continue
        found.append(dataflow)
        stop(dataflow.instance, worker.runtime, worker.schedule)
        to_do += [(importer, f"it imports from dataflow {one!r}: {said}") for importer in worker.importers_of(one)]
        text = f"dataflow {one!r} has failed, and others go on: {said}; remove it, and install a mended one"
        known = worker.dataflows.failed.get(one)
        if known is None or text < known.text:  # where operators of several workers raise, all come to say the same
            names = frozenset([operator.name for operator in dataflow.instance.operators])
            worker.dataflows.failed[one] = Failure(text, names)
            worker.set_failure(one, text)
    return found


def forget(worker: Worker, names: Iterable[str]) -> None:
    """Nobody is to hear any more that these have failed: they are removed."""
    for name in names:
        if worker.dataflows.failed.pop(name, None) is not None:
            worker.set_failure(name, "")
