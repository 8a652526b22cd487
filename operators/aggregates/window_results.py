"""The last stage of windowed operators: panes put together to windows as they end."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from sortedcontainers import SortedSet

from tokenring.engine import COMPLETE, Batch, Schema, Time
from tokenring.operators.aggregates.moving_windows import MovingWindows
from tokenring.operators.aggregates.pane_state import BEFORE_ALL, PANE, MovingState, PaneState, State, ends_of, too_late
from tokenring.operators.folds import Accumulators, Plan
from tokenring.operators.folds.moving import KeptFolds
from tokenring.operators.mechanisms import Give, distinct
from tokenring.operators.migrate import Table, offer
from tokenring.operators.state import Keys, joined, wrapped
from tokenring.operators.state.moving import MovingKeys
from tokenring.operators.time import Panes, bounds_of

if TYPE_CHECKING:
    from tokenring.operators.aggregates.put_together import PutTogether


def _put_together(plan: Plan, panes: Panes, rows: PaneState, state: State) -> "PutTogether":
    from tokenring.operators.aggregates.put_together import PutTogether
    from tokenring.operators.folds import Groups

    return PutTogether(panes, rows, Groups(plan.keys), state)


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
        self._together = None if panes.is_tumbling else _put_together(plan, panes, self._rows, make(plan))
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
