"""Ways to start a group's processes other than to fork them from this one: afresh, or forked from a fresh server.

What they need to know is in a file without a name, which they inherit with their pipe; segment and semaphores keep
their names until all have attached.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from tokenring.engine.errors import UsageError, WorkerError
from tokenring.engine.group.frames import write_message
from tokenring.engine.group.processes import Process
from tokenring.engine.group.spawned import END
from tokenring.engine.install import IMPORTING
from tokenring.engine.worker import Config
from tokenring.shm.kernels import ENDING_SIGNALS
from tokenring.shm.memory import Segment
from tokenring.shm.queues import ParkingLot

# `die_with_parent`, of which a new process has not heard yet.
_BOUND = "import ctypes, os; ctypes.CDLL(None).prctl(1, {kill}, 0, 0, 0); os.getppid() == {launcher} or os._exit(1)"


def require_no_start_within() -> None:
    """Refuse to make a group while a worker imports the program, which a file without a guard would do without end."""
    if IMPORTING in os.environ:
        raise UsageError(
            "execute was called while a worker imported the program: put the call below `if __name__ == '__main__':`"
        )


def spawn_all(
    processes: list[Process], told: dict[str, Any], segment: Segment, lot: ParkingLot, config: Config
) -> None:
    """Add a process for each worker, each a Python of its own that imports the program."""
    orders = _orders(told, segment, lot, config)
    try:
        for index in range(config.workers):
            read_end, write_end = os.pipe()
            try:
                pid = _python(f"worker({orders}, {index}, {write_end})", [orders, write_end])
            except OSError:
                os.close(read_end)
                raise
            finally:
                os.close(write_end)
            processes.append(Process(pid, read_end))
            processes[-1].watch()
    finally:
        os.close(orders)


class Server:
    """A fork server, for one group."""

    def __init__(self) -> None:
        self._pid = 0
        self._requests = self._answers = -1

    def start_all(
        self, processes: list[Process], told: dict[str, Any], segment: Segment, lot: ParkingLot, config: Config
    ) -> None:
        """Add a process for each worker, forked from a Python of its own that has imported the program."""
        ends: list[tuple[int, int]] = []
        theirs: list[int] = [_orders(told, segment, lot, config)]
        try:
            requests, self._requests = os.pipe()
            theirs.append(requests)
            self._answers, answers = os.pipe()
            theirs.append(answers)
            for _ in range(config.workers):
                ends.append(os.pipe())
            writing = [write_end for _, write_end in ends]
            self._pid = _python(f"server({theirs[0]}, {writing}, {requests}, {answers})", [*theirs, *writing])
        except OSError:
            for read_end, _ in ends:
                os.close(read_end)
            raise
        finally:
            for descriptor in (*theirs, *[write_end for _, write_end in ends]):
                os.close(descriptor)
        pids = os.read(self._answers, 8 * config.workers)
        for index, (read_end, _) in enumerate(ends):
            pid = int.from_bytes(pids[8 * index : 8 * index + 8], "little")
            processes.append(Process(pid, read_end, self._status_of(index)))
        if not pids:
            self._explain(processes)
        for process in processes:
            process.watch()

    def _explain(self, processes: list[Process]) -> None:
        """The server has ended: say what it told, or that it said nothing."""
        for process in processes:
            process.ended_before()
        for message in processes[0].reader.read():
            raise UsageError(message["text"].replace("worker 0: ", "the fork server: ", 1))
        raise WorkerError("the fork server was killed before it had started the workers")

    def _status_of(self, index: int) -> Callable[[], int]:
        def ask() -> int:
            try:
                os.write(self._requests, index.to_bytes(8, "little"))
                told = os.read(self._answers, 8)
            except OSError:
                told = b""
            return int.from_bytes(told, "little", signed=True) if told else -signal.SIGKILL  # with the server

        return ask

    def close(self) -> None:
        """Let the server end, and see it end."""
        with suppress(OSError):
            os.write(self._requests, END)
        for descriptor in (self._requests, self._answers):
            if descriptor >= 0:
                os.close(descriptor)
        if self._pid:
            with suppress(ChildProcessError):  # the program's own SIGCHLD handler has waited for it
                os.waitpid(self._pid, 0)


def _orders(told: dict[str, Any], segment: Segment, lot: ParkingLot, config: Config) -> int:
    """A file without a name that holds what a new process must know."""
    orders = os.memfd_create("tokenring-orders")
    write_message(
        orders,
        {
            **told,
            "config": asdict(config),
            "segment": segment.name,
            "semaphores": lot.names,
            "launcher": os.getpid(),
            "argv": sys.argv,
            # What the program names only in its workers: its kernels are to be ready before, as after a fork.
            "modules": [name for name in sys.modules if name.startswith(f"{__name__.partition('.')[0]}.")],
        },
    )
    return orders


def _python(call: str, descriptors: list[int]) -> int:
    """A new interpreter with this one's path, which makes a call in tokenring.engine.group.spawned; signals that
    end a run wait until it is ready, and it ends with this process from the first: what it is to import takes long."""
    code = (
        f"{_BOUND.format(launcher=os.getpid(), kill=int(signal.SIGKILL))}; import sys; sys.path[:] = {sys.path!r}; "
        f"import tokenring.engine.group.spawned as spawned; spawned.{call}"
    )
    for descriptor in descriptors:
        os.set_inheritable(descriptor, True)
    try:
        return os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ, setsigmask=ENDING_SIGNALS)
    finally:
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
