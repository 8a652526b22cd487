"""Frontiers of a join: rows go that cannot match any more, and are sent if they never did."""

import numpy as np

from tokenring.engine import COMPLETE, MAX_TIME, kernel
from tokenring.engine.compiled import Words, frontier_at, record_of, table_at, words_at
from tokenring.operators.joins.compiled.keeping import take_rows_of, times_of_places
from tokenring.operators.joins.compiled.kept_rows import (
    KeptRows,
    free_of,
    heads_of,
    heap_of,
    here_of,
    is_by_slot,
    least_due,
    links_of,
    meta_of,
    rows_kept,
)
from tokenring.operators.joins.compiled.results import scratch, side_of
from tokenring.operators.joins.compiled.rights import send_late, tell_matched
from tokenring.operators.joins.compiled.sending import send_alone, send_due
from tokenring.operators.joins.compiled.words import AT_MOST, ROOM_ROWS, Join, capacity_of
from tokenring.operators.joins.kept import AT_ONCE, BARRED, HAS_ROW, BoundedLink, expire, expire_at_slots, has_matched
from tokenring.operators.state import forget_slots


@kernel
def _send_never_seen(world: int, me: int, state: Join, side: int) -> None:
    """The other side is finished: rows of the keys that it never had match nothing, each at its message's time."""
    at = side_of(state.results, side)
    if state.alone[side] and rows_kept(at) > 0:
        heads, seen = heads_of(at), words_at(state.seen[1 - side], capacity_of(state))
        slots, known, count, known_count = scratch(world, len(seen)), scratch(world, len(seen)), 0, 0
        for slot in range(len(seen)):
            if heads[slot] >= HAS_ROW and seen[slot] == 0:
                slots[count] = slot
                count += 1
            elif heads[slot] >= HAS_ROW:
                known[known_count] = slot
                known_count += 1
        slots = slots[:count]
        if state.rights_stay != 0:
            gone = take_rows_of(world, state, side, known[:known_count])
            tell_matched(world, me, state, times_of_places(world, state, side, gone))
        places = take_rows_of(world, state, side, slots)
        times = times_of_places(world, state, side, places)
        order = np.argsort(times, kind="mergesort")
        places, times = places[order], times[order]
        start = 0
        if state.rights_stay != 0:
            send_late(world, me, state, side, places, times)
            start = len(places)
        while start < len(places):
            end = start + 1
            while end < len(places) and end - start < AT_ONCE and times[end] == times[start]:
                end += 1
            send_alone(world, me, state, side, 0, places[start:end], times[start])
            start = end
        if side == state.unique:
            for slot in slots:
                heads[slot] = BARRED  # nobody looks there any more, but a second row is told all the same
    state.least[side] = COMPLETE


@kernel
def _some_due(
    state: Join, at: KeptRows, other: KeptRows, horizon: int, places: Words, dues: Words, emptied: Words, sizes: Words
) -> tuple[int, int]:
    """Remove rows that are due, as many as there is room for: how many, and how many keys have none then."""
    links, meta, heap, others = links_of(at), meta_of(at), heap_of(at), here_of(other)
    if is_by_slot(at):
        return expire_at_slots(links, others, heap, meta, horizon, places, dues, emptied)
    heads, free = heads_of(at), free_of(at)
    found = expire(heads, others, links, free, meta, heap, horizon, places, dues, emptied, sizes)
    return found, sizes[0]


@kernel
def _matched(state: Join, at: KeptRows, place: int) -> bool:
    links = links_of(at)
    return has_matched(links, place) if is_by_slot(at) else record_of(links[place], BoundedLink).matched != 0


@kernel
def _expire(world: int, me: int, state: Join, side: int, horizon: int) -> bool:
    """Drop rows that are due by `horizon`, and keys that have none then; whether these were all."""
    at, other = side_of(state.results, side), side_of(state.results, 1 - side)
    room, sizes = table_at(state.space, ROOM_ROWS, AT_ONCE), scratch(world, 1)
    places, dues, emptied = room[0], room[1], room[2]
    gone = 0
    while least_due(at) <= horizon:
        if gone >= AT_MOST:
            return False
        found, left = _some_due(state, at, other, horizon, places, dues, emptied, sizes)
        gone += found
        if state.alone[side]:
            count = 0
            for i in range(found):
                if not _matched(state, at, places[i]):
                    places[count], dues[count] = places[i], dues[i]
                    count += 1
            if count > 0:
                send_due(world, me, state, side, 0, places[:count], dues[:count])
        forget_slots(state.keys.numbers, emptied[:left])
    return True


@kernel
def _are_finished(world: int, me: int, state: Join) -> bool:
    """Whether nothing comes any more that looks at rows, and none is to be sent."""
    return (
        frontier_at(world, me, 0) == COMPLETE
        and frontier_at(world, me, 1) == COMPLETE
        and not state.alone[0]
        and not state.alone[1]
    )


@kernel
def expire_rows(world: int, me: int, state: Join) -> bool:
    """Drop rows that the frontiers of both inputs say cannot match any more; send those that never did. Whether these
    were all; else more go the next time."""
    if state.bounded and _are_finished(world, me, state):
        for side in range(2):  # at once, wherever they are
            meta_of(side_of(state.results, side))[:] = 0
        return True
    for side in range(2):
        frontier = frontier_at(world, me, 1 - side)
        if state.bounded:
            if not _expire(world, me, state, side, min(frontier, MAX_TIME)):  # COMPLETE is not before that of no rows
                return False
        elif frontier == COMPLETE and not state.ended[1 - side]:
            state.ended[1 - side] = 1
            _send_never_seen(world, me, state, side)
    return True
