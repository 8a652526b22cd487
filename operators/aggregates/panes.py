"""Panes in the worker's inner loop: state by (pane end, key), the panes that are open, and rows that fold into them."""

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import (
    DONE,
    FAILED,
    NEEDS_ROOM,
    Record,
    Words,
    column_of,
    entry,
    fail,
    lease,
    rows_of,
    table_at,
    words_at,
    world_at,
)
from tokenring.operators.aggregates.pane_ends import cut_runs
from tokenring.operators.folds import (
    BLOCK,
    NO_ROOM,
    Folds,
    accumulated,
    bounds,
    fold_block,
    fold_inside,
    fold_stretches,
    folds_of,
    start_slot,
)
from tokenring.operators.mechanisms import driven, own_record, times_asked
from tokenring.operators.state import (
    LEAST,
    SOURCE_WORDS,
    KeyColumns,
    KeyMap,
    forget_slots,
    have_column,
    key_column,
    live_of,
    number_rows,
    pop,
    push,
    with_key_words,
)
from tokenring.operators.time import ends_by_clock, fill_ends, knows, knows_starts, longest_of

_ENDS, _WANTED, _SLOTS, _FRESH, _FRESH_ROWS, _CHOSEN, _PICKED, _NUMBERS = range(8)
SCRATCH_ROWS, SCRATCH_WORDS = 8, BLOCK + 8
_RUNS = 64
MOST_SENT = 1 << 16
"""Rows that are sent in a call, at most: what came meanwhile is looked at before the next, and what is sent stays in
memory until the round ends."""
TOO_LATE, _OVERFLOW, TOO_FAR = -1, -2, -3


class PaneTable(Record):
    """Open panes. `keys`: (pane's end, key), by slot; `open`: panes; `folds`: state, by slot. `first`, `last`,
    `members`: by open pane its first and its last slot, each plus one, and how many there are; `following`: by slot the
    next one, plus one. `heap`: the open panes' ends. `by`: the columns of the key. `row`: the row to go on with after
    there was no room. `run_end`, `run_slot`: the pane of the last run of all, and its slot. `pane_end`, `pane_number`:
    the pane that was looked up last. `key_words`: where the key's KeyWords are. `columns`: how many columns arrive.
    `clock`: where panes end by a clock, its ClockTable, else 0. `every`: 0 where a pane is a window; else `inside`
    panes are inside the window at hand and not in the heap, `front` plus one the first of them, and `done_end` is the
    end of the last window that was sent; `entering`: the slot, plus one, with which the pane that comes in is to be
    gone on with after there was no room."""

    keys: KeyMap
    open: KeyMap
    folds: Folds
    first: int
    last: int
    members: int
    following: int
    heap: int
    by: KeyColumns
    scratch: int
    time: int
    step: int
    offset: int
    lateness: int
    closed: int
    row: int
    run_end: int
    run_slot: int
    pane_end: int
    pane_number: int
    width: int
    with_start: int
    with_end: int
    with_all: int
    key_words: int
    columns: int
    clock: int
    every: int
    inside: int
    front: int
    done_end: int
    entering: int


class SlidingPanes(PaneTable):
    """Those of sliding windows. `groups`: the keys of panes that are inside; `merged`: their state. `group_of`: by slot
    of a pane that is inside. `uses`: by group, in how many panes inside it is. `behind`: by pane that is inside the
    next one, plus one; `back`: the last one, plus one. `moves`: whether groups' state is moved on from window to
    window. `unsent`: how many groups of the window at hand are still to be sent, from number `next_sent` on."""

    groups: KeyMap
    merged: Folds
    group_of: int
    uses: int
    behind: int
    back: int
    sliding_scratch: int
    moves: int
    unsent: int
    next_sent: int


@kernel
def by_pane(panes: PaneTable, address: int) -> Words:
    """`first`, `last` or `members` of open panes."""
    return words_at(address, panes.open.places)


@kernel
def heap_of(panes: PaneTable) -> Words:
    """The open panes that are not inside a window: rows of (end, number), the least first."""
    return table_at(panes.heap, panes.open.places, 2)


@kernel
def heaped(panes: PaneTable) -> int:
    """How many panes are in the heap."""
    return live_of(panes.open) - panes.inside


@kernel
def least_end(panes: PaneTable) -> int:
    """The least end of the windows that have rows, plus the lateness that is allowed; COMPLETE if there is none."""
    if live_of(panes.open) == 0:
        return COMPLETE
    least = heap_of(panes)[0, 0]
    if panes.every > 0:
        if panes.inside > 0:
            least = key_column(panes.open, 0)[panes.front - 1]
        behind = panes.offset + panes.width
        first = behind - (behind - least) // panes.every * panes.every
        least = max(first, panes.done_end + panes.every)
    return least + panes.lateness


@kernel
def _open_panes(panes: PaneTable, ends: Words, numbers: Words, fresh: Words) -> bool:
    """Write the numbers of rows' panes, and open those that are new; False if there was no room."""
    none = table_at(panes.by.sources, 0, SOURCE_WORDS)
    for i in range(len(ends)):
        if ends[i] != panes.pane_end:
            done, opened = number_rows(panes.open, none, ends[i : i + 1], numbers[i : i + 1], fresh[0:1], fresh[1:2]
            )
            if done == 0:
                return False
            number = numbers[i]
            panes.pane_end, panes.pane_number = ends[i], number
            if opened > 0:
                by_pane(panes, panes.first)[number] = 0
                by_pane(panes, panes.last)[number] = 0
                by_pane(panes, panes.members)[number] = 0
                push(heap_of(panes), heaped(panes) - 1, ends[i], number)
        numbers[i] = panes.pane_number
    return True


@kernel
def _slots_of(panes: PaneTable, keyed: int, at: int, ends: Words, scratch: Words) -> bool:
    """Number the rows' panes and keys, new ones in the order of rows; False if there was no room, then some are. keyed:
    the message, its key in words."""
    rows = len(ends)
    numbers = scratch[_NUMBERS][:rows]
    if not _open_panes(panes, ends, numbers, scratch[_FRESH]):
        return False
    wanted, sources = ends, table_at(panes.by.sources, 0, SOURCE_WORDS)
    if panes.by.count > 0:
        wanted, sources = scratch[_WANTED][:rows], table_at(panes.by.sources, panes.by.count + 1, SOURCE_WORDS)
        have_column(sources, 0, ends)
        by = words_at(panes.by.numbers, panes.by.count)
        for each in range(len(by)):
            have_column(sources, each + 1, column_of(keyed, by[each])[at : at + rows])
    fresh, fresh_rows = scratch[_FRESH], scratch[_FRESH_ROWS]
    done, added = number_rows(panes.keys, sources, wanted, scratch[_SLOTS][:rows], fresh[:rows], fresh_rows[:rows])
    first, last, members = by_pane(panes, panes.first), by_pane(panes, panes.last), by_pane(panes, panes.members)
    following = words_at(panes.following, panes.keys.places)
    for i in range(added):
        slot, pane = fresh[i], numbers[fresh_rows[i]]
        start_slot(panes.folds, slot)
        following[slot] = 0
        if last[pane] == 0:
            first[pane] = slot + 1
        else:
            following[last[pane] - 1] = slot + 1
        last[pane] = slot + 1
        members[pane] += 1
    return done == rows


@kernel
def list_members(panes: PaneTable, pane: int, slots: Words) -> None:
    """Write the slots of an open pane, as many as there is room for."""
    following = words_at(panes.following, panes.keys.places)
    slot = by_pane(panes, panes.first)[pane]
    for i in range(len(slots)):
        slots[i] = slot - 1
        slot = following[slot - 1]


@kernel
def take_members(panes: PaneTable, pane: int, slots: Words, count: int) -> int:
    """Write the slots of an open pane, which it has no longer, behind the `count` there are, as far as there is room;
    returns how many there are then."""
    first, following = by_pane(panes, panes.first), words_at(panes.following, panes.keys.places)
    slot, before = first[pane], count
    while slot != 0 and count < len(slots):
        slots[count] = slot - 1
        count += 1
        slot = following[slot - 1]
    first[pane] = slot
    by_pane(panes, panes.members)[pane] -= count - before
    if slot == 0:
        by_pane(panes, panes.last)[pane] = 0
    return count


@kernel
def close_first(panes: PaneTable) -> None:
    """The pane that ends first is open no longer."""
    heap, size = heap_of(panes), live_of(panes.open)
    pane = heap[0, 1]
    pop(heap, size)
    forget_pane(panes, pane)


@kernel
def forget_pane(panes: PaneTable, pane: int) -> None:
    """A pane, which is in no list any more, is open no longer."""
    number = words_at(panes.scratch, 1)
    number[0] = pane
    forget_slots(panes.open, number)
    panes.pane_end, panes.run_end = LEAST, -1


@kernel
def _late(world: int, me: int, panes: PaneTable, least: int) -> int:
    fail(world, me, TOO_LATE, least + panes.lateness, panes.closed, 0)
    return FAILED


@kernel
def _latest(panes: PaneTable) -> int:
    """When the last pane may end whose windows all end, lateness and all, before the end of 64 bits."""
    return COMPLETE - 1 - panes.lateness - max(panes.width - panes.step, 0)


@kernel
def _is_too_far(panes: PaneTable, high: int) -> bool:
    """Whether the window of a row of this time, which is the greatest, ends behind the end of 64 bits."""
    if panes.time < 0 or panes.step == 0:
        return False
    if panes.clock != 0:
        return high >= COMPLETE - panes.lateness - longest_of(panes.clock)
    return _end_of(panes, high) > _latest(panes)


@kernel
def _too_far(world: int, me: int, high: int) -> int:
    fail(world, me, TOO_FAR, high, 0, 0)
    return FAILED


@kernel
def overflow(world: int, me: int, fold: int) -> int:
    """A sum, of this fold, left its range."""
    fail(world, me, _OVERFLOW, fold, 0, 0)
    return FAILED


@kernel
def made_null(world: int, me: int, fold: int) -> int:
    """A result, of this fold, is the number that stands for null."""
    fail(world, me, _OVERFLOW, fold, 1, 0)
    return FAILED


@kernel
def _fill_ends(panes: PaneTable, times: Words, ends: Words) -> None:
    """Write the ends of the panes that times are in."""
    if panes.clock != 0:
        ends_by_clock(panes.clock, times, ends)
    else:
        fill_ends(times, panes.step, panes.offset, 0, ends)


@kernel
def _between(panes: PaneTable, message: int) -> tuple[int, int]:
    """The least and the greatest of the times that rows' panes are told by, where they are."""
    if panes.time < 0:
        return 0, 0
    return bounds(column_of(message, panes.time))


@kernel
def _knows_bounds(panes: PaneTable, low: int, high: int) -> bool:
    """Whether the bounds of the panes of times between these, or that end then, can be told."""
    if panes.clock == 0:
        return True
    return knows_starts(panes.clock, low, high) if panes.step == 0 else knows(panes.clock, low, high)


@kernel
def _end_of(panes: PaneTable, time: int) -> int:
    """The end of the pane of a row by what its pane is told by."""
    if panes.time < 0:
        return panes.step
    if panes.step == 0:
        return time
    end = words_at(panes.scratch, 2)
    end[0] = time
    _fill_ends(panes, end[:1], end[1:])
    return end[1]


@entry
def ask_ends(world: int, me: int) -> int:
    """Ask for the ends of the windows that a message's rows are in, of each run of rows of one pane once."""
    state, panes = driven(world, me), own_record(world, me, PaneTable)
    rows = rows_of(state.message)
    if panes.time < 0 or rows == 0:
        times_asked(world, me, min(rows, 1))[:] = panes.step + panes.lateness
        return DONE
    windows = 1 if panes.every == 0 else panes.width // panes.every + 1
    low, high = _between(panes, state.message)
    if _is_too_far(panes, high):  # which is said where they are taken
        times_asked(world, me, 0)
        return DONE
    asked, count = times_asked(world, me, rows * windows), 0
    if not _knows_bounds(panes, low, high):
        return NEEDS_ROOM
    ends = column_of(state.message, panes.time)
    if panes.step > 0:
        ends = words_at(lease(world_at(world), 8 * rows), rows)
        _fill_ends(panes, column_of(state.message, panes.time), ends)
    for row in range(rows):
        if row > 0 and ends[row] == ends[row - 1]:
            continue
        end, stop, step = ends[row], ends[row] + 1, 1
        if panes.every > 0:
            behind, step = panes.offset + panes.width, panes.every
            end, stop = behind - (behind - end) // step * step, end + panes.width
        while end < stop:
            asked[count] = end + panes.lateness
            count += 1
            end += step
    state.asked_count = count
    return DONE


@entry
def take_rows(world: int, me: int) -> int:
    """Fold a message's rows, by blocks. Their panes' ends come from their times, or are a column (with STEP 0)."""
    state, panes = driven(world, me), own_record(world, me, PaneTable)
    message = state.message
    rows, at = rows_of(message), panes.row
    scratch = table_at(panes.scratch, SCRATCH_ROWS, SCRATCH_WORDS)
    if rows > 0 and at == 0:
        low, high = _between(panes, message)
        if _is_too_far(panes, high):
            return _too_far(world, me, high)
        if not _knows_bounds(panes, low, high):
            return NEEDS_ROOM
        least = _end_of(panes, low)
        if least + panes.lateness <= panes.closed:
            return _late(world, me, panes, least)
    keyed = with_key_words(world, panes.key_words, message, panes.columns, panes.by)
    if keyed == 0:
        return NEEDS_ROOM
    while at < rows:
        stop = min(at + BLOCK, rows)
        ends = scratch[_ENDS][: stop - at]
        if panes.time < 0:
            ends[:] = panes.step
        elif panes.step == 0:
            ends = column_of(message, panes.time)[at:stop]
        else:
            _fill_ends(panes, column_of(message, panes.time)[at:stop], ends)
        if not _slots_of(panes, keyed, at, ends, scratch):
            panes.row = at
            return NEEDS_ROOM
        wrong = fold_block(
            world, panes.folds, message, at, scratch[_SLOTS][: stop - at], scratch[_CHOSEN], scratch[_PICKED]
        )
        if wrong == NO_ROOM:
            panes.row = at
            return NEEDS_ROOM
        if wrong >= 0:
            return overflow(world, me, wrong)
        at = stop
    panes.row = 0
    state.made = least_end(panes)
    return DONE


@entry
def take_runs(world: int, me: int) -> int:
    """Fold a message's rows without keys, by stretches of one pane: most are in that of those before them, and are only
    looked at to see that, block by block."""
    state, panes = driven(world, me), own_record(world, me, PaneTable)
    message = state.message
    times, at = column_of(message, panes.time), panes.row
    scratch = table_at(panes.scratch, SCRATCH_ROWS, SCRATCH_WORDS)
    starts, ends, slots = scratch[_WANTED][: _RUNS + 1], scratch[_ENDS][:_RUNS], scratch[_SLOTS][:_RUNS]
    if at == 0 and panes.run_end >= 0 and len(times) > 0:
        folds = folds_of(panes.folds)
        values = times if folds[0].column < 0 else column_of(message, folds[0].column)
        end = panes.run_end
        at = fold_inside(
            times, end - panes.step, end, folds[0].operation, values, accumulated(panes.folds),
            panes.run_slot,
        )
        if at < 0:
            return overflow(world, me, 0)
        if at > 0:
            starts[0], starts[1], slots[0] = 0, at, panes.run_slot
            wrong = fold_stretches(panes.folds, message, 1, 1, starts, slots)
            if wrong >= 0:
                return overflow(world, me, wrong)
    while at < len(times):
        runs, stop = cut_runs(times, at, panes.step, panes.offset, starts, ends)
        low, high = bounds(ends[:runs])
        if high > _latest(panes):
            return _too_far(world, me, _between(panes, message)[1])
        if low + panes.lateness <= panes.closed:
            return _late(world, me, panes, _end_of(panes, _between(panes, message)[0]))
        if not _slots_of(panes, message, at, ends[:runs], scratch):
            panes.row = at
            return NEEDS_ROOM
        wrong = fold_stretches(panes.folds, message, 0, runs, starts, slots)
        if wrong >= 0:
            return overflow(world, me, wrong)
        panes.run_end, panes.run_slot = ends[runs - 1], slots[runs - 1]
        at = stop
    panes.row = 0
    state.made = least_end(panes)
    return DONE
