"""Joins within windows: each row once for each of its windows, which match where they are the same."""

from dataclasses import replace
from typing import Any

import numpy as np

from tokenring.engine import COMPLETE, AnyStream, Batch, Schema, SchemaError, Stream
from tokenring.engine.columns import free_name
from tokenring.engine.compiled import CompiledStage
from tokenring.operators.expressions import col
from tokenring.operators.joins.compiled import expanding
from tokenring.operators.joins.driver import declare
from tokenring.operators.joins.kept import LEFT, RIGHT, Chosen, Extents, JoinedColumns, On, Reach, require_times
from tokenring.operators.rows import computed, require_no_starts
from tokenring.operators.state import LEAST
from tokenring.operators.time import (
    FixedWindow,
    Panes,
    behind_window,
    checked_window,
    panes_of,
    require_fixed,
    split_late,
    with_late,
)

START, END = "window_start", "window_end"


def windowed_join(
    left: Stream,
    right: Stream,
    on: On,
    columns: Chosen,
    window: FixedWindow,
    right_time: str | None,
    how: str,
    late: bool,
    name: str,
) -> Any:
    """See `join`."""
    window = checked_window(name, require_fixed(name, window), left.schema)
    right_time = window.time if right_time is None else right_time
    panes = panes_of(window, 0)
    if panes.clock is not None:
        raise SchemaError(f"operator {name!r}: windows of joins have no zone; join on a column of local time")
    times = (left.schema, window.time, "for the window's time"), (right.schema, right_time, "for the right side's time")
    require_times(name, times)
    if not late:
        require_no_starts(name, left, window.time)
        require_no_starts(name, right, right_time)
    taken = left.schema.positions | right.schema.positions
    bounds = _, end = free_name(START, taken), free_name(END, taken)
    left, late_left = split_late(left, name, ".left", lambda times: _ends(panes, times)[0], window.time, late)
    right, late_right = split_late(right, name, ".right", lambda times: _ends(panes, times)[0], right_time, late)
    left, right = _by_window(left, panes, window.time, bounds, name), _by_window(right, panes, right_time, bounds, name)
    plan = JoinedColumns.of(name, left.schema, right.schema, on, columns, how=how, first=bounds)
    needs = plan.crossing(LEFT, end), plan.crossing(RIGHT, end)
    reach_left, reach_right = [Reach(end, first=1, window=time) for time in (window.time, right_time)]
    cut = f"width={panes.width}; every={panes.every}; offset={panes.offset}"
    said = f"{cut}; left_time={window.time}; right_time={right_time}"
    extents = Extents(reach_left, reach_right, exact=True, said=said)
    joined = _as_called(declare(plan, (left, right), needs, extents), bounds, window, name)
    return with_late("results, late_left, late_right", joined, late_left, late_right) if late else joined


def _as_called(joined: Stream, bounds: tuple[str, str], window: FixedWindow, name: str) -> Stream:
    """Results whose window's bounds are called as the window says, or left out."""
    called = dict(zip(bounds, (window.start, window.end), strict=True))
    if all([bound == other for bound, other in called.items()]):
        return joined
    results = {each: kind for each, kind in joined.schema.spec().items() if each not in called}
    behind_window(name, replace(window, time=bounds[0]), joined.schema, results)
    shown = {other: col(bound) for bound, other in called.items() if other is not None}
    return computed(joined, "select", shown | {each: col(each) for each in results})


def _ends(panes: Panes, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The end of the first window that each time is in, and the number of windows it is in: int64 (rows,) each. Where
    64 bits do not have them, one window of an end that the join refuses: COMPLETE, or a time before all."""
    width, every, offset = panes.width, panes.every, panes.offset
    last = (times - offset) // every
    first = (times - offset - width) // every + 1
    early, late = times < LEAST + offset + width, last * every + offset > COMPLETE - width
    ends = np.select([early, late], [times, COMPLETE], first * every + offset + width)
    return ends, np.where(early | late, 1, last - first + 1)


def _by_window(stream: AnyStream, panes: Panes, time: str, bounds: tuple[str, str], name: str) -> AnyStream:
    """Each row once for each of its windows, with its bounds, of the kind of the time."""
    kind = str(stream.schema.kind(time))
    schema = Schema.of(stream.schema.spec() | dict.fromkeys(bounds, kind))
    return stream.apply(f"{name}.windows", schema, _Expand(schema, panes, time))


class _Expand:
    """Rows by window as a function of a batch."""

    def __init__(self, schema: Schema, panes: Panes, time: str) -> None:
        self._schema, self._panes, self._time = schema, panes, time

    def __call__(self, batch: Batch) -> Batch:
        ends, counts = _ends(self._panes, batch.words(self._time))
        if not self._panes.is_tumbling:
            # All first windows, then all second ones: rows of a window stay together, which is cheaper later.
            chosen = [np.flatnonzero(counts > number) for number in range(counts.max())]
            ends = np.concatenate([ends[rows] + number * self._panes.every for number, rows in enumerate(chosen)])
            batch = batch.take(np.concatenate(chosen))
        heaps = (*batch.heaps, None, None) if self._schema.has_text else ()
        return Batch.wrap(self._schema, (*batch.columns, ends - self._panes.width, ends), batch.rows, heaps, batch)

    def compiled_stage(self) -> CompiledStage:
        """The same in the worker's inner loop."""
        panes = self._panes
        return expanding(self._schema.position(self._time), panes.width, panes.every, panes.offset)
