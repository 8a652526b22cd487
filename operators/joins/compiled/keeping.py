"""What a compiled join keeps of rows that were matched, and whom it lets go, as `Matcher` does."""

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import column_of, fail, time_of, words_at
from tokenring.operators.joins.compiled.kept_rows import (
    free_of,
    heads_of,
    heap_of,
    keep_rows,
    links_of,
    meta_of,
    rows_kept,
)
from tokenring.operators.joins.compiled.keyed import rows_but, rows_with, rows_without
from tokenring.operators.joins.compiled.results import scratch, side_at
from tokenring.operators.joins.compiled.sending import send_alone, send_alone_at
from tokenring.operators.joins.compiled.words import (
    ALONE,
    ENDED,
    JOINED,
    LEAST,
    ONCE,
    SEEN,
    TWICE,
    UNIQUE,
    WHERE,
    capacity_of,
)
from tokenring.operators.joins.kept import (
    ANY,
    BARRED,
    FIRST,
    HAS_ROW,
    MATCHES,
    NEVER,
    NO_ROW,
    ONE,
    RIGHT,
    TIME,
    WAITS,
    add,
    add_bounded,
    bar,
    take_chains,
)


@kernel
def bar_keys(world, me, state, side, message, slots):  # type: ignore[no-untyped-def]
    """Bar the keys of rows of the unique side that can match nothing, and let rows of the other side go that waited for
    them; whether none had a row."""
    barred = rows_without(world, column_of(message, state[WHERE + side]), 1)
    at, other = side_at(JOINED, side), side_at(JOINED, 1 - side)
    done = bar(heads_of(state, at), slots, barred)
    if done < len(barred):
        fail(world, me, TWICE, side, slots[barred[done]], 0)
        return False
    waiting = rows_kept(state, other)
    if waiting > 0:
        places, links = scratch(world, waiting), links_of(state, other)
        taken = take_chains(
            heads_of(state, other), links, free_of(state, other), meta_of(state, other), slots[barred], places
        )
        if state[ALONE + 1 - side]:
            times = scratch(world, taken)
            for i in range(taken):
                times[i] = max(links[places[i], TIME], time_of(message))
            send_alone_at(world, me, state, 1 - side, places[:taken], times)
    return True


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
def keep_for_ever(world, me, state, side, message, slots, fates):  # type: ignore[no-untyped-def]
    """Keep, of rows that match at any time, those that still can; forget those of the other side that cannot."""
    time = time_of(message)
    if state[ALONE + 1 - side]:
        seen = words_at(state[SEEN + side], capacity_of(state))
        for slot in slots:
            seen[slot] = 1
    beside = state[UNIQUE] == 1 - side
    waiting = rows_with(world, fates, WAITS)
    if state[ALONE + side]:
        never = rows_without(world, fates, MATCHES) if state[ENDED + 1 - side] else rows_with(world, fates, NEVER)
        if len(never) > 0:
            send_alone(world, me, state, side, message, never, time)
    if state[ENDED + 1 - side]:
        if side != state[UNIQUE]:
            return True
    elif state[ALONE + side] and (not beside or len(waiting) > 0):
        at = side_at(JOINED, side)
        before = state[LEAST + side] if rows_kept(state, at) > 0 else COMPLETE
        state[LEAST + side] = min(before, time)
    places = scratch(world, len(slots))
    if beside:
        _keep(world, state, side, message, slots, waiting, False, places)
        return True
    everything = rows_but(world, len(slots), slots[:0])
    done = _keep(world, state, side, message, slots, everything, side == state[UNIQUE], places)
    if done < len(slots):
        fail(world, me, TWICE, side, slots[done], 0)
        return False
    other = side_at(JOINED, 1 - side)
    if side == state[UNIQUE] and rows_kept(state, other) > 0:
        take_chains(
            heads_of(state, other), links_of(state, other), free_of(state, other), meta_of(state, other),
            slots[rows_with(world, fates, MATCHES)], places[:0],
        )  # fmt: skip
    return True


@kernel
def keep_bounded(world, me, state, side, message, slots, starts, ends, dues, fates):  # type: ignore[no-untyped-def]
    """Keep, until they are due, rows that can match or are sent alone then."""
    at = side_at(JOINED, side)
    rule = ANY
    if state[UNIQUE] == 1 - side:
        rows = rows_without(world, fates, MATCHES) if state[ALONE + side] else rows_with(world, fates, WAITS)
    else:
        rows = rows_but(world, len(slots), slots[:0])
        rule = ONE if state[UNIQUE] == side else FIRST if state[ONCE] and side == RIGHT else ANY
    places = scratch(world, len(rows))
    done = add_bounded(
        heads_of(state, at), links_of(state, at), free_of(state, at), meta_of(state, at), heap_of(state, at), slots,
        rows, starts, ends, dues, fates, time_of(message), rule, places,
    )  # fmt: skip
    if done < len(rows):
        fail(world, me, TWICE, side, slots[rows[done]], 0)
        return False
    keep_rows(state, at, message, rows, places)
    return True
