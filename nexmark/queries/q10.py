"""Q10: a log of bids, each with the day and the minute that name its partition (nexmark-flink's meaning, in UTC).

`tokenring run q10 --out FILE` writes the log.
"""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import MINUTE, col, with_columns


def build(bids: Stream) -> Stream:
    """The bids with `dt` and `hm`."""
    minute = col("date_time").truncate(MINUTE).cast("timestamp")
    return with_columns(bids, dt=minute.format_time("%Y-%m-%d"), hm=minute.format_time("%H:%M"))


Q10 = Query(
    name="q10",
    reads={"bid": ("auction", "bidder", "price", "date_time", "extra")},
    build=build,
    result=Schema("auction bidder price date_time", extra="string?", dt="string", hm="string"),
)
