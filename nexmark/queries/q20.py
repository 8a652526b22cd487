"""Q20: bids on auctions of one category, with all about the auction (nexmark-flink's meaning)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import col, join

CATEGORY = 10
BID = ("auction", "bidder", "price", "channel", "url", "date_time")
AUCTION = ("item_name", "description", "initial_bid", "reserve", "date_time", "expires", "seller", "category")
TEXTS = ("channel", "url", "item_name", "description")
COLUMNS = {name: f"left.{name}" for name in BID} | {
    {"date_time": "auction_time"}.get(name, name): f"right.{name}" for name in AUCTION
}


def build(bids: Stream, auctions: Stream) -> Stream:
    """Each bid, once its auction is known to be of the category; others go then."""
    return join(
        bids, auctions, on={"auction": "id"}, columns=COLUMNS, unique="right", right_where=col("category") == CATEGORY,
        name="expanded",
    )  # fmt: skip


Q20 = Query(
    name="q20",
    reads={"bid": BID, "auction": ("id", *AUCTION)},
    build=build,
    result=Schema.of({name: "string?" if name in TEXTS else "int64" for name in COLUMNS}),
)
