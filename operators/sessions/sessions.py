"""One worker's part of session windows: open sessions of its keys, merged by rows that come between them."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COMPLETE, Batch, Schema, Time, TimeRegressionError
from tokenring.operators.folds import Accumulators, Plan
from tokenring.operators.folds.moving import KeptFolds
from tokenring.operators.mechanisms import Give, distinct
from tokenring.operators.migrate import Table, offer
from tokenring.operators.sessions.moving_sessions import MovingSessions
from tokenring.operators.sessions.session_kernels import SessionCounts, SessionRow, end_sessions, extend, resolve
from tokenring.operators.state import Keys, grown, joined, wrapped
from tokenring.operators.state.moving import KeySlots, MovingKeys
from tokenring.operators.time import Session, bounds_of, named, too_early, whole


def too_late(plan: Plan, column: str, lateness: int, time: Time, closed: Time) -> TimeRegressionError:
    """What a row raises whose session may have been sent already."""
    if time + lateness < 0:
        cure = ", allow lateness=... of as much as they lie before"
        return too_early(plan.operator, plan.schema, "a row is of", [column], time, cure)
    return TimeRegressionError(
        f"operator {plan.operator!r}: a row at {time} came when sessions that it may be part of were sent already: the "
        f"frontier was at {closed}. Rows must not lie before their message's time: send such rows at earlier times, "
        f"allow lateness=..., or take them with late=True"
    )


class Sessions:
    """Output is pending at the ends of open sessions, plus the lateness that is allowed. `by`: the columns of the key
    among those that arrive; the plan's are among the results."""

    late = 0

    def __init__(
        self,
        plan: Plan,
        by: tuple[str, ...],
        window: Session,
        lateness: int,
        schema: Schema,
        moves: Sequence[Table],
    ) -> None:
        """moves: the tables of `session_tables`."""
        self._plan, self._schema, self._window = plan, schema, window
        self._gap, self._lateness, self._named = whole(window.gap), lateness, named(window)
        self._time = plan.schema.position(window.time)
        self._keys = Keys(plan.schema, by)
        self.keys: KeySlots = MovingKeys(self._keys, by)
        """See OpenSessions."""
        self._state = Accumulators(plan)
        self._table = np.zeros((64, SessionRow.size), np.int64)
        self._timers = np.zeros((64, 2), np.int64)
        self._free = np.zeros(64, np.int64)
        self._heads = np.zeros(64, np.int64)
        self._meta = np.zeros(SessionCounts.size, np.int64)
        self._counts = SessionCounts(self._meta)
        self.closed: Time = 0
        self.takes = (self._take,)
        offer(MovingSessions(moves, self, KeptFolds(plan, self._state), self._gap, lateness))

    def _take(self, batch: Batch) -> Time:
        times, counts, rows = batch.columns[self._time], self._counts, batch.rows
        first = int(times.min())
        if first + self._lateness < self.closed:
            raise too_late(self._plan, self._window.time, self._lateness, first, self.closed)
        slots = self._keys.slots(batch)
        if len(self._heads) < self._keys.limit:
            self._heads = grown(self._heads, self._keys.limit)
        sessions, fresh = np.empty(rows, np.int64), np.empty(rows, np.int64)
        merged = np.empty(rows + counts.limit, np.int64)
        counts.fresh = counts.merged = done = 0
        while True:
            done = extend(
                *(self._table, self._heads, self._free, self._timers, self._meta, times, slots, self._gap, done),
                *(sessions, fresh, merged),
            )
            if done == rows:
                break
            self._grow()
        fresh, merged = fresh[: counts.fresh], merged[: counts.merged]
        if len(fresh):
            self._state.reset(fresh, counts.limit)
        if len(merged):
            resolve(self._table, sessions)
        self._state.take(batch, sessions)
        if len(merged):
            roots = merged.copy()
            resolve(self._table, roots)
            self._state.merge(self._state, merged, roots)
            self._state.drop(merged)
        return first + self._gap + self._lateness

    def _grow(self) -> None:
        length = 2 * len(self._free)
        self._table, self._timers = grown(self._table, length, axis=0), grown(self._timers, length, axis=0)
        self._free = grown(self._free, length, None)

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """See OpenSessions."""
        return self._table, self._heads, self._free, self._timers, self._meta

    def reserve(self, sessions: int) -> int:
        """See OpenSessions."""
        self._heads = grown(self._heads, self._keys.limit)
        while self._counts.free + len(self._free) - self._counts.limit < sessions:
            self._grow()
        return len(self._free)

    def advance(self, frontier: Time) -> None:
        """Nothing waits for anything but its session's end."""

    def least(self) -> Time:
        """The end of the session that ends first, or before it."""
        return int(self._timers[0, 0]) + self._lateness if self._counts.timers else COMPLETE

    def emit(self, upto: Time, give: Give) -> Time:
        """Send the sessions that have ended, all in one message at the first one's end."""
        self.closed = max(self.closed, upto)
        ended = np.empty(self._counts.timers, np.int64)
        found = end_sessions(
            *(self._table, self._heads, self._free, self._timers, self._meta, self._gap),
            *(upto - self._lateness, ended),
        )
        if found:
            ended = ended[:found]
            about = SessionRow.of_table(self._table)[ended]
            ends, keys = about["last"] + self._gap, about["key"]
            bounds = bounds_of(np.ascontiguousarray(about["start"]), ends, self._named)
            columns, heaps = self._keys.columns(keys)
            named = len(self._plan.by)
            parts = joined(bounds, (columns[:named], heaps[:named]), self._state.results(ended))
            give(int(ends[0]) + self._lateness, wrapped(self._schema, parts, found))
            self._state.drop(ended)
            gone = np.unique(keys)
            self._keys.remove(gone[self._heads[gone] == 0])
        return self.least()

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The ends of the sessions that the rows would be alone."""
        return distinct(batch.columns[self._time] + self._gap + self._lateness)
