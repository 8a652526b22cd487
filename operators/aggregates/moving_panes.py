"""The open panes of compiled windows, as slots of theirs leave and come."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from tokenring.engine import COLUMN, WORDS, Batch, Time, int64, kernel, void
from tokenring.engine.compiled import words_at
from tokenring.operators.aggregates.compiled_panes import (
    BACK,
    BEHIND,
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
    LAST,
    LATENESS,
    MEMBERS,
    MERGED,
    MOVES,
    OFFSET,
    PANE_END,
    PANES,
    RUN_END,
    USES,
    WIDTH,
    heap_of,
    least_end,
    pane_words,
)
from tokenring.operators.folds import leave_groups, merge_slots, start_slot, take_away_slots
from tokenring.operators.state import LEAST, PLACES, Keys, key_column, push
from tokenring.operators.state.moving import live_slots


@kernel(int64(WORDS, COLUMN, COLUMN, WORDS))
def _leave(own, panes, gone, empty):  # type: ignore[no-untyped-def]
    """Take slots that are gone, a word for each, out of the lists of panes; write those that have none left: returns
    how many."""
    first, last, members = pane_words(own, FIRST), pane_words(own, LAST), pane_words(own, MEMBERS)
    following = words_at(own[FOLLOWING], own[KEYS + PLACES])
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
def _append(first, last, members, following, pane, slot):  # type: ignore[no-untyped-def]
    following[slot] = 0
    if last[pane] == 0:
        first[pane] = slot + 1
    else:
        following[last[pane] - 1] = slot + 1
    last[pane] = slot + 1
    members[pane] += 1


@kernel(void(WORDS, COLUMN, COLUMN, COLUMN))
def _arrive(own, fresh, panes, slots):  # type: ignore[no-untyped-def]
    """Append slots to their panes' lists, of which those of `fresh` are empty."""
    first, last, members = pane_words(own, FIRST), pane_words(own, LAST), pane_words(own, MEMBERS)
    following = words_at(own[FOLLOWING], own[KEYS + PLACES])
    for pane in fresh:
        first[pane] = last[pane] = members[pane] = 0
    for i in range(len(slots)):
        _append(first, last, members, following, panes[i], slots[i])


@kernel
def _last_inside(own):  # type: ignore[no-untyped-def]
    """The end of the last pane that is inside the window at hand: others end later. LEAST if there is none."""
    return key_column(own, PANES, 0)[own[BACK] - 1] if own[EVERY] > 0 and own[INSIDE] > 0 else LEAST


@kernel(void(WORDS, COLUMN))
def _fill_heap(own, panes):  # type: ignore[no-untyped-def]
    """All open panes are in the heap, but for those inside."""
    heap, ends, last, size = heap_of(own), key_column(own, PANES, 0), _last_inside(own), 0
    for pane in panes:
        if ends[pane] > last:
            push(heap, size, ends[pane], pane)
            size += 1


@kernel(int64(WORDS, COLUMN, WORDS, WORDS))
def _go_out(own, slots, inside, groups):  # type: ignore[no-untyped-def]
    """Take slots of panes that are inside out of their groups; write the groups that have none left: how many."""
    ends, last, count = key_column(own, KEYS, 0), _last_inside(own), 0
    group_of = words_at(own[GROUP_OF], own[KEYS + PLACES])
    for slot in slots:
        if ends[slot] <= last:
            inside[count], groups[count] = slot, group_of[slot]
            count += 1
    if own[MOVES]:
        take_away_slots(own, FOLDED, MERGED, inside[:count], groups[:count])
    return leave_groups(groups[:count], words_at(own[USES], own[GROUPS + PLACES]), inside)


@kernel(int64(WORDS, COLUMN, COLUMN, WORDS))
def come_in(own, slots, groups, room):  # type: ignore[no-untyped-def]
    """Slots of panes that are inside come into their groups. Returns the fold whose sum left its range; -1 if none."""
    uses, group_of = words_at(own[USES], own[GROUPS + PLACES]), words_at(own[GROUP_OF], own[KEYS + PLACES])
    for i in range(len(slots)):
        if uses[groups[i]] == 0:
            start_slot(own, MERGED, groups[i])
        uses[groups[i]] += 1
        group_of[slots[i]] = groups[i]
    return merge_slots(own, FOLDED, MERGED, slots, groups, room) if own[MOVES] else -1


@kernel(void(WORDS))
def _unchain(own):  # type: ignore[no-untyped-def]
    """Panes inside that have no slots are inside no longer."""
    behind, members = words_at(own[BEHIND], own[PANES + PLACES]), pane_words(own, MEMBERS)
    at, count, own[INSIDE], before = own[FRONT], own[INSIDE], 0, 0
    for _ in range(count):
        after = behind[at - 1]
        if members[at - 1] > 0:
            if own[INSIDE] == 0:
                own[FRONT] = at
            else:
                behind[before - 1] = at
            behind[at - 1], own[BACK], before = 0, at, at
            own[INSIDE] += 1
        at = after


@kernel(int64(WORDS))
def _end_inside(own):  # type: ignore[no-untyped-def]
    return _last_inside(own)


@kernel(int64(WORDS))
def _least(own):  # type: ignore[no-untyped-def]
    return least_end(own)


class Sliding(Protocol):
    """Groups of the panes that are inside a sliding window."""

    groups: Keys | None
    """By their keys; None: there is one, of all."""

    def take_out(self) -> None:
        """Let no pane be inside: those that are open come in again for the next window."""


class MovingPanes:
    """See OpenPanes. What is inside a sliding window stays there, with what has come and without what has left."""

    def __init__(
        self, words: np.ndarray, slots: Keys, panes: Keys, link: Callable[[], None], sliding: Sliding | None
    ) -> None:
        """words: the operator's; slots: by pane and key; panes: the open ones. link: lets arrays be as long as these
        need it, and links them."""
        self._words, self._slots, self._panes, self._link, self._sliding = words, slots, panes, link, sliding

    @property
    def closed(self) -> Time:
        """See OpenPanes."""
        return int(self._words[CLOSED])

    @property
    def _inside(self) -> Sliding | None:
        """The groups, if there are panes inside. A pane that is half inside is taken out, with the others."""
        sliding = self._sliding
        if sliding is not None and self._words[ENTERING]:
            sliding.take_out()
        return sliding if sliding is not None and self._words[INSIDE] else None

    def leave(self, slots: np.ndarray) -> None:
        """See OpenPanes."""
        inside = self._inside
        if inside is not None:
            unused, groups = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
            count = _go_out(self._words, slots, unused, groups)
            if inside.groups is not None:
                inside.groups.remove(unused[:count])
        gone = np.zeros(self._slots.capacity, np.int64)
        gone[slots] = 1
        panes = live_slots(self._panes)
        empty = np.empty(len(panes), np.int64)
        count = _leave(self._words, panes, gone, empty)
        if inside is not None:
            _unchain(self._words)
        self._panes.remove(empty[:count])
        self._link()
        _fill_heap(self._words, live_slots(self._panes))
        self._words[PANE_END], self._words[RUN_END] = LEAST, -1

    def make_room(self) -> None:
        """See OpenPanes."""
        self._link()

    def arrive(self, slots: np.ndarray, ends: np.ndarray, closed: np.ndarray) -> None:
        """See OpenPanes."""
        words = self._words
        panes = self._panes.slots(Batch.wrap(self._panes.schema, (ends,), len(ends)))
        self._link()
        _arrive(words, self._panes.fresh, panes, slots)
        upto = max(int(words[CLOSED]), int(closed.max(initial=-1)))
        words[CLOSED] = upto
        sent = done = int(words[DONE_END])
        if words[EVERY]:
            first = int(words[OFFSET] + words[WIDTH])
            sent = first + (upto - int(words[LATENESS]) - first) // int(words[EVERY]) * int(words[EVERY])
            words[DONE_END] = sent = max(done, sent)
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
        return come_in(self._words, slots, groups, np.empty(len(slots), np.int64)) < 0

    def least(self) -> Time:
        """See OpenPanes."""
        return int(_least(self._words))
