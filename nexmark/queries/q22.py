"""Q22: bids with the three directories of their url (nexmark-flink's meaning)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import col, select


def build(bids: Stream) -> Stream:
    """The bids with the parts of the url behind the host."""
    dir1, dir2, dir3 = [col("url").split_part("/", part) for part in (4, 5, 6)]
    return select(bids, "auction", "bidder", "price", "channel", dir1=dir1, dir2=dir2, dir3=dir3)


Q22 = Query(
    name="q22",
    reads={"bid": ("auction", "bidder", "price", "channel", "url")},
    build=build,
    result=Schema("auction bidder price", channel="string?", dir1="string?", dir2="string?", dir3="string?"),
)
