"""Q4: the average winning price of closed auctions, by category (the paper's and Megaphone's meaning).

A bid is valid if price >= reserve and start <= bid time < expires; an auction closes when the frontiers of both inputs
pass its expiry; each closed auction that had a valid bid updates the running integer average of its category.
"""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import EXCHANGING, Query
from tokenring.operators import Latest, best_offers, running_average


def build(auctions: Stream, bids: Stream) -> tuple[Stream, Latest]:
    """Closed auctions' winning prices, exchanged by category, averaged."""
    winners = best_offers(
        auctions, bids, key="id", start="date_time", end="expires", threshold="reserve", payload="category",
        offer_key="auction", offer_time="date_time", offer_value="price", name="winning_bids",
    )  # fmt: skip
    final = Latest(("category", "average", "count"))
    return running_average(winners, "category", "price", name="average_by_category", latest=final), final


Q4 = Query(
    name="q4",
    reads={"auction": ("id", "date_time", "expires", "reserve", "category"), "bid": ("auction", "date_time", "price")},
    build=build,
    result=Schema("category average count"),
    key=("category",),
    sort_by=("category",),
    mechanisms=EXCHANGING,
)
