"""Versions: which worker each bin belongs to, from which time on; what one operator's rows are routed by."""

from collections.abc import Iterable

import numpy as np

from tokenring.engine import COMPLETE, boolean, int64, kernel
from tokenring.engine.compiled import Record, address_of, key_of_worker
from tokenring.operators.migrate.bins import Bins


class VersionState(Record):
    """`count`: of versions, the oldest first, in force from `times` on. `tables`: the address of the first one's row of
    a word a bin, an exchange's key that goes to the bin's worker. `loads`: rows seen a bin, of one message in SAMPLED;
    `seen`: messages. `as_hashed`: whether all bins are where an exchange by the key would have them, now and as far as
    is known. `configured`: before it, all changes are known here. `busy`: where a Busy of each bin is."""

    count: int
    times: int
    tables: int
    loads: int
    seen: int
    as_hashed: int
    configured: int
    busy: int


class Busy(Record):
    """Between which times a bin may change its worker with state that has not arrived: the least of its changes, and
    the greatest."""

    since: int
    until: int


GOLDEN = 0x61C8864680B583EB
"""Of 2^64: multiples of it are spread evenly, so that messages which take turns are sampled alike."""
SAMPLED = 16
"""Rows of one message in so many are counted by bins: those for which `is_sampled`."""
ALWAYS = -1  # when the first version began


@kernel(boolean(int64))
def is_sampled(seen: int) -> bool:
    """Whether the rows of the message of this number are counted."""
    return ((seen * GOLDEN) >> 60) & (SAMPLED - 1) == 0


class Versions:
    """Where bins are, of one operator on one worker: as they are now, and from later times on as far as is known."""

    def __init__(self, bins: Bins, workers: np.ndarray, peers: int) -> None:
        """workers: int64 (bins,), where each bin is at first."""
        self.bins = bins
        self._keys = np.array([key_of_worker(peer, peers) for peer in range(peers)], np.int64)
        self._times = np.full(2, ALWAYS, np.int64)
        self._workers = [workers.copy()]
        self._tables = self._keys[np.vstack([workers, workers])]
        self.loads = np.zeros(bins.count, np.int64)
        """Rows seen, a bin: of a sample."""
        self._busy = Busy.new_table(bins.count)
        self._busy["since"], self._busy["until"] = COMPLETE, ALWAYS
        self.state = VersionState()
        self.state.busy = address_of(self._busy)
        self.state.count, self.state.loads = 1, address_of(self.loads)
        self._hashed = np.arange(bins.count) * peers // bins.count if bins.count % peers == 0 else None
        self._link()

    def _link(self) -> None:
        self.state.times, self.state.tables = address_of(self._times), address_of(self._tables)
        hashed = self._hashed if len(self._workers) == 1 else None
        self.state.as_hashed = hashed is not None and np.array_equal(self._workers[0], hashed)

    def add(self, time: int, moved: Iterable[tuple[int, int]], ready: int) -> None:
        """From `time` on, which is no earlier than any before, these bins are with these workers: (bin, worker). ready:
        all state of changes before it has arrived."""
        last = len(self._workers) - 1
        if last == 0 or self._times[last] != time:
            last += 1
            self._workers.append(self._workers[-1].copy())
            if last == len(self._times):
                self._times = np.concatenate((self._times, np.full(last, ALWAYS, np.int64)))
                self._tables = np.vstack((self._tables, np.zeros_like(self._tables)))
        for number, worker in moved:
            self._workers[last][number] = worker
            if self._busy[number]["until"] < ready:
                self._busy[number]["since"] = time
            self._busy[number]["until"] = time
        self._times[last], self._tables[last] = time, self._keys[self._workers[last]]
        self._link()
        self.state.count = last + 1

    def begin_next(self) -> None:
        """No row of a time before the second version's comes any more: that one is the first now."""
        del self._workers[0]
        count = len(self._workers)
        self._times[:count], self._tables[:count] = self._times[1 : count + 1], self._tables[1 : count + 1]
        self._times[0] = ALWAYS
        self.state.count = count
        self._link()

    def stays(self, numbers: np.ndarray, time: int, ready: int) -> np.ndarray:
        """Whether rows of these bins, at a time, need not wait for state, all of which has arrived before `ready`: of
        int64 (rows,), bool (rows,)."""
        if time < ready or time >= self.state.configured:
            return np.full(len(numbers), time < ready)
        busy = self._busy[numbers]
        still: np.ndarray = (time < busy["since"]) | (busy["until"] < ready)
        return still

    @property
    def now(self) -> np.ndarray:
        """The worker of each bin, int64 (bins,), in the oldest version."""
        return self._workers[0]

    @property
    def following(self) -> np.ndarray:
        """The same of the next version."""
        return self._workers[1]

    def keys_of(self, workers: np.ndarray) -> np.ndarray:
        """What an exchange's key has to be for rows to go to these workers: int64 (rows,)."""
        keys: np.ndarray = self._keys[workers]
        return keys

    def at(self, time: int) -> np.ndarray:
        """What an exchange's key has to be for rows of each bin in a message at `time`: int64 (bins,)."""
        version = int(np.searchsorted(self._times[: len(self._workers)], time, "right")) - 1
        table: np.ndarray = self._tables[version]
        return table
