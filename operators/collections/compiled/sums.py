"""Counts and sums by key: finished rows are added, time by time, and what they change is sent."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    FAILED,
    NEEDS_ROOM,
    Words,
    column_of,
    deallocate,
    fail,
    new_message,
    records_at,
    send,
    shorten,
    signed,
    table_at,
    words_at,
)
from tokenring.operators.collections.compiled.faults import FaultState, fault_row
from tokenring.operators.collections.compiled.pending import (
    Pending,
    are_all_before,
    give_pending,
    take_back,
    take_before,
)
from tokenring.operators.collections.updates import DONE as ALL_DONE
from tokenring.operators.collections.updates import (
    LARGE,
    NO_SUM,
    OVERFLOW,
    TOO_MANY,
    SummedColumn,
    TotalRule,
    add_word,
    added,
    new_block,
    sort_rows,
    totals_of_sums,
)
from tokenring.operators.collections.words import KindRow, is_null
from tokenring.operators.state import SOURCE_WORDS, KeyMap, forget_slots, have_column, key_column, number_rows


class Totaling(Pending):
    """`keys`: how many columns are keys. `summed`, `totals`: what is summed and what is made of it, as `to_parts` and
    `reduce_keys` have them. `width`: how many sums a key has, at `sums` by slot; `stamps`: by slot, the number of the
    time of its last change, `number` the one that is looked at; `scratch`: room for BLOCK rows, and two of totals.
    `due`: the block of finished rows, in order of their times, so many of them in so much room; `due_at`: where it goes
    on. `touched`: the block of the slots that change at the time, with what they had before, how many, of which `sent`
    were sent, of how many there is room, and the time at which they change. `wrong`: the address of a word a key column
    for the key of an error. `lacks_texts`: whether it is texts that have no room. `is_early`: whether the due rows are
    of a time of which more may come, but none of earlier ones: they are added as they come, and what they change is
    sent once the time is finished. `numbers`: the numbering of keys."""

    keys: int
    summed: int
    summed_count: int
    totals: int
    total_count: int
    width: int
    sums: int
    stamps: int
    scratch: int
    due: int
    due_rows: int
    due_at: int
    touched: int
    touched_count: int
    sent: int
    number: int
    wrong: int
    lacks_texts: int
    due_room: int
    touched_room: int
    touched_time: int
    is_early: int
    faults: FaultState
    numbers: KeyMap


BLOCK = 1 << 10
_SLOTS, _FRESH, _FRESH_ROWS, _WANTED, SOURCES = range(5)  # rows of the scratch
_MOST_SENT = 1 << 13  # keys in a message
_AT_ONCE = 1 << 16  # rows and keys in one run


@kernel
def _due(state: Totaling) -> Words:
    return table_at(state.due, state.columns, state.due_room)


@kernel
def _touched(state: Totaling) -> Words:
    """A row for each key that changes: its slot, and its sums before."""
    return table_at(state.touched, state.touched_room, 1 + state.width)


@kernel
def _sums(state: Totaling) -> Words:
    return table_at(state.sums, state.numbers.places, state.width)


@kernel
def _is_in_order(times: Words, rows: int) -> bool:
    is_in_order = True
    for row in range(1, rows):
        is_in_order &= times[row - 1] <= times[row]
    return is_in_order


@kernel
def begin(state: Totaling) -> None:
    """Begin with the due rows; with keys that rows of their time touched before, if some did."""
    state.due_at = state.sent = 0
    if state.touched_count == 0:
        state.number += 1
    needed = state.touched_count + state.due_rows
    if needed > state.touched_room or state.touched == 0:
        before, count, room = state.touched, state.touched_count, max(needed, 2 * state.touched_count)
        address = new_block(1 + state.width, room)
        if before != 0:
            table_at(address, room, 1 + state.width)[:count] = _touched(state)[:count]
            deallocate(before)
        state.touched, state.touched_room = address, room


@kernel
def begin_due(state: Totaling, frontier: int) -> None:
    """Have the rows that are before the frontier looked at, in order of their times. Of many, which all are and are in
    order, no copy is made: to touch so much new memory costs more than to add them up."""
    if state.rows >= LARGE and are_all_before(state, frontier):
        times = table_at(state.block, state.columns, state.room)[state.columns - 2]
        if _is_in_order(times, state.rows):
            state.due, state.due_room, state.due_rows = give_pending(state)
            begin(state)
            return
    finished = take_before(state, frontier)
    columns, rows = finished.shape
    state.due, state.due_room, state.due_rows = new_block(columns, rows), rows, rows
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
def _end_of_time(state: Totaling, due: Words) -> int:
    """Where the next rows of one time end, of a block at most."""
    times, stop = due[state.columns - 2], state.due_at
    most = min(state.due_rows, stop + BLOCK)
    while stop < most and times[stop] == times[state.due_at]:
        stop += 1
    return stop


@kernel
def _add_rows(state: Totaling, due: Words, slots: Words, start: int, stop: int) -> tuple[int, int]:
    """Add rows to the sums of their keys; of each key that had not changed at this time, what it had is noted. (DONE or
    what is wrong, the slot of the key where it is)."""
    sums, stamps, touched = _sums(state), words_at(state.stamps, state.numbers.places), _touched(state)
    summed = records_at(state.summed, state.summed_count, SummedColumn)
    kinds = records_at(state.kinds, state.columns, KindRow)
    often, width = due[state.columns - 1], state.width
    for row in range(start, stop):
        slot, times = slots[row - start], often[row]
        own = sums[slot]
        if stamps[slot] != state.number:
            stamps[slot] = state.number
            before = touched[state.touched_count]
            before[0] = slot
            for at in range(width):
                before[1 + at] = own[at]
            state.touched_count += 1
        own[0], carry = added(own[0], times)
        if carry != 0:
            return TOO_MANY, slot
        for each in range(len(summed)):
            column = summed[each].column
            word = due[column, row]
            if is_null(kinds, column, word):
                continue
            if summed[each].present_part >= 0:
                own[summed[each].present_part] += times
            how = summed[each].how
            if how != NO_SUM and not add_word(how, own, summed[each].first_part, word, times):
                return OVERFLOW, slot
    return ALL_DONE, signed(0)


@kernel
def _fail_at(world: int, me: int, state: Totaling, slot: int, wrong: int, time: int) -> int:
    """Note what is wrong with a key at a time; FAILED."""
    keys = state.keys
    for column in range(keys):
        words_at(state.wrong, keys)[column] = key_column(state.numbers, column)[slot]
    fail(world, me, -1, wrong, time, 0)
    return FAILED


@kernel
def _add_some(world: int, me: int, state: Totaling, due: Words, stop: int) -> int:
    """Number the keys of rows AT..stop and add these up; DONE, NEEDS_ROOM if there was none for all, or FAILED."""
    start, keys = state.due_at, state.keys
    rows, scratch = stop - start, table_at(state.scratch, SOURCES, BLOCK)
    slots, fresh, fresh_rows = scratch[_SLOTS, :rows], scratch[_FRESH, :rows], scratch[_FRESH_ROWS, :rows]
    if keys == 1:
        none = table_at(state.scratch, 0, SOURCE_WORDS)
        done, more = number_rows(state.numbers, none, due[0, start:stop], slots, fresh, fresh_rows)
    else:
        sources = table_at(state.scratch + 8 * SOURCES * BLOCK, keys, SOURCE_WORDS)
        for column in range(keys):
            have_column(sources, column, due[column, start:stop])
        done, more = number_rows(state.numbers, sources, scratch[_WANTED, :rows], slots, fresh, fresh_rows)
    sums, stamps = _sums(state), words_at(state.stamps, state.numbers.places)
    for i in range(more):
        sums[fresh[i]] = 0
        stamps[fresh[i]] = -1
    wrong, slot = _add_rows(state, due, slots, start, start + done)
    if wrong != ALL_DONE:
        return _fail_at(world, me, state, slot, wrong, state.touched_time)
    state.due_at = start + done
    return DONE if done == rows else NEEDS_ROOM


@kernel
def _write_row(state: Totaling, message: int, at: int, slot: int, totals: Words, time: int, times: int) -> None:
    keys, outputs = state.keys, len(totals) - 1
    for column in range(keys):
        column_of(message, column)[at] = key_column(state.numbers, column)[slot]
    for column in range(outputs):
        column_of(message, keys + column)[at] = totals[column, 0]
    column_of(message, keys + outputs)[at], column_of(message, keys + outputs + 1)[at] = time, times


@kernel
def _send_changes(world: int, me: int, state: Totaling) -> None:
    """Send how the totals of some keys change at the time of the rows that were added; note keys that have none."""
    keys, sums, touched = state.keys, _sums(state), _touched(state)
    totals = records_at(state.totals, state.total_count, TotalRule)
    made_rows = state.scratch + 8 * (SOURCES * BLOCK + keys * SOURCE_WORDS)
    before = table_at(made_rows, len(totals) + 1, 1)
    after = table_at(made_rows + 8 * (len(totals) + 1), len(totals) + 1, 1)
    stop = min(state.touched_count, state.sent + _MOST_SENT)
    message, made = new_message(world, me, 0, 2 * (stop - state.sent)), 0
    time = state.touched_time
    gone, left = np.empty(stop - state.sent, np.int64), 0
    for at in range(state.sent, stop):
        slot = touched[at, 0]
        was, was_wrong = totals_of_sums(touched[at, 1:], totals, before)
        there, is_wrong = totals_of_sums(sums[slot], totals, after)
        if is_wrong != was_wrong:
            fault = fault_row(state.faults)
            for column in range(keys):
                fault[column] = key_column(state.numbers, column)[slot]
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
        send(world, me, state.held, message, time)
    forget_slots(state.numbers, gone[:left])
    state.sent = stop


@kernel
def go_on_with_due(world: int, me: int, state: Totaling) -> int:
    """Look at finished rows, time by time."""
    due, done = _due(state), 0
    times = due[state.columns - 2]
    while state.due_at < state.due_rows or state.touched_count > 0:
        while state.due_at < state.due_rows:
            if state.touched_count > 0 and times[state.due_at] != state.touched_time:
                break
            state.touched_time = times[state.due_at]
            done += BLOCK
            if done > _AT_ONCE:
                return AGAIN
            status = _add_some(world, me, state, due, _end_of_time(state, due))
            if status != DONE:
                return status
        if state.is_early != 0:
            break
        while state.sent < state.touched_count:
            done += _MOST_SENT
            if done > _AT_ONCE:
                return AGAIN
            _send_changes(world, me, state)
        state.touched_count = state.sent = 0
        state.number += 1
    if state.is_early != 0:
        take_back(state, state.due, state.due_room)
        state.due = state.is_early = 0
        return DONE
    deallocate(state.due)
    deallocate(state.touched)
    state.due = state.touched = state.touched_room = 0
    return DONE
