"""Sliding windows, one after the other, of the state of their panes: moved on from window to window where that is
exact, else merged anew. Each pane's keys are looked up once."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    FAILED,
    NEEDS_ROOM,
    Words,
    address_of,
    entry,
    lease,
    new_message,
    signed,
    table_at,
    words_at,
    world_at,
)
from tokenring.operators.aggregates.moving_panes import come_in, groups_in_use, leave_groups
from tokenring.operators.aggregates.panes import (
    MOST_SENT,
    SlidingPanes,
    ask_ends,
    by_pane,
    forget_pane,
    heap_of,
    heaped,
    least_end,
    list_members,
    made_null,
    overflow,
    take_rows,
)
from tokenring.operators.aggregates.windows import CompiledPanes, write_bounds, write_keys
from tokenring.operators.folds import (
    BLOCK,
    NO_ROOM,
    FoldState,
    Plan,
    clear_sets,
    forget_state,
    merge_slots,
    start_slot,
    take_away_slots,
    write_results,
)
from tokenring.operators.mechanisms import CompiledLogic, driven, give, own_record
from tokenring.operators.migrate import Table
from tokenring.operators.state import (
    FIRST_SLOTS,
    SOURCE_WORDS,
    Keys,
    forget_slots,
    gather,
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
_ALL_IN = -1
"""What `_enter_panes` says, if it is neither NO_ROOM nor the fold whose sum left its range."""


@kernel
def _number_groups(world: int, panes: SlidingPanes, slots: Words, groups: Words, scratch: Words) -> int:
    """Write the groups of slots' keys; returns how many there was room for."""
    count, columns = len(slots), panes.by.count
    if columns == 0:
        groups[:] = 0
        return count
    words = table_at(lease(world_at(world), 8 * columns * count), columns, count)
    for column in range(columns):
        gather(key_column(panes.keys, column + 1), slots, words[column])
    wanted, sources = words[0], table_at(panes.by.sources, 0, SOURCE_WORDS)
    if columns > 1:
        wanted, sources = scratch[_WANTED][:count], table_at(panes.by.sources, columns, SOURCE_WORDS)
        for column in range(columns):
            have_column(sources, column, words[column])
    done, _ = number_rows(panes.groups, sources, wanted, groups, scratch[_FRESH], scratch[_FRESH_ROWS])
    return done


@kernel
def _enter_slots(world: int, panes: SlidingPanes, slots: Words, groups: Words, scratch: Words) -> tuple[int, int]:
    """Slots of a pane come in. Returns how many there was room for, and the fold whose sum left its range; -1 if none
    did."""
    done = _number_groups(world, panes, slots, groups, scratch)
    return done, come_in(panes, slots[:done], groups[:done], scratch[_PICKED])


@kernel
def _enter_panes(world: int, panes: SlidingPanes, end: int) -> int:
    """The panes that end by `end` come in, in order; if there is no room, as far as there is."""
    heap, first = heap_of(panes), by_pane(panes, panes.first)
    following, behind = words_at(panes.following, panes.keys.places), words_at(panes.behind, panes.open.places)
    scratch = table_at(panes.sliding_scratch, _SCRATCH_ROWS, BLOCK)
    slots, groups = scratch[_SLOTS], scratch[_NUMBERS]
    while heaped(panes) > 0 and heap[0, 0] <= end:
        pane = heap[0, 1]
        at = panes.entering if panes.entering != 0 else first[pane]
        while at != 0:
            count = 0
            while at != 0 and count < BLOCK:
                slots[count] = at - 1
                count += 1
                at = following[at - 1]
            done, wrong = _enter_slots(world, panes, slots[:count], groups[:count], scratch)
            if wrong >= 0:
                return wrong
            if done < count:
                panes.entering = slots[done] + 1
                return NO_ROOM
        panes.entering = 0
        pop(heap, heaped(panes))
        behind[pane] = 0
        if panes.inside == 0:
            panes.front = pane + 1
        else:
            behind[panes.back - 1] = pane + 1
        panes.back = pane + 1
        panes.inside += 1
    return _ALL_IN


@kernel
def _slots_inside(world: int, panes: SlidingPanes, pane: int) -> tuple[Words, Words]:
    """The slots of a pane that is inside, and their groups."""
    members = by_pane(panes, panes.members)[pane]
    slots = words_at(lease(world_at(world), 8 * members), members)
    groups = words_at(lease(world_at(world), 8 * members), members)
    list_members(panes, pane, slots)
    gather(words_at(panes.group_of, panes.keys.places), slots, groups)
    return slots, groups


@kernel
def _leave_panes(world: int, panes: SlidingPanes, upto: int) -> int:
    """The panes that end by `upto` are of no later window, and are open no longer. Returns the fold whose function
    raised; -1 if none did."""
    ends, behind = key_column(panes.open, 0), words_at(panes.behind, panes.open.places)
    uses = words_at(panes.uses, panes.groups.places)
    while panes.inside > 0 and ends[panes.front - 1] <= upto:
        pane = panes.front - 1
        slots, groups = _slots_inside(world, panes, pane)
        if panes.moves:
            wrong = take_away_slots(panes.folds, panes.merged, slots, groups)
            if wrong >= 0:
                return wrong
        forget_state(panes.folds, slots)
        forget_slots(panes.keys, slots)
        unused = leave_groups(groups, uses, slots)
        if panes.by.count > 0:
            forget_slots(panes.groups, slots[:unused])
        panes.front = behind[pane]
        panes.inside -= 1
        forget_pane(panes, pane)
    return -1


@kernel
def _merge_anew(world: int, panes: SlidingPanes, groups: int) -> int:
    """The state of the groups in use, so many, from that of the panes inside. Returns the fold whose sum left its
    range; NO_ROOM, or -1."""
    clear_sets(panes.merged)
    for group in groups_in_use(world, words_at(panes.uses, panes.groups.places), 0, groups):
        start_slot(panes.merged, group)
    behind, at = words_at(panes.behind, panes.open.places), panes.front
    for _ in range(panes.inside):
        slots, targets = _slots_inside(world, panes, at - 1)
        words = words_at(lease(world_at(world), 8 * len(slots)), len(slots))
        wrong = merge_slots(panes.folds, panes.merged, slots, targets, words)
        if wrong != -1:
            return wrong
        at = behind[at - 1]
    return -1


@kernel
def _send_some(world: int, me: int, panes: SlidingPanes, end: int) -> int:
    """Send some of the window at hand, which ends then; how many rows, -1 if one cannot be."""
    count = min(panes.unsent, MOST_SENT)
    shown = groups_in_use(world, words_at(panes.uses, panes.groups.places), panes.next_sent, count)
    message = new_message(world, me, 0, count)
    position = write_keys(panes, panes.groups, panes.by.count, shown, message, write_bounds(panes, message, end))
    wrong = write_results(panes.merged, shown, message, position)
    if wrong >= 0:
        made_null(world, me, wrong)
        return -1
    give(world, me, end + panes.lateness, message)
    panes.unsent -= count
    panes.next_sent = shown[count - 1] + 1 if panes.unsent > 0 else signed(0)
    return count


@entry
def _emit_sliding(world: int, me: int) -> int:
    """Close windows, each in messages of its own."""
    state, panes = driven(world, me), own_record(world, me, SlidingPanes)
    panes.closed = max(panes.closed, state.upto)
    rows = 0
    while live_of(panes.open) > 0 and least_end(panes) <= state.upto:
        if rows >= MOST_SENT:
            return AGAIN
        end = least_end(panes) - panes.lateness
        if panes.unsent == 0:
            told = _enter_panes(world, panes, end)
            groups = live_of(panes.groups) if panes.by.count > 0 else 1
            if told == _ALL_IN and panes.moves == 0:
                told = _merge_anew(world, panes, groups)
            if told == NO_ROOM:
                return NEEDS_ROOM
            if told >= 0:
                return overflow(world, me, told)
            panes.unsent = groups
        sent = _send_some(world, me, panes, end)
        if sent < 0:
            return FAILED
        rows += sent
        if panes.unsent > 0:
            return AGAIN
        panes.done_end = end
        told = _leave_panes(world, panes, end - panes.width + panes.every)
        if told >= 0:
            return overflow(world, me, told)
    state.made = least_end(panes)
    return DONE


class _Sliding:
    """One worker's open panes, and the groups of those that are inside the window at hand."""

    def __init__(self, plan: Plan, panes: Panes, partial: bool) -> None:
        self.table = table = SlidingPanes()
        self.panes = CompiledPanes(plan, panes, partial, self.table, merges=True)
        self.groups = Keys(Schema.of(self.panes.key_words.spec), plan.by) if plan.by else None
        self._state = FoldState(plan)  # of groups: its texts are where the panes' are, until the next window
        self._group_of, self._uses, self._behind = (np.zeros(FIRST_SLOTS, np.int64) for _ in range(3))
        self._scratch = shared_scratch(__name__, _SCRATCH_ROWS, BLOCK)
        self.explain = self.panes.explain
        table.sliding_scratch, table.moves = address_of(self._scratch), self._state.reversible
        table.every, table.done_end = panes.every, -(2**62)
        self._link()

    def _link(self) -> None:
        table = self.table
        if self.groups is None:
            table.groups.places = len(self._uses)  # one group of all
        else:
            link_numbers(table.groups, self.groups)
        self._state.link(table.merged)
        table.group_of, table.uses = address_of(self._group_of), address_of(self._uses)
        table.behind = address_of(self._behind)

    def grow(self) -> None:
        """Make room for another pane, another key of one, and another group."""
        self.panes.grow()
        if self.groups is not None:
            self.groups.grow()
        self.lengthen()

    def lengthen(self) -> None:
        """Let all be as long as panes, keys and groups need it."""
        self.panes.lengthen()
        groups = 1 if self.groups is None else self.groups.capacity
        self._state.make_room(groups)
        self._uses = grown(self._uses, groups)
        self._group_of = grown(self._group_of, self.panes.keys.capacity)
        self._behind = grown(self._behind, self.panes.open.capacity)
        self._link()

    def take_out(self) -> None:
        """Let no pane be inside a window: those that are open come in again for the next one."""
        if self.groups is not None:
            self.groups.clear()
        self._uses[:] = 0
        self.table.inside = self.table.entering = 0
        self._link()


def compiled_sliding(
    plan: Plan, panes: Panes, partial: bool, exchanged: Sequence[str], moves: Sequence[Table]
) -> CompiledLogic:
    """The last stage, of windows of several panes each; see `compiled_windows`. Rows, too, are late by a unit: at the
    time at which a window ends state may move, whose windows then are either all sent, or none."""
    held = _Sliding(plan, panes, partial)
    held.panes.offer(exchanged, moves, held.lengthen, held)
    return CompiledLogic(
        held.table.words, _emit_sliding, (take_rows,), (ask_ends,), late=1, owners=(held,),
        make_room=held.grow, explain=held.explain,
    )  # fmt: skip
