"""Arranging in the inner loop: updates are gathered, and those of finished times sealed, sent, and kept."""

from collections.abc import Callable

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    DONE,
    FAILED,
    NEEDS_ROOM,
    Compiled,
    Words,
    address_of,
    deallocate,
    elements_at,
    entry,
    fail,
    frontier_at,
    record_at,
    send_by,
    state_as,
    table_at,
    words_at,
)
from tokenring.operators.collections.compiled.blocks import Blocks, copy_of, merge_on
from tokenring.operators.collections.compiled.pending import (
    Pending,
    are_all_before,
    are_all_finished,
    begin_pending,
    gather_all,
    hold_least,
    seal_pending,
    take_before,
    take_finished,
    times_pending,
)
from tokenring.operators.collections.compiled.rights import Rights, keep_only, time_of_right
from tokenring.operators.collections.updates import (
    LARGE,
    SUMMED_WORDS,
    TOO_OFTEN,
    Parts,
    Spine,
    SpineState,
    add_block,
    are_times,
    columns_of,
    least_times,
    most_parts,
    seal_block,
    set_times,
    split,
    to_parts,
    too_often,
)
from tokenring.operators.collections.words import KIND_WORDS, Entering
from tokenring.operators.mechanisms import drop_first

_OPERANDS = 3


class Arranging(Pending):
    """`spine`: where its state is. `keys`, `summed`, `sums`: where parts of totals are kept in place of rows, how many
    columns are keys, and the table of the columns that are summed, and how many; `sums` is -1 where rows stay as they
    are."""

    spine: int
    keys: int
    summed: int
    sums: int


@kernel
def _as_kept(state: Arranging, updates: Words) -> tuple[Words, bool]:
    """Updates as the spine has them, and whether all can be said; if not, one that cannot."""
    if state.sums < 0:
        return updates, True
    keys, data = state.keys, state.columns - 1 - state.depth
    summed = table_at(state.summed, state.sums, SUMMED_WORDS)
    target = np.empty((keys + 2 + state.depth, most_parts(updates.shape[1], len(summed))), np.int64)
    made = to_parts(updates, keys, data, summed, table_at(state.kinds, data, KIND_WORDS), target)
    return target[:, : abs(made)].copy(), made >= 0


@kernel
def fail_at(world: int, me: int, updates: Words, depth: int) -> int:
    """Note that the first row of a table would be there too often; FAILED."""
    time = np.zeros(_OPERANDS, np.int64)
    for at in range(min(depth, _OPERANDS)):
        time[at] = updates[len(updates) - 1 - depth + at, 0]
    fail(world, me, -1, time[0], time[1], time[2])
    return FAILED


@kernel
def _send_and_keep(world: int, me: int, slot: int, spine: SpineState, address: int, room: int, rows: int) -> int:
    """Send the first rows of a block with room for so many by a token, and have the spine keep them; DONE, or FAILED
    where one would be there too often."""
    if rows == TOO_OFTEN:
        fail_at(world, me, table_at(address, columns_of(spine), room), spine.depth)
        deallocate(address)
        return FAILED
    if rows > 0:
        send_by(world, me, slot, copy_of(world, me, address, (columns_of(spine), room), rows))
    add_block(spine, address, room, rows)
    return DONE


@kernel
def send_sealed(world: int, me: int, rights: Rights, spine: SpineState, updates: Words) -> int:
    """Seal finished updates of several coordinates and send them, a batch for each right that is needed; DONE or
    FAILED."""
    for number in range(rights.count):
        if updates.shape[1] == 0:
            return DONE
        mine = updates
        if rights.count > 1:
            time = time_of_right(world, rights, number, spine.depth)
            updates, mine = split(updates, spine.data, time.reshape(1, spine.depth))
        else:
            updates = updates[:, :0].copy()
        address, rows = seal_block(mine)
        slot = words_at(rights.slots, rights.count)[number]
        if _send_and_keep(world, me, slot, spine, address, mine.shape[1], rows) != DONE:
            return FAILED
    return DONE


@kernel
def _arrange_in_loop(world: int, me: int, state: Arranging) -> int:
    """Seal what is finished, where times have several coordinates."""
    spine, frontier = record_at(state.spine, SpineState), elements_at(world, me, 0)
    if are_times(spine.upper_times, frontier):
        return DONE
    set_times(spine.upper_times, frontier)
    room = state.rows
    if room >= LARGE and state.sums < 0 and state.rights.count == 1 and are_all_finished(state, frontier):
        address, rows = seal_pending(state)
        slot = words_at(state.rights.slots, 1)[0]
        if _send_and_keep(world, me, slot, spine, address, room, rows) != DONE:
            return FAILED
        keep_only(world, me, state.rights, np.empty((0, state.depth), np.int64))
        return DONE
    finished, can_be = _as_kept(state, take_finished(state, frontier))
    if not can_be:
        return fail_at(world, me, finished, state.depth)
    if send_sealed(world, me, state.rights, spine, finished) != DONE:
        return FAILED
    least = least_times(times_pending(state)[:, : state.rows].copy(), 0, state.depth)
    keep_only(world, me, state.rights, least)
    return DONE


@entry
def arrange(world: int, me: int) -> int:
    """Gather what came, and seal what is finished."""
    state = state_as(world, me, Arranging)
    drop_first(world, me, state)
    was_waiting = state.rows > 0
    if not gather_all(world, me, state):
        return NEEDS_ROOM
    if state.depth > 1:  # where what has just come is not finished while it counts as under way
        return _arrange_in_loop(world, me, state) if was_waiting else DONE
    spine, frontier = record_at(state.spine, SpineState), frontier_at(world, me, 0)
    spine.upper = frontier
    if state.rows > 0 and frontier > state.least:
        room = state.rows
        if room >= LARGE and state.sums < 0 and are_all_before(state, frontier):
            address, rows = seal_pending(state)
        else:
            finished, can_be = _as_kept(state, take_before(state, frontier))
            room = finished.shape[1]
            address, rows = seal_block(finished)
            rows = rows if can_be else TOO_OFTEN
        if _send_and_keep(world, me, state.held, spine, address, room, rows) != DONE:
            return FAILED
        hold_least(world, me, state)
    merge_on(world, me, state.spine)
    return DONE


def arranging(spine: Spine, entering: Entering, parts: Parts | None) -> Compiled:
    """The operator. entering: makes tables of messages; parts: of totals, where these are kept in place of rows."""
    summed = np.zeros((0, SUMMED_WORDS), np.int64) if parts is None else parts.summed
    state = Arranging()
    owners = begin_pending(state, entering, spine.depth)
    state.spine, state.summed, state.sums = spine.address, address_of(summed), -1
    if parts is not None:
        state.keys, state.sums = parts.keys, len(summed)
    owners = (spine, *owners, summed, Blocks((state, "block"), (state.rights, "slots")))
    return Compiled(arrange, state.words, owners, entering.make_room, often_at(spine.depth, parts is not None))


def often_at(depth: int, is_summed: bool = False) -> Callable[[int, tuple[int, int, int]], Exception]:
    """The error for a row that would be there too often at a time of so many coordinates, of which three are told; or
    for a key's rows, where they are summed."""
    return lambda _, operands: too_often(operands[:depth], is_summed)
