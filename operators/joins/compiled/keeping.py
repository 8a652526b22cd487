"""What a join keeps of rows that were matched, and whom it lets go."""

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import Words, column_of, fail, time_of, words_at
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
from tokenring.operators.joins.compiled.results import scratch, side_of
from tokenring.operators.joins.compiled.rights import tell_gone, tell_waiting
from tokenring.operators.joins.compiled.sending import send_alone, send_alone_at
from tokenring.operators.joins.compiled.words import TWICE, Join, capacity_of
from tokenring.operators.joins.kept import (
    ANY,
    BARRED,
    FIRST,
    HAS_ROW,
    LEFT,
    MATCHES,
    NO_ROW,
    RIGHT,
    WAITS,
    add,
    add_at_slots,
    add_bounded,
    bar,
    link_at,
    take_chains,
)
from tokenring.operators.state import gather


@kernel
def split_keys(
    world: int, me: int, state: Join, side: int, message: int, slots: Words, goes_on: bool
) -> tuple[Words, Words, bool]:
    """Bar the keys of rows of the unique side that can match nothing, unless that is done, and let rows of the other
    side go that waited for them. Returns the rows that can match, those of them whose match is here, and whether no
    barred key had a row."""
    at, other, where = side_of(state.results, side), side_of(state.results, 1 - side), state.where[side]
    able = column_of(message, where) if where >= 0 else slots[:0]
    heads, others, waiting = heads_of(at), heads_of(other), rows_kept(other)
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
def _let_go(world: int, me: int, state: Join, side: int, message: int, barred: Words) -> None:
    """Rows of the other side go that waited for these keys, and are sent if they are to be sent alone."""
    places = take_rows_of(world, state, 1 - side, barred)
    if state.alone[1 - side]:
        times = times_of_places(world, state, 1 - side, places)
        tell_gone(world, me, state, message, times)
        for i in range(len(times)):
            times[i] = max(times[i], time_of(message))
        send_alone_at(world, me, state, 1 - side, places, times)


@kernel
def take_rows_of(world: int, state: Join, side: int, slots: Words) -> Words:
    """Forget the rows that a side has at slots: the places that they had."""
    at = side_of(state.results, side)
    places = scratch(world, rows_kept(at))
    return places[: take_chains(heads_of(at), links_of(at), free_of(at), meta_of(at), slots, places)]


@kernel
def times_of_places(world: int, state: Join, side: int, places: Words) -> Words:
    """The times of the messages that rows came in."""
    times, links = scratch(world, len(places)), links_of(side_of(state.results, side))
    for i in range(len(places)):
        times[i] = link_at(links, places[i]).time
    return times


@kernel
def first_of_keys(world: int, state: Join, slots: Words, time: int) -> Words:
    """The first row of each key that the right side has no row of yet; the others may be earlier than the one."""
    right = side_of(state.results, RIGHT)
    heads, links = heads_of(right), links_of(right)
    chosen, count = scratch(world, len(slots)), 0
    for row in range(len(slots)):
        place = heads[slots[row]] - HAS_ROW
        if place >= 0:
            link = link_at(links, place)
            link.time = min(link.time, time)
        elif heads[slots[row]] == NO_ROW:
            heads[slots[row]] = BARRED  # chosen already
            chosen[count] = row
            count += 1
    for i in range(count):
        heads[slots[chosen[i]]] = NO_ROW
    return chosen[:count]


@kernel
def _keep(
    world: int, state: Join, side: int, message: int, slots: Words, chosen: Words, unique: bool, places: Words
) -> int:
    """Keep chosen rows for ever; returns how many there was a place for, fewer where `unique` and a key has a row."""
    at = side_of(state.results, side)
    done = add(
        heads_of(at), links_of(at), free_of(at), meta_of(at), slots, chosen,
        time_of(message), unique, places,
    )  # fmt: skip
    keep_rows(at, message, chosen[:done], places[:done])
    return done


@kernel
def _note_seen(state: Join, side: int, slots: Words) -> None:
    if state.alone[1 - side]:
        seen = words_at(state.seen[side], capacity_of(state))
        for slot in slots:
            seen[slot] = 1


@kernel
def _note_waiting(world: int, me: int, state: Join, side: int, message: int, rows: int) -> None:
    """Before so many rows are kept that may be sent alone: the least of their times. That of no rows is gone."""
    if state.alone[side] and not state.ended[1 - side]:
        before = state.least[side] if rows_kept(side_of(state.results, side)) > 0 else COMPLETE
        state.least[side] = min(before, time_of(message))
        tell_waiting(world, me, state, message, rows)


@kernel
def keep_waiting(
    world: int, me: int, state: Join, side: int, message: int, slots: Words, waiting: Words, never: Words
) -> None:
    """Keep, beside the side that is unique, rows whose match may still come; send those that have none, if alone."""
    _note_seen(state, side, slots)
    if state.alone[side] and len(never) > 0:
        send_alone(world, me, state, side, message, never, time_of(message))
    if len(waiting) > 0:
        _note_waiting(world, me, state, side, message, len(waiting))
        _keep(world, state, side, message, slots, waiting, False, scratch(world, len(waiting)))


@kernel
def keep_unique(
    world: int, me: int, state: Join, side: int, message: int, slots: Words, wanted: Words, met: Words
) -> bool:
    """Keep rows of the side that is unique for ever, and forget the rows of the other side that matched those of `met`;
    whether each is the first of its key."""
    if len(wanted) == 0:
        return True
    own = scratch(world, len(wanted))
    gather(slots, wanted, own)
    _note_seen(state, side, own)
    if state.alone[side] and state.ended[1 - side] and len(met) < len(wanted):
        alone, count, passed = scratch(world, len(wanted)), 0, 0
        for row in wanted:
            if passed < len(met) and met[passed] == row:
                passed += 1
            else:
                alone[count] = row
                count += 1
        send_alone(world, me, state, side, message, alone[:count], time_of(message))
    if state.alone[side] and state.ended[1 - side]:
        # Nobody looks there any more, and kept rows would be sent alone once more by who goes on from a snapshot; but a
        # second row is told all the same.
        done = bar(heads_of(side_of(state.results, side)), slots, wanted)
    else:
        _note_waiting(world, me, state, side, message, len(wanted))
        done = _keep(world, state, side, message, slots, wanted, True, own)
    if done < len(wanted):
        fail(world, me, TWICE, side, slots[wanted[done]], 0)
        return False
    if len(met) > 0:
        own = own[: len(met)]
        gather(slots, met, own)
        gone = take_rows_of(world, state, 1 - side, own)
        if state.alone[1 - side]:
            tell_gone(world, me, state, message, times_of_places(world, state, 1 - side, gone))
    return True


@kernel
def keep_for_ever(world: int, me: int, state: Join, side: int, message: int, slots: Words, fates: Words) -> None:
    """Keep rows that match at any time, where no side is unique."""
    _note_seen(state, side, slots)
    if state.ended[1 - side]:
        if state.alone[side]:
            never = rows_without(world, fates, MATCHES)
            if len(never) > 0:
                send_alone(world, me, state, side, message, never, time_of(message))
        return
    _note_waiting(world, me, state, side, message, len(slots))
    everything = rows_but(world, len(slots), slots[:0])
    _keep(world, state, side, message, slots, everything, False, scratch(world, len(slots)))


@kernel
def keep_bounded(
    world: int,
    me: int,
    state: Join,
    side: int,
    message: int,
    slots: Words,
    starts: Words,
    ends: Words,
    dues: Words,
    fates: Words,
) -> None:
    """Keep, until they are due, rows that can match or are sent alone then, where no side is unique."""
    at = side_of(state.results, side)
    rows = rows_but(world, len(slots), slots[:0])
    if state.once and side == LEFT:  # those that matched have been sent, or never will be
        rows = rows_without(world, fates, MATCHES)
    places = scratch(world, len(rows))
    rule = FIRST if state.once and side == RIGHT else ANY
    add_bounded(
        heads_of(at), links_of(at), free_of(at), meta_of(at), heap_of(at), slots,
        rows, starts, ends, dues, fates, time_of(message), rule, places,
    )  # fmt: skip
    keep_rows(at, message, rows, places)


@kernel
def keep_waiting_in_time(
    world: int, state: Join, side: int, message: int, slots: Words, chosen: Words, together: int
) -> None:
    """Keep, until they are due, rows that have no match beside the side that is unique."""
    if len(chosen) == 0:
        return
    at, count = side_of(state.results, side), len(chosen)
    starts, ends, dues = extents_of(world, state, side, message, chosen, together)
    own, fates, places = scratch(world, count), scratch(world, count), scratch(world, count)
    gather(slots, chosen, own)
    fates[:] = WAITS
    add_bounded(
        heads_of(at), links_of(at), free_of(at), meta_of(at), heap_of(at), own,
        rows_but(world, count, own[:0]), starts, ends, dues, fates, time_of(message), ANY, places,
    )  # fmt: skip
    keep_rows(at, message, chosen, places)


@kernel
def keep_unique_in_time(
    world: int, me: int, state: Join, side: int, message: int, slots: Words, fates: Words, together: int
) -> bool:
    """Keep the first rows of a message of the side that is unique until they are due: those of `slots`; whether each is
    the first of its key. fates: of no length if none has matched."""
    at, reach, where = side_of(state.results, side), reach_of(state, side), state.where[side]
    ends, end_after = ends_of(reach, message)
    done = add_at_slots(
        links_of(at), heap_of(at), meta_of(at), slots,
        column_of(message, reach.time_column), reach.start_after, ends, end_after, reach.due_after, together,
        column_of(message, where) if where >= 0 else slots[:0], fates, time_of(message),
    )  # fmt: skip
    if done < len(slots):
        fail(world, me, TWICE, side, slots[done], 0)
        return False
    keep_rows(at, message, slots[:0], slots)
    return True
