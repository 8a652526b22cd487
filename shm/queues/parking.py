"""Parking: how a worker with nothing to do sleeps, and is woken by whoever gives it something.

Protocol (no lost wake-up; the store-load order on both sides is what the fences are for):
    parker:  set one's flag; fence;  look for work;  none: wait on the semaphore;  clear one's flag
    waker:   publish work;   fence;  for each flag that is set: clear it, and if it was set still, post the semaphore
Either the parker's look sees the work, or the waker's look sees the flag. A post that comes too late leaves the
semaphore at one, and the next wait returns at once: harmless. A wait always has a time limit, so that a dead group is
noticed.
"""

import os
from contextlib import suppress

import posix_ipc

from tokenring.shm.errors import SegmentError
from tokenring.shm.kernels import boolean, int64, kernel, void
from tokenring.shm.memory import SHM_FOLDER, Segment, cure_of, fence, new_name
from tokenring.shm.queues.flags import any_set, clear_flag, next_set, set_flag


@kernel(void(int64, int64))
def begin_parking(first_address: int, worker: int) -> None:
    """Say that `worker` is about to sleep; what is looked at afterwards cannot be older than this."""
    set_flag(first_address, worker)
    fence()  # SYNC parking: parker's half


@kernel(boolean(int64, int64))
def any_parked(first_address: int, workers: int) -> bool:
    """Whether somebody is parked or about to be; to be called after publishing work."""
    fence()  # SYNC parking: waker's half
    return any_set(first_address, workers)


@kernel(int64(int64, int64, int64))
def next_parked(first_address: int, workers: int, start: int) -> int:
    """The next worker from `start` on that is parked and that we, alone, have undertaken to wake; -1 if none."""
    worker = next_set(first_address, workers, start)
    while worker >= 0 and not clear_flag(first_address, worker):
        worker = next_set(first_address, workers, worker + 1)
    return worker


@kernel(void())
def fence_now() -> None:
    """`fence` for callers in Python."""
    fence()


class ParkingLot:
    """The semaphores of a group, made by the launcher before it starts workers; names are gone as soon as can be."""

    def __init__(self, workers: int, keep_names: bool = False) -> None:
        """keep_names: until `unlink`, for processes that are to `attach`."""
        self._semaphores: list[posix_ipc.Semaphore] = []
        self.names: list[str] = []
        """Those that are still there."""
        for worker in range(workers):
            semaphore = _new_semaphore(f"{new_name()}-{worker}", workers)
            self.names.append(semaphore.name)
            self._semaphores.append(semaphore)
            if not keep_names:
                self.unlink()

    @classmethod
    def attach(cls, names: list[str]) -> "ParkingLot":
        """Another process's semaphores, by their names. Raises SegmentError."""
        lot = cls(0)
        try:
            lot._semaphores = [posix_ipc.Semaphore(name) for name in names]
        except posix_ipc.Error as error:
            raise SegmentError(f"cannot open a group's semaphores in {SHM_FOLDER}: {error}") from error
        return lot

    def unlink(self) -> None:
        """Remove the names."""
        while self.names:
            with suppress(posix_ipc.ExistentialError):
                posix_ipc.unlink_semaphore(self.names.pop())

    def wait(self, worker: int, seconds: float) -> bool:
        """Sleep until posted or for `seconds`; True if posted."""
        try:
            self._semaphores[worker].acquire(max(seconds, 0))
        except posix_ipc.BusyError:
            return False
        except posix_ipc.SignalError:
            return False
        return True

    def post(self, worker: int) -> None:
        """Wake `worker`, or let its next wait return at once."""
        self._semaphores[worker].release()

    def close(self) -> None:
        """Close the semaphores in this process."""
        for semaphore in self._semaphores:
            with suppress(OSError, posix_ipc.Error):
                semaphore.close()
        self._semaphores = []


def _new_semaphore(name: str, workers: int) -> posix_ipc.Semaphore:
    try:
        return posix_ipc.Semaphore(name, posix_ipc.O_CREX, mode=0o600, initial_value=0)
    except (OSError, posix_ipc.Error) as error:
        raise SegmentError(f"cannot make semaphores for {workers} workers: {error}{cure_of(error)}") from error


def parked_address(segment: Segment) -> int:
    """The address of the flags of those who sleep."""
    return segment.address(segment.layout.parked)


def wake_all(segment: Segment, lot: ParkingLot) -> None:
    """Wake everybody who sleeps (used when the group stops)."""
    fence_now()
    worker = next_parked(parked_address(segment), segment.layout.workers, 0)
    while worker >= 0:
        lot.post(worker)
        worker = next_parked(parked_address(segment), segment.layout.workers, worker + 1)


def end_parking(segment: Segment, worker: int) -> None:
    """Say that we are awake."""
    clear_flag(parked_address(segment), worker)


def yield_processor() -> None:
    """Let somebody else run on this core, if anybody wants to."""
    os.sched_yield()
