"""How sliding windows come of their panes: moved on from window to window where that is exact, else merged anew."""

import numpy as np
from sortedcontainers import SortedDict

from tokenring.engine import Time
from tokenring.operators.aggregates.pane_state import PaneState, State
from tokenring.operators.folds import Accumulators, Groups
from tokenring.operators.state import Keys
from tokenring.operators.time import Panes

Window = tuple[Keys, np.ndarray, State]
"""Of a window: its state, the slots there are in it, int64 (n,), and whose slots they are."""


class PutTogether:
    """Windows, one after the other, of the state of their panes. Each pane's groups are looked up once. Memory: each
    group, two words for each key of each pane inside, and one state by group."""

    def __init__(self, panes: Panes, rows: PaneState, groups: Groups, state: State) -> None:
        """rows: the panes' state; state: an empty one."""
        self._panes, self._rows, self._groups, self._state = panes, rows, groups, state
        self._moved: tuple[Accumulators, Accumulators] | None = None  # the state moved on, and the panes' that moves it
        if isinstance(state, Accumulators) and isinstance(rows.state, Accumulators) and state.reversible:
            self._moved = state, rows.state
        self._inside: SortedDict = SortedDict()  # pane end -> its slots, and their groups
        self._shown = np.zeros(0, np.int64)

    def window(self, end: Time) -> Window:
        """The window that ends at `end`; good until the next call."""
        rows, groups, panes, state = self._rows, self._groups, self._panes, self._state
        for pane in rows.open.irange(end - panes.width + panes.step, end):
            if pane not in self._inside:
                slots = np.concatenate(rows.open[pane])
                target, fresh = groups.enter(rows.keys, slots)
                self._inside[pane] = slots, target
                if self._moved:
                    state.reset(fresh, groups.limit)
                    state.merge(rows.state, slots, target)
        shown = groups.inside()
        if self._moved is None:
            state.reset(shown, groups.limit)
            source, target = (np.concatenate(parts) for parts in zip(*self._inside.values(), strict=True))
            state.merge(rows.state, source, target)
        self._shown = shown
        return groups.keys or rows.keys, shown, state  # of a pane's own keys, none is shown

    def groups_of(self, slots: np.ndarray) -> np.ndarray:
        """The groups that some of these slots are inside with, int64 (n,), in order."""
        found = [target[np.isin(listed, slots)] for listed, target in self._inside.values()]
        return np.unique(np.concatenate(found))

    def leave_all(self) -> None:
        """Nothing is inside: what is still open comes in again for the next window."""
        for _, target in self._inside.values():
            self._groups.leave(target)
        self._inside.clear()

    def leave(self, upto: Time) -> None:
        """The window is done with; panes that end by `upto` are of no later one."""
        inside = self._inside
        if self._moved is None:
            self._state.drop(self._shown)
        while inside and inside.peekitem(0)[0] <= upto:
            _, (slots, target) = inside.popitem(0)
            if self._moved is not None:
                state, source = self._moved
                state.take_away(source, slots, target)
            self._groups.leave(target)
