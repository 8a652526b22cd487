"""How a worker sleeps until a peer has something for it, and wakes those that sleep (tokenring.shm.queues.parking)."""

from tokenring.engine.data import DataPlane
from tokenring.engine.progress import ProgressChannel
from tokenring.shm.memory import Segment, peek
from tokenring.shm.queues import ParkingLot, anything_waiting, begin_parking, end_parking, parked_address


class Parking:
    """One worker's place in the group's parking lot."""

    def __init__(self, segment: Segment, lot: ParkingLot, me: int, plane: DataPlane, progress: ProgressChannel) -> None:
        self._segment = segment
        self._lot = lot
        self._me = me
        self._plane = plane
        self._progress = progress
        self._stop_address = segment.address(segment.layout.stop)

    @property
    def stop_asked(self) -> bool:
        """Whether the group is to stop at once."""
        return bool(peek(self._stop_address))  # SYNC stop: acquire, pairs with the launcher

    def sleep(self, limit_s: float) -> bool:
        """Sleep until woken, or `limit_s` have passed, which it tells; not at all if something came before all could
        see us sleep."""
        if limit_s <= 0:
            return False
        is_over = False
        begin_parking(parked_address(self._segment), self._me)
        if self._progress.nothing_new and not anything_waiting(self._plane.incoming) and not self.stop_asked:
            is_over = not self._lot.wait(self._me, limit_s)
        end_parking(self._segment, self._me)
        return is_over

    def wake(self) -> None:
        """Wake this worker, from another thread."""
        self._lot.post(self._me)

    def wake_peers(self) -> None:
        """Wake those that sleep."""
        peer = self._progress.next_parked(0)
        while peer >= 0:
            self._lot.post(peer)
            peer = self._progress.next_parked(peer + 1)
