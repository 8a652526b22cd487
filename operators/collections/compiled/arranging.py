"""Arranging in the inner loop: updates are gathered, and those of finished times sealed, sent, and kept."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    DONE,
    FAILED,
    NEEDS_ROOM,
    Compiled,
    address_of,
    deallocate,
    entry,
    fail,
    frontier_at,
    record_of,
    send,
    state_of,
    table_at,
    time_of_token,
    words_at,
)
from tokenring.operators.collections.compiled.blocks import Blocks, copy_of, merge_on
from tokenring.operators.collections.compiled.pending import (
    COLUMNS,
    HELD,
    KINDS,
    LEAST,
    PENDING,
    PENDING_WORDS,
    ROWS,
    are_all_finished,
    begin_pending,
    gather_all,
    hold_least,
    seal_pending,
    take_finished,
)
from tokenring.operators.collections.updates import (
    LARGE,
    SPINE_WORDS,
    SUMMED_WORDS,
    TOO_OFTEN,
    UPPER,
    Parts,
    Spine,
    add_block,
    columns_of,
    most_parts,
    seal_block,
    to_parts,
    too_often,
)
from tokenring.operators.collections.words import KIND_WORDS, Entering
from tokenring.operators.mechanisms import Beginning, drop_first

# Words of the state, behind those of what is pending. SPINE: where the spine's are. KEYS, SUMMED, SUMS: where parts of
# totals are kept in place of rows, how many columns are keys, and the table of SUMS columns that are summed; SUMS is -1
# where rows stay as they are.
_SPINE, _KEYS, _SUMMED, _SUMS = range(PENDING_WORDS, PENDING_WORDS + 4)
_WORDS = PENDING_WORDS + 4


@kernel
def _as_kept(state, updates):  # type: ignore[no-untyped-def]
    """Updates as the spine has them, and whether all can be said; if not, one that cannot."""
    if state[_SUMS] < 0:
        return updates, True
    keys, data = state[_KEYS], state[COLUMNS] - 2
    summed = table_at(state[_SUMMED], state[_SUMS], SUMMED_WORDS)
    target = np.empty((keys + 3, most_parts(updates.shape[1], len(summed))), np.int64)
    made = to_parts(updates, keys, data, summed, table_at(state[KINDS], data, KIND_WORDS), target)
    return target[:, : abs(made)].copy(), made >= 0


@entry
def arrange(world, me):  # type: ignore[no-untyped-def]
    """Gather what came, and seal what is finished."""
    state = state_of(world, me, _WORDS)
    drop_first(world, me, record_of(state, Beginning))
    if not gather_all(world, me, state):
        return NEEDS_ROOM
    spine, frontier = words_at(state[_SPINE], SPINE_WORDS), frontier_at(world, me, 0)
    spine[UPPER] = frontier
    if state[ROWS] > 0 and frontier > state[LEAST]:
        room = state[ROWS]
        if room >= LARGE and state[_SUMS] < 0 and are_all_finished(state, frontier):
            address, rows = seal_pending(state)
        else:
            finished, can_be = _as_kept(state, take_finished(state, frontier))
            room = finished.shape[1]
            address, rows = seal_block(finished)
            rows = rows if can_be else TOO_OFTEN
        if rows == TOO_OFTEN:
            columns = columns_of(spine)
            fail(world, me, -1, table_at(address, columns, room)[columns - 2, 0], 0, 0)
            deallocate(address)
            return FAILED
        if rows > 0:
            message = copy_of(world, me, address, (columns_of(spine), room), rows)
            send(world, me, state[HELD], message, time_of_token(world, state[HELD]))
        add_block(spine, address, room, rows)
        hold_least(world, me, state)
    merge_on(world, me, spine)
    return DONE


def arranging(spine: Spine, entering: Entering, parts: Parts | None) -> Compiled:
    """The operator. entering: makes tables of messages; parts: of totals, where these are kept in place of rows."""
    summed = np.zeros((0, SUMMED_WORDS), np.int64) if parts is None else parts.summed
    state = np.zeros(_WORDS, np.int64)
    owners = begin_pending(state, entering)
    state[_SPINE], state[_SUMMED], state[_SUMS] = address_of(spine.words), address_of(summed), -1
    if parts is not None:
        state[_KEYS], state[_SUMS] = parts.keys, len(summed)
    owners = (spine, *owners, summed, Blocks(state, [PENDING]))
    return Compiled(arrange, state, owners, entering.make_room, lambda _, operands: too_often(operands[:1]))
