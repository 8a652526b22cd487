"""Sets of different values in compiled operators: what is new for which condition, in one pass."""

import numpy as np

from tokenring.engine import COLUMN, WORDS, boolean, int64, kernel
from tokenring.engine.compiled import column_of, table_at, words_at
from tokenring.engine.raw import bytes_at, prefetch
from tokenring.operators.folds.compiled_tables import (
    FLAG,
    NULL,
    NULLABLE,
    SET,
    SET_SCRATCH,
    SET_SCRATCH_ROWS,
    WHERE,
    accumulated,
    folds_of,
    sets_of,
)
from tokenring.operators.folds.kernels import BLOCK
from tokenring.operators.folds.sets import (
    CELL_COUNT,
    CELLS,
    DEAD,
    FREE_OWNERS,
    GONE,
    GREATEST_VALUE,
    IS_NUMBERED,
    LEAST_VALUE,
    MISFIT,
    OLD,
    OWNERS,
    OWNERS_LENGTH,
    OWNERS_ROOM,
    PAIRS,
    SET_COLUMN,
    SET_FOLDS,
    VALUE_BASE,
    VALUE_BITS,
    VALUES,
    flags_before,
    move_some,
)
from tokenring.operators.state import (
    AHEAD,
    DENSE_AT,
    DENSE_ROOM,
    FLAG_BITS,
    FREE,
    FULL,
    FULL_OF,
    HALF,
    LIMIT,
    LIVE,
    SETTLED_AT_ONCE,
    SOURCE_WORDS,
    first_homes,
    mixed,
    number_rows,
    settle,
    take_place,
)

_ASKED, _TAGS, _OWNERS, _VALUES, _FRESH, _FRESH_ROWS = range(SET_SCRATCH_ROWS)


@kernel
def _ask(folds, number, message, start, values, asked):  # type: ignore[no-untyped-def]
    """Of each row, for which of the folds that share a set its value is to be there: their flags."""
    asked[:] = 0
    for fold in range(len(folds)):
        row = folds[fold]
        if row[SET] != number:
            continue
        flag = row[FLAG]
        if row[WHERE] >= 0:
            conditions = column_of(message, row[WHERE])[start : start + len(values)]
            for i in range(len(values)):
                asked[i] |= flag if conditions[i] == 1 else 0
        else:
            for i in range(len(values)):
                asked[i] |= flag
        if row[NULLABLE]:  # of all folds, as they share the column
            for i in range(len(values)):
                asked[i] = asked[i] if values[i] != row[NULL] else 0


@kernel
def _number_values(row, values, asked, scratch):  # type: ignore[no-untyped-def]
    """Write the numbers of the values that are asked for; False if there was no room."""
    numbers, wanted = scratch[_VALUES], scratch[_TAGS]
    found = 0
    for i in range(len(values)):
        if asked[i] != 0:
            wanted[found] = values[i]
            found += 1
    none = table_at(0, 0, SOURCE_WORDS)
    done, _ = number_rows(
        row, VALUES, none, wanted[:found], scratch[_OWNERS][:found], scratch[_FRESH], scratch[_FRESH_ROWS]
    )
    if done < found:
        return False
    found = 0
    for i in range(len(values)):
        if asked[i] != 0:
            numbers[i] = scratch[_OWNERS, found]
            found += 1
    return True


@kernel
def _own(row, slots, asked, owners):  # type: ignore[no-untyped-def]
    """Write the slots' owners, of rows that are asked for; False if there was no room."""
    owner_of, pairs = words_at(row[OWNERS], row[OWNERS_LENGTH]), words_at(row[PAIRS], row[OWNERS_ROOM])
    for i in range(len(slots)):
        owner = owner_of[slots[i]] - 1
        if owner < 0 and asked[i] != 0:
            if row[FREE] == 0 and row[LIMIT] == row[OWNERS_ROOM]:
                return False
            owner = take_place(words_at(row[FREE_OWNERS], row[OWNERS_ROOM]), row)
            owner_of[slots[i]], pairs[owner] = owner + 1, 0
        owners[i] = owner
    return True


@kernel
def _pack(row, values, asked, owners, tags):  # type: ignore[no-untyped-def]
    """Write pairs as words; False if a value that is asked for does not fit."""
    base, bits = np.uint64(row[VALUE_BASE]), np.uint64(row[VALUE_BITS])
    beyond = np.uint64(0)
    for i in range(len(values)):
        part = np.uint64(values[i]) - base
        beyond |= part >> bits if asked[i] != 0 else np.uint64(0)
        tags[i] = np.int64(np.uint64(owners[i]) << bits | part)
    least, greatest = row[LEAST_VALUE], row[GREATEST_VALUE]
    for i in range(len(values)):
        least = min(least, values[i] if asked[i] != 0 else least)
        greatest = max(greatest, values[i] if asked[i] != 0 else greatest)
    row[LEAST_VALUE], row[GREATEST_VALUE] = least, greatest
    return beyond == np.uint64(0)


@kernel
def _count(row, state, slot, fresh):  # type: ignore[no-untyped-def]
    """A value is new to the folds of these flags."""
    folds = words_at(row[SET_FOLDS], row[FLAG_BITS])
    for flag in range(len(folds)):
        state[slot, folds[flag]] += (fresh >> flag) & 1


@kernel
def _mark_dense(row, tags, asked, owners, slots, state, values):  # type: ignore[no-untyped-def]
    """Flag pairs in the dense form; False if there was no room."""
    dense, room = bytes_at(row[DENSE_AT], row[DENSE_ROOM]), row[DENSE_ROOM]
    pairs, is_moving = words_at(row[PAIRS], row[OWNERS_ROOM]), row[OLD] != 0
    for i in range(len(tags)):
        if asked[i] != 0 and tags[i] < room:
            prefetch(row[DENSE_AT] + tags[i])
    for i in range(len(tags)):
        if asked[i] == 0:
            continue
        if tags[i] >= room:
            return False
        here = np.int64(dense[tags[i]])
        before = here | flags_before(row, owners[i], values[i]) if is_moving else here
        fresh = asked[i] & ~before
        if fresh != 0:
            dense[tags[i]] = before | fresh
            row[LIVE] += here == 0
            pairs[owners[i]] += before == 0
            _count(row, state, slots[i], fresh)
    return True


@kernel
def _mark_cells(row, tags, asked, owners, slots, state, marks, values):  # type: ignore[no-untyped-def]
    """Flag pairs in cells; False if there was no room. marks: room for as many words."""
    cells, mask, flag_bits = words_at(row[CELLS], row[CELL_COUNT]), row[CELL_COUNT] - 1, row[FLAG_BITS]
    half, split = first_homes(cells, row)
    pairs, is_moving = words_at(row[PAIRS], row[OWNERS_ROOM]), row[OLD] != 0
    for first in range(0, len(tags), AHEAD):
        last = min(first + AHEAD, len(tags))
        for i in range(first, last):
            marks[i] = np.int64(mixed(tags[i]) >> np.uint64(32))
            low = marks[i] & half
            prefetch(row[CELLS] + ((low if low >= split else marks[i] & mask) << 3))
        for i in range(first, last):
            if asked[i] == 0:
                continue
            at = marks[i] & half
            at = at if at >= split else marks[i] & mask
            while cells[at] != 0 and cells[at] >> flag_bits != tags[i]:
                at = (at + 1) & mask
            before = flags_before(row, owners[i], values[i]) if is_moving else np.int64(0)
            fresh = asked[i] & ~(cells[at] | before)
            if cells[at] == 0:
                if FULL_OF * row[LIVE] >= FULL * len(cells):
                    return False
                cells[at] = tags[i] << flag_bits | asked[i] | before
                row[LIVE] += 1
                pairs[owners[i]] += before == 0
                _count(row, state, slots[i], fresh)
                if row[HALF] != 0:
                    settle(cells, row, SETTLED_AT_ONCE)
                    half, split = first_homes(cells, row)
            elif fresh != 0:
                cells[at] |= fresh | before
                _count(row, state, slots[i], fresh)
    return True


@kernel
def _mark_rows(row, slots, values, asked, state, scratch):  # type: ignore[no-untyped-def]
    """Flag the values of rows as they are asked for, in the sets of their slots; False if there was no room."""
    rows = len(slots)
    tags, owners = scratch[_TAGS][:rows], scratch[_OWNERS][:rows]
    if row[IS_NUMBERED]:
        if not _number_values(row, values, asked, scratch):
            return False
        values = scratch[_VALUES][:rows]
    if not _own(row, slots, asked, owners):
        return False
    if not _pack(row, values, asked, owners, tags):
        row[MISFIT] = 1
        return False
    if row[DENSE_ROOM] > 0:
        return _mark_dense(row, tags, asked, owners, slots, state, values)
    return _mark_cells(row, tags, asked, owners, slots, state, scratch[_FRESH], values)


@kernel
def fold_sets(own, at, message, start, slots):  # type: ignore[no-untyped-def]
    """Add the values of a message's rows from `start` on to the sets of their slots; count those that are new there.
    False if there was no room: what was added then is not new the next time."""
    folds, state, sets = folds_of(own, at), accumulated(own, at), sets_of(own, at)
    scratch = table_at(own[at + SET_SCRATCH], SET_SCRATCH_ROWS, BLOCK)
    rows = len(slots)
    asked = scratch[_ASKED][:rows]
    for number in range(len(sets)):
        row = sets[number]
        if row[OLD] != 0 and not move_some(row, rows):
            return False
        values = column_of(message, row[SET_COLUMN])[start : start + rows]
        _ask(folds, number, message, start, values, asked)
        if not _mark_rows(row, slots, values, asked, state, scratch):
            return False
    return True


@kernel
def drop_sets(own, at, slots):  # type: ignore[no-untyped-def]
    """Forget all values of slots."""
    sets = sets_of(own, at)
    for number in range(len(sets)):
        row = sets[number]
        owner_of, pairs = words_at(row[OWNERS], row[OWNERS_LENGTH]), words_at(row[PAIRS], row[OWNERS_ROOM])
        for slot in slots:
            owner = owner_of[slot] - 1
            if owner >= 0:
                row[DEAD] += pairs[owner]
                pairs[owner], owner_of[slot] = GONE, 0


@kernel(boolean(WORDS, int64, int64, COLUMN, COLUMN, COLUMN))
def put_pairs(own, at, number, slots, values, flags):  # type: ignore[no-untyped-def]
    """Add values, of at most BLOCK rows, with their flags to the sets with this number, and count those that are new.
    False if there was no room: it is to be called again then, with the same rows."""
    row, scratch = sets_of(own, at)[number], table_at(own[at + SET_SCRATCH], SET_SCRATCH_ROWS, BLOCK)
    rows = len(slots)
    if row[OLD] != 0 and not move_some(row, rows):
        return False
    asked, here = scratch[_ASKED][:rows], scratch[_VALUES][:rows]
    asked[:], here[:] = flags, values
    return _mark_rows(row, slots, here, asked, accumulated(own, at), scratch)
