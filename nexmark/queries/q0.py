"""Q0: bids as they are: what it costs to take rows in and to hand them on."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query


def build(bids: Stream) -> Stream:
    """The bids themselves."""
    return bids


Q0 = Query(
    name="q0",
    reads={"bid": ("auction", "bidder", "price", "date_time")},
    build=build,
    result=Schema("auction bidder price date_time"),
)
