"""The NEXMark queries as a user of the package writes them over plain files, a function a query.

`python -m scripts.benchmarks.road_programs QUERY --input DIR [--format csv] --workers N [--answer parquet --out PATH]`
answers one. General operators only, and no promises: nothing is said to be unique, or in order, that the files do not
say themselves. Answers are final, as a database's are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from scripts.benchmarks.references.processes import COMPRESSION, Files, answer_one, columns_of
from tokenring import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Count,
    CountDistinct,
    Max,
    Min,
    Schema,
    Scope,
    Session,
    Sliding,
    Stream,
    Sum,
    Tumbling,
    col,
    run,
    when,
)


@dataclass(frozen=True)
class Events:
    """The three streams of files as sources of a dataflow: these columns, at one time unless a column is said."""

    scope: Scope
    files: Files

    def bids(self, columns: str, time: str | int = 0) -> Stream:
        return self._read("bid", columns, time)

    def auctions(self, columns: str, time: str | int = 0) -> Stream:
        return self._read("auction", columns, time)

    def people(self, columns: str, time: str | int = 0) -> Stream:
        return self._read("person", columns, time)

    def _read(self, stream: str, columns: str, time: str | int) -> Stream:
        file = self.files.of(stream)
        if self.files.format == "parquet":
            return self.scope.read_parquet(file, columns=columns, time=time)
        kinds = columns_of(stream, "int64", "string?")
        schema = Schema(**{name: kinds[name] for name in columns.split()})
        if self.files.format == "csv":
            return self.scope.read_csv(file, schema, time=time)
        return self.scope.read_json_lines(file, schema, time=time)


RANKS = {
    "total": None,
    "rank1": col("price") < 10_000,
    "rank2": (col("price") >= 10_000) & (col("price") < 1_000_000),
    "rank3": col("price") >= 1_000_000,
}


def bids_of_each_rank() -> list[Any]:
    """How many bids there are, all and by rank of price."""
    return [Count(where=where).alias(f"{rank}_bids") for rank, where in RANKS.items()]


def counts_of_each_rank() -> list[Any]:
    """How many bids, different bidders and different auctions there are, all and by rank of price."""
    different = [
        CountDistinct(what, where=where).alias(f"{rank}_{what}s")
        for what in ("bidder", "auction")
        for rank, where in RANKS.items()
    ]
    return bids_of_each_rank() + different


def winners(events: Events, columns: str, by: str) -> Stream:
    """The highest valid price of each auction, of which `columns` are read: by those of its columns that are `by`."""
    bids = events.bids("auction price date_time").rename(date_time="bid_time")
    offers = events.auctions(columns).join(bids, on={"id": "auction"})
    in_time = (col("bid_time") >= col("date_time")) & (col("bid_time") < col("expires"))
    valid = offers.filter(in_time & (col("price") >= col("reserve")))
    return valid.aggregate(by, price=Max("price"), emit="final")


def averages(prices: Stream, by: str) -> Stream:
    """The average price of each key, rounded down, and of how many it is."""
    sums = prices.aggregate(by, total=Sum("price"), count=Count(), emit="final")
    return sums.select(by, "count", average=col("total") // col("count"))


def q0(events: Events) -> Stream:
    """All bids."""
    return events.bids("auction bidder price date_time")


def q1(events: Events) -> Stream:
    """Bids with prices in euros."""
    return events.bids("auction bidder price date_time").with_columns(price=col("price") * 89 // 100)


def q2(events: Events) -> Stream:
    """Bids for one auction in 123."""
    return events.bids("auction price").filter(col("auction") % 123 == 0)


def q3(events: Events) -> Stream:
    """Who sells in category 10 from three states."""
    auctions = events.auctions("id seller category").filter(col("category") == 10)
    people = events.people("id name city state").filter(col("state").is_in(["OR", "ID", "CA"]))
    return auctions.join(people, on={"seller": "id"}, columns="name city state left.id")


def q4(events: Events) -> Stream:
    """The average winning price of each category."""
    return averages(winners(events, "id category reserve date_time expires", by="id category"), "category")


def q5(events: Events) -> Stream:
    """The auction with the most bids of each minute, every second; of equal ones that of the least number."""
    bids = events.bids("auction date_time", time="date_time")
    counts = bids.aggregate("auction", window=Sliding("date_time", 60 * SECOND, SECOND), bids=Count())
    most = counts.top("window_end", order="bids", k=1, ties="auction", emit="final")
    return most.select("window_end", "auction", "bids")


def q6(events: Events) -> Stream:
    """The average winning price of each seller's last ten auctions."""
    won = winners(events, "id seller reserve date_time expires", by="id seller expires")
    greatest_id_first = -1 - col("id")  # as -id, but of any id
    last = won.top("seller", order="expires", k=10, ties=greatest_id_first, rank=None, emit="final")
    return averages(last, "seller")


def q7(events: Events) -> Stream:
    """The highest price of each 10 s."""
    bids = events.bids("price date_time", time="date_time")
    highest = bids.aggregate(window=Tumbling("date_time", 10 * SECOND), price=Max("price"))
    return highest.select("window_end", "price")


def q8(events: Events) -> Stream:
    """Who has opened an auction within twelve hours of coming."""
    return events.people("id date_time", time="date_time").interval_join(
        events.auctions("id seller date_time", time="date_time"),
        on={"id": "seller"},
        left_time="date_time",
        right_time="date_time",
        upper=12 * HOUR - 1,
        columns={"person": "left.id", "auction": "right.id", "date_time": "right.date_time"},
    )


def q9(events: Events) -> Stream:
    """The highest bid within each auction's life; of equal ones the earliest."""
    bids = events.bids("auction bidder price date_time event").rename(date_time="bid_time")
    auctions = events.auctions("id seller category reserve initial_bid date_time expires")
    offers = auctions.join(bids, on={"id": "auction"}).filter(col("bid_time").between(col("date_time"), col("expires")))
    highest = offers.top("id", order="price", k=1, ties="bid_time event", rank=None, emit="final")
    return highest.drop_columns("event")


def q10(events: Events) -> Stream:
    """Bids with their days and minutes in words."""
    instant = col("date_time").cast("timestamp")
    words = {"dt": instant.format_time("%Y-%m-%d"), "hm": instant.format_time("%H:%M")}
    return events.bids("auction bidder price date_time extra").with_columns(**words)


def q11(events: Events) -> Stream:
    """How often each bidder bids before being silent for 10 s."""
    bids = events.bids("bidder date_time", time="date_time")
    return bids.aggregate("bidder", window=Session("date_time", 10 * SECOND), bids=Count())


def q12(events: Events) -> Stream:
    """How often each bidder bids."""
    return events.bids("bidder").aggregate("bidder", bids=Count(), emit="final")


def q13(events: Events) -> Stream:
    """Bids with what a table of 10,000 rows says of them, which each worker has."""
    side = {"key": [*range(10_000)], "value": [f"value-{key}" for key in range(10_000)]}
    bids = events.bids("auction bidder price date_time").with_columns(key=col("auction") % 10_000)
    return bids.enrich(side, on="key").drop_columns("key")


def q14(events: Events) -> Stream:
    """Bids of middling prices, by the time of day."""
    price, hour = col("price") * 908, col("date_time") // HOUR % 24
    part = when((hour >= 8) & (hour <= 18)).then("dayTime").when((hour <= 6) | (hour >= 20)).then("nightTime")
    bids = events.bids("auction bidder price date_time extra")
    return bids.filter((price > 1_000_000_000) & (price < 50_000_000_000)).with_columns(
        price=price // 1000,
        bid_time_type=part.otherwise("otherTime"),
        c_counts=col("extra").count_of("c").fill_null(0),
    )


def q15(events: Events) -> Stream:
    """Bids, bidders and auctions of each day, all and by rank of price."""
    bids = events.bids("auction bidder price date_time")
    return bids.aggregate((col("date_time") // DAY).alias("day"), *counts_of_each_rank(), emit="final")


def q16(events: Events) -> Stream:
    """The same of each channel and day, and the last minute of the day with a bid."""
    bids = events.bids("channel auction bidder price date_time")
    dated = bids.with_columns(day=col("date_time") // DAY, minute=col("date_time") // MINUTE % 1440)
    return dated.aggregate("channel day", Max("minute").alias("minute"), *counts_of_each_rank(), emit="final")


def q17(events: Events) -> Stream:
    """How many bids each auction has on each day, by rank of price, and what their prices are."""
    dated = events.bids("auction price date_time").with_columns(day=col("date_time") // DAY)
    prices = Min("price").alias("min_price"), Max("price").alias("max_price"), Sum("price").alias("sum_price")
    figures = dated.aggregate("auction day", *bids_of_each_rank(), *prices, emit="final")
    return figures.with_columns(avg_price=col("sum_price") // col("total_bids"))


def q18(events: Events) -> Stream:
    """Each bidder's last bid for each auction; of two at once the first."""
    bids = events.bids("auction bidder price channel url date_time event")
    last = bids.top("bidder auction", order="date_time", k=1, ties="event", rank=None, emit="final")
    return last.drop_columns("event")


def q19(events: Events) -> Stream:
    """The ten highest bids for each auction; of equal ones the earlier is higher."""
    bids = events.bids("auction bidder price date_time event")
    return bids.top("auction", order="price", k=10, ties="date_time event", emit="final").drop_columns("event")


def q20(events: Events) -> Stream:
    """Bids for auctions of category 10, with all about the auction."""
    about = "id item_name description initial_bid reserve date_time expires seller category"
    auctions = events.auctions(about).filter(col("category") == 10).rename(date_time="auction_time")
    return events.bids("auction bidder price channel url date_time").join(auctions, on={"auction": "id"})


def q21(events: Events) -> Stream:
    """Bids with the number of their channel: some are known, others' urls say it."""
    channel, said = col("channel").lower(), col("url").extract("(?:&|^)channel_id=([^&]*)")
    number = when(channel == "apple").then("0").when(channel == "google").then("1")
    number = number.when(channel == "facebook").then("2").when(channel == "baidu").then("3")
    numbered = events.bids("auction bidder price channel url").with_columns(channel_id=number.otherwise(said))
    return numbered.filter(col("channel_id").is_not_null()).drop_columns("url")


def q22(events: Events) -> Stream:
    """Bids with the three directories of their urls."""
    directories = {f"dir{part - 3}": col("url").split_part("/", part) for part in (4, 5, 6)}
    return events.bids("auction bidder price channel url").with_columns(**directories).drop_columns("url")


PROGRAMS: dict[str, Callable[[Events], Stream]] = {
    "q0": q0, "q1": q1, "q2": q2, "q3": q3, "q4": q4, "q5": q5, "q6": q6, "q7": q7, "q8": q8, "q9": q9, "q10": q10,
    "q11": q11, "q12": q12, "q13": q13, "q14": q14, "q15": q15, "q16": q16, "q17": q17, "q18": q18, "q19": q19,
    "q20": q20, "q21": q21, "q22": q22,
}  # fmt: skip
"""By name."""


def answer(query: str, files: Files, workers: int) -> pa.Table:
    """All rows of a query's answer."""
    build = PROGRAMS[query]
    return run(lambda scope: build(Events(scope, files)).collect(), workers=workers)


def to_parquet(query: str, files: Files, workers: int, folder: Path) -> None:
    """Write them to a folder, a file a worker."""
    build = PROGRAMS[query]
    run(lambda scope: build(Events(scope, files)).to_parquet(folder, compression=COMPRESSION), workers=workers)


if __name__ == "__main__":
    answer_one(PROGRAMS, answer, to_parquet)
