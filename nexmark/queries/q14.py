"""Q14: bids of middling prices in euros, by time of day, and how many "c" their text has (nexmark-flink's meaning).

Prices are compared exactly, in thousandths, and shown rounded down.
"""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import HOUR, col, filter, select, when

THOUSANDTHS = 908
LEAST, MOST = 1_000_000, 50_000_000


def build(bids: Stream) -> Stream:
    """The bids that are chosen, and what is computed of them."""
    price, hour = col("price") * THOUSANDTHS, col("date_time") // HOUR % 24
    chosen = filter(bids, (price > LEAST * 1000) & (price < MOST * 1000))
    part = when((hour >= 8) & (hour <= 18)).then("dayTime").when((hour <= 6) | (hour >= 20)).then("nightTime")
    return select(
        chosen,
        "auction",
        "bidder",
        price=price // 1000,
        bid_time_type=part.otherwise("otherTime"),
        date_time=col("date_time"),
        extra=col("extra"),
        c_counts=col("extra").count_of("c").fill_null(0),
    )


Q14 = Query(
    name="q14",
    reads={"bid": ("auction", "bidder", "price", "date_time", "extra")},
    build=build,
    result=Schema.of(
        Schema("auction bidder price", bid_time_type="string", date_time="int64").spec()
        | {"extra": "string?", "c_counts": "int64"}
    ),
)
