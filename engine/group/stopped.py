"""Says on stderr which worker of a group is stopped (SIGSTOP, a debugger): all others wait for it without a word."""

import sys
from collections.abc import Iterable
from time import monotonic

from tokenring.engine.ask import is_stopped

LOOK_S = 1.0
"""How often the launcher looks."""
STOPPED_S = 5.0
"""How long a worker is stopped before it is told of."""


class StoppedWatch:
    """The launcher's watch over its workers. It tells once of each stop."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}  # by pid
        self._told: set[int] = set()
        self._looked = monotonic()

    def look(self, workers: Iterable[tuple[int, int]]) -> None:
        """Look at all (worker, pid), if it is time again."""
        now = monotonic()
        if now - self._looked < LOOK_S:
            return
        self._looked = now
        for worker, pid in workers:
            if not is_stopped(pid):
                self._since.pop(pid, None)
                self._told.discard(pid)
            elif now - self._since.setdefault(pid, now) >= STOPPED_S and pid not in self._told:
                self._told.add(pid)
                sys.stderr.write(
                    f"tokenring: worker {worker} (pid {pid}) has been stopped for {STOPPED_S:g} s, by a signal or a "
                    f"debugger; the others wait for it. Let it go on: kill -CONT {pid}\n"
                )
                sys.stderr.flush()
