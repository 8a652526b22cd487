"""What one worker saves: of the dataflow that its program declares, and of those that are installed while it runs.

Dataflows that were installed come back with the program's: before any of it takes a step all workers declare them once
more, in the order in which they were installed. So what they import is as it was when the snapshot was taken.
"""

from collections.abc import Callable, Collection, Set
from pathlib import Path
from typing import Any

from tokenring.engine import GraphError, RecoveryError, Time
from tokenring.engine.ask import Board
from tokenring.engine.install import Code, Installed
from tokenring.operators.recovery.folder import JobFolder, Snapshot, write_json
from tokenring.operators.recovery.saved import SavedSink
from tokenring.operators.recovery.saving import CHANGED, Saving, said_of
from tokenring.operators.recovery.words import READ, STILL


class WorkerSaving:
    """What one worker saves."""

    def __init__(
        self, worker: Any, snapshot: Snapshot | None, shares: int, job: str, folder: JobFolder, board: Board,
        may_go: Collection[str],
    ) -> None:  # fmt: skip
        """snapshot: that the run goes on from."""
        self.worker, self.resumed = worker, snapshot
        self.shares = shares
        """How many shares sources are read in: as many as there were workers when the job began."""
        self.job = job
        """By which the job is known outside of its folder."""
        self.folder, self.board = folder, board
        self.read = board.said(worker.index, READ)
        """How many rows the sources of this worker have sent; see words.py."""
        self.may_go = may_go
        """What of the snapshot may be lost, by name."""
        self.given_up: Set[str] = frozenset()
        """The operators, by the names that errors give them, whose rows that they fail at go to dead letters."""
        self.dead_letters: Any = None
        """Who takes those (operators/sinks/dead_letters.py); None where there are none."""
        self.sinks: dict[str, SavedSink] = {}
        """Those that are no dataflow's."""
        self.cut_for = 0
        """The newest snapshot that this worker has been copied for, whether it was finished or not."""
        self.program: dict[str, Callable[[], Any]] = {}
        """What the program saves of its own, by name."""
        self._main: Saving | None = None
        self._installed: dict[str, Saving] = {}  # those declared last, by name
        self._standing: list[Saving] = []
        self._request, self._is_still = 0, False
        self.comes_back: dict[str, Code] = {}
        """What was installed and is to be again, by name, in order."""
        if snapshot is not None:
            self.comes_back = snapshot.installed
        worker.steps_while_waiting = not self.comes_back

    def report(self, what: Any) -> None:
        """Tell the launcher something."""
        self.worker.report(what)

    def has_read(self, rows: int) -> None:
        """A source has sent so many."""
        self.read += rows
        self.board.say(self.worker.index, READ, self.read)

    # The dataflows

    def begin(self, scope: Any, is_installed: bool = False) -> None:
        """A dataflow is to be declared, and saved. GraphError for a second one of the program's."""
        if is_installed:
            name = scope.graph.name
            self._installed[name] = Saving(self, scope, self._was(name) if name in self.comes_back else None, name)
            return
        if self._main is not None:
            raise GraphError(
                f"dataflow {scope.graph.name!r}: a program with recovery= has one dataflow, and "
                f"{self._main.dataflow.graph.name!r} is declared already; declare both in one, have this one "
                f"installed, or run without recovery="
            )
        self._main = Saving(self, scope, self._was(""))

    def _was(self, dataflow: str) -> Snapshot | None:
        """What the run goes on from of a dataflow."""
        return None if self.resumed is None else self.resumed.dataflows.get(dataflow)

    def lets_go(self, name: str, why: str) -> bool:
        """Whether a dataflow that cannot come back may be lost; if so that is told."""
        if name in self.may_go and self.worker.index == 0:
            self.report([CHANGED, f"dataflow {name!r}, which was installed, is let go: {why}"])
        return name in self.may_go

    def has_come_back(self) -> None:
        """All that was installed is there again."""
        self.comes_back = {}
        self.worker.steps_while_waiting = True

    @property
    def dataflows(self) -> list[Saving]:
        """Those that are saved: built, and neither failed nor removed."""
        found = [self._main] if self._main is not None and self._main.is_built else []
        for name, dataflow in self.worker.kept(Installed).named.items():
            saving = self._installed.get(name)
            if saving is not None and saving.is_built and saving.dataflow.running is dataflow:
                found += [saving] if name not in self.worker.dataflows.failed else []
        return found

    def installed(self, name: str) -> Saving | None:
        """What is saved of an installed dataflow; None where it has failed."""
        return next((one for one in self.dataflows if one.name == name), None)

    @property
    def is_built(self) -> bool:
        """Whether there is all that was."""
        return self._main is not None and self._main.is_built and not self.comes_back

    @property
    def all_sinks(self) -> set[str]:
        """The folders of all sinks, and by which those are known that take results as soon as times are finished."""
        return {name for one in self.dataflows for name in (*one.sinks, *one.finished)} | {*self.sinks}

    @property
    def forgotten(self) -> Time:
        """Before which times are not told apart any more, of some rows that were saved of some dataflow."""
        return 0 if self.resumed is None else max([one.forgotten for one in self.resumed.dataflows.values()])

    def program_was(self, worker: int, peers: int) -> dict[str, Any] | None:
        """What the program saved of its own on a worker; None where the run begins. RecoveryError where it saved
        something on another number of workers: nobody but the program could say whose it is now."""
        if self.resumed is None:
            return None
        workers = self.resumed.manifest["workers"]
        if len(workers) != peers and any([one["program"] for one in workers]):
            raise RecoveryError(
                f"the program saved what is its own (worker.save) on {len(workers)} workers, not {peers}: "
                f"run it with workers={len(workers)}, or begin anew in another folder"
            )
        was: dict[str, Any] = workers[worker]["program"] if worker < len(workers) else {}
        return was

    # A snapshot

    def stand(self, request: int) -> None:
        """Let sources, and the program, send nothing, and operators whose state is of no key keep nothing; where state
        is in bins, once no more of it moves, which takes rows. request: the number of who asks for it."""
        self._request, self._standing, self._is_still = request, [], False
        self._let_all_stand()

    def _let_all_stand(self) -> None:
        moving = [one.placement for one in self.dataflows if one.placement is not None]
        for placement in moving:
            placement.stand(True)
        if not self._is_still:
            if self.worker.index == 0 and all([one.is_still for one in moving]):
                self.board.say(0, STILL, self._request)
            if moving and self.board.said(0, STILL) != self._request:
                return
            self._is_still = True
            self.worker.keep_program(True)
        for placement in moving:
            placement.open(True)
        for one in self.dataflows:
            if one not in self._standing:  # else it was installed meanwhile
                one.stand()
                self._standing.append(one)

    def go_on(self) -> None:
        """Let them send what comes, and keep it."""
        self.worker.keep_program(False)
        for one in self._standing:
            one.go_on()
        for placement in [one.placement for one in self.dataflows if one.placement is not None]:
            placement.open(False)
            placement.stand(False)

    @property
    def rests(self) -> bool:
        """Whether nothing is kept back that is to go on by itself, and nothing is being installed, removed or moved."""
        assent = self.worker.assent
        if assent.promised or assent.is_acting:
            return False
        self._let_all_stand()
        return self._is_still and all([one.rests for one in self._standing])

    def cut(self, number: int, before: int) -> list[dict[str, str]]:
        """Close the sinks' files: what they are; see SavedSink."""
        self.cut_for = number
        return [
            {"made": made, "folder": str(sink.folder), "suffix": sink.suffix, "dataflow": name}
            for name, sinks in [("", self.sinks), *[(one.name, one.sinks) for one in self.dataflows]]
            for sink in sinks.values()
            for made in sink.cut(number, before)
        ]

    def write(
        self, number: int, folder: Path, worker: int, parts: list[dict[str, str]], before: Snapshot | None
    ) -> None:
        """Write all state to the folder of a snapshot: this process is a copy of the worker, and ends then. before: the
        snapshot before it, of which only what has changed is written."""
        codes = self.worker.kept(Installed).codes
        more, told = {}, dict[str, Any]()
        were = {} if before is None else before.dataflows
        for at, one in enumerate(self.dataflows):
            name = f"{number:06d}-worker{worker}-{f'{at}-' if at else ''}state"
            written = one.write(folder / name, worker, were.get(one.name))
            if one is self._main:
                told = written
            else:
                more[one.name] = {**written, "code": list(codes[one.name])}
        told["program"] = {name: value() for name, value in self.program.items()}
        told["read"] = self.read
        told["sinks"] += [said_of(sink) for sink in self.sinks.values()]
        told["parts"], told["more"] = parts, more
        write_json(folder / f"worker{worker}.json", told)
