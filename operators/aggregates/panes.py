"""One worker's part of windowed aggregates: state by pane and key, panes put together to windows as they end.

Two stages where that is possible: each worker folds its own rows into panes and sends their state when they end;
the owners of keys merge. Or one, of rows that were exchanged.
"""

import numpy as np
from numba import types
from sortedcontainers import SortedDict, SortedSet

from engine import COLUMN, COMPLETE, WORDS, Batch, Schema, Time, TimeRegressionError, int64, kernel
from operators.aggregates.accumulators import Accumulators, Columns, joined, wrapped
from operators.aggregates.late import fill_ends
from operators.aggregates.plan import ALL, Plan
from operators.aggregates.windows import Panes
from operators.keys import Keys
from operators.mechanisms import Give, distinct

PANE = "#pane"
_BLOCK = 1024
_RUNS = 64


@kernel
def _bounds(times):  # type: ignore[no-untyped-def]
    low, high = times[0], times[0]
    for i in range(len(times)):
        low = min(low, times[i])
        high = max(high, times[i])
    return low, high


@kernel(types.UniTuple(int64, 2)(COLUMN, int64, int64, int64, WORDS, WORDS))
def _runs(times, at, step, offset, starts, ends):  # type: ignore[no-untyped-def]
    """Stretches of rows of one pane, from row `at` on: their starts, with the stop of the last, and their panes' ends.
    Returns (how many, next row): next row < len(times) if there was no more room.

    Times mostly grow, so a stretch is long: whole blocks inside one pane take the vectorised path.
    """
    rows = len(times)
    runs = 0
    while at < rows and runs < len(ends):
        start = (times[at] - offset) // step * step + offset
        end = start + step
        starts[runs], ends[runs] = at, end
        runs += 1
        while at < rows:
            stop = min(at + _BLOCK, rows)
            low, high = _bounds(times[at:stop])
            if start <= low and high < end:
                at = stop
                continue
            while at < stop and start <= times[at] < end:
                at += 1
            break
    starts[runs] = at
    return runs, at


class PaneState:
    """State by (pane end, key): what both stages have in common."""

    def __init__(self, plan: Plan, panes: Panes) -> None:
        self.panes = panes
        self._plan = plan
        self.schema = Schema.of({PANE: "int64"} | plan.keys)
        self.keys = Keys(self.schema, self.schema.names)
        self.state = Accumulators(plan)
        self.open: SortedDict = SortedDict()  # pane end -> arrays of its slots
        self._positions = [plan.schema.position(name) for name in plan.by]
        self._starts, self._ends = np.empty(_RUNS + 1, np.int64), np.empty(_RUNS, np.int64)
        self._last = (-1, np.zeros(_RUNS, np.int64))  # the pane of the last run of all, and its slot

    def take(self, batch: Batch, ends: np.ndarray) -> list[Time]:
        """Fold rows of panes that end at `ends`, int64 (rows,); returns the panes that this opened."""
        columns = [batch.columns[at] for at in self._positions]
        heaps = (None, *[batch.heaps[at] for at in self._positions]) if self.schema.has_text else ()
        slots = self.keys.slots(Batch.wrap(self.schema, (ends, *columns), batch.rows, heaps))
        opened = self._open() if len(self.keys.fresh) else []
        self.state.take(batch, slots)
        return opened

    def take_runs(self, batch: Batch, times: np.ndarray) -> tuple[Time, list[Time]]:
        """Fold rows, without keys, by stretches of one pane; returns the least pane end, and the panes that this
        opened."""
        starts, ends, panes = self._starts, self._ends, self.panes
        at, least, opened = 0, COMPLETE, list[Time]()
        while at < batch.rows:
            runs, at = _runs(times, at, panes.step, panes.offset, starts, ends)
            first = int(ends[0])
            if runs == 1 and first == self._last[0]:
                slots = self._last[1]
            else:
                slots = self.keys.slots(Batch.wrap(self.schema, (ends[:runs],), runs))
                if len(self.keys.fresh):
                    opened += self._open()
                self._last = int(ends[runs - 1]), slots[runs - 1 :]
            self.state.take_runs(batch, runs, starts, slots)
            least = min(least, first if runs == 1 else int(ends[:runs].min()))
        return least, opened

    def _open(self) -> list[Time]:
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
        self._last = (-1, self._last[1])


class LocalPanes:
    """The first stage: this worker's rows, by pane; sends the state of panes that have ended. Output is pending at the
    ends of panes, plus the lateness that is allowed."""

    late = 0

    def __init__(self, plan: Plan, panes: Panes, schema: Schema) -> None:
        self._panes, self._schema, self._name = panes, schema, plan.operator
        self._rows = PaneState(plan, panes)
        self._time = plan.schema.position(panes.time) if panes.time else -1
        self._quick = not plan.by and self._rows.state.quick
        self._closed: Time = -1
        self.takes = (self._take,)

    def _take(self, batch: Batch) -> Time:
        lateness = self._panes.lateness
        if self._quick and self._time >= 0:
            least = self._rows.take_runs(batch, batch.columns[self._time])[0] + lateness
        else:
            ends, least = ends_of(batch, self._time, self._panes)
            self._rows.take(batch, ends)
            least += lateness
        if least <= self._closed:
            raise too_late(self._name, self._panes, least, self._closed)
        return least

    def advance(self, frontier: Time) -> None:
        """Nothing waits for anything but its pane's end."""

    def least(self) -> Time:
        """The least end of the open panes."""
        return self._rows.open.peekitem(0)[0] + self._panes.lateness if self._rows.open else COMPLETE

    def emit(self, upto: Time, give: Give) -> Time:
        """Send the state of ended panes, all in one message at the first one's time."""
        rows = self._rows
        time = self.least()
        closed = rows.close(upto - self._panes.lateness)
        self._closed = max(self._closed, upto)
        if closed:
            slots = closed[0][1] if len(closed) == 1 else np.concatenate([slots for _, slots in closed])
            parts = joined(rows.keys.columns(slots), rows.state.partials(slots))
            if ALL in self._schema.positions:
                parts = joined(parts, ((np.zeros(len(slots), np.int64),), (None,)))
            give(time, wrapped(self._schema, parts, len(slots)))
            rows.forget(slots)
        return self.least()

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The ends of the rows' panes."""
        return distinct(ends_of(batch, self._time, self._panes)[0] + self._panes.lateness)


class Windows:
    """The last stage: panes of keys that are this worker's, put together to windows as those end. Output is pending at
    the ends of windows, plus the lateness that is allowed. `partial`: whether rows are states that a first stage sent,
    stamped with their pane's end, or rows as they came."""

    def __init__(self, plan: Plan, panes: Panes, schema: Schema, partial: bool) -> None:
        self.late = int(partial)
        self._plan, self._panes, self._schema = plan, panes, schema
        self._partial = partial
        self._keys_schema = Schema.of(plan.keys) if plan.by else schema
        self._rows = PaneState(plan, panes)
        self._time = plan.schema.position(PANE if partial else panes.time) if partial or panes.time else -1
        self._pending: SortedSet = SortedSet()  # ends of windows that have rows
        self._closed: Time = -1
        self.takes = (self._take,)

    def _ends(self, batch: Batch) -> tuple[np.ndarray, Time]:
        if not self._partial:
            return ends_of(batch, self._time, self._panes)
        ends = batch.columns[self._time]
        return ends, int(ends.min(initial=COMPLETE))

    def _take(self, batch: Batch) -> Time:
        panes = self._panes
        ends, least = self._ends(batch)
        if least + panes.lateness <= self._closed:
            raise too_late(self._plan.operator, panes, least + panes.lateness, self._closed)
        for end in self._rows.take(batch, ends):
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
            if panes.is_tumbling:
                ((_, slots),) = rows.close(end)
                give(end + panes.lateness, self._results(end, slots, rows.keys, rows.state))
                rows.forget(slots)
                continue
            parts = [slots for at in rows.open.irange(end - panes.width + panes.step, end) for slots in rows.open[at]]
            give(end + panes.lateness, self._put_together(end, np.concatenate(parts)))
            for _, slots in rows.close(end - panes.width + panes.every):  # those of no later window
                rows.forget(slots)
        return self.least()

    def _put_together(self, end: Time, slots: np.ndarray) -> Batch:
        rows = self._rows
        state = Accumulators(self._plan)
        if not self._plan.by:
            target = np.zeros(len(slots), np.int64)
            state.reset(target[:1], 1)
            state.merge(rows.state, slots, target)
            return self._results(end, target[:1], rows.keys, state)
        keys = Keys(self._keys_schema, self._plan.by)
        columns, heaps = rows.keys.columns(slots)
        target = keys.slots(wrapped(self._keys_schema, (columns[1:], heaps[1:]), len(slots)))
        state.reset(keys.fresh, keys.limit)
        state.merge(rows.state, slots, target)
        return self._results(end, np.arange(len(keys)), keys, state)

    def _results(self, end: Time, slots: np.ndarray, keys: Keys, state: Accumulators) -> Batch:
        """The rows of a window."""
        rows = len(slots)
        parts: list[Columns] = []
        if self._panes.time:
            parts.append(((np.full(rows, end - self._panes.width), np.full(rows, end)), (None, None)))
        if self._plan.by:
            columns, heaps = keys.columns(slots)
            parts.append((columns[-len(self._plan.by) :], heaps[-len(self._plan.by) :]))
        return wrapped(self._schema, joined(*parts, state.results(slots)), rows)

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The ends of the windows that the rows are in."""
        ends = distinct(self._ends(batch)[0])
        found = {end + self._panes.lateness for pane in ends for end in self._panes.window_ends(pane)}
        return sorted(found)


def ends_of(batch: Batch, time: int, panes: Panes) -> tuple[np.ndarray, Time]:
    """The end of each row's pane, int64 (rows,), and the least; time: the column's position, -1 for one pane."""
    if time < 0:
        return np.full(batch.rows, panes.step), panes.step
    ends = np.empty(batch.rows, np.int64)
    return ends, fill_ends(batch.columns[time], panes.step, panes.offset, 0, ends)


def too_late(operator: str, panes: Panes, due: Time, closed: Time) -> TimeRegressionError:
    """What a row raises whose window was sent already."""
    return TimeRegressionError(
        f"operator {operator!r}: a row of the window that ended at {due - panes.lateness} came when its result was "
        f"sent already: the frontier was at {closed}. Rows may lie before their message's time only while their window "
        f"is open: send such rows at earlier times, allow lateness=..., or take them with late=True"
    )
