"""What a compiled join keeps of rows that were matched, and whom it lets go, as `Matcher` does."""

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import column_of, fail, time_of, words_at
from tokenring.operators.folds import gather
from tokenring.operators.joins.compiled.kept_rows import (
    free_of,
    heads_of,
    heap_of,
    keep_rows,
    links_of,
    meta_of,
    rows_kept,
)
from tokenring.operators.joins.compiled.keyed import rows_but, rows_without
from tokenring.operators.joins.compiled.matching import ends_of, extents_of, reach_of
from tokenring.operators.joins.compiled.results import scratch, side_at
from tokenring.operators.joins.compiled.sending import send_alone, send_alone_at
from tokenring.operators.joins.compiled.words import (
    ALONE,
    DUE_AFTER,
    ENDED,
    JOINED,
    LEAST,
    ONCE,
    SEEN,
    START_AFTER,
    TIME_COLUMN,
    TWICE,
    WHERE,
    capacity_of,
)
from tokenring.operators.joins.kept import (
    ANY,
    BARRED,
    FIRST,
    HAS_ROW,
    LEFT,
    MATCHES,
    NO_ROW,
    RIGHT,
    TIME,
    WAITS,
    add,
    add_at_slots,
    add_bounded,
    bar,
    take_chains,
)


@kernel
def split_keys(world, me, state, side, message, slots, goes_on):  # type: ignore[no-untyped-def]
    """Bar the keys of rows of the unique side that can match nothing, unless that is done, and let rows of the other
    side go that waited for them. Returns the rows that can match, those of them whose match is here, and whether no
    barred key had a row."""
    at, other, where = side_at(JOINED, side), side_at(JOINED, 1 - side), state[WHERE + side]
    able = column_of(message, where) if where >= 0 else slots[:0]
    heads, others, waiting = heads_of(state, at), heads_of(state, other), rows_kept(state, other)
    wanted, met, barred = scratch(world, len(slots)), scratch(world, len(slots)), scratch(world, len(slots))
    count, found, freed = 0, 0, 0
    for row in range(len(slots)):
        slot = slots[row]
        if where < 0 or able[row] == 1:
            wanted[count] = row
            count += 1
            if waiting > 0 and others[slot] >= HAS_ROW:
                met[found] = row
                found += 1
        elif not goes_on:
            if heads[slot] != NO_ROW:
                fail(world, me, TWICE, side, slot, 0)
                return wanted[:0], met[:0], False
            heads[slot] = BARRED
            if waiting > 0 and others[slot] >= HAS_ROW:
                barred[freed] = slot
                freed += 1
    if freed > 0:
        _let_go(world, me, state, side, message, barred[:freed])
    return wanted[:count], met[:found], True


@kernel
def _let_go(world, me, state, side, message, barred):  # type: ignore[no-untyped-def]
    """Rows of the other side go that waited for these keys, and are sent if they are to be sent alone."""
    other = side_at(JOINED, 1 - side)
    places, links = scratch(world, rows_kept(state, other)), links_of(state, other)
    taken = take_chains(
        heads_of(state, other), links, free_of(state, other), meta_of(state, other), barred, places
    )
    if state[ALONE + 1 - side]:
        times = scratch(world, taken)
        for i in range(taken):
            times[i] = max(links[places[i], TIME], time_of(message))
        send_alone_at(world, me, state, 1 - side, places[:taken], times)


@kernel
def first_of_keys(world, state, slots, time):  # type: ignore[no-untyped-def]
    """The first row of each key that the right side has no row of yet; the others may be earlier than the one."""
    right = side_at(JOINED, RIGHT)
    heads, links = heads_of(state, right), links_of(state, right)
    chosen, count = scratch(world, len(slots)), 0
    for row in range(len(slots)):
        place = heads[slots[row]] - HAS_ROW
        if place >= 0:
            links[place, TIME] = min(links[place, TIME], time)
        elif heads[slots[row]] == NO_ROW:
            heads[slots[row]] = BARRED  # chosen already
            chosen[count] = row
            count += 1
    for i in range(count):
        heads[slots[chosen[i]]] = NO_ROW
    return chosen[:count]


@kernel
def _keep(world, state, side, message, slots, chosen, unique, places):  # type: ignore[no-untyped-def]
    """Keep chosen rows for ever; returns how many there was a place for, fewer where `unique` and a key has a row."""
    at = side_at(JOINED, side)
    done = add(
        heads_of(state, at), links_of(state, at), free_of(state, at), meta_of(state, at), slots, chosen,
        time_of(message), unique, places,
    )  # fmt: skip
    keep_rows(state, at, message, chosen[:done], places[:done])
    return done


@kernel
def _note_seen(state, side, slots):  # type: ignore[no-untyped-def]
    if state[ALONE + 1 - side]:
        seen = words_at(state[SEEN + side], capacity_of(state))
        for slot in slots:
            seen[slot] = 1


@kernel
def _note_least(state, side, time):  # type: ignore[no-untyped-def]
    """Before rows are kept that may be sent alone: the least of their times. That of no rows is gone."""
    if state[ALONE + side] and not state[ENDED + 1 - side]:
        before = state[LEAST + side] if rows_kept(state, side_at(JOINED, side)) > 0 else COMPLETE
        state[LEAST + side] = min(before, time)


@kernel
def keep_waiting(world, me, state, side, message, slots, waiting, never):  # type: ignore[no-untyped-def]
    """Keep, beside the side that is unique, rows whose match may still come; send those that have none, if alone."""
    _note_seen(state, side, slots)
    if state[ALONE + side] and len(never) > 0:
        send_alone(world, me, state, side, message, never, time_of(message))
    if len(waiting) > 0:
        _note_least(state, side, time_of(message))
        _keep(world, state, side, message, slots, waiting, False, scratch(world, len(waiting)))


@kernel
def keep_unique(world, me, state, side, message, slots, wanted, met):  # type: ignore[no-untyped-def]
    """Keep rows of the side that is unique for ever, and forget the rows of the other side that matched those of `met`;
    whether each is the first of its key."""
    if len(wanted) == 0:
        return True
    own = scratch(world, len(wanted))
    gather(slots, wanted, own)
    _note_seen(state, side, own)
    if state[ALONE + side] and state[ENDED + 1 - side] and len(met) < len(wanted):
        alone, count, passed = scratch(world, len(wanted)), 0, 0
        for row in wanted:
            if passed < len(met) and met[passed] == row:
                passed += 1
            else:
                alone[count] = row
                count += 1
        send_alone(world, me, state, side, message, alone[:count], time_of(message))
    if state[ALONE + side] and state[ENDED + 1 - side]:
        # Nobody looks there any more, and kept rows would be sent alone once more by who goes on from a snapshot; but a
        # second row is told all the same.
        done = bar(heads_of(state, side_at(JOINED, side)), slots, wanted)
    else:
        _note_least(state, side, time_of(message))
        done = _keep(world, state, side, message, slots, wanted, True, own)
    if done < len(wanted):
        fail(world, me, TWICE, side, slots[wanted[done]], 0)
        return False
    other = side_at(JOINED, 1 - side)
    for row in met:
        take_chains(
            heads_of(state, other), links_of(state, other), free_of(state, other), meta_of(state, other),
            slots[row : row + 1], own[:0],
        )  # fmt: skip
    return True


@kernel
def keep_for_ever(world, me, state, side, message, slots, fates):  # type: ignore[no-untyped-def]
    """Keep rows that match at any time, where no side is unique."""
    _note_seen(state, side, slots)
    if state[ENDED + 1 - side]:
        if state[ALONE + side]:
            never = rows_without(world, fates, MATCHES)
            if len(never) > 0:
                send_alone(world, me, state, side, message, never, time_of(message))
        return
    _note_least(state, side, time_of(message))
    everything = rows_but(world, len(slots), slots[:0])
    _keep(world, state, side, message, slots, everything, False, scratch(world, len(slots)))


@kernel
def keep_bounded(world, me, state, side, message, slots, starts, ends, dues, fates):  # type: ignore[no-untyped-def]
    """Keep, until they are due, rows that can match or are sent alone then, where no side is unique."""
    at = side_at(JOINED, side)
    rows = rows_but(world, len(slots), slots[:0])
    if state[ONCE] and side == LEFT:  # those that matched have been sent, or never will be
        rows = rows_without(world, fates, MATCHES)
    places = scratch(world, len(rows))
    rule = FIRST if state[ONCE] and side == RIGHT else ANY
    add_bounded(
        heads_of(state, at), links_of(state, at), free_of(state, at), meta_of(state, at), heap_of(state, at), slots,
        rows, starts, ends, dues, fates, time_of(message), rule, places,
    )  # fmt: skip
    keep_rows(state, at, message, rows, places)


@kernel
def keep_waiting_in_time(world, state, side, message, slots, chosen, together):  # type: ignore[no-untyped-def]
    """Keep, until they are due, rows that have no match beside the side that is unique."""
    if len(chosen) == 0:
        return
    at, count = side_at(JOINED, side), len(chosen)
    starts, ends, dues = extents_of(world, state, side, message, chosen, together)
    own, fates, places = scratch(world, count), scratch(world, count), scratch(world, count)
    gather(slots, chosen, own)
    fates[:] = WAITS
    add_bounded(
        heads_of(state, at), links_of(state, at), free_of(state, at), meta_of(state, at), heap_of(state, at), own,
        rows_but(world, count, own[:0]), starts, ends, dues, fates, time_of(message), ANY, places,
    )  # fmt: skip
    keep_rows(state, at, message, chosen, places)


@kernel
def keep_unique_in_time(world, me, state, side, message, slots, fates, together):  # type: ignore[no-untyped-def]
    """Keep the first rows of a message of the side that is unique until they are due: those of `slots`; whether each is
    the first of its key. fates: of no length if none has matched."""
    at, reach, where = side_at(JOINED, side), reach_of(state, side), state[WHERE + side]
    ends, end_after = ends_of(reach, message)
    done = add_at_slots(
        links_of(state, at), heap_of(state, at), meta_of(state, at), slots,
        column_of(message, reach[TIME_COLUMN]), reach[START_AFTER], ends, end_after, reach[DUE_AFTER], together,
        column_of(message, where) if where >= 0 else slots[:0], fates, time_of(message),
    )  # fmt: skip
    if done < len(slots):
        fail(world, me, TWICE, side, slots[done], 0)
        return False
    keep_rows(state, at, message, slots[:0], slots)
    return True
