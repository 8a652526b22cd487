"""tumbling_max: the highest value of every tumbling window, reduced on each worker first and then across workers."""

from collections.abc import Callable

import numpy as np
from numba import types
from sortedcontainers import SortedDict

from engine import (
    COLUMN,
    MAX_TIME,
    WORDS,
    Batch,
    Exchange,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Pact,
    Pipeline,
    Schema,
    Stream,
    Token,
    int64,
    kernel,
)

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


def tumbling_max(stream: Stream, time: str, value: str, width: int, name: str = "tumbling_max") -> Stream:
    """Rows (window_end, value), int64, one for each window of `width` that had rows, at the window's end.

    A row at time t belongs to the window that ends at (t // width + 1) * width. Rows may come in any order; a window is
    emitted once the frontier reaches its end. Two stages (the paper's Q7): each worker reduces its own rows, then
    windows are exchanged.
    """
    partial = _reduce(stream, time, value, width, Pipeline(), f"{name}.local", 0)
    return _reduce(partial, "window_end", value, width, Exchange("window_end"), name, 1)


def _reduce(stream: Stream, time: str, value: str, width: int, pact: Pact, name: str, late: int) -> Stream:
    """One stage. `late` is 1 where a window's rows are stamped with its end itself, so that they can come until the
    frontier is beyond it; 0 where their times lie before it."""
    schema = Schema(f"window_end {value}")

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        windows: SortedDict = SortedDict()  # end -> [token, maximum]
        ends, maxima = np.empty(_RUNS, np.int64), np.empty(_RUNS, np.int64)

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                times, values = batch[time], batch[value]
                if late:
                    times = times - 1
                at = 0
                while at < batch.rows:
                    runs, at = window_maxima(times, values, at, width, ends, maxima)
                    for end, maximum in zip(ends[:runs].tolist(), maxima[:runs].tolist(), strict=True):
                        window = windows.get(end)
                        if window is None:
                            held = reference.retain()
                            held.downgrade(min(end, MAX_TIME))  # the last window ends beyond the last time there is
                            windows[end] = [held, maximum]
                        elif maximum > window[1]:
                            window[1] = maximum
            frontier = rows.frontier
            while windows and windows.peekitem(0)[0] + late <= frontier:
                end, (held, maximum) = windows.popitem(0)
                output.give(held, Batch(schema, {"window_end": [end], value: [maximum]}))
                held.drop()

        return logic

    return stream.unary(name, schema, construct, pact, Notify.IF_TOKEN)
