"""ValueSets: which values each slot has seen, exactly, in compiled operators, for several conditions at once.

A pair of slot and value is one word, and a cell: the pair packed, and below it a flag for each condition that it was
seen under. A slot's pairs go by its `owner`, a number of its own, so that those of a slot that is forgotten can stay
until there are enough of them to be swept out. Where pairs lie close together, the dense form has a byte of flags for
each that there could be. Values that are too far apart to be packed are numbered by Keys before.
"""

import numpy as np

from tokenring.engine import COLUMN, WORDS, Schema, kernel, void
from tokenring.engine.raw import address_of, bytes_at, words_at
from tokenring.operators.state import (
    CELLS_META,
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
    NUMBERS_WORDS,
    SPLIT,
    Keys,
    begin_settling,
    give_place,
    grown,
    link_numbers,
    mark_of,
    put,
    settle_all,
)

MOST_FLAGS = 8
"""Conditions that one set has: more are in another."""
CELLS, CELL_COUNT, SET_COLUMN, SET_FOLDS, VALUE_BASE, VALUE_BITS, LEAST_VALUE, GREATEST_VALUE, MISFIT, OWNERS, \
    OWNERS_LENGTH, PAIRS, FREE_OWNERS, OWNERS_ROOM, DEAD, IS_NUMBERED, VALUES, SET_WORDS \
    = (*range(CELLS_META, CELLS_META + 17), CELLS_META + 16 + NUMBERS_WORDS)  # fmt: skip
"""Words of a set, behind those of cells.py, of which LIMIT and FREE are about owners, LIVE about pairs. The folds that
count what is new for each flag. What values are packed above, in how many bits; between what they were, ever; whether
one did not fit. The owner of each slot, plus one, 0 for none yet; how many pairs each owner has, GONE if it is none;
the owners to be used again; for how many there is room. Pairs of owners that are gone. Whether values are numbered, and
where their keys are then."""
GONE = -1
_FIRST = 64
_LEAST_DENSE = 1 << 10  # fewer are quick to find in any form
_SPREAD = 16  # pairs among so many times as many are dense, which takes no more than cells do
_MOST_DENSE = 1 << 32  # bytes, of which only some are written to
_SPARE_BITS, _OWNER_BITS = 4, 16
_MOST_MOVED = 1 << 24  # bytes of flags


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


@kernel(void(WORDS))
def _free_owners(row):  # type: ignore[no-untyped-def]
    """Owners that are gone may be used again."""
    pairs, free = words_at(row[PAIRS], row[OWNERS_ROOM]), words_at(row[FREE_OWNERS], row[OWNERS_ROOM])
    for owner in range(row[LIMIT]):
        if pairs[owner] == GONE:
            pairs[owner] = 0
            give_place(free, row, owner)


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
        if row[FREE] == 0 and row[LIMIT] == len(self._pairs):
            if 2 * row[DEAD] >= row[LIVE] > 0:
                self._arrange()
            else:
                self._pairs, self._free = (grown(each, len(each) + 1) for each in (self._pairs, self._free))
        self._link()
        if row[MISFIT] or (len(self._pairs) - 1) >> (63 - int(row[FLAG_BITS]) - int(row[VALUE_BITS])) > 0:
            row[MISFIT] = 0
            self._arrange()
        elif len(self._dense):
            room = len(self._pairs) << int(row[VALUE_BITS])
            if len(self._dense) < room and self._is_dense(int(row[LIVE] - row[DEAD])):
                self._dense = grown(self._dense, room)
            elif len(self._dense) < room:
                self._arrange()
        elif FULL_OF * row[LIVE] >= FULL * len(self._cells):
            if 2 * row[DEAD] >= row[LIVE] or self._is_dense(int(row[LIVE] - row[DEAD])):
                self._arrange()
            else:
                settle_all(self._cells, row)
                self._cells = grown(self._cells, len(self._cells) + 1)
                begin_settling(self._cells, row)
        self._link()

    def _is_dense(self, pairs: int) -> bool:
        row = self._row
        span = int(row[GREATEST_VALUE]) - int(row[LEAST_VALUE]) + 1
        return (
            pairs >= _LEAST_DENSE
            and int(row[LIMIT]) * span <= _SPREAD * pairs
            and len(self._pairs) << int(row[VALUE_BITS]) <= _MOST_DENSE
        )

    def _live(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of all pairs whose owner is not gone: owner, value as it is packed, and flags."""
        row = self._row
        if len(self._dense):
            limit, bits = int(row[LIMIT]), int(row[VALUE_BITS])
            first, last = (int(row[each]) - int(row[VALUE_BASE]) for each in (LEAST_VALUE, GREATEST_VALUE))
            used = self._dense[: limit << bits].reshape(limit, -1)[:, max(first, 0) : last + 1]
            owners, parts = np.nonzero(used)
            flags = used[owners, parts].astype(np.int64)
            tags = owners << bits | (parts + max(first, 0))
        else:
            cells = self._cells[self._cells != 0]
            tags, flags = cells >> row[FLAG_BITS], cells & ((1 << int(row[FLAG_BITS])) - 1)
        owners, values = tags >> row[VALUE_BITS], tags & ((1 << int(row[VALUE_BITS])) - 1)
        there = self._pairs[owners] != GONE
        return owners[there], values[there], flags[there]

    def _arrange(self) -> None:
        """Enter all pairs anew, without those of owners that are gone, packed so that all that came fit."""
        if self._widened():
            return
        row = self._row
        owners, parts, flags = self._live()
        values = parts + row[VALUE_BASE]
        _free_owners(row)
        if not self._fit():
            if self._values is not None:
                raise MemoryError("too many values of too many keys to count in one worker; have more workers")
            self._values = Keys(Schema("value"), ("value",))
            values = self._values.slots_of(values)
            row[LEAST_VALUE], row[GREATEST_VALUE] = 0, max(self._values.limit, 1)
            self._fit()
        elif self._values is not None:
            known = self._values.live()
            self._values.remove(known[~np.isin(known, values)])
        row[LIVE], row[DEAD] = len(values), 0
        row[HALF] = row[SPLIT] = 0
        is_dense = self._is_dense(len(values))
        cells = _FIRST
        while not is_dense and FULL * cells <= FULL_OF * len(values):
            cells *= 2
        self._cells = np.zeros(cells, np.int64)
        self._dense = np.zeros(0, np.uint8)
        if is_dense:
            self._dense = grown(self._dense, len(self._pairs) << int(row[VALUE_BITS]))
        self._link()
        _enter(row, owners << row[VALUE_BITS] | (values - row[VALUE_BASE]), flags)

    def _widened(self) -> bool:
        """Let values that are greater than any before fit into the dense form, if that is all there is to do: all
        flags but the first owner's move as they are. Whether it was."""
        row, limit = self._row, int(self._row[LIMIT])
        bits, base, least = int(row[VALUE_BITS]), int(row[VALUE_BASE]), int(row[LEAST_VALUE])
        wanted = (int(row[GREATEST_VALUE]) - base).bit_length()
        room = self._bits_of_values()
        if not len(self._dense) or row[DEAD] or least < base or not bits < wanted <= room:
            return False
        row[VALUE_BITS] = min(wanted + _SPARE_BITS, room)
        if (limit - 1) << bits > _MOST_MOVED or not self._is_dense(int(row[LIVE])):
            row[VALUE_BITS] = bits
            return False
        self._dense = grown(self._dense, len(self._pairs) << int(row[VALUE_BITS]))
        for owner in range(limit - 1, 0, -1):  # the last one first, into bytes that nobody has
            origin = self._dense[owner << bits : owner + 1 << bits][least - base :]
            target = owner << int(row[VALUE_BITS])
            self._dense[target + least - base :][: len(origin)] = origin
            origin[:] = 0
        self._link()
        return True

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
