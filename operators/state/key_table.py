"""How the tables in which keys are found change: twice as many cells, the dense form and back, fewer cells again."""

import numpy as np

from tokenring.engine import require_memory
from tokenring.operators.state.arithmetic import MOST
from tokenring.operators.state.cells import FULL, FULL_OF, SLOT, SPREAD, begin_settling, fill, rehash_all, settle_all
from tokenring.operators.state.keys_kernels import KeyCounts
from tokenring.operators.state.tables import FIRST_SLOTS, grown

_FIRST_CELLS = 2 * FIRST_SLOTS
_LEAST_DENSE = 1 << 10  # fewer keys are quick to find in any form
_MOST_DENSE = 1 << 30  # slots, which are int32 there
_MOST_LOOKED_AT = 1 << 14  # keys, of which it may be found that one column tells them apart
_NONE = np.zeros(0, np.int64)
_NO_DENSE = np.zeros(0, np.int32)


class KeyTable:
    """The cells and the dense form of live keys, by their tags (cells/).

    Keys are not entered anew in one go, but where those of several columns are packed anew, or are told apart by one of
    them from then on, and where the dense form is of no use any more. What passes over all cells, a nanosecond each, is
    to have fewer of them.
    """

    __slots__ = ("_cells", "_counts", "_dense", "_exact", "_meta", "_stored", "_tags")

    _cells: np.ndarray
    _counts: KeyCounts
    _dense: np.ndarray
    _exact: bool
    _meta: np.ndarray
    _stored: np.ndarray
    _tags: np.ndarray

    def _clear_table(self) -> None:
        self._cells = np.zeros(_FIRST_CELLS, np.int64)
        self._dense = _NO_DENSE

    def _more_cells(self) -> None:
        """Have room for more: in an array by key if they lie close together, in twice as many cells otherwise."""
        counts = self._counts
        if counts.to_rehash:
            rehash_all(self._cells, self._tags, self._meta)
            self._shrink()
        elif self._are_close() or self._are_told_apart():
            least, span = counts.least_tag, counts.greatest_tag - counts.least_tag + 1
            is_falling = counts.dense_room > 0 and least < counts.dense_base
            # Keys that come are greater, most often; else there is to be room below them.
            self._have_dense(max(least - span, ~MOST) if is_falling else least, 2 * span)
        elif counts.dense_room > 8 * SPREAD * counts.dense_live:  # it is of no use any more
            self._hash()
        else:
            settle_all(self._cells, self._meta)
            self._cells = grown(self._cells, len(self._cells) + 1)
            begin_settling(self._cells, self._meta)

    def _are_close(self) -> bool:
        counts = self._counts
        if not (self._exact or counts.packing_at) or counts.live < _LEAST_DENSE or counts.limit >= _MOST_DENSE:
            return False
        if counts.limit > counts.live:  # keys have left
            tags = self._tags[self.live()]
            counts.least_tag, counts.greatest_tag = int(tags.min()), int(tags.max())
        return bool(counts.greatest_tag - counts.least_tag < SPREAD * counts.live)

    def _are_told_apart(self) -> bool:
        """Whether the words of one column differ in all keys and lie close together: then they are the tags. It is
        looked at while keys are few: to pass over more costs what it saves."""
        counts = self._counts
        if not counts.packing_at or counts.told_by or not _LEAST_DENSE <= counts.live <= _MOST_LOOKED_AT:
            return False
        live = self.live()
        for column in range(self._stored.shape[1]):
            words = self._stored[live, column]
            least, greatest = int(words.min()), int(words.max())
            if len(live) <= greatest - least + 1 <= SPREAD * len(live) and np.bincount(words - least).max() == 1:
                self._tags[live] = words
                counts.told_by, counts.least_tag, counts.greatest_tag = column + 1, least, greatest
                self._hash()
                return True
        return False

    def _hash(self) -> None:
        """Have no dense form, and all keys in cells."""
        live = self.live()
        counts = self._counts
        self._dense = _NO_DENSE
        counts.dense_at = counts.dense_base = counts.dense_room = counts.dense_live = counts.to_rehash = 0
        self._have_cells(live)

    def _have_cells(self, slots: np.ndarray) -> None:
        """Have new cells, for these slots."""
        counts = self._counts
        rows = _FIRST_CELLS
        while FULL * rows <= FULL_OF * len(slots):
            rows *= 2
        require_memory(8 * rows)
        self._cells = grown(_NONE, rows)  # where a large one takes memory as it fills, and grows without a copy
        counts.half = counts.split = counts.shrinks = 0
        fill(self._cells, self._meta, self._tags, slots)

    def _have_dense(self, base: int, room: int) -> None:
        """Have a dense form, or one of other bounds, within which all keys of it are; those in cells will move."""
        counts = self._counts
        settle_all(self._cells, self._meta)
        if base == counts.dense_base and counts.dense_room:
            dense = grown(self._dense, room)
        else:
            dense = grown(_NO_DENSE, room)
            first = max(base, counts.dense_base)
            behind = min(base + room, counts.dense_base + counts.dense_room)
            if first < behind:
                kept = self._dense[first - counts.dense_base : behind - counts.dense_base]
                dense[first - base : behind - base] = kept
        self._dense = dense
        counts.dense_at, counts.dense_base, counts.dense_room = dense.ctypes.data, base, room
        counts.to_rehash = len(self._cells)

    def _shrink(self) -> None:
        """Have as many cells as those keys need that are not in the dense form."""
        is_empty = self._counts.live == self._counts.dense_live
        self._have_cells(_NONE if is_empty else (self._cells[self._cells != 0] & SLOT) - 1)

    def live(self) -> np.ndarray:
        """The slots of all live keys, in no order: int64 (len,)."""
        dense = self._dense[self._dense != 0].astype(np.int64)
        return np.concatenate((dense, self._cells[self._cells != 0] & SLOT)) - 1
