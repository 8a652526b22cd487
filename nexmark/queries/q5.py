"""Q5: the auction with the most bids in each minute, every second (Megaphone's windows).

Of auctions with equally many bids it is the one with the least number. Each worker says its own best, as in Megaphone.
"""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import SECOND, Count, Sliding, Tumbling, aggregate, rename, select, top


def build(bids: Stream) -> Stream:
    """Bids counted by auction and window; of each window each worker's best, and of those the best of all."""
    minutes = Sliding("date_time", 60 * SECOND, SECOND, start=None, end="ended")
    counts = aggregate(bids, "auction", window=minutes, bids=Count())
    # Workers' counts of one minute come one after the other, all at its end: what is best is said once that has passed.
    hottest = top(counts, "ended", window=Tumbling("ended", 1), order="bids", k=1, ties="auction")
    return rename(select(hottest, "ended", "auction", "bids"), ended="window_end")


Q5 = Query(
    name="q5",
    reads={"bid": ("auction", "date_time")},
    build=build,
    result=Schema("window_end auction bids"),
    sort_by=("window_end",),
)
