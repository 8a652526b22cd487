"""The open panes of compiled windows, as slots of theirs leave and come."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from tokenring.engine import COLUMN, WORDS, Batch, Time, int64, kernel, void
from tokenring.engine.compiled import Words, lease, record_of, words_at, world_at
from tokenring.operators.aggregates.panes import PaneTable, SlidingPanes, by_pane, heap_of, least_end
from tokenring.operators.folds import merge_slots, start_slot, take_away_slots
from tokenring.operators.state import LEAST, Keys, key_column, push
from tokenring.operators.state.moving import live_slots


@kernel(int64(WORDS, COLUMN, COLUMN, WORDS))
def _leave(words: Words, panes: Words, gone: Words, empty: Words) -> int:
    """Take slots that are gone, a word for each, out of the lists of panes; write those that have none left: returns
    how many."""
    table = record_of(words, SlidingPanes)
    first, last, members = by_pane(table, table.first), by_pane(table, table.last), by_pane(table, table.members)
    following = words_at(table.following, table.keys.places)
    found = 0
    for pane in panes:
        at = first[pane]
        first[pane] = last[pane] = members[pane] = 0
        while at != 0:
            slot, after = at - 1, following[at - 1]
            if gone[slot] == 0:
                _append(first, last, members, following, pane, slot)
            at = after
        if members[pane] == 0:
            empty[found] = pane
            found += 1
    return found


@kernel
def _append(first: Words, last: Words, members: Words, following: Words, pane: int, slot: int) -> None:
    following[slot] = 0
    if last[pane] == 0:
        first[pane] = slot + 1
    else:
        following[last[pane] - 1] = slot + 1
    last[pane] = slot + 1
    members[pane] += 1


@kernel(void(WORDS, COLUMN, COLUMN, COLUMN))
def _arrive(words: Words, fresh: Words, panes: Words, slots: Words) -> None:
    """Append slots to their panes' lists, of which those of `fresh` are empty."""
    table = record_of(words, SlidingPanes)
    first, last, members = by_pane(table, table.first), by_pane(table, table.last), by_pane(table, table.members)
    following = words_at(table.following, table.keys.places)
    for pane in fresh:
        first[pane] = last[pane] = members[pane] = 0
    for i in range(len(slots)):
        _append(first, last, members, following, panes[i], slots[i])


@kernel
def _last_inside(table: SlidingPanes) -> int:
    """The end of the last pane that is inside the window at hand: others end later. LEAST if there is none."""
    return key_column(table.open, 0)[table.back - 1] if table.every > 0 and table.inside > 0 else LEAST


@kernel(void(WORDS, COLUMN))
def _fill_heap(words: Words, panes: Words) -> None:
    """All open panes are in the heap, but for those inside."""
    table = record_of(words, SlidingPanes)
    heap, ends, last, size = heap_of(table), key_column(table.open, 0), _last_inside(table), 0
    for pane in panes:
        if ends[pane] > last:
            push(heap, size, ends[pane], pane)
            size += 1


@kernel(int64(COLUMN, WORDS, WORDS))
def leave_groups(groups: Words, uses: Words, unused: Words) -> int:
    """Each of these groups has a pane less: fill in those that have none any more; returns how many."""
    found = 0
    for group in groups:
        uses[group] -= 1
        if uses[group] == 0:
            unused[found] = group
            found += 1
    return found


@kernel
def groups_in_use(world: int, uses: Words, group: int, count: int) -> Words:
    """The first `count` groups from this one on that some pane has, of which there are as many, in order."""
    used = words_at(lease(world_at(world), 8 * count), count)
    found = 0
    while found < count:
        if uses[group] > 0:
            used[found] = group
            found += 1
        group += 1
    return used


@kernel(int64(WORDS, COLUMN, WORDS, WORDS))
def _go_out(words: Words, slots: Words, inside: Words, groups: Words) -> int:
    """Take slots of panes that are inside out of their groups; write the groups that have none left: how many."""
    table = record_of(words, SlidingPanes)
    ends, last, count = key_column(table.keys, 0), _last_inside(table), 0
    group_of = words_at(table.group_of, table.keys.places)
    for slot in slots:
        if ends[slot] <= last:
            inside[count], groups[count] = slot, group_of[slot]
            count += 1
    if table.moves:
        take_away_slots(table.folds, table.merged, inside[:count], groups[:count])
    return leave_groups(groups[:count], words_at(table.uses, table.groups.places), inside)


@kernel
def come_in(table: SlidingPanes, slots: Words, groups: Words, room: Words) -> int:
    """Slots of panes that are inside come into their groups. Returns the fold whose sum left its range; -1 if none."""
    uses, group_of = words_at(table.uses, table.groups.places), words_at(table.group_of, table.keys.places)
    for i in range(len(slots)):
        if uses[groups[i]] == 0:
            start_slot(table.merged, groups[i])
        uses[groups[i]] += 1
        group_of[slots[i]] = groups[i]
    return merge_slots(table.folds, table.merged, slots, groups, room) if table.moves else -1


@kernel(int64(WORDS, COLUMN, COLUMN, WORDS))
def _come_in(words: Words, slots: Words, groups: Words, room: Words) -> int:
    return come_in(record_of(words, SlidingPanes), slots, groups, room)


@kernel(void(WORDS))
def _unchain(words: Words) -> None:
    """Panes inside that have no slots are inside no longer."""
    table = record_of(words, SlidingPanes)
    behind, members = words_at(table.behind, table.open.places), by_pane(table, table.members)
    at, count, table.inside, before = table.front, table.inside, 0, 0
    for _ in range(count):
        after = behind[at - 1]
        if members[at - 1] > 0:
            if table.inside == 0:
                table.front = at
            else:
                behind[before - 1] = at
            behind[at - 1], table.back, before = 0, at, at
            table.inside += 1
        at = after


@kernel(int64(WORDS))
def _end_inside(words: Words) -> int:
    table = record_of(words, SlidingPanes)
    return _last_inside(table)


@kernel(int64(WORDS))
def _least(words: Words) -> int:
    table = record_of(words, SlidingPanes)
    return least_end(table)


class Sliding(Protocol):
    """Groups of the panes that are inside a sliding window."""

    groups: Keys | None
    """By their keys; None: there is one, of all."""

    def take_out(self) -> None:
        """Let no pane be inside: those that are open come in again for the next window."""


class MovingPanes:
    """See OpenPanes. What is inside a sliding window stays there, with what has come and without what has left."""

    def __init__(
        self, table: PaneTable, slots: Keys, panes: Keys, link: Callable[[], None], sliding: Sliding | None
    ) -> None:
        """table: the operator's, SlidingPanes where `sliding` is given; slots: by pane and key; panes: the open ones.
        link: lets arrays be as long as these need it, and links them."""
        self._table, self._slots, self._panes, self._link, self._sliding = table, slots, panes, link, sliding

    @property
    def closed(self) -> Time:
        """See OpenPanes."""
        return self._table.closed

    @property
    def _inside(self) -> Sliding | None:
        """The groups, if there are panes inside. A pane that is half inside is taken out, with the others."""
        sliding = self._sliding
        if sliding is not None and self._table.entering:
            sliding.take_out()
        return sliding if sliding is not None and self._table.inside else None

    def leave(self, slots: np.ndarray) -> None:
        """See OpenPanes."""
        inside = self._inside
        if inside is not None:
            unused, groups = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
            count = _go_out(self._table.words, slots, unused, groups)
            if inside.groups is not None:
                inside.groups.remove(unused[:count])
        gone = np.zeros(self._slots.capacity, np.int64)
        gone[slots] = 1
        panes = live_slots(self._panes)
        empty = np.empty(len(panes), np.int64)
        count = _leave(self._table.words, panes, gone, empty)
        if inside is not None:
            _unchain(self._table.words)
        self._panes.remove(empty[:count])
        self._link()
        _fill_heap(self._table.words, live_slots(self._panes))
        self._table.pane_end, self._table.run_end = LEAST, -1

    def make_room(self) -> None:
        """See OpenPanes."""
        self._link()

    def arrive(self, slots: np.ndarray, ends: np.ndarray, closed: np.ndarray) -> None:
        """See OpenPanes."""
        table, words = self._table, self._table.words
        panes = self._panes.slots(Batch.wrap(self._panes.schema, (ends,), len(ends)))
        self._link()
        _arrive(words, self._panes.fresh, panes, slots)
        upto = max(table.closed, int(closed.max(initial=-1)))
        table.closed = upto
        sent = done = table.done_end
        if table.every:
            first = int(table.offset + table.width)
            sent = first + (upto - table.lateness - first) // table.every * table.every
            table.done_end = sent = max(done, sent)
        inside = self._inside
        if inside is not None:
            last = _end_inside(words)
            fresh = ends[self._panes.fresh_rows]
            chosen = slots[ends <= last]
            # A pane that others are behind, or windows of which only others know: all comes in anew.
            if sent > done or (fresh <= last).any() or not self._enter(inside, chosen):
                inside.take_out()
        _fill_heap(words, live_slots(self._panes))

    def _enter(self, inside: Sliding, slots: np.ndarray) -> bool:
        """Slots come into the groups of panes that are inside; False if a sum left its range."""
        groups = np.zeros(len(slots), np.int64)
        if inside.groups is not None:
            keys = self._slots.batch(slots)
            groups = inside.groups.slots(keys, keys.schema.names[1:])
            self._link()
        return _come_in(self._table.words, slots, groups, np.empty(len(slots), np.int64)) < 0

    def least(self) -> Time:
        """See OpenPanes."""
        return int(_least(self._table.words))
