"""A worker's side of a snapshot: sources stand, the group comes to rest, and each worker is copied.

Who asks (keeping.py) leads all workers through it, by words that all share (words.py):

    worker   STOOD      its sources stand; or it has not built its dataflow yet, and there is no snapshot
    worker   RESTS      nothing is to be done here, at a position of the ring
    asker    FREEZE     all rest at one position: let no operator run any more; number of this attempt
    worker   FROZEN     it does, at which position; or it has something to do again
    asker    DECIDED    whether the snapshot is taken: all are frozen at one position
    worker   TAKEN      its copy is made, a process that writes; this one goes on
    worker   WRITTEN    how the copy ended

So a snapshot is of one instant at which no row is under way: all that sources have sent is in operators' state, or in
results, and where they stand they go on. No time has to be finished for that, and rows may come in any order.

Why nothing is under way where all are frozen at one position: who sent a row has published that before the position
that it says, and before that put the row into the queue; who takes it has read the ring up to there, so it knows of the
row, finds it in the queue, and is not at rest before it has taken it. What a frozen worker could do by itself (a timer)
it does not do. Only the asker decides, and workers that are frozen wait for that, so either all copies are made of one
such instant or no manifest is written. Who has made its copy goes on at once: what it sends lies in queues, which no
copy looks at, until the others have made theirs. Who waits for an asker that is gone goes on; no manifest is written
then either.
"""

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from itertools import count
from pathlib import Path
from time import monotonic_ns, sleep
from typing import Any, NoReturn

from tokenring.engine import UsageError, Worker
from tokenring.engine.ask import write_whole
from tokenring.engine.group import die_with_parent
from tokenring.operators.recovery.of_worker import WorkerSaving
from tokenring.operators.recovery.refusals import refusal
from tokenring.operators.recovery.words import (
    DECIDED,
    FREEZE,
    FROZEN,
    FROZEN_AT,
    RESTS,
    STATUS,
    STOOD,
    STOOD_NS,
    TAKEN,
    WRITTEN,
    unbuilt,
)

_SOON_NS = 20_000
_LATER_NS = 5_000_000
_NICE = 10  # of the copy: rows go first, also where no core is free for it
_FROZEN_S = 0.000_02  # between two looks at what was decided,
_LOOKS = 100  # of which each so many look whether there still is somebody who decides


class _Phase(Enum):
    COMES = 1
    WRITES = 2
    OVER = 3


class Taking:
    """What one worker does for one snapshot."""

    def __init__(self, worker: Worker, folder: Path, question: Mapping[str, Any]) -> None:
        saving: WorkerSaving | None = getattr(worker, "saving", None)
        if saving is None:
            raise UsageError("this run keeps no snapshots: start it with recovery=, or `tokenring run --recovery DIR`")
        self._saving = saving
        self._worker, self._folder, self._into = worker, folder, Path(question["into"])
        self._number, self._before, self._request = question["number"], question["before"], question["request"]
        is_built = saving.is_built
        self._phase = _Phase.COMES if is_built else _Phase.OVER
        self._attempt = saving.board.said(saving.board.workers, FREEZE)
        self._copy = self._worker_process = 0
        self._cores = os.sched_getaffinity(os.getppid())  # the launcher's: this worker is pinned, its copy is not to be
        if is_built:
            saving.stand(self._request)
        self._say(RESTS, 0)
        self._say(STOOD_NS, monotonic_ns())
        self._say(STOOD, self._request if is_built else unbuilt(self._request))

    def look(self) -> int:
        """Go on with it."""
        if self._phase is _Phase.COMES:
            self._come()
            return _SOON_NS
        if self._phase is _Phase.WRITES:
            self._see_to_copy()
        return _LATER_NS

    def leave(self) -> None:
        """The asker has gone, or has all that it needs."""
        if self._phase is _Phase.COMES:
            self._saving.go_on()
        self._end_copy()

    def _say(self, word: int, value: int) -> None:
        self._saving.board.say(self._worker.index, word, value)

    def _asked(self, word: int) -> int:
        board = self._saving.board
        return board.said(board.workers, word)

    def _come(self) -> None:
        """Say whether this worker is at rest; freeze it if all are."""
        position = self._worker.rests_at if self._saving.rests else -1
        self._say(RESTS, position + 1)
        attempt = self._asked(FREEZE)
        if attempt == self._attempt:
            return
        self._attempt = attempt
        self._say(FROZEN_AT, position + 1)
        self._say(FROZEN, attempt)
        if position < 0 or not self._is_taken():
            return
        parts = self._saving.cut(self._number, self._before)
        self._copy = self._fork(parts)
        self._say(TAKEN, attempt)
        self._phase = _Phase.WRITES
        self._saving.go_on()

    def _is_taken(self) -> bool:
        """Wait until it is decided of this attempt; False also if who asks is gone, or the group is to stop."""
        for look in count():
            decided = self._asked(DECIDED)
            if decided >> 1 >= self._attempt:
                return bool(decided & 1)
            if look % _LOOKS == 0 and (self._worker.parking.stop_asked or not self._folder.exists()):
                break
            sleep(_FROZEN_S)
        return False

    def _fork(self, parts: list[dict[str, str]]) -> int:
        self._worker_process = os.getpid()
        copy = os.fork()
        if copy == 0:
            self._write(parts)
        return copy

    def _write(self, parts: list[dict[str, str]]) -> NoReturn:
        """In the copy: write all that is kept, and end."""
        status = 1
        try:
            die_with_parent(self._worker_process)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
                signal.signal(number, signal.SIG_IGN)
            os.sched_setaffinity(0, self._cores)
            os.nice(_NICE)
            self._require_nothing_unsaved()
            self._save(parts)
            status = 0
        except BaseException as error:
            with suppress(BaseException):  # who asks may be gone
                why = refusal(error, self._into.parent) if isinstance(error, OSError) else error
                said = {"error": f"{type(error).__name__}: {why}"}
                write_whole(self._folder / f"failed-{self._worker.index}.json", said)
        finally:
            os._exit(status)

    def _save(self, parts: list[dict[str, str]]) -> None:
        before = self._saving.folder.taken(self._before)
        self._saving.write(self._number, self._into, self._worker.index, parts, before)

    def _require_nothing_unsaved(self) -> None:
        """UsageError where an operator has something that no table of its would hold."""
        from tokenring.engine.explain import left_open  # which is there since the dataflow was built

        for saving in self._saving.dataflows:
            graph, running = saving.dataflow.graph, saving.dataflow.running.instance
            if running not in self._worker.dataflows.running:  # it is complete
                continue
            read = {each.origin.operator for spec in graph.operators for each in spec.inputs}
            read_by_name = {spec.name for number, spec in enumerate(graph.operators) if number in read}
            saved = {one.operator for one in saving.states} | {one.name for one in saving.made_again}
            for found in left_open(self._worker.inspection, running, ()).open:
                if found.messages:
                    raise UsageError(f"operator {found.operator!r} has left {found.messages} messages at its inputs")
                if found.tokens and found.operator in read_by_name - saved:  # others send nothing by them
                    raise UsageError(f"operator {found.operator!r} keeps what it cannot save, since time {found.since}")

    def _see_to_copy(self) -> None:
        copy, status = os.waitpid(self._copy, os.WNOHANG)
        if copy:
            self._copy = 0
            self._phase = _Phase.OVER
            self._say(STATUS, os.waitstatus_to_exitcode(status))
            self._say(WRITTEN, self._request)

    def _end_copy(self) -> None:
        if self._copy:
            with suppress(ProcessLookupError):
                os.kill(self._copy, signal.SIGKILL)
            os.waitpid(self._copy, 0)
            self._copy = 0
