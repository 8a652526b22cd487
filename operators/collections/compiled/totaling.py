"""Totals of keys in the inner loop, at times of one coordinate: counts, sums and means alone, one row a key.

Times are totally ordered, so what was said before needs no looking up: the sums of a key are its state, and a change
costs the same however many rows the key has, or had.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import AGAIN, DONE, NEEDS_ROOM, Compiled, address_of, entry, frontier_at, state_as
from tokenring.operators.collections.compiled.blocks import Blocks
from tokenring.operators.collections.compiled.faults import Faults, Tell
from tokenring.operators.collections.compiled.pending import (
    are_all_before,
    begin_pending,
    gather_all,
    give_pending,
    hold_least,
)
from tokenring.operators.collections.compiled.sums import BLOCK, SOURCES, Totaling, begin, begin_due, go_on_with_due
from tokenring.operators.collections.updates import LARGE
from tokenring.operators.collections.words import Entering
from tokenring.operators.mechanisms import drop_first
from tokenring.operators.state import SOURCE_WORDS, Keys, grown, link_numbers


@kernel
def can_be_early(state: Totaling, frontier: int) -> bool:
    """Whether much is pending, and all of it is of the time that the frontier has come to."""
    return state.rows >= LARGE and state.least == frontier and are_all_before(state, frontier + 1)


@kernel
def begin_early(state: Totaling) -> None:
    """Have all that is pending, which is of one time, added."""
    state.due, state.due_room, state.due_rows = give_pending(state)
    state.is_early = 1
    begin(state)


@entry
def total(world: int, me: int) -> int:
    """Gather what came, and say how totals change with what is finished."""
    state = state_as(world, me, Totaling)
    drop_first(world, me, state)
    state.lacks_texts = not gather_all(world, me, state)
    if state.lacks_texts != 0:
        return NEEDS_ROOM
    while True:
        if state.due == 0:
            frontier = frontier_at(world, me, 0)
            is_open = state.touched_count > 0  # rows of a time were added of which more may have come
            if (state.rows > 0 and frontier > state.least) or (is_open and frontier > state.touched_time):
                begin_due(state, frontier)
            elif can_be_early(state, frontier):
                begin_early(state)
            else:
                return NEEDS_ROOM if state.faults.count > 0 else DONE
        status = go_on_with_due(world, me, state)
        if status != DONE:
            return NEEDS_ROOM if status == AGAIN and state.faults.count > 0 else status
        if state.touched_count == 0:
            hold_least(world, me, state)


class _Room:
    """Keys and sums of one worker, which grow; and what they failed at."""

    def __init__(self, state: Totaling, keys: int, width: int, entering: Entering, tell: Tell) -> None:
        names = [f"key{column}" for column in range(keys)]
        self._state, self._entering = state, entering
        self._faults = Faults(state.faults, keys + 2, tell)
        self._keys = Keys(Schema.of(dict.fromkeys(names, "int64")), names)
        self._sums = np.zeros((self._keys.capacity, width), np.int64)
        self._stamps = np.zeros(self._keys.capacity, np.int64)
        self._link()

    def _link(self) -> None:
        link_numbers(self._state.numbers, self._keys)
        self._state.sums, self._state.stamps = address_of(self._sums), address_of(self._stamps)

    def make(self) -> None:
        """Tell of faults; or let there be more room, for texts or for keys, where there was none."""
        if self._faults.are_noted:
            self._faults.tell()
            return
        if self._state.lacks_texts:
            self._entering.make_room()
            return
        self._keys.grow()
        if len(self._sums) < self._keys.capacity:
            self._sums = grown(self._sums, self._keys.capacity, 0, axis=0)
            self._stamps = grown(self._stamps, self._keys.capacity, -1)
        self._link()


def totaling(
    entering: Entering, keys: int, summed: np.ndarray, totals: np.ndarray, width: int, tell: Tell,
    wrong: Callable[[int, np.ndarray, Sequence[int]], Exception],
) -> Compiled:  # fmt: skip
    """The operator. entering: makes tables of messages; keys: how many columns are keys, the first ones; summed,
    totals: what is summed, and made of it; width: how many sums a key has; tell: takes keys that have no totals, where
    they had some, and those that have some again; wrong: the error for a key that has rows more often than its sums can
    hold, by what is wrong, its words and the time."""
    key = np.zeros(keys, np.int64)
    scratch = np.zeros(SOURCES * BLOCK + keys * SOURCE_WORDS + 2 * (len(totals) + 1), np.int64)
    state = Totaling()
    owners = begin_pending(state, entering)
    state.keys, state.width, state.wrong, state.scratch = keys, width, address_of(key), address_of(scratch)
    state.summed, state.summed_count = address_of(summed), len(summed)
    state.totals, state.total_count = address_of(totals), len(totals)
    room = _Room(state, keys, width, entering, tell)
    blocks = Blocks((state, "block"), (state, "due"), (state, "touched"), (state.faults, "rows"))

    def explain(_: int, operands: tuple[int, int, int]) -> Exception:
        return wrong(operands[0], key, operands[1:2])

    return Compiled(total, state.words, (*owners, key, scratch, summed, totals, room, blocks), room.make, explain)
