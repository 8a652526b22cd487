"""Bins: what keyed state moves by, 2^k of them; a key's bin is the high bits of the hash that an exchange goes by."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, WORDS, Batch, UsageError, int64, kernel, void
from tokenring.engine.arguments import is_whole
from tokenring.engine.columns import hash_keys, heap_address, is_hashed
from tokenring.engine.compiled import Words, address_of, route

MOST_BINS = 1 << 16
_BLOCK = 1 << 14  # keys that are looked at together: what is found of them stays in a core's cache


@kernel(void(COLUMN, int64, WORDS))
def _bins_of(keys: Words, count: int, bins: Words) -> None:
    for row in range(len(keys)):
        bins[row] = route(keys[row], count)


@kernel(int64(COLUMN, int64, WORDS, int64, WORDS))
def _find_leaving(keys: Words, count: int, leave: Words, first: int, found: Words) -> int:
    """Write the positions of keys whose bins leave, counted from `first`, to `found`; returns how many those are."""
    n = 0
    for row in range(len(keys)):
        if leave[route(keys[row], count)]:  # seldom, so that it is guessed
            found[n] = first + row
            n += 1
    return n


class Bins:
    """How many bins a dataflow has, and which one a key is in: the same on all workers."""

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        """UsageError unless it is a power of two, from 1 to MOST_BINS."""
        if not is_whole(count) or not 1 <= count <= MOST_BINS or count & (count - 1):
            raise UsageError(f"bins={count!r}: keyed state moves in a power of two of bins, from 1 to {MOST_BINS}")
        self.count = int(count)

    def of(self, batch: Batch, key: Sequence[str]) -> np.ndarray:
        """The bin of each row's key, int64 (rows,); key: its columns, in the order in which an exchange has them."""
        return self.of_words(key_words(batch, key))

    def of_words(self, keys: np.ndarray) -> np.ndarray:
        """The bins of keys of one column of integers, booleans or instants: of int64 (keys,), int64 (keys,)."""
        bins = np.empty(len(keys), np.int64)
        _bins_of(np.ascontiguousarray(keys), self.count, bins)
        return bins

    def find_leaving(self, keys: np.ndarray, leave: np.ndarray, first: int, found: np.ndarray) -> int:
        """See `Leaving.positions`."""
        n: int = _find_leaving(np.ascontiguousarray(keys), self.count, leave, first, found)
        return n


def workers_of(batch: Batch, key: Sequence[str], peers: int) -> np.ndarray:
    """The worker to which an exchange by these columns brings each row where nothing is in bins, int64 (rows,)."""
    workers = np.empty(batch.rows, np.int64)
    _bins_of(np.ascontiguousarray(key_words(batch, key)), peers, workers)
    return workers


def key_words(batch: Batch, key: Sequence[str]) -> np.ndarray:
    """What the rows of a batch are spread by: the key itself, or a hash of it, int64 (rows,)."""
    at = [batch.schema.position(name) for name in key]
    kinds = [batch.schema.kinds[position] for position in at]
    columns = [np.ascontiguousarray(batch.columns[position]).view(np.int64) for position in at]
    if not is_hashed(kinds):
        return columns[0]
    heaps = [0] * len(at)
    for place, position in enumerate(at):
        heap = batch.heaps[position] if batch.schema.has_text else None
        if heap is not None and kinds[place].is_text:
            heaps[place] = heap_address(heap)
    floats = [int(kind.is_float) for kind in kinds]
    addresses = np.array([address_of(column) for column in columns], np.int64)
    hashes = np.empty(batch.rows, np.int64)
    hash_keys(addresses, np.array(heaps, np.int64), np.array(floats, np.int64), hashes)
    return hashes


class Leaving:
    """The bins that leave a worker, as one asks whether a key is in one of them."""

    __slots__ = ("_bins", "_leave")

    def __init__(self, bins: Bins, leave: np.ndarray) -> None:
        """leave: bool (bins,)."""
        self._bins = bins
        self._leave = leave

    def rows(self, batch: Batch, key: Sequence[str]) -> np.ndarray:
        """Whether the key of each row leaves, bool (rows,); key: its columns, in the order of the exchange."""
        chosen: np.ndarray = self._leave[self._bins.of(batch, key)]
        return chosen

    def words(self, keys: np.ndarray) -> np.ndarray:
        """The same of keys of one column of integers, booleans or instants: of int64 (keys,), bool (keys,)."""
        chosen: np.ndarray = self._leave[self._bins.of_words(keys)]
        return chosen

    def positions(self, keys: np.ndarray) -> np.ndarray:
        """At which positions the keys leave, ascending, of keys as for `words`: int64 (n,). A nanosecond a key."""
        leave, found, some = self._leave.astype(np.int64), np.empty(_BLOCK, np.int64), []
        for first in range(0, len(keys), _BLOCK):
            some.append(found[: self._bins.find_leaving(keys[first : first + _BLOCK], leave, first, found)].copy())
        return np.concatenate(some) if some else np.zeros(0, np.int64)
