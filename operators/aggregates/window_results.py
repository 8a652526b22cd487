"""The last stage of windowed operators: panes put together to windows as they end."""

from collections.abc import Callable, Sequence

import numpy as np
from sortedcontainers import SortedDict, SortedSet

from tokenring.engine import COMPLETE, Batch, Schema, Time
from tokenring.operators.aggregates.moving_windows import MovingWindows
from tokenring.operators.aggregates.pane_state import BEFORE_ALL, PANE, MovingState, PaneState, State, ends_of, too_late
from tokenring.operators.folds import Accumulators, Groups, Plan
from tokenring.operators.folds.moving import KeptFolds
from tokenring.operators.mechanisms import Give, distinct
from tokenring.operators.migrate import Table, offer
from tokenring.operators.state import Keys, joined, wrapped
from tokenring.operators.state.moving import MovingKeys
from tokenring.operators.time import Panes, bounds_of


class Windows:
    """The last stage: panes of keys that are this worker's, put together to windows as those end. Output is pending at
    the ends of windows, plus the lateness that is allowed. `partial`: whether rows are states that a first stage sent,
    stamped with their pane's end, or rows as they came. make: the state that rows are folded into."""

    def __init__(
        self,
        plan: Plan,
        panes: Panes,
        schema: Schema,
        partial: bool,
        make: Callable[[Plan], Accumulators | MovingState],
        exchanged: Sequence[str],
        moves: Sequence[Table],
    ) -> None:
        """exchanged: what rows go by, none if all are together; moves: the tables of `window_tables`."""
        self.late = int(partial)
        self._plan, self._panes, self._schema = plan, panes, schema
        self._partial = partial
        state = make(plan)
        self._rows = PaneState(plan, panes, state)
        self._together = None if panes.is_tumbling else PutTogether(panes, self._rows, Groups(plan.keys), make(plan))
        self._time = plan.schema.position(PANE if partial else panes.time) if partial or panes.time else -1
        self._pending: SortedSet = SortedSet()  # ends of windows that have rows
        self._closed = BEFORE_ALL
        # By the end of a window that was sent already where some of its state was, which then moved: the slots of which
        # it was not. Rows may be pending at the very time at which state moves.
        self._unsent: dict[Time, np.ndarray] = {}
        self.takes = (self._take,)
        kept = KeptFolds(plan, state) if isinstance(state, Accumulators) else state
        offer(MovingWindows(moves, MovingKeys(self._rows.keys, exchanged), kept, self))

    def _ends(self, batch: Batch) -> tuple[np.ndarray, Time]:
        if not self._partial:
            return ends_of(batch, self._time, self._panes)
        ends = batch.columns[self._time]
        return ends, int(ends.min(initial=COMPLETE))

    def _take(self, batch: Batch) -> Time:
        panes = self._panes
        ends, least = self._ends(batch)
        if least + panes.lateness <= self._closed:
            raise too_late(self._plan, panes, least + panes.lateness, self._closed)
        rows = self._rows
        for end in rows.take(batch, ends):
            self._pending.update(panes.window_ends(end))
        return self.least()

    def advance(self, frontier: Time) -> None:
        """Nothing waits for anything but its window's end."""

    def least(self) -> Time:
        """The least end of the windows that have rows."""
        return self._pending[0] + self._panes.lateness if self._pending else COMPLETE

    def emit(self, upto: Time, give: Give) -> Time:
        """Close windows, a message each."""
        panes, rows = self._panes, self._rows
        self._closed = max(self._closed, upto)
        while self._pending and self._pending[0] + panes.lateness <= upto:
            end = self._pending.pop(0)
            if self._together is None:
                ((_, slots),) = rows.close(end)
                give(end + panes.lateness, self._results(end, slots, rows.keys, rows.state))
                rows.forget(slots)
                continue
            keys, slots, state = self._together.window(end)
            if end in self._unsent:
                slots = np.intersect1d(slots, self._together.groups_of(self._unsent.pop(end)))
            give(end + panes.lateness, self._results(end, slots, keys, state))
            start = end - panes.width + panes.every  # of the next window
            self._together.leave(start)
            for _, slots in rows.close(start):
                rows.forget(slots)
        return self.least()

    @property
    def closed(self) -> Time:
        """See OpenPanes."""
        return self._closed

    def leave(self, slots: np.ndarray) -> None:
        """See OpenPanes."""
        self._leave_all()
        self._rows.leave(slots)
        self._pending = SortedSet(
            end
            for pane in self._rows.open
            for end in self._panes.window_ends(pane)
            if end + self._panes.lateness > self._closed
        )

    def make_room(self) -> None:
        """See OpenPanes."""

    def arrive(self, slots: np.ndarray, ends: np.ndarray, closed: np.ndarray) -> None:
        """See OpenPanes."""
        before, here, lateness = self._rows.slots(), set(self._pending), self._panes.lateness
        self._leave_all()
        self._rows.arrive(slots, ends)
        for pane, upto in np.unique(np.stack((ends, closed), axis=1), axis=0).tolist():
            windows = self._panes.window_ends(pane)
            self._pending.update([end for end in windows if end + lateness > upto])
        self._closed = max(self._closed, int(closed.max(initial=-1)))
        if self._together is not None:
            for end in self._pending:
                if end + lateness > self._closed:
                    break
                unsent = self._unsent.get(end, before if end in here else before[:0])
                self._unsent[end] = np.concatenate((unsent, slots[closed < end + lateness]))

    def _leave_all(self) -> None:
        if self._together is not None:
            self._together.leave_all()

    def _results(self, end: Time, slots: np.ndarray, keys: Keys, state: State) -> Batch:
        """The rows of a window."""
        parts, rows = state.output(keys, slots)
        if self._panes.time:
            start = self._panes.start_of(end)
            parts = joined(bounds_of(np.full(rows, start), np.full(rows, end), self._panes.named), parts)
        return wrapped(self._schema, parts, rows)

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The ends of the windows that the rows are in."""
        ends = distinct(self._ends(batch)[0])
        found = {end + self._panes.lateness for pane in ends for end in self._panes.window_ends(pane)}
        return sorted(found)


_Shown = tuple[Keys, np.ndarray, State]
"""Of a window: whose slots they are, the slots there are in it, int64 (n,), and its state."""


class PutTogether:
    """Sliding windows, one after the other, of the state of their panes: moved on from window to window where that is
    exact, else merged anew. Each pane's groups are looked up once. Memory: each group, two words for each key of each
    pane inside, and one state by group."""

    def __init__(self, panes: Panes, rows: PaneState, groups: Groups, state: State) -> None:
        """rows: the panes' state; state: an empty one."""
        self._panes, self._rows, self._groups, self._state = panes, rows, groups, state
        self._moved: tuple[Accumulators, Accumulators] | None = None  # the state moved on, and the panes' that moves it
        if isinstance(state, Accumulators) and isinstance(rows.state, Accumulators) and state.reversible:
            self._moved = state, rows.state
        self._inside: SortedDict = SortedDict()  # pane end -> its slots, and their groups
        self._shown = np.zeros(0, np.int64)

    def window(self, end: Time) -> _Shown:
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
