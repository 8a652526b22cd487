"""Q9: each auction's winning bid so far: the highest within its life, of equal ones the earliest (nexmark-flink's)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import col, filter, join, rename, select, top

AUCTION = "id seller category reserve initial_bid date_time expires"
COLUMNS = f"{AUCTION} bidder price bid_time"


def build(auctions: Stream, bids: Stream) -> Stream:
    """Bids that are, when they come, the highest ones for their auctions."""
    timed = rename(bids, date_time="bid_time")
    offers = join(auctions, timed, on={"id": "auction"}, columns=f"{COLUMNS} event", unique="left", name="offers")
    valid = filter(offers, col("bid_time").between(col("date_time"), col("expires")))
    winners = top(valid, "id", order="price", k=1, ties="bid_time event", name="winning_bids")
    return select(winners, *COLUMNS.split())


Q9 = Query(
    name="q9",
    reads={"auction": tuple(AUCTION.split()), "bid": ("auction", "bidder", "price", "date_time", "event")},
    build=build,
    result=Schema(COLUMNS),
    key=("id",),
)
