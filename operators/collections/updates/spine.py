"""What was ever sealed of a collection, as batches of few sizes, which are merged a little whenever some are added."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from tokenring.engine.compiled import address_of
from tokenring.operators.collections.updates.finding import BATCH_WORDS
from tokenring.operators.collections.updates.merging import MADE, MERGE_WORDS, merge_some
from tokenring.operators.collections.updates.sealed import Sealed

_FUEL_A_ROW = 4  # rows that each merge takes for a row that is added
_LEAST_FUEL = 256
_ALIKE = 2  # a batch is merged with the one before it once that is not so many times as large

Time = tuple[int, ...]


class _Whole(NamedTuple):
    """A batch that is not being merged, of the additions before number `end`. words: as kernels see it."""

    batch: Sealed
    end: int
    words: tuple[int, int, int]
    rows: int

    @classmethod
    def of(cls, batch: Sealed, end: int) -> Self:
        return cls(batch, end, (address_of(batch.table), batch.table.shape[1], batch.rows), batch.rows)


class _Merge:
    """Two neighbours that are being merged; until that is done they are read."""

    def __init__(self, left: _Whole, right: _Whole, frontier: np.ndarray) -> None:
        self.left, self.right = left, right
        self.rows, self.end = left.rows + right.rows, right.end
        self._frontier = frontier
        self._target = np.empty((len(left.batch.table), self.rows), np.int64)  # what is not used takes no memory
        self._state = np.zeros(MERGE_WORDS, np.int64)

    def work(self, data: int, fuel: int) -> _Whole | None:
        """Go on for so many rows: the whole batch once it is done."""
        left = merge_some(*self.left.batch, *self.right.batch, self._target, self._state, data, self._frontier, fuel)
        return _Whole.of(Sealed(self._target, int(self._state[MADE])), self.end) if left > 0 else None


class Spine:
    """Batches of consolidated updates, the oldest and largest first, no two neighbours alike in size for long.

    data, depth: how many columns are data, and coordinates of times.
    """

    def __init__(self, data: int, depth: int) -> None:
        self.data, self.depth = data, depth
        self.added = 0
        """How many batches were added."""
        self._parts: list[_Whole | _Merge] = []
        self._since = np.zeros((1, depth), np.int64)
        self._apart: int | None = None
        self._tables: dict[int, tuple[np.ndarray, list[Sealed]]] = {}

    @property
    def columns(self) -> int:
        """How many a batch has: data, the coordinates of times, multiplicities."""
        return self.data + self.depth + 1

    @property
    def rows(self) -> int:
        """How many updates are kept."""
        return sum([part.rows for part in self._parts])

    @property
    def size_bytes(self) -> int:
        """What they take; merges under way count with all that they will."""
        return sum([8 * self.columns * part.rows * (2 if isinstance(part, _Merge) else 1) for part in self._parts])

    def batches(self, before: int | None = None) -> list[Sealed]:
        """The batches to be read, the oldest first; of the additions before this one, which are kept apart."""
        return self.table(before)[1]

    def table(self, before: int | None = None) -> tuple[np.ndarray, list[Sealed]]:
        """The same as a kernel sees them, int64 (batches, BATCH_WORDS), and themselves, to be kept as long as that."""
        end = self.added if before is None else before
        found = self._tables.get(end)
        if found is None:
            wholes: list[_Whole] = []
            for part in self._parts:
                wholes += [part] if isinstance(part, _Whole) else [part.left, part.right]
            wholes = [whole for whole in wholes if whole.end <= end]
            words = np.array([whole.words for whole in wholes], np.int64).reshape(len(wholes), BATCH_WORDS)
            found = self._tables[end] = words, [whole.batch for whole in wholes]
        return found

    def keep_apart(self, first: int) -> None:
        """Merge no batches of addition number `first` and later with others: somebody reads what was before."""
        self._apart = first

    def compact(self, since: Sequence[Time]) -> None:
        """Nobody asks any more for what was before `since`, an antichain; merges that begin from now on heed it."""
        self._since = np.array(since, np.int64).reshape(len(since), self.depth)

    def add(self, batch: Sealed) -> None:
        """Add updates that are later than those before; merges go on in proportion."""
        self.added += 1
        self._tables.clear()
        if batch.rows:
            self._parts.append(_Whole.of(batch, self.added))
            self.work(_LEAST_FUEL + _FUEL_A_ROW * batch.rows)

    def work(self, fuel: int) -> bool:
        """Let each merge go on for so many rows; whether any is under way still."""
        is_busy, is_done = self._begin(), False
        for at, part in enumerate(self._parts):
            if isinstance(part, _Merge):
                done = part.work(self.data, fuel)
                if done is not None:
                    self._parts[at] = done
                    is_done = True
                else:
                    is_busy = True
        if is_done:
            self._tables.clear()
            self._parts = [part for part in self._parts if part.rows]
            is_busy |= self._begin()
        return is_busy

    def _begin(self) -> bool:
        """Begin to merge neighbours that are alike, the newest first; whether there were any."""
        at, has_begun = len(self._parts) - 1, False
        while at > 0:
            older, newer = self._parts[at - 1], self._parts[at]
            if (
                isinstance(older, _Whole)
                and isinstance(newer, _Whole)
                and older.rows < _ALIKE * newer.rows
                and (self._apart is None or newer.end <= self._apart)
            ):
                self._parts[at - 1 : at + 1] = [_Merge(older, newer, self._since)]
                has_begun = True
                at -= 1
            at -= 1
        return has_begun
