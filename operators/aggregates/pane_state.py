"""State by pane and key, what it is made of, and the panes that are open."""

from typing import Any, Protocol

import numpy as np
from sortedcontainers import SortedDict

from tokenring.engine import COMPLETE, Batch, Schema, Time, TimeRegressionError
from tokenring.operators.folds import Plan
from tokenring.operators.mechanisms import distinct
from tokenring.operators.state import HeapedColumns, Keys
from tokenring.operators.state.moving import Kept
from tokenring.operators.time import Panes, fill_ends, too_early

PANE = "#pane"
"""The column of panes' ends."""


class State(Protocol):
    """What rows are folded into, by slot: Accumulators, or another."""

    def reset(self, slots: np.ndarray, limit: int) -> None:
        """Slots start anew: int64 (n,), all below `limit`."""

    def take(self, batch: Batch, slots: np.ndarray) -> None:
        """Fold rows into their slots, int64 (rows,)."""

    def merge(self, other: Any, source: np.ndarray, target: np.ndarray) -> None:
        """Fold slots of another state of this kind into slots of this one."""

    def drop(self, slots: np.ndarray) -> None:
        """Slots whose state is not needed any more."""

    def output(self, keys: Keys, slots: np.ndarray) -> tuple[HeapedColumns, int]:
        """Columns and heaps of the rows that slots make, and how many rows; keys: whose slots they are."""


class MovingState(State, Kept, Protocol):
    """State that says itself how it moves."""


class PaneState:
    """State by (pane end, key): what both stages have in common."""

    def __init__(self, plan: Plan, panes: Panes, state: State) -> None:
        self.panes = panes
        self._plan = plan
        self.schema = Schema.of({PANE: "int64"} | plan.keys)
        self.keys = Keys(self.schema, self.schema.names)
        self.state = state
        self.open: SortedDict = SortedDict()  # pane end -> arrays of its slots
        self._positions = [plan.schema.position(name) for name in plan.by]

    def take(self, batch: Batch, ends: np.ndarray) -> list[Time]:
        """Fold rows of panes that end at `ends`, int64 (rows,); returns the panes that this opened."""
        columns = [batch.columns[at] for at in self._positions]
        heaps = (None, *[batch.heaps[at] for at in self._positions]) if self.schema.has_text else ()
        slots = self.keys.slots(Batch.wrap(self.schema, (ends, *columns), batch.rows, heaps))
        opened = self.note_fresh() if len(self.keys.fresh) else []
        self.state.take(batch, slots)
        return opened

    def note_fresh(self) -> list[Time]:
        """Note fresh slots with their panes; returns the panes that are new."""
        fresh = self.keys.fresh
        self.state.reset(fresh, self.keys.limit)
        ends = self.keys.words(0)[fresh]
        opened = []
        for end in distinct(ends):
            if end not in self.open:
                self.open[end] = []
                opened.append(end)
            self.open[end].append(fresh[ends == end])
        return opened

    def slots(self) -> np.ndarray:
        """The slots of all open panes: int64 (n,)."""
        return np.concatenate([np.zeros(0, np.int64), *[slots for pane in self.open.values() for slots in pane]])

    def arrive(self, slots: np.ndarray, ends: np.ndarray) -> None:
        """Slots whose state is there are of panes that end at `ends`: both int64 (n,)."""
        for end in distinct(ends):
            self.open.setdefault(end, []).append(slots[ends == end])

    def leave(self, slots: np.ndarray) -> None:
        """Slots are of no pane any more: int64 (n,)."""
        gone = np.zeros(self.keys.limit, np.bool_)
        gone[slots] = True
        for end in distinct(self.keys.words(0)[slots]):
            listed = np.concatenate(self.open[end])
            left = listed[~gone[listed]]
            if len(left):
                self.open[end] = [left]
            else:
                del self.open[end]

    def close(self, upto: Time) -> list[tuple[Time, np.ndarray]]:
        """Take the panes that end by `upto` out of the list, in order: ends and slots, which are to be forgotten."""
        closed = []
        while self.open and self.open.peekitem(0)[0] <= upto:
            end, slots = self.open.popitem(0)
            closed.append((end, slots[0] if len(slots) == 1 else np.concatenate(slots)))
        return closed

    def forget(self, slots: np.ndarray) -> None:
        """The slots of closed panes are free again."""
        self.state.drop(slots)
        self.keys.remove(slots)


def ends_of(batch: Batch, time: int, panes: Panes) -> tuple[np.ndarray, Time]:
    """The end of each row's pane, int64 (rows,), and the least; time: the column's position, -1 for one pane."""
    if time < 0:
        return np.full(batch.rows, panes.step), panes.step
    if panes.clock is not None:
        ends = panes.clock.ends(batch.columns[time])
        return ends, int(ends.min(initial=COMPLETE))
    ends = np.empty(batch.rows, np.int64)
    return ends, fill_ends(batch.columns[time], panes.step, panes.offset, 0, ends)


BEFORE_ALL: Time = 0
"""What windows are closed by at first: one that ends then, lateness and all, is of rows before all times."""


def too_late(plan: Plan, panes: Panes, due: Time, closed: Time) -> TimeRegressionError:
    """What a row raises whose window was sent already."""
    if due <= BEFORE_ALL:
        cure = ", allow lateness=... of as much as they lie before"
        return too_early(plan.operator, plan.schema, "a row's window ends at", [panes.time], due - panes.lateness, cure)
    return TimeRegressionError(
        f"operator {plan.operator!r}: a row of the window that ended at {due - panes.lateness} came when its result "
        f"was sent already: the frontier was at {closed}. Rows may lie before their message's time only while their "
        f"window is open: send such rows at earlier times, allow lateness=..., or take them with late=True"
    )
