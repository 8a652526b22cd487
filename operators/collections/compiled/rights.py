"""The rights of a compiled operator that answers later: tokens at as few times as will do."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    Record,
    Words,
    clone,
    deallocate,
    downgrade_to,
    drop,
    inner_of,
    inner_of_token,
    retain,
    time_of,
    time_of_token,
    words_at,
)
from tokenring.operators.collections.updates import new_block


class Rights(Record):
    """Tokens for the first output at times of which none is less than or equal to another: where their slots are, how
    many, and for how many there is room."""

    slots: int
    count: int
    room: int


_FIRST_ROOM = 4


@kernel
def _coordinates(first: int, inner: Words, depth: int) -> Words:
    words = np.empty(depth, np.int64)
    words[0] = first
    for at in range(1, depth):
        words[at] = inner[at - 1]
    return words


@kernel
def time_of_right(world: int, rights: Rights, number: int, depth: int) -> Words:
    """The coordinates of a right's time, int64 (depth,)."""
    slot = words_at(rights.slots, rights.count)[number]
    return _coordinates(time_of_token(world, slot), inner_of_token(world, slot), depth)


@kernel
def is_at_most(time: Words, other: Words) -> bool:
    """Whether a time is less than or equal to another: in each coordinate."""
    is_less = True
    for at in range(len(time)):
        is_less &= time[at] <= other[at]
    return is_less


@kernel
def _have_room(rights: Rights, count: int) -> None:
    if count > rights.room:
        room = max(_FIRST_ROOM, 2 * count)
        slots = new_block(1, room)
        if rights.slots != 0:
            words_at(slots, rights.count)[:] = words_at(rights.slots, rights.count)
            deallocate(rights.slots)
        rights.slots, rights.room = slots, room


@kernel
def keep_right(world: int, me: int, rights: Rights, message: int, depth: int) -> None:
    """Be able to answer the message at hand at input 0, at its time and later."""
    time = _coordinates(time_of(message), inner_of(message), depth)
    for number in range(rights.count):
        if is_at_most(time_of_right(world, rights, number, depth), time):
            return
    kept, slots = 0, words_at(rights.slots, rights.count)
    for number in range(rights.count):
        if is_at_most(time, time_of_right(world, rights, number, depth)):
            drop(world, me, slots[number])
        else:
            slots[kept] = slots[number]
            kept += 1
    rights.count = kept
    _have_room(rights, kept + 1)
    words_at(rights.slots, kept + 1)[kept] = retain(world, me, 0, 0)
    rights.count = kept + 1


@kernel
def keep_only(world: int, me: int, rights: Rights, times: Words) -> None:
    """Give up whatever is not needed to answer at these times, int64 (times, depth), of which none is less than or
    equal to another, and each not earlier than some right."""
    wanted, depth = times.shape
    before = words_at(rights.slots, rights.count)
    if wanted == 1 and len(before) == 1:
        if not is_at_most(times[0], time_of_right(world, rights, 0, depth)):
            downgrade_to(world, me, before[0], times[0])
        return
    slots, is_kept = np.empty(wanted, np.int64), np.zeros(len(before), np.int64)
    for number in range(wanted):
        place = 0
        while not is_at_most(time_of_right(world, rights, place, depth), times[number]):
            place += 1
        if is_at_most(times[number], time_of_right(world, rights, place, depth)):
            slots[number], is_kept[place] = before[place], 1
        else:
            slots[number] = clone(world, me, before[place])
            downgrade_to(world, me, slots[number], times[number])
    for place in range(len(before)):
        if is_kept[place] == 0:
            drop(world, me, before[place])
    _have_room(rights, wanted)
    rights.count = wanted
    words_at(rights.slots, wanted)[:] = slots
