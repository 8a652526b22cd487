"""Q12: how often each bidder bids within 10 s of the clock on the wall, not of the bids' own times (nexmark-flink's).

When a bid comes is known to the source alone, so no two runs give the same windows, and a run's cannot be verified.
What can is that every bid was counted in one window: the sum of each bidder's. Under a clock that is set, windows are
known.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import SECOND, Count, aggregate, col, select, with_arrival

if TYPE_CHECKING:
    import pyarrow as pa

_WIDTH_NS = 10 * SECOND


def whole_counts(rows: "pa.Table") -> "pa.Table":
    """(bidder, bids) over all windows."""
    return rows.group_by("bidder", use_threads=False).aggregate([("bids", "sum")]).rename_columns({"bids_sum": "bids"})


def build(bids: Stream, clock: Callable[[], int] = time.time_ns) -> Stream:
    """The counts so far of the bidders in each message; its bids come at one instant. clock: ns since 1970."""
    arrived = with_arrival(bids, "arrived", clock)
    windowed = select(arrived, "bidder", window_start=col("arrived") // _WIDTH_NS * _WIDTH_NS)
    return aggregate(windowed, "bidder window_start", bids=Count(), name="by_wall_clock")


Q12 = Query(
    name="q12",
    reads={"bid": ("bidder",)},
    build=build,
    result=Schema("bidder window_start bids"),
    key=("bidder", "window_start"),
    checked_as=whole_counts,
)
