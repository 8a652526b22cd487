"""A whole group of workers in one process, stepped one at a time: deterministic, for warming up and for tests of the
real engine.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tokenring.engine.worker.config import Config
from tokenring.engine.worker.worker import Worker
from tokenring.shm.memory import Segment
from tokenring.shm.queues import ParkingLot


class SimulatedGroup:
    """Workers over a private segment. They never wait for each other: whoever drives them chooses who steps when."""

    def __init__(self, config: Config, worker_class: type[Worker] = Worker) -> None:
        self._segment = Segment.private(config.layout)
        self._lot = ParkingLot(0)
        self.workers = [worker_class(self._segment, self._lot, index, config) for index in range(config.workers)]
        for worker in self.workers:
            worker.room.waits = False
            worker.agreement.in_turn = self._forgotten
        self._forgotten_by: dict[int, int] = {}

    @contextmanager
    def building(self, worker: Worker) -> Iterator[None]:
        """Let `worker` declare a dataflow without waiting for the others, who will declare the same one after it."""
        worker.agreement.peers = range(0)
        yield
        worker.agreement.peers = range(len(self.workers))

    def _forgotten(self, ordinal: int) -> int:
        """What all have forgotten when the first of them declares its dataflow of that ordinal."""
        if ordinal not in self._forgotten_by:
            self._forgotten_by[ordinal] = min(worker.dataflows.forgotten(worker.tracker) for worker in self.workers)
        return self._forgotten_by[ordinal]

    def run(self, order: Iterable[int] | None = None) -> None:
        """Step workers in the given order of indices, then in turn, until all are complete."""
        for index in order or ():
            self.workers[index].step()
        while not all(worker.complete for worker in self.workers):
            for worker in self.workers:
                worker.step()

    def close(self) -> None:
        """Free the segment."""
        self.workers = []
        self._lot.close()
        self._segment.close()
