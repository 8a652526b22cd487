"""Q18: each bidder's last bid for each auction (nexmark-flink's meaning): duplicates removed, the latest kept."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import select, top

COLUMNS = ("auction", "bidder", "price", "channel", "url", "date_time")


def build(bids: Stream) -> Stream:
    """Bids that are, when they come, the last ones of their bidder for their auction; of two at once, the first."""
    last = top(bids, "bidder auction", order="date_time", k=1, ties="event", name="last_bids")
    return select(last, *COLUMNS)


Q18 = Query(
    name="q18",
    reads={"bid": (*COLUMNS, "event")},
    build=build,
    result=Schema.of(dict.fromkeys(COLUMNS, "int64") | {"channel": "string?", "url": "string?"}),
    key=("auction", "bidder"),
)
