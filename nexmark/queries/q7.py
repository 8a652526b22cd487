"""Q7: the highest price of each window of 10 s, on each worker first and then across workers (the paper's meaning)."""

from engine import Schema, Stream
from nexmark.queries.query import EXCHANGING, Query
from operators import tumbling_max
from operators.mechanisms import TOKENS, Mechanism

WINDOW_NS = 10_000_000_000


def build(bids: Stream, way: Mechanism = TOKENS) -> Stream:
    """Window maxima at their windows' ends."""
    return tumbling_max(bids, time="date_time", value="price", width=WINDOW_NS, way=way)


Q7 = Query("q7", {"bid": ("date_time", "price")}, build, Schema("window_end price"), sort_by=("window_end",),
           mechanisms=EXCHANGING)  # fmt: skip
