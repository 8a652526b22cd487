"""Q6: the average selling price of each seller's last ten closed auctions (Megaphone's meaning of closing, as in Q4).

Megaphone's own code groups by the winning bidder; this groups by seller, as NEXMark's text says.
"""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import average_of_last, best_offers


def build(auctions: Stream, bids: Stream) -> Stream:
    """Closed auctions' winning prices, in the order of their ends, averaged by seller."""
    winners = best_offers(
        auctions, bids, key="id", start="date_time", end="expires", threshold="reserve", payload="seller",
        offer_key="auction", offer_time="date_time", offer_value="price", with_key=True, name="winning_bids",
    )  # fmt: skip
    return average_of_last(winners, "seller", "price", rows=10, order="expires id", name="average_by_seller")


Q6 = Query(
    name="q6",
    reads={"auction": ("id", "date_time", "expires", "reserve", "seller"), "bid": ("auction", "date_time", "price")},
    build=build,
    result=Schema("seller average count"),
    key=("seller",),
)
