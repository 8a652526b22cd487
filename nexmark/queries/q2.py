"""Q2: auctions and prices of the bids for one auction in 123 (Megaphone's meaning)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import col, filter

ONE_IN = 123


def build(bids: Stream) -> Stream:
    """The bids whose auction's number is divisible."""
    return filter(bids, col("auction") % ONE_IN == 0)


Q2 = Query(name="q2", reads={"bid": ("auction", "price")}, build=build, result=Schema("auction price"))
