"""An arrangement on one worker: what its operator seals, and who reads it."""

from tokenring.operators.collections.frontiers import least_of
from tokenring.operators.collections.updates import Sealed, Spine

Time = tuple[int, ...]


class Reader:
    """One who reads a trace: the batches that it has not taken yet, the number of those that it has, and `since`, what
    it will ask for at the earliest (an antichain)."""

    def __init__(self, depth: int) -> None:
        self.waiting: list[Sealed] = []
        self.taken = 0
        self.since: list[Time] = [(0,) * depth]

    def take(self) -> list[Sealed]:
        """The batches that have come since the last time."""
        taken, self.waiting = self.waiting, []
        self.taken += len(taken)
        return taken


class Trace:
    """The batches of one arrangement on this worker. keys, data: how many columns are the key, the first ones, and data
    at all; upper: what is finished in it, an antichain."""

    def __init__(self, keys: int, data: int, depth: int) -> None:
        self.keys, self.data, self.depth = keys, data, depth
        self.spine = Spine(data, depth)
        self.upper: list[Time] = [(0,) * depth]
        self.readers: list[Reader] = []

    def read(self) -> Reader:
        """Begin to read, before anything is sealed."""
        reader = Reader(self.depth)
        self.readers.append(reader)
        return reader

    def seal(self, batch: Sealed) -> None:
        """Add a batch, which all readers see next."""
        spine = self.spine
        spine.keep_apart(min([reader.taken for reader in self.readers], default=spine.added))
        since = least_of([time for reader in self.readers for time in reader.since])
        if since:  # else nobody asks any more
            spine.compact(since)
        spine.add(batch)
        for reader in self.readers:
            reader.waiting.append(batch)
