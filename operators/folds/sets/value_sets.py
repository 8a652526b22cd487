"""ValueSets: which values each slot has seen, exactly, in compiled operators, for several conditions at once.

A pair of slot and value is one word, and a cell: the pair packed, and below it a flag for each condition that it was
seen under. A slot's pairs go by its `owner`, a number of its own, so that those of a slot that is forgotten can stay
until there are enough of them to be swept out. Where pairs lie close together, the dense form has a byte of flags for
each that there could be. Values that are too far apart to be packed are numbered by Keys before.

Where pairs are to be in another form, or packed otherwise, they move there a few with each row (moving.py). Only where
values begin to be numbered, and where numbers are to be packed otherwise, all pairs are entered at once.
"""

import numpy as np

from tokenring.engine import COLUMN, WORDS, Schema, kernel, void
from tokenring.engine.raw import address_of, bytes_at, words_at
from tokenring.operators.folds.sets.moving import begin_to_leave, free_owners, move_some
from tokenring.operators.folds.sets.pairs import list_pairs
from tokenring.operators.folds.sets.words import (
    CELL_COUNT,
    CELLS,
    DEAD,
    FIRST_PART,
    FREE_OWNERS,
    GONE,
    GREATEST_VALUE,
    IS_NUMBERED,
    LAST_PART,
    LEAST_VALUE,
    MISFIT,
    OLD,
    OWNERS,
    OWNERS_LENGTH,
    OWNERS_ROOM,
    PAIRS,
    SCAN,
    SET_COLUMN,
    SET_FOLDS,
    VALUE_BASE,
    VALUE_BITS,
    VALUES,
)
from tokenring.operators.state import (
    DENSE_AT,
    DENSE_ROOM,
    FLAG_BITS,
    FREE,
    FULL,
    FULL_OF,
    HALF,
    LEAST,
    LIMIT,
    LIVE,
    MOST,
    SPLIT,
    Keys,
    begin_settling,
    grown,
    link_numbers,
    mark_of,
    put,
    settle_all,
)

_FIRST = 64
_LEAST_DENSE = 1 << 10  # fewer are quick to find in any form
_SPREAD = 16  # pairs among so many times as many are dense, which takes no more than cells do
_MOST_DENSE = 1 << 32  # bytes, of which only some are written to
_SPARE_BITS, _OWNER_BITS = 4, 16
_ALL = 1 << 40  # rows, with which all pairs move
_FEW = 1 << 12  # pairs that move at once


@kernel(void(WORDS, COLUMN, COLUMN))
def _enter(row, tags, flags):  # type: ignore[no-untyped-def]
    """Enter pairs, packed, which are not there."""
    cells, mask = words_at(row[CELLS], row[CELL_COUNT]), row[CELL_COUNT] - 1
    dense = bytes_at(row[DENSE_AT], row[DENSE_ROOM])
    for i in range(len(tags)):
        if row[DENSE_ROOM] > 0:
            dense[tags[i]] = flags[i]
        else:
            put(cells, tags[i] << row[FLAG_BITS] | flags[i], mark_of(tags[i]) & mask, mask)


class ValueSets:
    """Sets of values, words of one column, by slot. Memory: 12 to 24 bytes a pair of slot and value, 1 to 16 where they
    lie close together."""

    def __init__(self, row: np.ndarray, column: int, folds: list[int]) -> None:
        """row: SET_WORDS zeros, for kernels. column: where the values are in messages. folds: which count them, at most
        MOST_FLAGS."""
        self._row, self._folds = row, np.array(folds, np.int64)
        self._cells, self._dense = np.zeros(_FIRST, np.int64), np.zeros(0, np.uint8)
        self._owners, self._pairs, self._free = (np.zeros(_FIRST, np.int64) for _ in range(3))
        self._values: Keys | None = None
        self._old: tuple[np.ndarray, ...] | None = None  # the words and arrays of the form that pairs move from
        row[SET_COLUMN], row[SET_FOLDS], row[FLAG_BITS] = column, address_of(self._folds), len(folds)
        row[LEAST_VALUE], row[GREATEST_VALUE] = MOST, LEAST
        self._link()

    def _link(self) -> None:
        row = self._row
        row[CELLS], row[CELL_COUNT] = address_of(self._cells), len(self._cells)
        row[DENSE_AT], row[DENSE_ROOM] = address_of(self._dense), len(self._dense)
        row[OWNERS], row[OWNERS_LENGTH] = address_of(self._owners), len(self._owners)
        row[PAIRS], row[FREE_OWNERS], row[OWNERS_ROOM] = (
            address_of(self._pairs), address_of(self._free), len(self._pairs)
        )  # fmt: skip
        if self._values is not None:
            row[IS_NUMBERED] = 1
            link_numbers(row, VALUES, self._values)

    def grow(self, limit: int) -> None:
        """Make room for slots below `limit`, and for one more value."""
        row = self._row
        self._owners = grown(self._owners, limit)
        if self._values is not None:
            self._values.grow()
        if row[OLD] and (row[MISFIT] or not move_some(row, 0)):
            self._finish()
        if row[FREE] == 0 and row[LIMIT] == len(self._pairs):
            self._pairs, self._free = (grown(each, len(each) + 1) for each in (self._pairs, self._free))
            self._link()
            if 2 * row[DEAD] >= row[LIVE] > 0 and not row[OLD]:
                self._arrange()
        self._link()
        is_settled = not row[OLD]
        if row[MISFIT] or (len(self._pairs) - 1) >> (63 - int(row[FLAG_BITS]) - int(row[VALUE_BITS])) > 0:
            self._finish()
            row[MISFIT] = 0
            self._arrange()
        elif len(self._dense):
            room = len(self._pairs) << int(row[VALUE_BITS])
            if len(self._dense) < room and not (is_settled and not self._is_dense(int(row[LIVE] - row[DEAD]))):
                self._dense = grown(self._dense, room)
            elif len(self._dense) < room:
                self._arrange()
        elif FULL_OF * row[LIVE] >= FULL * len(self._cells):
            self._finish()
            if 2 * row[DEAD] >= row[LIVE] or self._is_dense(int(row[LIVE] - row[DEAD])):
                self._arrange()
            else:
                settle_all(self._cells, row)
                self._cells = grown(self._cells, len(self._cells) + 1)
                begin_settling(self._cells, row)
        self._link()

    def out(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The values of slots, each named once, of which there are none then: the values, the flags of each and the
        position of its slot, int64 (values,)."""
        row = self._row
        self._finish()
        slots_here = np.flatnonzero(slots < len(self._owners))
        owners = self._owners[slots[slots_here]] - 1
        slots_here, owners = slots_here[owners >= 0], owners[owners >= 0]
        count = int(self._pairs[owners].sum())
        order = np.full(int(row[LIMIT]), -1, np.int64)
        order[owners] = np.arange(len(owners))
        least, greatest, base = (int(row[each]) for each in (LEAST_VALUE, GREATEST_VALUE, VALUE_BASE))
        first, last = max(least - base, 0), min(greatest - base, (1 << int(row[VALUE_BITS])) - 1)
        which, values, flags = (np.empty(count, np.int64) for _ in range(3))
        if count:
            found = list_pairs(row, owners, order, first, last, which, values, flags)
            assert found == count
        if self._values is not None:
            values = self._values.words(0)[values]
        row[DEAD] += count
        self._pairs[owners] = GONE
        self._owners[slots[slots_here]] = 0
        return values, flags, slots_here[which]

    def _is_dense(self, pairs: int) -> bool:
        row = self._row
        span = int(row[GREATEST_VALUE]) - int(row[LEAST_VALUE]) + 1
        return (
            pairs >= _LEAST_DENSE
            and int(row[LIMIT]) * span <= _SPREAD * pairs
            and len(self._pairs) << int(row[VALUE_BITS]) <= _MOST_DENSE
        )

    def _arrange(self) -> None:
        """Have another form for all pairs without those of owners that are gone, packed so that all that came fit, to
        which they begin to move."""
        row, before = self._row, self._row.copy()
        if self._values is not None or not self._fit():
            row[:] = before
            self._enter_numbers()
            return
        self._old = before, self._cells, self._dense
        if len(self._dense):
            least, greatest, base = (int(before[each]) for each in (LEAST_VALUE, GREATEST_VALUE, VALUE_BASE))
            row[FIRST_PART] = max(least - base, 0)
            row[LAST_PART] = min(greatest - base, (1 << int(before[VALUE_BITS])) - 1)
        row[OLD], row[SCAN] = address_of(before), row[FIRST_PART] if len(self._dense) else 0
        begin_to_leave(row)
        self._begin_form(int(row[LIVE] - row[DEAD]))
        row[LIVE] = 0
        if before[LIVE] <= _FEW:
            self._finish()

    def _begin_form(self, pairs: int) -> None:
        """Have an empty form with room for so many pairs, and half as many more."""
        row = self._row
        is_dense = self._is_dense(pairs)
        cells = _FIRST
        while not is_dense and 2 * FULL * cells <= 3 * FULL_OF * pairs:
            cells *= 2
        self._cells = np.zeros(cells, np.int64)
        self._dense = np.zeros(0, np.uint8)
        if is_dense:
            self._dense = grown(self._dense, len(self._pairs) << int(row[VALUE_BITS]))
        row[DEAD] = row[HALF] = row[SPLIT] = 0
        self._link()

    def _finish(self) -> None:
        """Have what is left of the pairs that move there at once."""
        row = self._row
        if row[OLD]:
            move_some(row, _ALL)
            row[OLD], self._old = 0, None
            free_owners(row)

    def _enter_numbers(self) -> None:
        """Enter all pairs anew, their values numbered."""
        row = self._row
        cells = self._cells[self._cells != 0]
        tags, flags = cells >> row[FLAG_BITS], cells & ((1 << int(row[FLAG_BITS])) - 1)
        owners, values = tags >> row[VALUE_BITS], tags & ((1 << int(row[VALUE_BITS])) - 1)
        if len(self._dense):
            limit = int(row[LIMIT])
            first, last = (int(row[each]) - int(row[VALUE_BASE]) for each in (LEAST_VALUE, GREATEST_VALUE))
            first = max(first, 0)
            used = self._dense[: limit << int(row[VALUE_BITS])].reshape(limit, -1)[:, first : last + 1]
            owners, values = np.nonzero(used)
            values, flags = values + first, used[owners, values].astype(np.int64)
        there = self._pairs[owners] >= 0
        owners, values, flags = owners[there], values[there] + row[VALUE_BASE], flags[there]
        begin_to_leave(row)
        free_owners(row)
        if self._values is None:
            self._values = Keys(Schema("value"), ("value",))
            values = self._values.slots_of(values)
            row[LEAST_VALUE] = 0
        else:
            known = self._values.live()
            self._values.remove(known[~np.isin(known, values)])
        row[GREATEST_VALUE] = max(self._values.limit, 1, row[GREATEST_VALUE] if row[IS_NUMBERED] else 0)
        if not self._fit():
            raise MemoryError("too many values of too many keys to count in one worker; have more workers")
        self._begin_form(len(values))
        row[LIVE] = len(values)
        _enter(row, owners << row[VALUE_BITS] | (values - row[VALUE_BASE]), flags)

    def _bits_of_values(self) -> int:
        """How many bits values can have, above flags and below as many owners as there is room for."""
        return 63 - int(self._row[FLAG_BITS]) - max(_OWNER_BITS, len(self._pairs).bit_length())

    def _fit(self) -> bool:
        """Choose how values are packed, with room for others; False if bits are few."""
        row = self._row
        least, greatest = int(row[LEAST_VALUE]), int(row[GREATEST_VALUE])
        if least > greatest:
            return True
        bits = (greatest - least).bit_length()
        room = self._bits_of_values()
        if bits + 2 > room:
            return False
        bits = min(bits + _SPARE_BITS, room)
        row[VALUE_BITS] = bits
        row[VALUE_BASE] = max(least - (1 << (bits - 3)), LEAST)
        return True
