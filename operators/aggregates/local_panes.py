"""The first stage of windowed aggregates: each worker folds its own rows into panes, and sends what they came to."""

import numpy as np

from tokenring.engine import COLUMN, COMPLETE, WORDS, Batch, Schema, Time, int64, kernel, tuple_of
from tokenring.engine.compiled import Words
from tokenring.operators.aggregates.pane_state import BEFORE_ALL, PaneState, ends_of, too_late
from tokenring.operators.folds import ALL, BLOCK, Accumulators, Plan, bounds
from tokenring.operators.mechanisms import Give, distinct
from tokenring.operators.state import joined, wrapped
from tokenring.operators.time import Panes

_RUNS = 64


@kernel(tuple_of(int64, 2)(COLUMN, int64, int64, int64, WORDS, WORDS))
def cut_runs(times: Words, at: int, step: int, offset: int, starts: Words, ends: Words) -> tuple[int, int]:
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
            stop = min(at + BLOCK, rows)
            low, high = bounds(times[at:stop])
            if start <= low and high < end:
                at = stop
                continue
            while at < stop and start <= times[at] < end:
                at += 1
            break
    starts[runs] = at
    return runs, at


class LocalPanes:
    """The first stage: this worker's rows, by pane; sends the state of panes that have ended. Output is pending at the
    ends of panes, plus the lateness that is allowed."""

    late = 0

    def __init__(self, plan: Plan, panes: Panes, schema: Schema) -> None:
        self._panes, self._schema, self._plan = panes, schema, plan
        self._state = Accumulators(plan)
        self._rows = PaneState(plan, panes, self._state)
        self._time = plan.schema.position(panes.time) if panes.time else -1
        self._quick = not plan.by and self._state.quick and panes.clock is None
        self._closed = BEFORE_ALL
        self._starts, self._ends = np.empty(_RUNS + 1, np.int64), np.empty(_RUNS, np.int64)
        self._last = (-1, 0)  # the pane of the last run of all, and its slot
        self.takes = (self._take,)

    def _take(self, batch: Batch) -> Time:
        lateness = self._panes.lateness
        if self._quick and self._time >= 0:
            least = self._take_runs(batch, batch.columns[self._time]) + lateness
        else:
            ends, least = ends_of(batch, self._time, self._panes)
            self._rows.take(batch, ends)
            least += lateness
        if least <= self._closed:
            raise too_late(self._plan, self._panes, least, self._closed)
        return least

    def _take_runs(self, batch: Batch, times: np.ndarray) -> Time:
        """Fold rows, without keys, by stretches of one pane; returns the least pane end."""
        rows, starts, ends, panes = self._rows, self._starts, self._ends, self._panes
        end, slot = self._last
        at = 0 if end < 0 else self._state.take_inside(batch, times, end - panes.step, end, slot)
        least = end if at else COMPLETE
        while at < batch.rows:
            runs, at = cut_runs(times, at, panes.step, panes.offset, starts, ends)
            slots = rows.keys.slots(Batch.wrap(rows.schema, (ends[:runs],), runs))
            if len(rows.keys.fresh):
                rows.note_fresh()
            self._state.take_runs(batch, runs, starts, slots)
            self._last = int(ends[runs - 1]), int(slots[runs - 1])
            least = min(least, int(ends[:runs].min()))
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
        if upto < COMPLETE:  # rows come still where it is only to be empty
            self._closed = max(self._closed, upto)
        if closed:
            slots = closed[0][1] if len(closed) == 1 else np.concatenate([slots for _, slots in closed])
            parts = joined(rows.keys.columns(slots), self._state.partials(slots))
            if ALL in self._schema.positions:
                parts = joined(parts, ((np.zeros(len(slots), np.int64),), (None,)))
            give(time, wrapped(self._schema, parts, len(slots)))
            rows.forget(slots)
            self._last = (-1, 0)
        return self.least()

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The ends of the rows' panes."""
        return distinct(ends_of(batch, self._time, self._panes)[0] + self._panes.lateness)
