"""Q19: the ten highest bids of each auction so far (nexmark-flink's meaning); of equal ones the earlier is higher."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import select, top


def build(bids: Stream) -> Stream:
    """The ranks that change."""
    ranked = top(bids, "auction", order="price", k=10, rank="rank", ties="date_time event", name="highest_bids")
    return select(ranked, "auction", "rank", "price", "bidder", "date_time")


Q19 = Query(
    name="q19",
    reads={"bid": ("auction", "price", "bidder", "date_time", "event")},
    build=build,
    result=Schema("auction rank price bidder date_time"),
    key=("auction", "rank"),
)
