"""Counts and sums by key: finished rows are added, time by time, and what they change is sent."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    FAILED,
    NEEDS_ROOM,
    column_of,
    deallocate,
    fail,
    new_message,
    record_of,
    send,
    shorten,
    table_at,
    words_at,
)
from tokenring.operators.collections.compiled.faults import FAULT_WORDS, fault_row
from tokenring.operators.collections.compiled.pending import (
    COLUMNS,
    HELD,
    KINDS,
    PENDING,
    PENDING_WORDS,
    ROOM,
    ROWS,
    are_all_finished,
    give_pending,
    take_back,
    take_finished,
)
from tokenring.operators.collections.updates import DONE as ALL_DONE
from tokenring.operators.collections.updates import (
    FIRST_PART,
    HOW,
    LARGE,
    NO_SUM,
    OVERFLOW,
    PRESENT_PART,
    SUMMED,
    SUMMED_WORDS,
    TOO_MANY,
    TOTAL_WORDS,
    add_word,
    added,
    new_block,
    sort_rows,
    totals_of_sums,
)
from tokenring.operators.collections.words import KIND_WORDS, is_null
from tokenring.operators.state import (
    NUMBERS_WORDS,
    PLACES,
    SOURCE_WORDS,
    KeyMap,
    forget_slots,
    have_column,
    key_column,
    number_rows,
)

# Words of the state, behind those of what is pending. KEY_COUNT: how many columns are keys. SUMMED_AT, SUMMED_COUNT;
# TOTALS, TOTAL_COUNT: what is summed and what is made of it, as `to_parts` and `reduce_keys` have them. WIDTH: how many
# sums a key has, at SUMS_AT by slot; STAMPS: by slot, the number of the time of its last change, NUMBER the one that is
# looked at; SCRATCH: room for BLOCK rows. DUE: the block of finished rows, in order of their times, DUE_ROWS of them
# in room for DUE_ROOM; DUE_AT: where it goes on. TOUCHED: the block of the slots that change at the time, with what
# they had before, TOUCHED_COUNT of them, of which SENT were sent. WRONG: the address of KEY_COUNT words for the key of
# an error. LACKS_TEXTS: whether it is texts that have no room. TOUCHED_ROOM: of how many keys there is room in TOUCHED;
# TOUCHED_TIME: the time at which they change. IS_EARLY: whether the due rows are of a time of which more may come, but
# none of earlier ones: they are added as they come, and what they change is sent once the time is finished. FAULTS_AT:
# where the words of faults begin.
(
    KEY_COUNT, SUMMED_AT, SUMMED_COUNT, TOTALS, TOTAL_COUNT, WIDTH, SUMS_AT, STAMPS, SCRATCH, DUE, DUE_ROWS, DUE_AT,
    TOUCHED, TOUCHED_COUNT, SENT, NUMBER, WRONG, LACKS_TEXTS,
    DUE_ROOM, TOUCHED_ROOM, TOUCHED_TIME, IS_EARLY,
) = range(PENDING_WORDS, PENDING_WORDS + 22)  # fmt: skip
FAULTS_AT = PENDING_WORDS + 22
NUMBERS = FAULTS_AT + FAULT_WORDS
WORDS = NUMBERS + NUMBERS_WORDS
BLOCK = 1 << 10
_SLOTS, _FRESH, _FRESH_ROWS, _WANTED, SOURCES = range(5)  # rows of the scratch
_MOST_SENT = 1 << 13  # keys in a message
_AT_ONCE = 1 << 16  # rows and keys in one run


@kernel
def _due(state):  # type: ignore[no-untyped-def]
    return table_at(state[DUE], state[COLUMNS], state[DUE_ROOM])


@kernel
def _touched(state):  # type: ignore[no-untyped-def]
    """A row for each key that changes: its slot, and its sums before."""
    return table_at(state[TOUCHED], state[TOUCHED_ROOM], 1 + state[WIDTH])


@kernel
def _sums(state):  # type: ignore[no-untyped-def]
    return table_at(state[SUMS_AT], state[NUMBERS + PLACES], state[WIDTH])


@kernel
def _is_in_order(times, rows):  # type: ignore[no-untyped-def]
    is_in_order = True
    for row in range(1, rows):
        is_in_order &= times[row - 1] <= times[row]
    return is_in_order


@kernel
def begin(state):  # type: ignore[no-untyped-def]
    """Begin with the due rows; with keys that rows of their time touched before, if some did."""
    state[DUE_AT] = state[SENT] = 0
    if state[TOUCHED_COUNT] == 0:
        state[NUMBER] += 1
    needed = state[TOUCHED_COUNT] + state[DUE_ROWS]
    if needed > state[TOUCHED_ROOM] or state[TOUCHED] == 0:
        before, count, room = state[TOUCHED], state[TOUCHED_COUNT], max(needed, 2 * state[TOUCHED_COUNT])
        address = new_block(1 + state[WIDTH], room)
        if before != 0:
            table_at(address, room, 1 + state[WIDTH])[:count] = _touched(state)[:count]
            deallocate(before)
        state[TOUCHED], state[TOUCHED_ROOM] = address, room


@kernel
def begin_due(state, frontier):  # type: ignore[no-untyped-def]
    """Have the rows that are before the frontier looked at, in order of their times. Of many, which all are and are in
    order, no copy is made: to touch so much new memory costs more than to add them up."""
    if state[ROWS] >= LARGE and are_all_finished(state, frontier):
        times = table_at(state[PENDING], state[COLUMNS], state[ROOM])[state[COLUMNS] - 2]
        if _is_in_order(times, state[ROWS]):
            state[DUE], state[DUE_ROOM], state[DUE_ROWS] = give_pending(state)
            begin(state)
            return
    finished = take_finished(state, frontier)
    columns, rows = finished.shape
    state[DUE], state[DUE_ROOM], state[DUE_ROWS] = new_block(columns, rows), rows, rows
    begin(state)
    due, times = _due(state), finished[columns - 2]
    if _is_in_order(times, rows):
        due[:] = finished
        return
    by_time, order = np.empty((1, rows), np.int64), np.empty(rows, np.int64)
    by_time[0] = times
    sort_rows(by_time, 1, order)
    for column in range(columns):
        for row in range(rows):
            due[column, row] = finished[column, order[row]]


@kernel
def _end_of_time(state, due):  # type: ignore[no-untyped-def]
    """Where the next rows of one time end, of a block at most."""
    times, stop = due[state[COLUMNS] - 2], state[DUE_AT]
    most = min(state[DUE_ROWS], stop + BLOCK)
    while stop < most and times[stop] == times[state[DUE_AT]]:
        stop += 1
    return stop


@kernel
def _add_rows(state, due, slots, start, stop):  # type: ignore[no-untyped-def]
    """Add rows to the sums of their keys; of each key that had not changed at this time, what it had is noted. (DONE or
    what is wrong, the slot of the key where it is)."""
    sums, stamps, touched = _sums(state), words_at(state[STAMPS], state[NUMBERS + PLACES]), _touched(state)
    summed = table_at(state[SUMMED_AT], state[SUMMED_COUNT], SUMMED_WORDS)
    kinds = table_at(state[KINDS], state[COLUMNS], KIND_WORDS)
    often, width = due[state[COLUMNS] - 1], state[WIDTH]
    for row in range(start, stop):
        slot, times = slots[row - start], often[row]
        own = sums[slot]
        if stamps[slot] != state[NUMBER]:
            stamps[slot] = state[NUMBER]
            before = touched[state[TOUCHED_COUNT]]
            before[0] = slot
            for at in range(width):
                before[1 + at] = own[at]
            state[TOUCHED_COUNT] += 1
        own[0], carry = added(own[0], times)
        if carry != 0:
            return TOO_MANY, slot
        for each in range(len(summed)):
            column = summed[each, SUMMED]
            word = due[column, row]
            if is_null(kinds, column, word):
                continue
            if summed[each, PRESENT_PART] >= 0:
                own[summed[each, PRESENT_PART]] += times
            how = summed[each, HOW]
            if how != NO_SUM and not add_word(how, own, summed[each, FIRST_PART], word, times):
                return OVERFLOW, slot
    return ALL_DONE, np.int64(0)


@kernel
def _fail_at(world, me, state, slot, wrong, time):  # type: ignore[no-untyped-def]
    """Note what is wrong with a key at a time; FAILED."""
    keys = state[KEY_COUNT]
    for column in range(keys):
        words_at(state[WRONG], keys)[column] = key_column(record_of(state[NUMBERS:], KeyMap), column)[slot]
    fail(world, me, -1, wrong, time, 0)
    return FAILED


@kernel
def _add_some(world, me, state, due, stop):  # type: ignore[no-untyped-def]
    """Number the keys of rows AT..stop and add these up; DONE, NEEDS_ROOM if there was none for all, or FAILED."""
    start, keys = state[DUE_AT], state[KEY_COUNT]
    rows, scratch = stop - start, table_at(state[SCRATCH], SOURCES, BLOCK)
    slots, fresh, fresh_rows = scratch[_SLOTS, :rows], scratch[_FRESH, :rows], scratch[_FRESH_ROWS, :rows]
    if keys == 1:
        none = table_at(state[SCRATCH], 0, SOURCE_WORDS)
        done, more = number_rows(record_of(state[NUMBERS:], KeyMap), none, due[0, start:stop], slots, fresh, fresh_rows)
    else:
        sources = table_at(state[SCRATCH] + 8 * SOURCES * BLOCK, keys, SOURCE_WORDS)
        for column in range(keys):
            have_column(sources, column, due[column, start:stop])
        done, more = number_rows(
            record_of(state[NUMBERS:], KeyMap), sources, scratch[_WANTED, :rows], slots, fresh, fresh_rows
        )
    sums, stamps = _sums(state), words_at(state[STAMPS], state[NUMBERS + PLACES])
    for i in range(more):
        sums[fresh[i]] = 0
        stamps[fresh[i]] = -1
    wrong, slot = _add_rows(state, due, slots, start, start + done)
    if wrong != ALL_DONE:
        return _fail_at(world, me, state, slot, wrong, state[TOUCHED_TIME])
    state[DUE_AT] = start + done
    return DONE if done == rows else NEEDS_ROOM


@kernel
def _write_row(state, message, at, slot, totals, time, times):  # type: ignore[no-untyped-def]
    keys, outputs = state[KEY_COUNT], len(totals) - 1
    for column in range(keys):
        column_of(message, column)[at] = key_column(record_of(state[NUMBERS:], KeyMap), column)[slot]
    for column in range(outputs):
        column_of(message, keys + column)[at] = totals[column, 0]
    column_of(message, keys + outputs)[at], column_of(message, keys + outputs + 1)[at] = time, times


@kernel
def _send_changes(world, me, state):  # type: ignore[no-untyped-def]
    """Send how the totals of some keys change at the time of the rows that were added; note keys that have none."""
    keys, sums, touched = state[KEY_COUNT], _sums(state), _touched(state)
    totals = table_at(state[TOTALS], state[TOTAL_COUNT], TOTAL_WORDS)
    before, after = np.empty((len(totals) + 1, 1), np.int64), np.empty((len(totals) + 1, 1), np.int64)
    stop = min(state[TOUCHED_COUNT], state[SENT] + _MOST_SENT)
    message, made = new_message(world, me, 0, 2 * (stop - state[SENT])), 0
    time = state[TOUCHED_TIME]
    gone, left = np.empty(stop - state[SENT], np.int64), 0
    for at in range(state[SENT], stop):
        slot = touched[at, 0]
        was, was_wrong = totals_of_sums(touched[at, 1:], totals, before)
        there, is_wrong = totals_of_sums(sums[slot], totals, after)
        if is_wrong != was_wrong:
            fault = fault_row(state, FAULTS_AT)
            for column in range(keys):
                fault[column] = key_column(record_of(state[NUMBERS:], KeyMap), column)[slot]
            fault[keys], fault[keys + 1] = time, is_wrong
        is_same = was == there
        for total in range(len(totals)):
            is_same &= before[total, 0] == after[total, 0]
        if there == 0 and is_wrong == ALL_DONE:
            gone[left] = slot
            left += 1
        if is_same or was + there == 0:
            continue
        if was:
            _write_row(state, message, made, slot, before, time, -1)
            made += 1
        if there:
            _write_row(state, message, made, slot, after, time, 1)
            made += 1
    if made > 0:
        shorten(message, made)
        send(world, me, state[HELD], message, time)
    forget_slots(record_of(state[NUMBERS:], KeyMap), gone[:left])
    state[SENT] = stop


@kernel
def go_on_with_due(world, me, state):  # type: ignore[no-untyped-def]
    """Look at finished rows, time by time."""
    due, done = _due(state), 0
    times = due[state[COLUMNS] - 2]
    while state[DUE_AT] < state[DUE_ROWS] or state[TOUCHED_COUNT] > 0:
        while state[DUE_AT] < state[DUE_ROWS]:
            if state[TOUCHED_COUNT] > 0 and times[state[DUE_AT]] != state[TOUCHED_TIME]:
                break
            state[TOUCHED_TIME] = times[state[DUE_AT]]
            done += BLOCK
            if done > _AT_ONCE:
                return AGAIN
            status = _add_some(world, me, state, due, _end_of_time(state, due))
            if status != DONE:
                return status
        if state[IS_EARLY]:
            break
        while state[SENT] < state[TOUCHED_COUNT]:
            done += _MOST_SENT
            if done > _AT_ONCE:
                return AGAIN
            _send_changes(world, me, state)
        state[TOUCHED_COUNT] = state[SENT] = 0
        state[NUMBER] += 1
    if state[IS_EARLY]:
        take_back(state, state[DUE], state[DUE_ROOM])
        state[DUE] = state[IS_EARLY] = 0
        return DONE
    deallocate(state[DUE])
    deallocate(state[TOUCHED])
    state[DUE] = state[TOUCHED] = state[TOUCHED_ROOM] = 0
    return DONE
