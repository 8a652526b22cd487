"""How an installed dataflow ends of which an operator raised: on all workers, and the others go on.

The worker whose operator raised has stopped the dataflow (engine/explain/cancel.py), and asks all workers, itself among
them, to do so, by a request such as those that come from outside. Each says that it has, in the request's folder; who
sees that all have lets the dataflow's tokens and messages go. Once all its counts are zero, which they are for all
workers, who asked removes the folder. If operators of several workers raise, there are several requests, which ask for
the same; if the worker ends meanwhile, so does the group.
"""

import secrets
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from tokenring.engine.ask import asking_in, call_workers, private_folder, tell_asker
from tokenring.engine.explain import Dataflow, let_go
from tokenring.engine.install.installed import Installed, fail
from tokenring.engine.worker import Worker

_SOON_NS = 1_000_000


class Alarm:
    """Tells all workers that a dataflow has failed."""

    def __init__(self, worker: Worker, name: str) -> None:
        self._worker, self._name = worker, name
        self._is_given = False
        self.number = 0
        """The dataflow's, of `Installed`; 0, which is none's: it is not built."""

    def give(self, why: str) -> None:
        """An operator raised. OSError if the others cannot be told; DataflowFailedError as `fail` does."""
        worker, name = self._worker, self._name
        dataflow = worker.kept(Installed).numbered.get(self.number)
        if self._is_given or dataflow is None:  # it is being removed
            return
        self._is_given = True
        fail(worker, name, why)
        sys.stderr.write(f"tokenring: {worker.dataflows.failed[name].text}\n")
        asking = ExitStack()
        folder = private_folder() / f"fail-{worker.launcher}-{secrets.token_hex(8)}"
        workers = worker.agreement.processes
        question = {"name": name, "number": self.number, "why": why, "workers": workers}
        asking.enter_context(asking_in(folder, question))
        dataflow.instance.when_forgotten = asking.close
        call_workers(workers, worker.launcher)


class Failing:
    """A worker's side of the request."""

    def __init__(self, worker: Worker, folder: Path, question: Mapping[str, Any]) -> None:
        self._worker, self._folder = worker, folder
        self._stopped: list[Dataflow] = []
        if question["number"] in worker.kept(Installed).numbered:  # else it was removed
            self._stopped = fail(worker, str(question["name"]), str(question["why"]))
        with suppress(OSError):  # all have stopped, and all is done
            tell_asker(worker, folder)

    def look(self) -> int:
        """Let go once all have stopped."""
        if all([(self._folder / f"{peer}.json").exists() for peer in range(self._worker.peers)]):
            self.leave()
            return 0
        return _SOON_NS

    def leave(self) -> None:
        """All have stopped, since who asked waits for that."""
        stopped, self._stopped = self._stopped, []
        for dataflow in stopped:
            let_go(dataflow.instance, self._worker.runtime, self._worker.schedule, self._worker.flush)
