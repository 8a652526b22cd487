"""Q21: bids with the number of their channel, which hot ones have and others' urls say (nexmark-flink's meaning)."""

from tokenring.engine import Schema, Stream
from tokenring.nexmark.queries.query import Query
from tokenring.operators import col, filter, select, when, with_columns


def build(bids: Stream) -> Stream:
    """The bids whose channel has a number."""
    channel, said = col("channel").lower(), col("url").extract("(?:&|^)channel_id=([^&]*)")
    number = when(channel == "apple").then("0").when(channel == "google").then("1")
    number = number.when(channel == "facebook").then("2").when(channel == "baidu").then("3")
    numbered = filter(with_columns(bids, channel_id=number.otherwise(said)), col("channel_id").is_not_null())
    return select(numbered, "auction", "bidder", "price", "channel", channel_id=col("channel_id").fill_null(""))


Q21 = Query(
    name="q21",
    reads={"bid": ("auction", "bidder", "price", "channel", "url")},
    build=build,
    result=Schema("auction bidder price", channel="string?", channel_id="string"),
)
