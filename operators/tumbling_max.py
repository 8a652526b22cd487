"""tumbling_max: the highest value of every tumbling window, reduced on each worker first and then across workers."""

import numpy as np
from numba import types
from sortedcontainers import SortedDict

from engine import COLUMN, COMPLETE, WORDS, Batch, Exchange, Notify, Pipeline, Schema, Stream, Time, int64, kernel
from operators.mechanisms import TOKENS, Edge, Give, Mechanism, distinct

_BLOCK = 1024
_RUNS = 64


@kernel
def _bounds(times, values):  # type: ignore[no-untyped-def]
    """Least time, greatest time, greatest value; a loop over whole arrays, so that LLVM vectorises it."""
    low, high, top = times[0], times[0], values[0]
    for i in range(len(times)):
        low = min(low, times[i])
        high = max(high, times[i])
        top = max(top, values[i])
    return low, high, top


@kernel(types.UniTuple(int64, 2)(COLUMN, COLUMN, int64, int64, WORDS, WORDS))
def window_maxima(times, values, start, width, ends, maxima):  # type: ignore[no-untyped-def]
    """Reduce rows from `start` on to (window end, maximum) runs; returns (runs, next row): next row < len(times) if
    runs are full.

    Times mostly grow, so a run is long: whole blocks inside one window take the vectorised path.
    """
    rows = len(times)
    runs = 0
    at = start
    while at < rows:
        end = (times[at] // width + 1) * width
        begin = end - width
        best = values[at]
        while at < rows:
            stop = min(at + _BLOCK, rows)
            low, high, top = _bounds(times[at:stop], values[at:stop])
            if begin <= low and high < end:
                best = max(best, top)
                at = stop
                continue
            while at < stop and begin <= times[at] < end:
                best = max(best, values[at])
                at += 1
            break
        ends[runs], maxima[runs] = end, best
        runs += 1
        if runs == len(ends):
            break
    return runs, at


def tumbling_max(
    stream: Stream, time: str, value: str, width: int, name: str = "tumbling_max", way: Mechanism = TOKENS
) -> Stream:
    """Rows (window_end, value), int64, one for each window of `width` that had rows, at the window's end.

    A row at time t belongs to the window that ends at (t // width + 1) * width. Rows may come in any order; a window is
    emitted once the frontier reaches its end. Two stages (the paper's Q7): each worker reduces its own rows, then
    windows are exchanged.
    """
    schema = Schema(f"window_end {value}")

    def stage(edge: Edge, name: str, time: str, late: int) -> Stream:
        return way.timed(name, [edge], schema, lambda: _Maxima(schema, time, value, width, late), Notify.IF_TOKEN)

    partial = stage((stream, Pipeline()), f"{name}.local", time, 0)
    return stage((partial, Exchange("window_end")), name, "window_end", 1)


class _Maxima:
    """One stage on one worker: output is pending at the ends of windows that had rows. `late` is 1 where a window's
    rows are stamped with its end itself, so that they can come until the frontier is beyond it."""

    def __init__(self, schema: Schema, time: str, value: str, width: int, late: int) -> None:
        self.late = late
        self._schema = schema
        self._time, self._value = time, value
        self._width = width
        self._windows: SortedDict = SortedDict()  # end -> maximum
        self._ends, self._maxima = np.empty(_RUNS, np.int64), np.empty(_RUNS, np.int64)
        self.takes = (self._take,)

    def _take(self, batch: Batch) -> Time:
        times, values = batch[self._time], batch[self._value]
        if self.late:
            times = times - 1
        windows, ends, maxima = self._windows, self._ends, self._maxima
        least = COMPLETE
        at = 0
        while at < batch.rows:
            runs, at = window_maxima(times, values, at, self._width, ends, maxima)
            for end, maximum in zip(ends[:runs].tolist(), maxima[:runs].tolist(), strict=True):
                before = windows.get(end)
                if before is None or maximum > before:
                    windows[end] = maximum
                    least = min(least, end)
        return least

    def advance(self, frontier: Time) -> None:
        """Nothing waits for anything but its window's end."""

    def least(self) -> Time:
        """The least end of the open windows."""
        return self._windows.peekitem(0)[0] if self._windows else COMPLETE

    def emit(self, upto: Time, give: Give) -> Time:
        """Close windows, a message each."""
        windows = self._windows
        while windows and windows.peekitem(0)[0] <= upto:
            end, maximum = windows.popitem(0)
            give(end, Batch(self._schema, {"window_end": [end], self._value: [maximum]}))
        return self.least()

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The ends of the rows' windows."""
        times = batch[self._time] - self.late
        return distinct((times // self._width + 1) * self._width)
