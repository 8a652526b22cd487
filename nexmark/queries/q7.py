"""Q7: the highest price of each window of 10 s, on each worker first and then across workers (the paper's meaning)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import EXCHANGING, Query
from tokenring.operators import SECOND, Max, Tumbling, aggregate

WINDOW_NS = 10 * SECOND


def build(bids: Stream) -> Stream:
    """Window maxima at their windows' ends."""
    window = Tumbling("date_time", WINDOW_NS, start=None)
    return aggregate(bids, window=window, price=Max("price"), name="maxima")


Q7 = Query("q7", {"bid": ("date_time", "price")}, build, Schema("window_end price"), sort_by=("window_end",),
           mechanisms=EXCHANGING)  # fmt: skip
