"""Q11: how often each bidder bids in a session, which ends when it is silent for 10 s (nexmark-flink's meaning)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import SECOND, Count, Session, aggregate


def build(bids: Stream) -> Stream:
    """A row for each session, once it is over."""
    return aggregate(bids, "bidder", window=Session("date_time", 10 * SECOND), bids=Count(), name="sessions")


Q11 = Query(
    name="q11",
    reads={"bid": ("bidder", "date_time")},
    build=build,
    result=Schema("window_start window_end bidder bids"),
)
