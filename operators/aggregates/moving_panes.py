"""The open panes of compiled windows, as slots of theirs leave and come."""

from collections.abc import Callable

import numpy as np

from tokenring.engine import COLUMN, WORDS, Batch, Time, int64, kernel, void
from tokenring.engine.compiled import words_at
from tokenring.operators.aggregates.compiled_panes import (
    CLOSED,
    DONE_END,
    EVERY,
    FIRST,
    FOLLOWING,
    KEYS,
    LAST,
    LATENESS,
    MEMBERS,
    OFFSET,
    PANE_END,
    PANES,
    RUN_END,
    WIDTH,
    heap_of,
    least_end,
    pane_words,
)
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


@kernel(void(WORDS, COLUMN))
def _fill_heap(own, panes):  # type: ignore[no-untyped-def]
    """All open panes are in the heap."""
    heap, ends = heap_of(own), key_column(own, PANES, 0)
    for size in range(len(panes)):
        push(heap, size, ends[panes[size]], panes[size])


@kernel(int64(WORDS))
def _least(own):  # type: ignore[no-untyped-def]
    return least_end(own)


class MovingPanes:
    """See OpenPanes."""

    def __init__(
        self, words: np.ndarray, slots: Keys, panes: Keys, link: Callable[[], None], take_out: Callable[[], None]
    ) -> None:
        """words: the operator's; slots: by pane and key; panes: the open ones. link: lets arrays be as long as these
        need it, and links them; take_out: lets no pane be inside a window."""
        self._words, self._slots, self._panes, self._link, self._take_out = words, slots, panes, link, take_out

    @property
    def closed(self) -> Time:
        """See OpenPanes."""
        return int(self._words[CLOSED])

    def leave(self, slots: np.ndarray) -> None:
        """See OpenPanes."""
        self._take_out()
        gone = np.zeros(self._slots.capacity, np.int64)
        gone[slots] = 1
        panes = live_slots(self._panes)
        empty = np.empty(len(panes), np.int64)
        self._panes.remove(empty[: _leave(self._words, panes, gone, empty)])
        _fill_heap(self._words, live_slots(self._panes))
        self._words[PANE_END], self._words[RUN_END] = LEAST, -1

    def make_room(self) -> None:
        """See OpenPanes."""
        self._link()

    def arrive(self, slots: np.ndarray, ends: np.ndarray, closed: np.ndarray) -> None:
        """See OpenPanes."""
        words = self._words
        self._take_out()
        panes = self._panes.slots(Batch.wrap(self._panes.schema, (ends,), len(ends)))
        self._link()
        _arrive(words, self._panes.fresh, panes, slots)
        _fill_heap(words, live_slots(self._panes))
        upto = max(int(words[CLOSED]), int(closed.max(initial=-1)))
        words[CLOSED] = upto
        if words[EVERY]:
            first = int(words[OFFSET] + words[WIDTH])
            sent = first + (upto - int(words[LATENESS]) - first) // int(words[EVERY]) * int(words[EVERY])
            words[DONE_END] = max(int(words[DONE_END]), sent)

    def least(self) -> Time:
        """See OpenPanes."""
        return int(_least(self._words))
