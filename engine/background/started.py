"""A group that runs within a block of its launcher's program, which installs dataflows in it meanwhile."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tokenring.engine.arguments import require_seconds
from tokenring.engine.ask import WITHIN_S, Health, health_of, running_groups
from tokenring.engine.ask import Group as AskedGroup
from tokenring.engine.errors import UsageError, WorkerError
from tokenring.engine.group import ENDED, Group, Interrupted, Interrupts, Program, Results, launched, warm_up
from tokenring.engine.install import code_of, install, remove
from tokenring.engine.worker import Config, Worker
from tokenring.shm.memory import FINISH, STOP

_PAUSE_S = 0.005
ANSWER_S = 10.0
"""How long workers get to answer, if nothing else is said."""


class RunningGroup:
    """A group that runs. What its workers report is taken in whenever it is asked something, and by `wait`. Once it has
    ended, who asks it something gets a UsageError; to finish or to stop it is then nothing. In a process that the
    program forks within the block all of this is a UsageError, and to leave the block is nothing to the group.

    Several threads may ask it, while one waits, too. on_note is called by whichever takes a note in, by one at a time,
    in each worker's order: it may ask the group itself, but not wait for another thread that does.
    """

    def __init__(self, group: Group, interrupts: Interrupts) -> None:
        self._group, self._interrupts = group, interrupts
        self._results: Results | None = None
        self._known: AskedGroup | None = None
        self._is_over = False

    def install(self, function: Callable[..., Any] | str, name: str = "", timeout_s: float = ANSWER_S) -> str:
        """Have all workers build another dataflow, which `function(scope)` declares, and return its name, by default
        the function's. The function is one at the top level of a file or module, or a text that names both, with a
        colon between. Nothing else of this process reaches workers that run already.

        Raises UsageError, and the group goes on without it, if the function cannot be imported or raises, or a
        constructor of an operator does, or the name is taken; WorkerError if the workers do not come to it in time. An
        operator that raises later ends this dataflow alone, on all workers: who asks it something gets a
        DataflowFailedError, until it is removed.
        """
        code = code_of(function)
        name = name or code.function
        warm_up()  # what the function's module brought is ready when workers load it
        install(self.asked(timeout_s), code, name, timeout_s, self.poll)
        return name

    def remove(self, name: str, timeout_s: float = ANSWER_S) -> None:
        """End a dataflow that was installed, or forget one that has failed. UsageError if there is none of that name,
        or others import what it exports."""
        remove(self.asked(timeout_s), name, timeout_s, self.poll)

    def finish(self) -> None:
        """Ask the group to end in order, as Ctrl-C does: `worker.stopping` is true from now on, live sources close, and
        what they sent is finished. Nothing after a stop."""
        self._ask_to_end(FINISH)

    def stop(self) -> None:
        """Ask the group to stop, as SIGTERM does: `worker.stopping` is true from now on, sources end where they are,
        and what is not finished then (windows, sessions, rows that wait in joins) is dropped; `wait().stopped` says
        what that was. Nothing after a finish."""
        self._ask_to_end(STOP)

    def _ask_to_end(self, how: int) -> None:
        if not self._is_over:  # the segment is there
            self._group.ask_to_end(how)

    def health(self, within_s: float = WITHIN_S) -> Health:
        """Whether the group is ready, all dataflows being built, and live, all workers coming round: at once where they
        do, and within so many seconds where one does not. No worker is asked. Raises what `execute` does where one has
        failed."""
        return health_of(os.getpid(), self._workers(), within_s, self.poll)

    def wait(self) -> Results:
        """Wait until all workers have ended; what the program returned on each. Raises what `execute` does."""
        if self._results is None:
            self._require_running()
            with self._interrupts.held():
                self._results = self._group.wait()
        return self._results

    def poll(self) -> None:
        """Take in what workers have told; raises for the first failure, as `execute` does."""
        self._require_running()
        self._group.poll(0)

    def _require_running(self) -> None:
        self._group.require_ours()
        if self._is_over or self._results is not None:
            raise UsageError(ENDED)

    def _workers(self) -> list[int]:
        """The processes that have not ended; UsageError if all have."""
        self.poll()
        pids = [process.pid for process in self._group.running]
        if not pids:
            raise UsageError(ENDED)
        return pids

    def look_again(self) -> None:
        """A worker has ended: find those that there are when they are asked something."""
        self._known = None

    def asked(self, timeout_s: float) -> AskedGroup:
        """The group as those see it who ask it something, once all workers take questions. UsageError for a limit that
        is no number."""
        require_seconds(timeout_s=timeout_s)
        deadline = time.monotonic() + timeout_s
        while True:
            pids, known = self._workers(), self._known
            if known is not None:
                return known
            found = running_groups(pids)
            if found and len(found[0].workers) == len(pids):
                self._known = found[0]
            elif time.monotonic() > deadline:
                raise WorkerError(f"the group takes no questions within {timeout_s:g} s: it is starting, or ending")
            else:
                time.sleep(_PAUSE_S)


R = TypeVar("R", bound=RunningGroup)


@contextmanager
def start(
    program: Program,
    group_class: type[R],
    workers: int = 0,
    config: Config | None = None,
    on_note: Callable[[int, Any], None] | None = None,
    start: str = "",
    memory_bytes: int = 0,
    worker_class: type[Worker] = Worker,
) -> Iterator[R]:
    """Run `program(worker)` on every worker of a new group, as `execute` does, while the block goes on; at its end the
    group is asked to finish, and waited for. An error in the block ends it at once. SIGINT and SIGTERM leave the block
    by an exception, which goes on once the group has finished, or stopped, as for `execute`."""
    with launched(program, workers, config, on_note, start, memory_bytes, worker_class) as (group, interrupts):
        running = group_class(group, interrupts)
        try:
            with interrupts.let_through(raises=True):
                yield running
                if group.is_ours:
                    running.finish()
                    running.wait()
        except (KeyboardInterrupt, Interrupted) as signalled:
            if group.is_ours:
                _end_in_order(group, interrupts, isinstance(signalled, Interrupted))
            raise
        finally:
            running._is_over = True


def _end_in_order(group: Group, interrupts: Interrupts, is_stop: bool) -> None:
    """A signal has left the block: wait for the group's end in order, where its sources heed that."""
    group.poll_messages()
    if group.ends_in_order:
        group.end_in_order(STOP if is_stop else FINISH)
        group.wait()
        interrupts.noted[:] = [signal.SIGTERM] if is_stop else []
