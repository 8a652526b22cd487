"""Sets of different values in compiled operators: what is new for which condition, in one pass."""

from collections.abc import Sequence

from tokenring.engine import COLUMN, WORDS, boolean, int64, kernel
from tokenring.engine.compiled import Words, column_of, record_of, signed, table_at, unsigned, words_at
from tokenring.engine.raw import bytes_at, prefetch
from tokenring.operators.folds.fold_records import (
    SET_SCRATCH_ROWS,
    FoldRow,
    Folds,
    accumulated,
    folds_of,
    kept_by,
    sets_of,
)
from tokenring.operators.folds.kernels import BLOCK
from tokenring.operators.folds.sets import (
    GONE,
    ValueSet,
    ask_before,
    flags_before,
    forget_links,
    has_room_for_links,
    last_links,
    link_value,
    links_of,
    rehash_some,
)
from tokenring.operators.state import (
    AHEAD,
    FULL,
    FULL_OF,
    SETTLED_AT_ONCE,
    SOURCE_WORDS,
    first_homes,
    mixed,
    number_rows,
    settle,
    take_place,
    word_column,
)

_ASKED, _TAGS, _OWNERS, _VALUES, _FRESH, _FRESH_ROWS, _MERGED, _TARGETS = range(SET_SCRATCH_ROWS)


@kernel
def _ask(folds: Sequence[FoldRow], number: int, message: int, start: int, values: Words, asked: Words) -> None:
    """Of each row, for which of the folds that share a set its value is to be there: their flags."""
    asked[:] = 0
    for fold in range(len(folds)):
        row = folds[fold]
        if row.set != number:
            continue
        flag = row.flag
        if row.where >= 0:
            conditions = column_of(message, row.where)[start : start + len(values)]
            for i in range(len(values)):
                asked[i] |= flag if conditions[i] == 1 else 0
        else:
            for i in range(len(values)):
                asked[i] |= flag
        if row.nullable:  # of all folds, as they share the column
            for i in range(len(values)):
                asked[i] = asked[i] if values[i] != row.null else 0


@kernel
def _number_values(row: ValueSet, values: Words, asked: Words, scratch: Words) -> bool:
    """Write the numbers of the values that are asked for; False if there was no room."""
    numbers, wanted = scratch[_VALUES], scratch[_TAGS]
    found = 0
    for i in range(len(values)):
        if asked[i] != 0:
            wanted[found] = values[i]
            found += 1
    none = table_at(0, 0, SOURCE_WORDS)
    done, _ = number_rows(
        row.values, none, wanted[:found], scratch[_OWNERS][:found], scratch[_FRESH], scratch[_FRESH_ROWS]
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
def _own(row: ValueSet, slots: Words, asked: Words, owners: Words) -> bool:
    """Write the slots' owners, of rows that are asked for; False if there was no room."""
    owner_of, pairs = words_at(row.owners, row.owners_length), words_at(row.pairs, row.owners_room)
    for i in range(len(slots)):
        owner = owner_of[slots[i]] - 1
        if owner < 0 and asked[i] != 0:
            if row.free == 0 and row.limit == row.owners_room:
                return False
            owner = take_place(words_at(row.free_owners, row.owners_room), row)
            owner_of[slots[i]], pairs[owner] = owner + 1, 0
        owners[i] = owner
    return True


@kernel
def _pack(row: ValueSet, values: Words, asked: Words, owners: Words, tags: Words) -> bool:
    """Write pairs as words; False if a value that is asked for does not fit."""
    base, bits = unsigned(row.value_base), unsigned(row.value_bits)
    beyond = unsigned(0)
    for i in range(len(values)):
        part = unsigned(values[i]) - base
        beyond |= part >> bits if asked[i] != 0 else unsigned(0)
        tags[i] = signed(unsigned(owners[i]) << bits | part)
    least, greatest = row.least_value, row.greatest_value
    for i in range(len(values)):
        least = min(least, values[i] if asked[i] != 0 else least)
        greatest = max(greatest, values[i] if asked[i] != 0 else greatest)
    row.least_value, row.greatest_value = least, greatest
    return beyond == unsigned(0)


@kernel
def _count(row: ValueSet, state: Words, slot: int, fresh: int) -> None:
    """A value is new to the folds of these flags."""
    folds = words_at(row.folds, row.flag_bits)
    for flag in range(len(folds)):
        state[slot, folds[flag]] += (fresh >> flag) & 1


@kernel
def _mark_dense(
    row: ValueSet, tags: Words, asked: Words, owners: Words, slots: Words, state: Words, values: Words, words: Words
) -> bool:
    """Flag pairs in the dense form; False if there was no room. words: the values, before they were numbered."""
    dense, room = bytes_at(row.dense_at, row.dense_room), row.dense_room
    pairs, is_moving, has_links = words_at(row.pairs, row.owners_room), row.old != 0, row.links != 0
    for i in range(len(tags)):
        if asked[i] != 0 and tags[i] < room:
            prefetch(row.dense_at + tags[i])
            if is_moving:
                ask_before(row, owners[i], values[i])
    for i in range(len(tags)):
        if asked[i] == 0:
            continue
        if tags[i] >= room:
            return False
        here = signed(dense[tags[i]])
        before = here | flags_before(row, owners[i], values[i]) if is_moving else here
        fresh = asked[i] & ~before
        if fresh != 0:
            dense[tags[i]] = before | fresh
            row.live += here == 0
            pairs[owners[i]] += before == 0
            _count(row, state, slots[i], fresh)
            if has_links:
                link_value(row, slots[i], words[i], fresh)
    return True


@kernel
def _mark_cells(
    row: ValueSet, tags: Words, asked: Words, owners: Words, slots: Words, state: Words, values: Words, words: Words,
    marks: Words,
) -> bool:
    """Flag pairs in cells; False if there was no room. words: the values, before they were numbered; marks: room for as
    many words."""
    cells, mask, flag_bits = words_at(row.cells, row.cell_count), row.cell_count - 1, row.flag_bits
    half, split = first_homes(cells, row)
    pairs, is_moving, has_links = words_at(row.pairs, row.owners_room), row.old != 0, row.links != 0
    for first in range(0, len(tags), AHEAD):
        last = min(first + AHEAD, len(tags))
        for i in range(first, last):
            marks[i] = signed(mixed(tags[i]) >> unsigned(32))
            low = marks[i] & half
            prefetch(row.cells + ((low if low >= split else marks[i] & mask) << 3))
            if is_moving:
                ask_before(row, owners[i], values[i])
        for i in range(first, last):
            if asked[i] == 0:
                continue
            at = marks[i] & half
            at = at if at >= split else marks[i] & mask
            while cells[at] != 0 and cells[at] >> flag_bits != tags[i]:
                at = (at + 1) & mask
            before = flags_before(row, owners[i], values[i]) if is_moving else signed(0)
            fresh = asked[i] & ~(cells[at] | before)
            if cells[at] == 0:
                if FULL_OF * row.live >= FULL * len(cells):
                    return False
                cells[at] = tags[i] << flag_bits | asked[i] | before
                row.live += 1
                pairs[owners[i]] += before == 0
                _count(row, state, slots[i], fresh)
                if has_links:
                    link_value(row, slots[i], words[i], fresh)
                if row.half != 0:
                    settle(cells, row, SETTLED_AT_ONCE)
                    half, split = first_homes(cells, row)
            elif fresh != 0:
                cells[at] |= fresh | before
                _count(row, state, slots[i], fresh)
                if has_links:
                    link_value(row, slots[i], words[i], fresh)
    return True


@kernel
def _mark_rows(row: ValueSet, slots: Words, values: Words, asked: Words, state: Words, scratch: Words) -> bool:
    """Flag the values of rows as they are asked for, in the sets of their slots; False if there was no room."""
    rows, words = len(slots), values
    if (row.old != 0 and not rehash_some(row, rows)) or not has_room_for_links(row, rows):
        return False
    tags, owners = scratch[_TAGS][:rows], scratch[_OWNERS][:rows]
    if row.is_numbered:
        if not _number_values(row, values, asked, scratch):
            return False
        values = scratch[_VALUES][:rows]
    if not _own(row, slots, asked, owners):
        return False
    if not _pack(row, values, asked, owners, tags):
        row.misfit = 1
        return False
    if row.dense_room > 0:
        return _mark_dense(row, tags, asked, owners, slots, state, values, words)
    return _mark_cells(row, tags, asked, owners, slots, state, values, words, scratch[_FRESH])


@kernel
def fold_sets(world: int, folded: Folds, message: int, start: int, slots: Words) -> bool:
    """Add the values of a message's rows from `start` on to the sets of their slots; count those that are new there.
    False if there was no room in some: what was added then is not new the next time."""
    folds, state, sets = folds_of(folded), accumulated(folded), sets_of(folded)
    scratch = table_at(folded.set_scratch, SET_SCRATCH_ROWS, BLOCK)
    rows, had_room = len(slots), True
    asked = scratch[_ASKED][:rows]
    for number in range(len(sets)):
        row = sets[number]
        values = column_of(message, row.column)[start : start + rows]
        _ask(folds, number, message, start, values, asked)
        made = word_column(world, row.what, values, True)
        if (made == 0 and rows > 0) or not _mark_rows(row, slots, words_at(made, rows), asked, state, scratch):
            had_room = False
    return had_room


@kernel
def _merge_set(row: ValueSet, merged: ValueSet, source: Words, target: Words, state: Words, scratch: Words) -> bool:
    heads, links = last_links(row), links_of(row)
    asked, values, slots = scratch[_ASKED], scratch[_MERGED], scratch[_TARGETS]
    count = 0
    for i in range(len(source)):
        at = heads[source[i]]
        while at != 0:
            link = links[at - 1]
            asked[count], values[count], slots[count] = link.flags, link.value, target[i]
            at, count = link.before, count + 1
            if count == BLOCK:
                if not _mark_rows(merged, slots, values, asked, state, scratch):
                    return False
                count = 0
    return count == 0 or _mark_rows(merged, slots[:count], values[:count], asked[:count], state, scratch)


@kernel
def merge_sets(folded: Folds, merged_in: Folds, source: Words, target: Words) -> bool:
    """Add the values of slots to the sets of slots of another state, or of this one; count those that are new there.
    False if there was no room: what was added then is not new the next time."""
    sets, merged, state = sets_of(folded), sets_of(merged_in), accumulated(merged_in)
    scratch = table_at(folded.set_scratch, SET_SCRATCH_ROWS, BLOCK)
    for number in range(len(sets)):
        if not _merge_set(sets[number], merged[number], source, target, state, scratch):
            return False
    return True


@kernel
def clear_sets(folded: Folds) -> None:
    """No slot has any values."""
    sets = sets_of(folded)
    for number in range(len(sets)):
        row = sets[number]
        words_at(row.cells, row.cell_count)[:] = 0
        bytes_at(row.dense_at, row.dense_room)[:] = 0
        words_at(row.owners, row.owners_length)[:] = 0
        words_at(row.pairs, row.owners_room)[:] = 0
        row.live = row.dead = row.limit = row.free = row.half = row.split = row.old = 0


@kernel
def forget_state(folded: Folds, slots: Words) -> None:
    """Slots are not needed any more: their sets are empty, and they keep no texts."""
    sets = sets_of(folded)
    for number in range(len(sets)):
        row = sets[number]
        owner_of, pairs = words_at(row.owners, row.owners_length), words_at(row.pairs, row.owners_room)
        for slot in slots:
            owner = owner_of[slot] - 1
            if owner >= 0:
                row.dead += pairs[owner]
                pairs[owner], owner_of[slot] = GONE, 0
        forget_links(row, slots)
    if folded.text_count > 0:
        folds = folds_of(folded)
        for number in range(len(folds)):
            if folds[number].texts != 0:
                kept = kept_by(folded, number)
                for slot in slots:
                    kept[slot] = 0


@kernel(boolean(WORDS, int64, COLUMN, COLUMN, COLUMN))
def put_pairs(words: Words, number: int, slots: Words, values: Words, flags: Words) -> bool:
    """Add values, in words, of at most BLOCK rows, with their flags to the sets with this number, and count those that
    are new. False if there was no room: it is to be called again then, with the same rows. words: of Folds."""
    folded = record_of(words, Folds)
    row, scratch = sets_of(folded)[number], table_at(folded.set_scratch, SET_SCRATCH_ROWS, BLOCK)
    rows = len(slots)
    asked, here = scratch[_ASKED][:rows], scratch[_MERGED][:rows]
    asked[:], here[:] = flags, values
    return _mark_rows(row, slots, here, asked, accumulated(folded), scratch)
