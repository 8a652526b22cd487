"""The launcher's view of its workers: takes in what they tell, sees them end, and makes one error of any failure."""

import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from tokenring.engine import budget as budgets
from tokenring.engine import errors
from tokenring.engine.errors import OperatorError, UsageError, WorkerError
from tokenring.engine.group.interrupts import Interrupts
from tokenring.engine.group.processes import TAKEN, Process
from tokenring.engine.group.stopped import LOOK_S, StoppedWatch
from tokenring.engine.group.traces import TRACE
from tokenring.engine.running import Publication, put_in_place
from tokenring.engine.whole_files import given, keep
from tokenring.engine.worker import Config, first_difference
from tokenring.shm.memory import FINISH, STOP, Segment, exchange_if, poke
from tokenring.shm.queues import ParkingLot, wake_all

if TYPE_CHECKING:
    from tokenring.engine.budget import BudgetWatch
    from tokenring.engine.explain import Stopped

_GRACE_S = 0.5  # how long workers get to notice that the group stops
_SAME_S = 0.5  # within which a SIGTERM after a SIGTERM is the same: `timeout` sends one to the launcher and one to all
_AGREEMENT_S = 5.0  # and to tell what they have declared, if that is not what others have: all of them notice at once

ENDED = "the group has ended: nothing can be asked of it any more"

OnNote = Callable[[int, Any], None]

_AGAIN = "again to end at once"
_SAID = {
    FINISH: f"finishing: sources close, and what is under way is finished; {_AGAIN}",
    STOP: f"stopping: sources end where they are, and what is not finished is dropped; {_AGAIN}",
}


class Results(list[Any]):
    """What the program returned on each worker, in their order."""

    stopped: "Stopped | None" = None
    """Where the run was stopped: up to where its results are whole, and what was open and is dropped."""


class Group:
    """The workers' processes, results and failures. Several threads may ask it: they wait for workers side by side, and
    see to what has come one at a time, `on_note` included, which so may ask the group itself.
    """

    def __init__(
        self,
        segment: Segment,
        lot: ParkingLot,
        config: Config,
        interrupts: Interrupts,
        on_note: OnNote | None,
        budget: "BudgetWatch | None" = None,
    ) -> None:
        self.processes: list[Process] = []
        self._launcher = os.getpid()
        self._segment = segment
        self._lot = lot
        self._config = config
        self._interrupts = interrupts
        self._on_note = on_note
        self._budget = budget
        self._lock = threading.RLock()
        self._selector = selectors.DefaultSelector()
        self._running: set[int] = set()
        self._attached = 0
        self._is_heeded = False  # some worker closes its sources when it is asked to
        self._is_ending = False  # in order, as somebody asked for
        self._is_to_tell = False  # what a stop leaves open, on stderr, since a signal asked for it
        self._dropped: list[list[Any]] = []  # what a stop left open, as workers told
        self._terminated_at = 0.0  # when SIGTERM asked for that
        self._results: dict[int, Any] = {}
        self._whole: Results | None = None
        self._failures: dict[int, dict[str, Any]] = {}
        self._publications: list[Publication] = []
        self._stopped = StoppedWatch()

    @property
    def is_ours(self) -> bool:
        """Whether this process launched it, and is not one that its launcher forked since."""
        return os.getpid() == self._launcher

    def require_ours(self) -> None:
        """UsageError in a process that the launcher forked: the workers are not its children."""
        if not self.is_ours:
            raise UsageError(
                f"process {os.getpid()} was forked by process {self._launcher}, the group's launcher, which goes on "
                f"with the group itself: let such a process do its own work and end with os._exit(), or ask from "
                f"outside, as by `tokenring query {self._launcher}`"
            )

    @property
    def running(self) -> list[Process]:
        """Those that have not ended."""
        return [self.processes[index] for index in sorted(self._running)]

    def watch(self) -> None:
        """All processes are there: hear of them from now on."""
        self._selector.register(self._interrupts.wake, selectors.EVENT_READ)
        for index, process in enumerate(self.processes):
            self._running.add(index)
            self._selector.register(process.reader.pipe, selectors.EVENT_READ, index)
            self._selector.register(process.pidfd, selectors.EVENT_READ, index)
        if self._budget is not None:
            self._budget.start(lambda: [(index, self.processes[index].pid) for index in tuple(self._running)])

    def poll(self, limit_s: float) -> None:
        """Take in what workers tell, for so long if they tell nothing; raises for the first failure."""
        self.require_ours()
        self._take_in(limit_s)
        with self._lock:
            self._look()

    def _look(self) -> None:
        """See to what has come of it; UsageError if another thread has left the block."""
        if not self.processes:
            raise UsageError(ENDED)
        self._stopped.look((index, self.processes[index].pid) for index in self._running)
        if self._interrupts.is_due:
            self._interrupted()
        if self._budget is not None and self._budget.failure is not None and not self._failures:
            failure = self._budget.failure
            told = {"kind": "error", "type": type(failure).__name__, "text": str(failure), "traceback": ""}
            self._failures[self._config.workers] = told
        if self._failures:
            raise self._failure()

    def poll_messages(self) -> None:
        """Take in what workers have told, and raise nothing."""
        self._take_in(0)

    def wait(self) -> Results:
        """Collect results until every worker has ended; raises for the first failure."""
        while self._running:
            self.poll(LOOK_S if self._budget is None else budgets.LOOK_S)
        with self._lock:
            if self._failures:  # raised before, out of a question, and caught there
                raise self._failure()
            if self._whole is None:
                self._whole = self._results_of_all()
            return self._whole

    def _results_of_all(self) -> Results:
        put_in_place(self._publications)  # now, and not before: all workers were right to their end
        results = Results([self._results[index] for index in range(self._config.workers)])
        results.stopped = self._stopped_at()
        if self._is_to_tell and results.stopped is not None:
            print(f"stopped: {results.stopped}", file=sys.stderr)
        return results

    def _stopped_at(self) -> "Stopped | None":
        if not self._dropped:
            return None
        from tokenring.engine.explain import from_plain, together

        return together(map(from_plain, self._dropped))

    def _take_in(self, limit_s: float | None) -> None:
        """Wait until a worker has written something or has ended, or until a signal has come, and see to it."""
        try:
            come = self._selector.select(limit_s)
        except (ValueError, OSError):  # another thread has left the block, and closed it
            with self._lock:
                if self.processes:
                    raise
            come = []
        with self._lock:
            for key, _ in come if self.processes else []:
                self._see_to(key)

    def _see_to(self, key: selectors.SelectorKey) -> None:
        """A worker has written something or has ended, or a signal has come, unless another thread saw to it."""
        index = key.data
        if index is None:
            self._interrupts.woken()
        if index not in self._running:
            return
        process = self.processes[index]
        self._read(index)
        if process.reader.ended and process.reader.pipe in self._selector.get_map():
            self._selector.unregister(process.reader.pipe)
        if key.fd == process.pidfd and index in self._running:  # `on_note` may have asked, which saw it end
            self._ended(index)

    def _read(self, index: int) -> None:
        for message in self.processes[index].reader.read():
            if message["kind"] == "result":
                self._results[index] = message["value"]
            elif message["kind"] == "publication":
                self._publications.append(Publication(*message["value"]))
                with suppress(OSError):  # it has gone, which is told when it is to get its name
                    keep(self._publications[-1].made)
            elif message["kind"] == "attached":
                self._attached += 1
                if self._attached == self._config.workers:  # nobody needs a name any more
                    self._lot.unlink()
                    self._segment.unlink()
            elif message["kind"] == "dropped":
                self._dropped.append(message["value"])
            elif message["kind"] == "heeding":
                self._is_heeded = True
            elif message["kind"] != "note":
                self._failures[index] = message
            elif self._on_note is not None:
                with nullcontext() if self.ends_in_order else self._interrupts.let_through():
                    self._on_note(index, message["value"])
                self.require_ours()  # it may have forked

    def _interrupted(self) -> None:
        """A signal has come: the first asks for an end in order, where sources heed it, another ends the run at once.
        """
        now, is_terminated = time.monotonic(), self._interrupts.noted[0] == signal.SIGTERM
        if is_terminated and self._terminated_at and now < self._terminated_at + _SAME_S:
            self._interrupts.noted.clear()
            return
        if not self.ends_in_order or not self._interrupts.is_pythons_own():
            self._interrupts.act()
            return
        self.end_in_order(STOP if is_terminated else FINISH)

    @property
    def ends_in_order(self) -> bool:
        """Whether a signal would be a request to end in order: some source heeds it, and it is the first."""
        return self._is_heeded and not self._is_ending

    def end_in_order(self, how: int) -> None:
        """A signal has come that asks for a FINISH or a STOP: say so, and ask for it."""
        if how == STOP:
            self._terminated_at = time.monotonic()
        self._interrupts.noted.clear()
        print(_SAID[how], file=sys.stderr)
        self._is_to_tell = True
        self.ask_to_end(how)

    def ask_to_end(self, how: int) -> None:
        """Ask for a FINISH or a STOP, where neither was asked for."""
        self.require_ours()
        with self._lock:
            if self.processes:  # else another thread has left the block, and the segment is gone
                self._is_ending = True
                exchange_if(self._segment.address(self._segment.layout.ending), 0, how)
                wake_all(self._segment, self._lot)

    def _ended(self, index: int) -> None:
        """A worker's process has ended: see how."""
        process = self.processes[index]
        self._running.discard(index)
        self._selector.unregister(process.pidfd)
        if process.reader.pipe in self._selector.get_map():
            self._selector.unregister(process.reader.pipe)
        code = process.exit_code()
        if index in self._results or index in self._failures:
            return
        self._failures[index] = {
            "kind": "death",
            "text": f"worker {index} {_how(code)} before its work was done; the run is void",
        }

    def _failure(self) -> Exception:
        """Stop the others, then make the exception for the most telling failure."""
        if self._running:
            self._stop()
        disagree = any("declared" in failure for failure in self._failures.values())
        deadline = time.monotonic() + (_AGREEMENT_S if disagree else _GRACE_S)
        while self._running and (left_s := deadline - time.monotonic()) > 0 and not self._interrupts.noted:
            self._take_in(left_s)
        order = {"error": 0, "death": 1, "stopped": 2}
        _, failure = min(self._failures.items(), key=lambda item: (order[item[1]["kind"]], item[0]))
        if failure["kind"] != "error":
            return WorkerError(failure["text"])
        kind = getattr(errors, failure["type"], None)
        if kind is None or not issubclass(kind, Exception):
            kind = OperatorError
        declared = {at: found["declared"] for at, found in self._failures.items() if "declared" in found}
        difference = first_difference(declared) if "declared" in failure else ""
        error: Exception = kind(f"{failure['text']}: {difference}" if difference else failure["text"])
        if failure["traceback"]:
            error.add_note(f"{TRACE}\n{failure['traceback']}")
        return error

    def _stop(self) -> None:
        poke(self._segment.address(self._segment.layout.stop), 1)  # SYNC stop: release, pairs with Parking.stop_asked
        wake_all(self._segment, self._lot)

    def end(self) -> None:
        """Leave no process, no thread and no descriptor behind."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._budget is not None:
            self._budget.close()
        living = [process for process in self.processes if process.exit_code(wait=False) is None]
        if living:
            self._stop()
            deadline = time.monotonic() + _GRACE_S
            while living and time.monotonic() < deadline:
                time.sleep(0.005)
                living = [process for process in living if process.exit_code(wait=False) is None]
            for process in living:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
                process.exit_code()
        for publication in self._publications:
            given(publication.made)
        self._selector.close()
        for process in self.processes:
            process.close()
        self.processes.clear()


def _how(code: int | None) -> str:
    """A process ended."""
    if code == TAKEN:
        return (
            "ended (how, this program has taken from the group: to be told, it leaves SIGCHLD alone, or waits only for "
            "children of its own, which os.waitpid(-1, ...) and SIG_IGN do not)"
        )
    return f"exited with status {code}" if code is None or code >= 0 else f"was killed by {_name(-code)}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
