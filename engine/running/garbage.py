"""When a worker looks for cyclic garbage: in quiet moments, or when very much has been made or memory has grown; old
garbage as well, as soon as that costs little beside what was made since. And when freed memory goes back: in its sleep.
"""

import gc
from collections.abc import Callable
from time import monotonic_ns, process_time_ns

_QUIET_LIMIT = 1_000  # objects made at which it is worth a look in a quiet moment
_BUILT_LIMIT = 10_000  # and before a run begins
_BUSY_LIMIT = 200_000  # and although it is not quiet
_BETWEEN_NS = 20_000_000  # looks at how much memory there is
_GROWN_BYTES = 64 * 2**20  # by which it has grown at least when that is worth a look at all objects
_GROWN_PART = 4  # and by a fourth
_NS_A_LOOK_NS = 4  # how long nothing is looked at for that, for each ns that a look took
_WORKED_NS = 100_000_000  # of processor time behind which there may be much to give back
_NS_AN_OBJECT = 200  # what a look at all objects may cost for each that was made since the last


class Garbage:
    """A worker's garbage collector. Python's own is off: it would come in the middle of anything.

    A look at young objects costs what was made since the last. One at all objects costs by how many live, so it waits
    until enough were made since: its cost stays in proportion, however much is kept. Tokens lost in a cycle are told of
    when they are found. Few objects may hold much: where the process has grown all are looked at, too, and then not
    before it has grown by as much again.
    """

    def __init__(self, own_bytes: Callable[[], int], trim: Callable[[], None]) -> None:
        """own_bytes: how much memory the process takes; trim: gives the system back what allocators keep for later."""
        self._own_bytes, self._trim = own_bytes, trim
        self._trimmed_ns = 0  # of processor time, when it was last
        self._bytes_then = own_bytes()  # after the last look for its sake
        self._next_ns = 0  # when to ask again
        self._made = 0  # objects, net, since all were looked at
        self._last_ns = 0  # of processor time that took: others may have had the core meanwhile

    def when_quiet(self) -> None:
        """There is nothing to do."""
        if gc.get_count()[0] > _QUIET_LIMIT:
            self.collect()

    def when_asleep(self) -> None:
        """Nothing has come for as long as a worker sleeps at once."""
        if process_time_ns() - self._trimmed_ns > _WORKED_NS:
            self._trim()
            self._trimmed_ns = process_time_ns()

    def when_built(self) -> None:
        """A dataflow was built: where that made very much, as where a library was loaded for it, what is new is looked
        at now, and not in the run's first quiet moment. What declaring many dataflows leaves is old by then."""
        if gc.get_count()[0] > _BUILT_LIMIT:
            self.collect()

    def when_busy(self) -> None:
        """There may be much to do."""
        if gc.get_count()[0] > _BUSY_LIMIT:
            self.collect()
        now_ns = monotonic_ns()
        if now_ns >= self._next_ns:
            self._next_ns = now_ns + _BETWEEN_NS
            if self._own_bytes() > self._bytes_then + max(_GROWN_BYTES, self._bytes_then // _GROWN_PART):
                self._collect_all()
                self._bytes_then = self._own_bytes()
                self._next_ns += _NS_A_LOOK_NS * self._last_ns

    def collect(self) -> None:
        """Look at young objects, or at all if enough were made since the last time."""
        self._made += gc.get_count()[0]
        if self._made * _NS_AN_OBJECT < self._last_ns:
            gc.collect(1)
        else:
            self._collect_all()

    def _collect_all(self) -> None:
        begun_ns = process_time_ns()
        gc.collect()
        self._made, self._last_ns = 0, process_time_ns() - begun_ns
