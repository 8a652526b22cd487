"""Q16: by channel and day, the last minute with a bid, and the counts of Q15 (nexmark-flink's meaning)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.nexmark.queries.ranks import COUNTS, counts
from tokenring.operators import DAY, MINUTE, Max, aggregate, col, with_columns


def build(bids: Stream) -> Stream:
    """The counts so far of the channels and days in each message."""
    dated = with_columns(bids, day=col("date_time") // DAY, minute=col("date_time") // MINUTE % (DAY // MINUTE))
    return aggregate(dated, "channel day", minute=Max("minute"), **counts())


Q16 = Query(
    name="q16",
    reads={"bid": ("channel", "auction", "bidder", "price", "date_time")},
    build=build,
    result=Schema.of({"channel": "string?"} | Schema(f"day minute {COUNTS}").spec()),
    key=("channel", "day"),
)
