"""Frontiers of a compiled join: rows go that cannot match any more, and are sent if they never did, as `Matcher` does.
"""

import numpy as np

from tokenring.engine import COMPLETE, MAX_TIME, kernel
from tokenring.engine.compiled import frontier_at, table_at, words_at
from tokenring.operators.joins.compiled.kept_rows import (
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
from tokenring.operators.joins.compiled.results import scratch, side_at
from tokenring.operators.joins.compiled.sending import send_alone, send_due
from tokenring.operators.joins.compiled.words import (
    ALONE,
    AT_MOST,
    BOUNDED,
    ENDED,
    JOINED,
    KEYS,
    LEAST,
    ROOM,
    ROOM_ROWS,
    SEEN,
    UNIQUE,
    capacity_of,
)
from tokenring.operators.joins.kept import (
    AT_ONCE,
    BARRED,
    HAS_ROW,
    MATCHED,
    TIME,
    expire,
    expire_at_slots,
    has_matched,
    take_chains,
)
from tokenring.operators.state import forget_slots


@kernel
def _send_never_seen(world, me, state, side):  # type: ignore[no-untyped-def]
    """The other side is finished: rows of the keys that it never had match nothing, each at its message's time."""
    at = side_at(JOINED, side)
    if state[ALONE + side] and rows_kept(state, at) > 0:
        heads, links = heads_of(state, at), links_of(state, at)
        seen = words_at(state[SEEN + 1 - side], capacity_of(state))
        slots, count = scratch(world, len(seen)), 0
        for slot in range(len(seen)):
            if heads[slot] >= HAS_ROW and seen[slot] == 0:
                slots[count] = slot
                count += 1
        slots = slots[:count]
        places = scratch(world, rows_kept(state, at))
        places = places[: take_chains(heads, links, free_of(state, at), meta_of(state, at), slots, places)]
        times = scratch(world, len(places))
        for i in range(len(places)):
            times[i] = links[places[i], TIME]
        order = np.argsort(times, kind="mergesort")
        places, times = places[order], times[order]
        start = 0
        while start < len(places):
            end = start + 1
            while end < len(places) and end - start < AT_ONCE and times[end] == times[start]:
                end += 1
            send_alone(world, me, state, side, 0, places[start:end], times[start])
            start = end
        if side == state[UNIQUE]:
            for slot in slots:
                heads[slot] = BARRED  # nobody looks there any more, but a second row is told all the same
    state[LEAST + side] = COMPLETE


@kernel
def _some_due(state, at, other, horizon, places, dues, emptied, sizes):  # type: ignore[no-untyped-def]
    """Remove rows that are due, as many as there is room for: how many, and how many keys have none then."""
    links, meta, heap, others = links_of(state, at), meta_of(state, at), heap_of(state, at), here_of(state, other)
    if is_by_slot(state, at):
        return expire_at_slots(links, others, heap, meta, horizon, places, dues, emptied)
    heads, free = heads_of(state, at), free_of(state, at)
    found = expire(heads, others, links, free, meta, heap, horizon, places, dues, emptied, sizes)
    return found, sizes[0]


@kernel
def _matched(state, at, place):  # type: ignore[no-untyped-def]
    links = links_of(state, at)
    return has_matched(links, place) if is_by_slot(state, at) else links[place, MATCHED] != 0


@kernel
def _expire(world, me, state, side, horizon):  # type: ignore[no-untyped-def]
    """Drop rows that are due by `horizon`, and keys that have none then; whether these were all."""
    at, other = side_at(JOINED, side), side_at(JOINED, 1 - side)
    room, sizes = table_at(state[ROOM], ROOM_ROWS, AT_ONCE), scratch(world, 1)
    places, dues, emptied = room[0], room[1], room[2]
    gone = 0
    while least_due(state, at) <= horizon:
        if gone >= AT_MOST:
            return False
        found, left = _some_due(state, at, other, horizon, places, dues, emptied, sizes)
        gone += found
        if state[ALONE + side]:
            count = 0
            for i in range(found):
                if not _matched(state, at, places[i]):
                    places[count], dues[count] = places[i], dues[i]
                    count += 1
            if count > 0:
                send_due(world, me, state, side, 0, places[:count], dues[:count])
        forget_slots(state, KEYS, emptied[:left])
    return True


@kernel
def _are_finished(world, me, state):  # type: ignore[no-untyped-def]
    """Whether nothing comes any more that looks at rows, and none is to be sent."""
    return (
        frontier_at(world, me, 0) == COMPLETE
        and frontier_at(world, me, 1) == COMPLETE
        and not state[ALONE]
        and not state[ALONE + 1]
    )


@kernel
def expire_rows(world, me, state):  # type: ignore[no-untyped-def]
    """Drop rows that the frontiers of both inputs say cannot match any more; send those that never did. Whether these
    were all; else more go the next time."""
    if state[BOUNDED] and _are_finished(world, me, state):
        for side in range(2):  # at once, wherever they are
            meta_of(state, side_at(JOINED, side))[:] = 0
        return True
    for side in range(2):
        frontier = frontier_at(world, me, 1 - side)
        if state[BOUNDED]:
            if not _expire(world, me, state, side, min(frontier, MAX_TIME)):  # COMPLETE is not before that of no rows
                return False
        elif frontier == COMPLETE and not state[ENDED + 1 - side]:
            state[ENDED + 1 - side] = 1
            _send_never_seen(world, me, state, side)
    return True
