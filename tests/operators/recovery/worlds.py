"""A job under recovery in this process: one world of workers after another goes on from the newest snapshot, and is
killed. Who steps when is the test's; how a snapshot is taken, written, made one and gone on from is the library's own
code, but that nobody waits, and most copies are written by the worker itself, whose state is gone then.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from tests.engine.helpers import simulated
from tokenring.engine import Worker, whole_files
from tokenring.engine.ask import write_whole
from tokenring.engine.explain import left_open  # noqa: F401 - here once, and not in each copy
from tokenring.operators import fluent
from tokenring.operators.recovery import JobFolder, Recovery, Taking
from tokenring.operators.recovery.keeping import Keeper, saved
from tokenring.operators.recovery.wanted import WANTED, answer_to
from tokenring.operators.recovery.words import DECIDED, FREEZE, RESTS, STATUS, decision
from tokenring.operators.sinks.dead_letters import DeadLetters

_MOST_STEPS, _MOST_LOOKS = 100_000, 20_000

Rows = Counter[tuple[Any, ...]]
Declare = Callable[[Any, Path], None]
"""declare(scope, results): the job's dataflow, whose sinks write to folders in `results`."""


class _InPlace(Taking):
    """A snapshot that the worker writes itself, rather than a copy of it: it is to be killed then."""

    is_checked = False

    def _fork(self, parts: list[dict[str, str]]) -> int:
        if self.is_checked:
            self._require_nothing_unsaved()
        self._save(parts)
        return 0


class _Checked(_InPlace):
    """It looks first whether anything would be lost, as copies do: at all objects there are, which takes long here."""

    is_checked = True


class Job:
    """One job, and what has come of it."""

    def __init__(self, path: Path, declare: Declare) -> None:
        self.folder = JobFolder(path / "job")
        self.results = path / "results"
        self.asked = path / "asked"
        self.declare = declare
        self.bins = 0
        """In which keyed state is, to move; 0: it stays."""

    @contextmanager
    def world(
        self, workers: int, random: Random, keep: int = 2, drop: Sequence[str] = (), **settings: Any
    ) -> Iterator[World]:
        """Workers that go on from the newest snapshot; in the end they are killed, wherever they are."""
        with self.folder.locked():
            snapshot = self.folder.newest()
            if snapshot is not None:
                self.folder.deliver(snapshot)
            self._forget_the_dead()
            shutil.rmtree(self.asked, ignore_errors=True)
            keeper = Keeper(self.folder, Recovery(self.folder.path, keep=keep, drop=drop), snapshot, workers)
            with _no_syncs(), simulated(workers, worker_class=fluent.Worker, **settings) as group:
                try:
                    program = saved(self._build(group), snapshot, keeper, frozenset(), DeadLetters)
                    yield World(self, group, keeper, random, program)
                finally:
                    for path in self._hidden():  # as if the process were gone
                        whole_files.given(path)

    def _build(self, group: Any) -> Callable[[Worker], None]:
        def program(worker: Worker) -> None:
            with group.building(worker), worker.dataflow("job", bins=self.bins) as scope:
                self.declare(scope, self.results)

        return program

    def _forget_the_dead(self) -> None:
        """What the sinks of a killed process leave goes when the next ones begin: they would know it by its process,
        which is this one."""
        for path in self._hidden():
            path.unlink(missing_ok=True)

    def _hidden(self) -> list[Path]:
        """What sinks write to, or did when they were killed."""
        folders = (self.results, self.folder.path / "outbox", *self.folder.path.glob("finished/*"))
        return [path for path in map(Path, whole_files._held) if path.parent in folders] + [
            path for folder in folders if folder.is_dir() for path in folder.glob(".*")
        ]

    @property
    def is_finished(self) -> bool:
        """Whether it has come to its end."""
        snapshot = self.folder.newest()
        return snapshot is not None and snapshot.is_end

    def rows(self, sink: str) -> Rows:
        """All rows of a sink that have appeared, how often each."""
        found: Rows = Counter()
        folder = self.results / sink
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            table = _read(path)
            found.update(zip(*[column.to_pylist() for column in table.columns], strict=True))
        return found


def _read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    with pa.OSFile(str(path), "rb") as file:
        return pa.ipc.open_file(file).read_all()


@contextmanager
def _no_syncs() -> Iterator[None]:
    """Nobody takes the power away here; and snapshots have what has changed alone, however little that is."""
    with patch("os.fsync", lambda _: None), patch("tokenring.operators.recovery.tables._LEAST_BYTES", 0):
        yield


class World:
    """Workers of a job, from a snapshot on."""

    def __init__(self, job: Job, group: Any, keeper: Keeper, random: Random, program: Callable[[Worker], None]) -> None:
        self.job, self.group, self.keeper, self.random = job, group, keeper, random
        self._shares = [1.0]
        self._steps = self._requests = 0
        heard = keeper.hearing(None)
        for worker in group.workers:
            worker.report = partial(heard, worker.index)
            program(worker)

    def step(self, steps: int = 1) -> None:
        """Let one worker after the other step, drawn at random; some of them long after the others."""
        workers = self.group.workers
        for _ in range(steps):
            if self._steps % 50 == 0:
                self._shares = [self.random.choice([0.05, 1.0]) for _ in workers]
            self._steps += 1
            self.random.choices(workers, self._shares)[0].step()

    def take(self, copied: bool = False, until: str = "", checked: bool = False, goes_on: bool = True) -> None:
        """Take a snapshot. copied: of copies, so that the workers may go on; else they are to be killed. until: where
        it ends too early: "rest", "manifest", or "results". checked: see _Checked. goes_on: whether some step as soon
        as they are copied."""
        number, workers, asked = self.keeper.number + 1, self.group.workers, self.job.asked
        into = self.job.folder.begin(number)
        asked.mkdir()
        self._requests += 1
        question = {"number": number, "into": str(into), "before": self.keeper.number, "request": self._requests}
        kind = Taking if copied else _Checked if checked else _InPlace
        takings = [kind(worker, asked, question) for worker in workers]
        self.step(self.random.choice([0, 10]))
        if until == "rest":
            for taking in takings:
                taking.look()
            self.step(self.random.randrange(30))
            return
        self._rest(takings)
        board = self.keeper.board
        board.say(board.workers, FREEZE, self._requests)
        board.say(board.workers, DECIDED, decision(self._requests, True))
        if not copied:
            for taking in takings:
                taking.look()
        else:
            self._copy_all(takings, goes_on)
            for taking in takings:
                assert taking._copy, "no copy was made"
                os.waitid(os.P_PID, taking._copy, os.WEXITED | os.WNOWAIT)
                taking.look()
            assert not any(board.all(STATUS)), [path.read_text() for path in asked.glob("failed-*.json")]
        shutil.rmtree(asked)
        if until == "manifest":
            return
        if until == "results":
            with patch.object(self.job.folder, "deliver", lambda _: None):
                self.keeper.seal(number, into, len(workers), {})
            return
        self.keeper.seal(number, into, len(workers), {})

    def take_if_wanted(self) -> None:
        """Take the snapshots that are wanted, as the launcher does."""
        for wanted in self.job.folder.path.glob(f"{WANTED}*"):
            self.take(copied=True)
            wanted.unlink()
            write_whole(answer_to(wanted), {"number": self.keeper.number})

    def move_some(self, random: Random) -> None:
        """Let bins go anywhere, where state is in bins."""
        workers, bins = len(self.group.workers), self.job.bins
        if bins and workers > 1:
            placement = self.group.workers[0].saving.dataflows[0].placement
            steps = [{random.randrange(bins): random.randrange(workers)} for _ in range(random.choice([1, 3, 9]))]
            placement.move(steps)

    def _copy_all(self, takings: list[Taking], goes_on: bool) -> None:
        """All are frozen before one is copied; who has been goes on, while others have not."""

        def look(at: int) -> None:
            if at < len(takings):
                with patch.object(takings[at], "_is_taken", lambda: look(at + 1) or True):
                    takings[at].look()
                steps = self.random.choice([0, 0, 9]) if goes_on else 0
                for worker in self.random.choices(self.group.workers[at:], k=steps):
                    worker.step()

        try:
            look(0)
        except BaseException:  # a worker dies meanwhile, and its copy with it
            for taking in takings:
                taking.leave()
            raise

    def _rest(self, takings: list[Taking]) -> None:
        """Step until all workers are at rest at one position, as they tell themselves."""
        for _ in range(_MOST_LOOKS):
            for taking in takings:
                taking.look()
            positions = {*self.keeper.board.all(RESTS)}
            if len(positions) == 1 and min(positions) > 0:
                return
            self.step(self.random.choice([1, 2, 5, 10]))
        raise AssertionError("the group does not come to rest")

    @property
    def is_over(self) -> bool:
        """Whether all rows have been read, and all results been written."""
        return all(worker.complete and not worker.schedule.due for worker in self.group.workers)

    def finish(self) -> None:
        """Run to the end: all results appear."""
        for _ in range(_MOST_STEPS):
            if self.is_over:
                self.keeper.finish()
                return
            self.step(8)
        raise AssertionError("the job does not come to an end")
