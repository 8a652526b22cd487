"""Q8: who has opened an auction within twelve hours of coming (Megaphone's window)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import HOUR, interval_join


def build(people: Stream, auctions: Stream) -> Stream:
    """People joined with what they sell soon enough."""
    return interval_join(
        people, auctions, on={"id": "seller"}, left_time="date_time", right_time="date_time",
        upper=12 * HOUR - 1, unique="left",
        columns={"person": "left.id", "auction": "right.id", "date_time": "right.date_time"},
    )  # fmt: skip


Q8 = Query(
    name="q8",
    reads={"person": ("id", "date_time"), "auction": ("id", "seller", "date_time")},
    build=build,
    result=Schema("person auction date_time"),
)
