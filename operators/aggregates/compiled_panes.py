"""Panes in the worker's inner loop: state by (pane end, key), the panes that are open, and rows that fold into them."""

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import DONE, FAILED, NEEDS_ROOM, column_of, entry, fail, rows_of, table_at, words_at
from tokenring.operators.aggregates.local_panes import cut_runs
from tokenring.operators.folds import (
    BLOCK,
    COLUMN,
    FOLDS_WORDS,
    NO_ROOM,
    OPERATION,
    accumulated,
    bounds,
    fold_block,
    fold_inside,
    fold_stretches,
    folds_of,
    start_slot,
)
from tokenring.operators.mechanisms import MADE, MESSAGE, driven, own_words
from tokenring.operators.state import (
    LEAST,
    NUMBERS_WORDS,
    PLACES,
    SOURCE_WORDS,
    forget_slots,
    have_column,
    key_column,
    live_of,
    number_rows,
    pop,
    push,
    with_key_words,
)
from tokenring.operators.time import fill_ends

# Words of its own: where keys, panes and folds are. FIRST, LAST, MEMBERS: by open pane its first and its last slot,
# each plus one, and how many there are; FOLLOWING: by slot the next one, plus one. HEAP: the open panes' ends. BY: the
# columns of the key among those that arrive. ROW: the row to go on with after there was no room. RUN_END, RUN_SLOT: the
# pane of the last run of all, and its slot. PANE_END, PANE_NUMBER: the pane that was looked up last. KEY_WORDS: where
# the key's KeyWords are. COLUMNS: how many columns arrive. EVERY: 0 where a pane is a window; else INSIDE panes are
# inside the window at hand and not in the heap, FRONT plus one the first of them, and DONE_END is the end of the last
# window that was sent.
KEYS = 0
PANES = KEYS + NUMBERS_WORDS
FOLDED = PANES + NUMBERS_WORDS
FIRST, LAST, MEMBERS, FOLLOWING, HEAP, BY, BY_COUNT, SOURCES, SCRATCH, TIME, STEP, OFFSET, LATENESS, CLOSED, ROW, \
    RUN_END, RUN_SLOT, PANE_END, PANE_NUMBER, WIDTH, WITH_START, WITH_END, WITH_ALL, KEY_WORDS, COLUMNS, EVERY, \
    INSIDE, FRONT, DONE_END = range(FOLDED + FOLDS_WORDS, FOLDED + FOLDS_WORDS + 29)  # fmt: skip
OWN_WORDS = DONE_END + 1
# Behind them, of sliding windows: where groups and their folds are. GROUP_OF: by slot of a pane that is inside. USES:
# by group, in how many panes inside it is. BEHIND: by pane that is inside the next one, plus one; BACK: the last one,
# plus one. ENTERING: the slot, plus one, with which the pane that comes in is to be gone on with after there was no
# room. MOVES: whether groups' state is moved on from window to window.
GROUPS = OWN_WORDS
MERGED = GROUPS + NUMBERS_WORDS
GROUP_OF, USES, BEHIND, BACK, ENTERING, SLIDING_SCRATCH, MOVES = range(MERGED + FOLDS_WORDS, MERGED + FOLDS_WORDS + 7)
SLIDING_WORDS = MOVES + 1
_CAPACITY = PANES + PLACES
_ENDS, _WANTED, _SLOTS, _FRESH, _FRESH_ROWS, _CHOSEN, _PICKED, _NUMBERS = range(8)
SCRATCH_ROWS, SCRATCH_WORDS = 8, BLOCK + 8
_RUNS = 64
TOO_LATE, _OVERFLOW = -1, -2


@kernel
def pane_words(own, which):  # type: ignore[no-untyped-def]
    """FIRST, LAST or MEMBERS of open panes."""
    return words_at(own[which], own[_CAPACITY])


@kernel
def heap_of(own):  # type: ignore[no-untyped-def]
    """The open panes that are not inside a window: rows of (end, number), the least first."""
    return table_at(own[HEAP], own[_CAPACITY], 2)


@kernel
def heaped(own):  # type: ignore[no-untyped-def]
    """How many panes are in the heap."""
    return live_of(own, PANES) - own[INSIDE]


@kernel
def least_end(own):  # type: ignore[no-untyped-def]
    """The least end of the windows that have rows, plus the lateness that is allowed; COMPLETE if there is none."""
    if live_of(own, PANES) == 0:
        return COMPLETE
    least = heap_of(own)[0, 0]
    if own[EVERY] > 0:
        if own[INSIDE] > 0:
            least = key_column(own, PANES, 0)[own[FRONT] - 1]
        behind = own[OFFSET] + own[WIDTH]
        first = behind - (behind - least) // own[EVERY] * own[EVERY]
        least = max(first, own[DONE_END] + own[EVERY])
    return least + own[LATENESS]


@kernel
def _open_panes(own, ends, numbers, fresh):  # type: ignore[no-untyped-def]
    """Write the numbers of rows' panes, and open those that are new; False if there was no room."""
    none = table_at(own[SOURCES], 0, SOURCE_WORDS)
    for i in range(len(ends)):
        if ends[i] != own[PANE_END]:
            done, opened = number_rows(
                own, PANES, none, ends[i : i + 1], numbers[i : i + 1], fresh[0:1], fresh[1:2]
            )
            if done == 0:
                return False
            number = numbers[i]
            own[PANE_END], own[PANE_NUMBER] = ends[i], number
            if opened > 0:
                pane_words(own, FIRST)[number] = 0
                pane_words(own, LAST)[number] = 0
                pane_words(own, MEMBERS)[number] = 0
                push(heap_of(own), heaped(own) - 1, ends[i], number)
        numbers[i] = own[PANE_NUMBER]
    return True


@kernel
def _slots_of(own, keyed, at, ends, scratch):  # type: ignore[no-untyped-def]
    """Number the rows' panes and keys, new ones in the order of rows; False if there was no room, then some are. keyed:
    the message, its key in words."""
    rows = len(ends)
    numbers = scratch[_NUMBERS][:rows]
    if not _open_panes(own, ends, numbers, scratch[_FRESH]):
        return False
    wanted, sources = ends, table_at(own[SOURCES], 0, SOURCE_WORDS)
    if own[BY_COUNT] > 0:
        wanted, sources = scratch[_WANTED][:rows], table_at(own[SOURCES], own[BY_COUNT] + 1, SOURCE_WORDS)
        have_column(sources, 0, ends)
        by = words_at(own[BY], own[BY_COUNT])
        for each in range(len(by)):
            have_column(sources, each + 1, column_of(keyed, by[each])[at : at + rows])
    fresh, fresh_rows = scratch[_FRESH], scratch[_FRESH_ROWS]
    done, added = number_rows(own, KEYS, sources, wanted, scratch[_SLOTS][:rows], fresh[:rows], fresh_rows[:rows])
    first, last, members = pane_words(own, FIRST), pane_words(own, LAST), pane_words(own, MEMBERS)
    following = words_at(own[FOLLOWING], own[KEYS + PLACES])
    for i in range(added):
        slot, pane = fresh[i], numbers[fresh_rows[i]]
        start_slot(own, FOLDED, slot)
        following[slot] = 0
        if last[pane] == 0:
            first[pane] = slot + 1
        else:
            following[last[pane] - 1] = slot + 1
        last[pane] = slot + 1
        members[pane] += 1
    return done == rows


@kernel
def list_members(own, pane, slots, count):  # type: ignore[no-untyped-def]
    """Write the slots of an open pane behind the `count` there are; returns how many there are then."""
    following = words_at(own[FOLLOWING], own[KEYS + PLACES])
    slot = pane_words(own, FIRST)[pane]
    while slot != 0:
        slots[count] = slot - 1
        count += 1
        slot = following[slot - 1]
    return count


@kernel
def close_first(own):  # type: ignore[no-untyped-def]
    """The pane that ends first is open no longer."""
    heap, size = heap_of(own), live_of(own, PANES)
    pane = heap[0, 1]
    pop(heap, size)
    forget_pane(own, pane)


@kernel
def forget_pane(own, pane):  # type: ignore[no-untyped-def]
    """A pane, which is in no list any more, is open no longer."""
    number = words_at(own[SCRATCH], 1)
    number[0] = pane
    forget_slots(own, PANES, number)
    own[PANE_END], own[RUN_END] = LEAST, -1


@kernel
def _late(world, me, own, least):  # type: ignore[no-untyped-def]
    fail(world, me, TOO_LATE, least + own[LATENESS], own[CLOSED], 0)
    return FAILED


@kernel
def overflow(world, me, fold):  # type: ignore[no-untyped-def]
    """A sum, of this fold, left its range."""
    fail(world, me, _OVERFLOW, fold, 0, 0)
    return FAILED


@kernel
def _least_of(own, message):  # type: ignore[no-untyped-def]
    """The least pane end of a message's rows."""
    if own[TIME] < 0:
        return own[STEP]
    low, _ = bounds(column_of(message, own[TIME]))
    return low if own[STEP] == 0 else (low - own[OFFSET]) // own[STEP] * own[STEP] + own[OFFSET] + own[STEP]


@entry
def take_rows(world, me):  # type: ignore[no-untyped-def]
    """Fold a message's rows, by blocks. Their panes' ends come from their times, or are a column (with STEP 0)."""
    state, own = driven(world, me), own_words(world, me, OWN_WORDS)
    message = state[MESSAGE]
    rows, at = rows_of(message), own[ROW]
    scratch = table_at(own[SCRATCH], SCRATCH_ROWS, SCRATCH_WORDS)
    if rows > 0 and at == 0:
        least = _least_of(own, message)
        if least + own[LATENESS] <= own[CLOSED]:
            return _late(world, me, own, least)
    keyed = with_key_words(world, own[KEY_WORDS], message, own[COLUMNS], words_at(own[BY], own[BY_COUNT]))
    if keyed == 0:
        return NEEDS_ROOM
    while at < rows:
        stop = min(at + BLOCK, rows)
        ends = scratch[_ENDS][: stop - at]
        if own[TIME] < 0:
            ends[:] = own[STEP]
        elif own[STEP] == 0:
            ends = column_of(message, own[TIME])[at:stop]
        else:
            fill_ends(column_of(message, own[TIME])[at:stop], own[STEP], own[OFFSET], 0, ends)
        if not _slots_of(own, keyed, at, ends, scratch):
            own[ROW] = at
            return NEEDS_ROOM
        wrong = fold_block(
            own, FOLDED, message, at, scratch[_SLOTS][: stop - at], scratch[_CHOSEN], scratch[_PICKED]
        )
        if wrong == NO_ROOM:
            own[ROW] = at
            return NEEDS_ROOM
        if wrong >= 0:
            return overflow(world, me, wrong)
        at = stop
    own[ROW] = 0
    state[MADE] = least_end(own)
    return DONE


@entry
def take_runs(world, me):  # type: ignore[no-untyped-def]
    """Fold a message's rows without keys, by stretches of one pane: `LocalPanes._take_runs`."""
    state, own = driven(world, me), own_words(world, me, OWN_WORDS)
    message = state[MESSAGE]
    times, at = column_of(message, own[TIME]), own[ROW]
    scratch = table_at(own[SCRATCH], SCRATCH_ROWS, SCRATCH_WORDS)
    starts, ends, slots = scratch[_WANTED][: _RUNS + 1], scratch[_ENDS][:_RUNS], scratch[_SLOTS][:_RUNS]
    if at == 0 and own[RUN_END] >= 0 and len(times) > 0:
        folds = folds_of(own, FOLDED)
        values = times if folds[0, COLUMN] < 0 else column_of(message, folds[0, COLUMN])
        end = own[RUN_END]
        at = fold_inside(
            times, end - own[STEP], end, folds[0, OPERATION], values, accumulated(own, FOLDED), own[RUN_SLOT]
        )
        if at < 0:
            return overflow(world, me, 0)
        if at > 0:
            starts[0], starts[1], slots[0] = 0, at, own[RUN_SLOT]
            wrong = fold_stretches(own, FOLDED, message, 1, 1, starts, slots)
            if wrong >= 0:
                return overflow(world, me, wrong)
    while at < len(times):
        runs, stop = cut_runs(times, at, own[STEP], own[OFFSET], starts, ends)
        low, _ = bounds(ends[:runs])
        if low + own[LATENESS] <= own[CLOSED]:
            return _late(world, me, own, _least_of(own, message))
        if not _slots_of(own, message, at, ends[:runs], scratch):
            own[ROW] = at
            return NEEDS_ROOM
        wrong = fold_stretches(own, FOLDED, message, 0, runs, starts, slots)
        if wrong >= 0:
            return overflow(world, me, wrong)
        own[RUN_END], own[RUN_SLOT] = ends[runs - 1], slots[runs - 1]
        at = stop
    own[ROW] = 0
    state[MADE] = least_end(own)
    return DONE
