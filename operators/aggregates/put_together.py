"""How sliding windows come of their panes: moved on from window to window where that is exact, else merged anew."""

import numpy as np
from sortedcontainers import SortedDict

from tokenring.engine import Time
from tokenring.operators.aggregates.pane_state import PaneState, State
from tokenring.operators.folds import Accumulators, Groups
from tokenring.operators.state import Keys, grown
from tokenring.operators.time import Panes

Window = tuple[Keys, np.ndarray, State]
"""Of a window: its state, the slots there are in it, int64 (n,), and whose slots they are."""


class Merged:
    """Each window's state is merged of its panes'. Costs each of their keys again, for each window."""

    def __init__(self, panes: Panes, rows: PaneState, groups: Groups | None, state: State) -> None:
        """groups: None for one group of all rows; state: an empty one."""
        self._panes, self._rows, self._groups, self._state = panes, rows, groups, state

    def window(self, end: Time) -> Window:
        """The window that ends at `end`; good until the next call."""
        rows, groups, panes, state = self._rows, self._groups, self._panes, self._state
        inside = rows.open.irange(end - panes.width + panes.step, end)
        slots = np.concatenate([slots for pane in inside for slots in rows.open[pane]])
        if groups is None:
            target = np.zeros(len(slots), np.int64)
            distinct, keys, limit = target[:1], rows.keys, 1  # of the keys, none is shown
        else:
            target, distinct = groups.of(slots)
            keys, limit = groups.keys, groups.keys.limit
        state.reset(distinct, limit)
        state.merge(rows.state, slots, target)
        self._shown = distinct
        return keys, distinct, state

    def leave(self, upto: Time) -> None:
        """The window is done with; panes that end by `upto` are of no later one."""
        self._state.drop(self._shown)


class Moved:
    """One state, moved on: panes that a window gains are added, those it loses are taken away. For counts and sums of
    integers, where that is exact. Memory: each group, and a word for each key of each pane."""

    def __init__(
        self, panes: Panes, rows: PaneState, groups: Groups, source: Accumulators, state: Accumulators
    ) -> None:
        """source: the panes' state; state: an empty one."""
        self._panes, self._rows, self._groups = panes, rows, groups
        self._source, self._state = source, state
        self._members = np.zeros(64, np.int64)  # by group: in how many panes of the window it is
        self._inside: SortedDict = SortedDict()  # pane end -> its slots, and their groups

    def window(self, end: Time) -> Window:
        """The window that ends at `end`; good until the next call."""
        rows, panes, groups = self._rows, self._panes, self._groups
        for pane in rows.open.irange(end - panes.width + panes.step, end):
            if pane not in self._inside:
                slots = np.concatenate(rows.open[pane])
                target = groups.of(slots)[0]
                self._members = grown(self._members, groups.keys.limit)
                self._state.reset(target[self._members[target] == 0], groups.keys.limit)
                self._state.merge(self._source, slots, target)
                self._members[target] += 1  # a pane has each group once
                self._inside[pane] = slots, target
        return groups.keys, np.flatnonzero(self._members), self._state

    def leave(self, upto: Time) -> None:
        """The window is done with; panes that end by `upto` are of no later one."""
        inside = self._inside
        while inside and inside.peekitem(0)[0] <= upto:
            _, (slots, target) = inside.popitem(0)
            self._state.take_away(self._source, slots, target)
            self._members[target] -= 1
