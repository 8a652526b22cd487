"""Messages of a join: their rows are matched with the other side's and kept."""

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    FAILED,
    NEEDS_ROOM,
    Words,
    chosen_rows,
    column_of,
    part_of,
    rows_of,
    time_of,
    world_at,
)
from tokenring.operators.joins.compiled.keeping import (
    first_of_keys,
    keep_bounded,
    keep_for_ever,
    keep_unique,
    keep_unique_in_time,
    keep_waiting,
    keep_waiting_in_time,
    split_keys,
)
from tokenring.operators.joins.compiled.kept_rows import has_room, rows_kept
from tokenring.operators.joins.compiled.keyed import (
    find_keys,
    number_keys,
    rows_but,
    rows_with,
    rows_without,
    rows_without_key,
)
from tokenring.operators.joins.compiled.matching import (
    due_together,
    empty_extents,
    extents_of,
    match_any,
    match_one,
    match_one_in_time,
)
from tokenring.operators.joins.compiled.results import scratch, side_of
from tokenring.operators.joins.compiled.sending import send_alone, send_due
from tokenring.operators.joins.compiled.words import Join
from tokenring.operators.joins.kept import RIGHT, WAITS
from tokenring.operators.state import gather


@kernel
def _send_without_key(world: int, me: int, state: Join, side: int, message: int, rows: Words) -> int:
    """Rows whose key has a null can match nothing. Whether none is late."""
    if state.where[side] >= 0:  # those that are not wanted are not sent, either
        flags = scratch(world, len(rows))
        gather(column_of(message, state.where[side]), rows, flags)
        rows = rows[rows_with(world, flags, 1)]
    if not state.bounded:
        if len(rows) > 0:
            send_alone(world, me, state, side, message, rows, time_of(message))
        return True
    due, in_time = due_together(world, me, state, side, message)
    if in_time and len(rows) > 0:
        _, _, dues = extents_of(world, state, side, message, rows, due)
        send_due(world, me, state, side, message, rows, dues)
    return in_time


@kernel
def _take_beside(world: int, me: int, state: Join, side: int, message: int, slots: Words) -> int:
    """Take rows beside the side that is unique: they are kept if their match may still come. Returns how many there
    are, below 0 if something is wrong."""
    if state.bounded:
        due, in_time = due_together(world, me, state, side, message)
        if not in_time:
            return -1
        kept = match_one_in_time(world, me, state, side, message, slots)
        keep_waiting_in_time(world, state, side, message, slots, kept, due)
    else:
        waiting, never = match_one(world, me, state, side, message, slots)
        keep_waiting(world, me, state, side, message, slots, waiting, never)
    return len(slots)


@kernel
def _take_unique(world: int, me: int, state: Join, side: int, message: int, slots: Words) -> int:
    """Take rows of the side that is unique, as far as pairs are sent at a time: returns how many were taken, below 0 if
    something is wrong."""
    wanted, met, good = split_keys(world, me, state, side, message, slots, state.at_hand == side)
    if not good:
        return -1
    taken = len(slots)
    if len(met) > 0:  # few: most matches come later
        own, fates = scratch(world, len(met)), scratch(world, len(met))
        gather(slots, met, own)
        some = chosen_rows(world_at(world), message, met)
        matched = match_any(world, me, state, side, some, own, own[:0], own[:0], fates)
        if matched < len(met):
            taken = met[matched]
            met = met[:matched]
            count = 0
            while count < len(wanted) and wanted[count] < taken:
                count += 1
            wanted = wanted[:count]
    return taken if keep_unique(world, me, state, side, message, slots, wanted, met) else -1


@kernel
def _take_unique_in_time(world: int, me: int, state: Join, side: int, message: int, slots: Words) -> int:
    """As `_take_unique`, of rows that expire."""
    due, in_time = due_together(world, me, state, side, message)
    if not in_time:
        return -1
    taken, fates = len(slots), slots[:0]
    if rows_kept(side_of(state.results, 1 - side)) > 0:
        starts, ends, _ = extents_of(world, state, side, message, slots[:0], due)
        fates = scratch(world, len(slots))
        fates[:] = WAITS
        if state.where[side] >= 0:
            empty_extents(world, state, side, message, starts, ends, fates)
        taken = match_any(world, me, state, side, message, slots, starts, ends, fates)
        fates = fates[:taken]
    return taken if keep_unique_in_time(world, me, state, side, message, slots[:taken], fates, due) else -1


@kernel
def _take_others(world: int, me: int, state: Join, side: int, message: int, slots: Words) -> int:
    """Take rows where no side is unique, as far as pairs are sent at a time: returns how many were taken, below 0 if
    something is wrong."""
    starts, ends, dues = slots[:0], slots[:0], slots[:0]
    fates = scratch(world, len(slots))
    fates[:] = WAITS
    if state.bounded:
        due, in_time = due_together(world, me, state, side, message)
        if not in_time:
            return -1
        starts, ends, dues = extents_of(world, state, side, message, slots[:0], due)
    taken = match_any(world, me, state, side, message, slots, starts, ends, fates)
    if taken < len(slots):
        message = part_of(world_at(world), message, 0, taken)
    if state.bounded:
        keep_bounded(
            world, me, state, side, message, slots[:taken], starts[:taken], ends[:taken], dues[:taken], fates[:taken]
        )
    else:
        keep_for_ever(world, me, state, side, message, slots[:taken], fates[:taken])
    return taken


@kernel
def _only_match(state: Join, side: int) -> bool:
    """Whether rows of a side are looked at for their matches alone: the other side has ended, and they are not sent
    alone, nor told apart from a second row of their key."""
    at_any_time = not state.bounded and state.ended[1 - side] != 0
    return at_any_time and not state.alone[side] and state.unique != side


@kernel
def take_rows(world: int, me: int, state: Join, side: int, message: int) -> tuple[int, int]:
    """Take the rows of a message of one time: send the pairs that they complete, and keep them. Returns (status, how
    many rows were taken): with AGAIN not all, where there are more pairs than are sent at a time; AT_HAND is `side`
    then. Where there is no room nothing was sent."""
    rows, goes_on, only_match = rows_of(message), state.at_hand == side, _only_match(state, side)
    if not only_match and not has_room(world, side_of(state.results, side), message, rows):
        state.wanted, state.wanted_side = rows, side
        return NEEDS_ROOM, 0
    whole, without = message, rows_without_key(world, state.keys, side, message)
    origin = without[:0]  # of the rows that go on, their numbers in the message; of no length if all do
    if len(without) > 0:
        origin = rows_but(world, rows, without)
        message = chosen_rows(world_at(world), whole, origin)
    slots = scratch(world, rows_of(message))
    if only_match:
        find_keys(world, state.keys, side, message, slots)
        known = rows_without(world, slots, -1)
        if len(known) < len(slots):
            origin = origin[known] if len(origin) > 0 else known
            message, slots = chosen_rows(world_at(world), message, known), slots[known]
    elif not number_keys(world, state.keys, side, message, slots):
        state.wanted = 0
        return NEEDS_ROOM, 0
    if len(without) > 0 and state.alone[side] and not goes_on:
        if not _send_without_key(world, me, state, side, whole, without):
            return FAILED, 0
    if not state.bounded and state.once and side == RIGHT:
        chosen = first_of_keys(world, state, slots, time_of(message))
        message, slots = chosen_rows(world_at(world), message, chosen), slots[chosen]
        origin = origin[chosen] if len(origin) > 0 else chosen
    taken = 0
    if len(slots) > 0:
        if state.unique == 1 - side:
            taken = _take_beside(world, me, state, side, message, slots)
        elif state.unique != side:
            taken = _take_others(world, me, state, side, message, slots)
        elif state.bounded:
            taken = _take_unique_in_time(world, me, state, side, message, slots)
        else:
            taken = _take_unique(world, me, state, side, message, slots)
    if taken < 0:
        return FAILED, 0
    if taken < len(slots):
        state.at_hand = side
        return AGAIN, origin[taken] if len(origin) > 0 else taken
    state.at_hand = -1
    return DONE, rows
