"""Q15: by day, how many bids, bidders and auctions there are, all and by rank of price (nexmark-flink's meaning)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.nexmark.queries.ranks import COUNTS, counts
from tokenring.operators import DAY, aggregate, col, with_columns


def build(bids: Stream) -> Stream:
    """The counts so far of the days in each message."""
    return aggregate(with_columns(bids, day=col("date_time") // DAY), "day", **counts())


Q15 = Query(
    name="q15",
    reads={"bid": ("auction", "bidder", "price", "date_time")},
    build=build,
    result=Schema(f"day {COUNTS}"),
    key=("day",),
    sort_by=("day",),
)
