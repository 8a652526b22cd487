"""A function in Python at the end of a query, as users write one: it notes when it is called with which results."""

from array import array
from time import monotonic_ns
from typing import Any

import numpy as np

from tokenring.engine import Batch
from tokenring.nexmark.events import EVENT, FLOOR
from tokenring.nexmark.measure import Histogram
from tokenring.nexmark.queries import Query
from tokenring.nexmark.run.pace import Pace
from tokenring.nexmark.staging import StagedEvents


class Callback:
    """What `for_each` calls on one worker: of each call it notes the results' time, the instant and their number."""

    def __init__(self) -> None:
        self._noted = array("q")

    def __call__(self, time: int, batch: Batch) -> None:
        self._noted.extend((time, monotonic_ns(), batch.rows))

    def seen(self, query: Query, staged: StagedEvents, pace: Pace, start_ns: int) -> dict[str, Any]:
        """How many calls and results there were; and how long after the first event of their time was due results
        came, as a histogram's sparse form: of an open loop, where it is measured, and without those that no event, but
        the end of all, has let go."""
        times, called_ns, rows = np.array(self._noted, np.int64).reshape(-1, 3).T
        histogram = Histogram()
        if pace.rate is not None:
            event = _first_events(query, staged, times)
            due_ns = (event * (1e9 / pace.rate)).astype(np.int64)
            counted = (event < pace.events) & (due_ns >= pace.discard_ns)
            late_ns, which = np.unique((called_ns - start_ns - due_ns)[counted], return_inverse=True)
            for late, count in zip(late_ns.tolist(), np.bincount(which, rows[counted]).tolist(), strict=True):
                histogram.record(late, late, int(count))
        return {"calls": len(times), "rows": int(rows.sum()), "latency": histogram.to_json()}


def _first_events(query: Query, staged: StagedEvents, times: np.ndarray) -> np.ndarray:
    """Of the events that the query reads, the first from which on a stream has nothing earlier than each time, or as
    many as there are if there is none. times: int64 (times,); returns such."""
    first = np.full(len(times), staged.events)
    for name in query.reads:
        stream = staged.stream(name)
        floor = stream.column(FLOOR if stream.has(FLOOR) else "date_time")
        events = np.append(stream.column(EVENT), staged.events)
        first = np.minimum(first, events[np.searchsorted(floor, times)])
    return first
