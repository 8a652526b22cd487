"""Where panes end: of rows, of stretches of rows, and what is said of those that come too late for theirs."""

import numpy as np

from tokenring.engine import COLUMN, COMPLETE, WORDS, Batch, Time, TimeRegressionError, int64, kernel, tuple_of
from tokenring.engine.compiled import Words
from tokenring.operators.folds import BLOCK, Plan, bounds
from tokenring.operators.time import SENT_EARLIER, Panes, fill_ends, start_of_pane, too_early

PANE = "#pane"
"""The column of panes' ends."""
BEFORE_ALL: Time = 0
"""What windows are closed by at first: one that ends then, lateness and all, is of rows before all times."""


def ends_of(batch: Batch, time: int, panes: Panes) -> tuple[np.ndarray, Time]:
    """The end of each row's pane, int64 (rows,), and the least; time: the column's position, -1 for one pane."""
    if time < 0:
        return np.full(batch.rows, panes.step), panes.step
    if panes.clock is not None:
        ends = panes.clock.ends(batch.columns[time])
        return ends, int(ends.min(initial=COMPLETE))
    ends = np.empty(batch.rows, np.int64)
    return ends, fill_ends(batch.columns[time], panes.step, panes.offset, 0, ends)


@kernel(tuple_of(int64, 2)(COLUMN, int64, int64, int64, WORDS, WORDS))
def cut_runs(times: Words, at: int, step: int, offset: int, starts: Words, ends: Words) -> tuple[int, int]:
    """Stretches of rows of one pane, from row `at` on: their starts, with the stop of the last, and their panes' ends.
    Returns (how many, next row): next row < len(times) if there was no more room.

    Times mostly grow, so a stretch is long: whole blocks inside one pane take the vectorised path.
    """
    rows = len(times)
    runs = 0
    while at < rows and runs < len(ends):
        start = start_of_pane(times[at], step, offset)
        end = min(start, COMPLETE - step) + step
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


def too_late(plan: Plan, panes: Panes, due: Time, closed: Time, has_late: bool) -> TimeRegressionError:
    """What a row raises whose window was sent already. has_late: whether the operator takes late=True."""
    if due <= BEFORE_ALL:
        cure = ", allow lateness=... of as much as they lie before"
        return too_early(plan.operator, plan.schema, panes.columns, due - panes.lateness, cure, True)
    return TimeRegressionError(
        f"operator {plan.operator!r}: a row of the window that ended at {due - panes.lateness} came when its result "
        f"was sent already: the frontier was at {closed}. Rows may lie before their message's time only while their "
        f"window is open: {SENT_EARLIER}"
        f"{', allow lateness=..., or take them with late=True' if has_late else ', or allow lateness=...'}"
    )
