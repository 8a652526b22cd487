"""Q5: the auction with the most bids in each minute, every second (Megaphone's windows).

Of auctions with equally many bids it is the one with the least number. Megaphone has each worker say its own best.
"""

import numpy as np

from tokenring.engine import Batch, Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import SECOND, Count, Sliding, Tumbling, aggregate, filter_batches, rename, select, top


def build(bids: Stream) -> Stream:
    """Bids counted by auction and window; of each window each worker's best, and of those the best of all."""
    counts = aggregate(bids, "auction", window=Sliding("date_time", 60 * SECOND, SECOND), bids=Count())
    likely = rename(select(filter_batches(counts, may_be_best), "window_end", "auction", "bids"), window_end="ended")
    # Workers' counts of one minute come one after the other, all at its end: what is best is said once that has passed.
    hottest = top(likely, "ended", window=Tumbling("ended", 1), order="bids", k=1, ties="auction")
    return rename(select(hottest, "ended", "auction", "bids"), ended="window_end")


def may_be_best(counts: Batch) -> np.ndarray:
    """The rows with as many bids as any of their window in this batch, in which windows follow each other."""
    starts = np.flatnonzero(np.diff(counts["window_end"], prepend=-1))
    most = np.maximum.reduceat(counts["bids"], starts)
    return np.asarray(counts["bids"] == np.repeat(most, np.diff(starts, append=counts.rows)))


Q5 = Query(
    name="q5",
    reads={"bid": ("auction", "date_time")},
    build=build,
    result=Schema("window_end auction bids"),
    sort_by=("window_end",),
)
