"""Arranging in the inner loop: updates are gathered, and those of finished times sealed, sent, and kept."""

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
    entry,
    fail,
    frontier_at,
    record_at,
    send,
    state_as,
    table_at,
    time_of_token,
)
from tokenring.operators.collections.compiled.blocks import Blocks, copy_of, merge_on
from tokenring.operators.collections.compiled.pending import (
    Pending,
    are_all_finished,
    begin_pending,
    gather_all,
    hold_least,
    seal_pending,
    take_finished,
)
from tokenring.operators.collections.updates import (
    LARGE,
    SUMMED_WORDS,
    TOO_OFTEN,
    Parts,
    Spine,
    SpineState,
    add_block,
    columns_of,
    most_parts,
    seal_block,
    to_parts,
    too_often,
)
from tokenring.operators.collections.words import KIND_WORDS, Entering
from tokenring.operators.mechanisms import drop_first


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
    keys, data = state.keys, state.columns - 2
    summed = table_at(state.summed, state.sums, SUMMED_WORDS)
    target = np.empty((keys + 3, most_parts(updates.shape[1], len(summed))), np.int64)
    made = to_parts(updates, keys, data, summed, table_at(state.kinds, data, KIND_WORDS), target)
    return target[:, : abs(made)].copy(), made >= 0


@entry
def arrange(world: int, me: int) -> int:
    """Gather what came, and seal what is finished."""
    state = state_as(world, me, Arranging)
    drop_first(world, me, state)
    if not gather_all(world, me, state):
        return NEEDS_ROOM
    spine, frontier = record_at(state.spine, SpineState), frontier_at(world, me, 0)
    spine.upper = frontier
    if state.rows > 0 and frontier > state.least:
        room = state.rows
        if room >= LARGE and state.sums < 0 and are_all_finished(state, frontier):
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
            send(world, me, state.held, message, time_of_token(world, state.held))
        add_block(spine, address, room, rows)
        hold_least(world, me, state)
    merge_on(world, me, state.spine)
    return DONE


def arranging(spine: Spine, entering: Entering, parts: Parts | None) -> Compiled:
    """The operator. entering: makes tables of messages; parts: of totals, where these are kept in place of rows."""
    summed = np.zeros((0, SUMMED_WORDS), np.int64) if parts is None else parts.summed
    state = Arranging()
    owners = begin_pending(state, entering)
    state.spine, state.summed, state.sums = spine.address, address_of(summed), -1
    if parts is not None:
        state.keys, state.sums = parts.keys, len(summed)
    owners = (spine, *owners, summed, Blocks((state, "block")))
    return Compiled(arrange, state.words, owners, entering.make_room, lambda _, operands: too_often(operands[:1]))
