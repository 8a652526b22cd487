"""Sliding windows in the worker's inner loop: what `Windows` of several panes each send, by `PutTogether`."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    NEEDS_ROOM,
    address_of,
    claim,
    entry,
    new_message,
    table_at,
    words_at,
    world_at,
)
from tokenring.operators.aggregates.compiled_panes import (
    BACK,
    BEHIND,
    BY_COUNT,
    CLOSED,
    DONE_END,
    ENTERING,
    EVERY,
    FIRST,
    FOLDED,
    FOLLOWING,
    FRONT,
    GROUP_OF,
    GROUPS,
    INSIDE,
    KEYS,
    LATENESS,
    MEMBERS,
    MERGED,
    MOVES,
    OWN_WORDS,
    PANES,
    SLIDING_SCRATCH,
    SLIDING_WORDS,
    SOURCES,
    USES,
    WIDTH,
    forget_pane,
    heap_of,
    heaped,
    least_end,
    list_members,
    overflow,
    pane_words,
    take_rows,
)
from tokenring.operators.aggregates.compiled_windows import CompiledPanes, write_bounds, write_keys
from tokenring.operators.aggregates.moving_panes import come_in
from tokenring.operators.folds import (
    BLOCK,
    Accumulators,
    FoldTables,
    Plan,
    gather,
    groups_in_use,
    leave_groups,
    merge_slots,
    start_slot,
    take_away_slots,
    write_results,
)
from tokenring.operators.mechanisms import MADE, UPTO, CompiledLogic, driven, give, own_words
from tokenring.operators.migrate import Table
from tokenring.operators.state import (
    PLACES,
    SOURCE_WORDS,
    Keys,
    forget_slots,
    grown,
    have_column,
    key_column,
    link_numbers,
    live_of,
    number_rows,
    pop,
    shared_scratch,
)
from tokenring.operators.time import Panes

_SLOTS, _NUMBERS, _WANTED, _FRESH, _FRESH_ROWS, _PICKED = range(6)
_SCRATCH_ROWS = 6
_MOST_ROWS = 1 << 14
"""So many rows are sent in a call, or those of one window: what is sent stays until the round ends."""
_ALL_IN, _NO_ROOM = -1, -2  # what `_enter_panes` says, if it is not the fold whose sum left its range


@kernel
def _number_groups(world, own, slots, groups, scratch):  # type: ignore[no-untyped-def]
    """Write the groups of slots' keys; returns how many there was room for."""
    count, columns = len(slots), own[BY_COUNT]
    if columns == 0:
        groups[:] = 0
        return count
    words = table_at(claim(world_at(world), 8 * columns * count), columns, count)
    for column in range(columns):
        gather(key_column(own, KEYS, column + 1), slots, words[column])
    wanted, sources = words[0], table_at(own[SOURCES], 0, SOURCE_WORDS)
    if columns > 1:
        wanted, sources = scratch[_WANTED][:count], table_at(own[SOURCES], columns, SOURCE_WORDS)
        for column in range(columns):
            have_column(sources, column, words[column])
    done, _ = number_rows(own, GROUPS, sources, wanted, groups, scratch[_FRESH], scratch[_FRESH_ROWS])
    return done


@kernel
def _enter_slots(world, own, slots, groups, scratch):  # type: ignore[no-untyped-def]
    """Slots of a pane come in. Returns how many there was room for, and the fold whose sum left its range; -1 if none
    did."""
    done = _number_groups(world, own, slots, groups, scratch)
    return done, come_in(own, slots[:done], groups[:done], scratch[_PICKED])


@kernel
def _enter_panes(world, own, end):  # type: ignore[no-untyped-def]
    """The panes that end by `end` come in, in order; if there is no room, as far as there is."""
    heap, first = heap_of(own), pane_words(own, FIRST)
    following, behind = words_at(own[FOLLOWING], own[KEYS + PLACES]), words_at(own[BEHIND], own[PANES + PLACES])
    scratch = table_at(own[SLIDING_SCRATCH], _SCRATCH_ROWS, BLOCK)
    slots, groups = scratch[_SLOTS], scratch[_NUMBERS]
    while heaped(own) > 0 and heap[0, 0] <= end:
        pane = heap[0, 1]
        at = own[ENTERING] if own[ENTERING] != 0 else first[pane]
        while at != 0:
            count = 0
            while at != 0 and count < BLOCK:
                slots[count] = at - 1
                count += 1
                at = following[at - 1]
            done, wrong = _enter_slots(world, own, slots[:count], groups[:count], scratch)
            if wrong >= 0:
                return wrong
            if done < count:
                own[ENTERING] = slots[done] + 1
                return _NO_ROOM
        own[ENTERING] = 0
        pop(heap, heaped(own))
        behind[pane] = 0
        if own[INSIDE] == 0:
            own[FRONT] = pane + 1
        else:
            behind[own[BACK] - 1] = pane + 1
        own[BACK] = pane + 1
        own[INSIDE] += 1
    return _ALL_IN


@kernel
def _slots_inside(world, own, pane):  # type: ignore[no-untyped-def]
    """The slots of a pane that is inside, and their groups."""
    members = pane_words(own, MEMBERS)[pane]
    slots = words_at(claim(world_at(world), 8 * members), members)
    groups = words_at(claim(world_at(world), 8 * members), members)
    list_members(own, pane, slots, 0)
    gather(words_at(own[GROUP_OF], own[KEYS + PLACES]), slots, groups)
    return slots, groups


@kernel
def _leave_panes(world, own, upto):  # type: ignore[no-untyped-def]
    """The panes that end by `upto` are of no later window, and are open no longer. Returns the fold whose function
    raised; -1 if none did."""
    ends, behind = key_column(own, PANES, 0), words_at(own[BEHIND], own[PANES + PLACES])
    uses = words_at(own[USES], own[GROUPS + PLACES])
    while own[INSIDE] > 0 and ends[own[FRONT] - 1] <= upto:
        pane = own[FRONT] - 1
        slots, groups = _slots_inside(world, own, pane)
        if own[MOVES]:
            wrong = take_away_slots(own, FOLDED, MERGED, slots, groups)
            if wrong >= 0:
                return wrong
        forget_slots(own, KEYS, slots)
        unused = leave_groups(groups, uses, slots)
        if own[BY_COUNT] > 0:
            forget_slots(own, GROUPS, slots[:unused])
        own[FRONT] = behind[pane]
        own[INSIDE] -= 1
        forget_pane(own, pane)
    return -1


@kernel
def _merge_anew(world, own, shown):  # type: ignore[no-untyped-def]
    """The state of the groups that are shown, from that of the panes inside. Returns the fold whose sum left its
    range; -1 if none did."""
    for group in shown:
        start_slot(own, MERGED, group)
    behind, at = words_at(own[BEHIND], own[PANES + PLACES]), own[FRONT]
    for _ in range(own[INSIDE]):
        slots, groups = _slots_inside(world, own, at - 1)
        words = words_at(claim(world_at(world), 8 * len(slots)), len(slots))
        wrong = merge_slots(own, FOLDED, MERGED, slots, groups, words)
        if wrong >= 0:
            return wrong
        at = behind[at - 1]
    return -1


@entry
def _emit_sliding(world, me):  # type: ignore[no-untyped-def]
    """Close windows, a message each."""
    state, own = driven(world, me), own_words(world, me, SLIDING_WORDS)
    own[CLOSED] = max(own[CLOSED], state[UPTO])
    rows = 0
    while live_of(own, PANES) > 0 and least_end(own) <= state[UPTO]:
        if rows >= _MOST_ROWS:
            return AGAIN
        time = least_end(own)
        end = time - own[LATENESS]
        told = _enter_panes(world, own, end)
        if told == _NO_ROOM:
            return NEEDS_ROOM
        groups = live_of(own, GROUPS) if own[BY_COUNT] > 0 else 1
        shown = groups_in_use(world, words_at(own[USES], own[GROUPS + PLACES]), groups)
        if told == _ALL_IN and own[MOVES] == 0:
            told = _merge_anew(world, own, shown)
        if told >= 0:
            return overflow(world, me, told)
        message = new_message(world, me, 0, len(shown))
        position = write_keys(own, GROUPS, own[BY_COUNT], shown, message, write_bounds(own, message, end))
        write_results(own, MERGED, shown, message, position)
        give(world, me, time, message)
        rows += len(shown)
        own[DONE_END] = end
        told = _leave_panes(world, own, end - own[WIDTH] + own[EVERY])
        if told >= 0:
            return overflow(world, me, told)
    state[MADE] = least_end(own)
    return DONE


class _Sliding:
    """One worker's open panes, and the groups of those that are inside the window at hand."""

    def __init__(self, plan: Plan, panes: Panes) -> None:
        self.panes = CompiledPanes(plan, panes, True, SLIDING_WORDS - OWN_WORDS)
        self.groups = Keys(Schema.of(self.panes.key_words.spec), plan.by) if plan.by else None
        self._state = Accumulators(plan)
        self._tables = FoldTables(plan, self._state)
        self._group_of, self._uses, self._behind = (np.zeros(64, np.int64) for _ in range(3))
        self._scratch = shared_scratch(__name__, _SCRATCH_ROWS, BLOCK)
        self.words = words = self.panes.words
        self.explain = self.panes.explain
        words[SLIDING_SCRATCH], words[MOVES] = address_of(self._scratch), self._state.reversible
        words[EVERY], words[DONE_END] = panes.every, -(2**62)
        self._link()

    def _link(self) -> None:
        words = self.words
        if self.groups is None:
            words[GROUPS + PLACES] = len(self._uses)  # one group of all
        else:
            link_numbers(words, GROUPS, self.groups)
        self._tables.link(words, MERGED)
        words[GROUP_OF], words[USES] = address_of(self._group_of), address_of(self._uses)
        words[BEHIND] = address_of(self._behind)

    def grow(self) -> None:
        """Make room for another pane, another key of one, and another group."""
        self.panes.grow()
        if self.groups is not None:
            self.groups.grow()
        self.lengthen()

    def lengthen(self) -> None:
        """Let all be as long as panes, keys and groups need it."""
        self.panes.lengthen()
        if self.groups is not None:
            self._tables.make_room(self.groups.capacity)
            self._uses = grown(self._uses, self.groups.capacity)
        self._group_of = grown(self._group_of, self.panes.keys.capacity)
        self._behind = grown(self._behind, self.panes.open.capacity)
        self._link()

    def take_out(self) -> None:
        """Let no pane be inside a window: those that are open come in again for the next one."""
        if self.groups is not None:
            self.groups.clear()
        self._uses[:] = 0
        self.words[INSIDE] = self.words[ENTERING] = 0
        self._link()


def compiled_sliding(plan: Plan, panes: Panes, exchanged: Sequence[str], moves: Sequence[Table]) -> CompiledLogic:
    """`Windows` of several panes each, of the states that the first stage sends, of a plan for which `can_fold` holds.
    exchanged, moves: as `Windows` has them."""
    held = _Sliding(plan, panes)
    held.panes.offer(exchanged, moves, held.lengthen, held)
    return CompiledLogic(
        held.words, _emit_sliding, (take_rows,), late=1, owners=(held,), make_room=held.grow, explain=held.explain)
