"""Q17: what each auction's bids of a day come to: how many, in three ranges of price, and prices (nexmark-flink's)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.nexmark.queries.ranks import of_each_rank
from tokenring.operators import DAY, Count, Max, Min, Sum, aggregate, col, select, with_columns


def build(bids: Stream) -> Stream:
    """The figures so far of the auctions in each message."""
    figures = aggregate(
        select(bids, "auction", "price", day=col("date_time") // DAY),
        "auction day",
        **of_each_rank("bids", lambda condition: Count(where=condition)),
        min_price=Min("price"),
        max_price=Max("price"),
        sum_price=Sum("price"),
        name="by_auction_and_day",
    )
    return with_columns(figures, avg_price=col("sum_price") // col("total_bids"))


Q17 = Query(
    name="q17",
    reads={"bid": ("auction", "price", "date_time")},
    build=build,
    result=Schema("auction day total_bids rank1_bids rank2_bids rank3_bids min_price max_price sum_price avg_price"),
    key=("auction", "day"),
)
