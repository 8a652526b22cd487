"""How the tables in which keys are found change: twice as many cells, the dense form and back, fewer cells again."""

import numpy as np

from tokenring.engine import require_memory
from tokenring.operators.state.cells import (
    DENSE_AT,
    DENSE_BASE,
    DENSE_LIVE,
    DENSE_ROOM,
    FULL,
    FULL_OF,
    GREATEST_TAG,
    HALF,
    LEAST_TAG,
    LIMIT,
    LIVE,
    MOVING,
    SHRINKS,
    SLOT,
    SPLIT,
    SPREAD,
    begin_settling,
    fill,
    move_all,
    settle_all,
)
from tokenring.operators.state.tables import grown
from tokenring.operators.state.tags import PACKING_AT

_FIRST_CELLS = 128
_LEAST_DENSE = 1 << 10  # fewer keys are quick to find in any form
_MOST_DENSE = 1 << 30  # slots, which are int32 there
_NONE = np.zeros(0, np.int64)
_NO_DENSE = np.zeros(0, np.int32)


class KeyTable:
    """The cells and the dense form of live keys, by their tags (cells/).

    Keys are not entered anew in one go, but where those of several columns are packed anew, and where the dense form is
    of no use any more. What passes over all cells, a nanosecond each, is to have fewer of them.
    """

    __slots__ = ("_cells", "_counts", "_dense", "_exact", "_meta", "_tags")

    _cells: np.ndarray
    _counts: memoryview
    _dense: np.ndarray
    _exact: bool
    _meta: np.ndarray
    _tags: np.ndarray

    def _clear_table(self) -> None:
        self._cells = np.zeros(_FIRST_CELLS, np.int64)
        self._dense = _NO_DENSE

    def _more_cells(self) -> None:
        """Have room for more: in an array by key if they lie close together, in twice as many cells otherwise."""
        counts = self._counts
        if counts[MOVING]:
            move_all(self._cells, self._tags, self._meta)
            self._shrink()
        elif self._are_close():
            room = 2 * (counts[GREATEST_TAG] - counts[LEAST_TAG] + 1)  # keys that come are greater, most often
            self._have_dense(counts[LEAST_TAG], room)
        elif counts[DENSE_ROOM] > 8 * SPREAD * counts[DENSE_LIVE]:  # it is of no use any more
            self._hash()
        else:
            settle_all(self._cells, self._meta)
            self._cells = grown(self._cells, len(self._cells) + 1)
            begin_settling(self._cells, self._meta)

    def _are_close(self) -> bool:
        counts = self._counts
        if not (self._exact or counts[PACKING_AT]) or counts[LIVE] < _LEAST_DENSE or counts[LIMIT] >= _MOST_DENSE:
            return False
        if counts[LIMIT] > counts[LIVE]:  # keys have left
            tags = self._tags[self.live()]
            counts[LEAST_TAG], counts[GREATEST_TAG] = int(tags.min()), int(tags.max())
        return bool(counts[GREATEST_TAG] - counts[LEAST_TAG] < SPREAD * counts[LIVE])

    def _hash(self) -> None:
        """Have no dense form, and all keys in cells."""
        live = self.live()
        counts = self._counts
        self._dense = _NO_DENSE
        counts[DENSE_AT] = counts[DENSE_BASE] = counts[DENSE_ROOM] = counts[DENSE_LIVE] = counts[MOVING] = 0
        self._have_cells(live)

    def _have_cells(self, slots: np.ndarray) -> None:
        """Have new cells, for these slots."""
        counts = self._counts
        rows = _FIRST_CELLS
        while FULL * rows <= FULL_OF * len(slots):
            rows *= 2
        require_memory(8 * rows)
        self._cells = np.zeros(rows, np.int64)
        counts[HALF] = counts[SPLIT] = counts[SHRINKS] = 0
        fill(self._cells, self._meta, self._tags, slots)

    def _have_dense(self, base: int, room: int) -> None:
        """Have a dense form, or one of other bounds, within which all keys of it are; those in cells will move."""
        counts = self._counts
        settle_all(self._cells, self._meta)
        if base == counts[DENSE_BASE] and counts[DENSE_ROOM]:
            dense = grown(self._dense, room)
        else:
            dense = grown(_NO_DENSE, room)
            first = max(base, counts[DENSE_BASE])
            behind = min(base + room, counts[DENSE_BASE] + counts[DENSE_ROOM])
            if first < behind:
                kept = self._dense[first - counts[DENSE_BASE] : behind - counts[DENSE_BASE]]
                dense[first - base : behind - base] = kept
        self._dense = dense
        counts[DENSE_AT], counts[DENSE_BASE], counts[DENSE_ROOM] = dense.ctypes.data, base, room
        counts[MOVING] = len(self._cells)

    def _shrink(self) -> None:
        """Have as many cells as those keys need that are not in the dense form."""
        is_empty = self._counts[LIVE] == self._counts[DENSE_LIVE]
        self._have_cells(_NONE if is_empty else (self._cells[self._cells != 0] & SLOT) - 1)

    def live(self) -> np.ndarray:
        """The slots of all live keys, in no order: int64 (len,)."""
        dense = self._dense[self._dense != 0].astype(np.int64)
        return np.concatenate((dense, self._cells[self._cells != 0] & SLOT)) - 1
