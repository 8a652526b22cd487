"""When a worker looks for cyclic garbage: in quiet moments, or when very much has been made; old garbage as well, as
soon as that costs little beside what was made since.
"""

import gc
from time import monotonic_ns

_QUIET_LIMIT = 1_000  # objects made at which it is worth a look in a quiet moment
_BUILT_LIMIT = 10_000  # and before a run begins
_BUSY_LIMIT = 200_000  # and although it is not quiet
_NS_AN_OBJECT = 200  # what a look at all objects may cost for each that was made since the last


class Garbage:
    """A worker's garbage collector. Python's own is off: it would come in the middle of anything.

    A look at young objects costs what was made since the last. One at all objects costs by how many live, so it waits
    until enough were made since: its cost stays in proportion, however much is kept. Tokens lost in a cycle are told of
    when they are found.
    """

    def __init__(self) -> None:
        self._made = 0  # objects, net, since all were looked at
        self._last_ns = 0  # what that took

    def when_quiet(self) -> None:
        """There is nothing to do."""
        if gc.get_count()[0] > _QUIET_LIMIT:
            self.collect()

    def when_built(self) -> None:
        """A dataflow was built: where that made very much, as where a library was loaded for it, what is new is looked
        at now, and not in the run's first quiet moment."""
        if gc.get_count()[0] > _BUILT_LIMIT:
            begun_ns = monotonic_ns()
            gc.collect(1)
            self._made, self._last_ns = 0, monotonic_ns() - begun_ns

    def when_busy(self) -> None:
        """There may be much to do."""
        if gc.get_count()[0] > _BUSY_LIMIT:
            self.collect()

    def collect(self) -> None:
        """Look at young objects, or at all if enough were made since the last time."""
        self._made += gc.get_count()[0]
        if self._made * _NS_AN_OBJECT < self._last_ns:
            gc.collect(1)
            return
        begun_ns = monotonic_ns()
        gc.collect()
        self._made, self._last_ns = 0, monotonic_ns() - begun_ns
