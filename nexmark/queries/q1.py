"""Q1: bids with their prices in euros, by whole numbers, rounded down (Megaphone's meaning)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import col, with_columns


def build(bids: Stream) -> Stream:
    """The bids, each price by 89/100."""
    return with_columns(bids, price=col("price") * 89 // 100)


Q1 = Query(
    name="q1",
    reads={"bid": ("auction", "bidder", "price", "date_time")},
    build=build,
    result=Schema("auction bidder price date_time"),
)
