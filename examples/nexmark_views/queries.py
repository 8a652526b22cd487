"""The queries whose meaning is a state: of each, the columns it reads, and what is kept up to date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tokenring as tr
from tokenring import DAY, HOUR, MINUTE, SECOND, Collection, Count, Max, Min, Sum, col, lit, when


@dataclass(frozen=True)
class Query:
    """columns: of each stream, as words; build: given these streams' rows by name, the answer."""

    columns: dict[str, str]
    build: Callable[..., Collection]


def q3(auction: Collection, person: Collection) -> Collection:
    """Who sells in a category, in three states."""
    sellers = person.filter(col("state").is_in(["OR", "ID", "CA"]))
    sold = auction.filter(col("category") == 10).select("seller", auction=col("id"))
    return sold.join(sellers, {"seller": "id"}).select("name", "city", "state", id=col("auction"))


def winners(auction: Collection, bid: Collection) -> Collection:
    """The highest price of each auction that reaches what is reserved, in its time."""
    bids = bid.select("auction", "price", bid_time=col("date_time"))
    offers = auction.join(bids, {"id": "auction"}).filter(
        (col("price") >= col("reserve")) & (col("bid_time") >= col("date_time")) & (col("bid_time") < col("expires"))
    )
    return offers.aggregate("id seller category expires", price=Max("price"))


def q4(auction: Collection, bid: Collection) -> Collection:
    """The average of winning prices, by category."""
    totals = winners(auction, bid).aggregate("category", total=Sum("price"), count=Count())
    return totals.select("category", "count", average=col("total") // col("count"))


def q5(bid: Collection) -> Collection:
    """The auction with the most bids in each minute, every second."""
    seconds = bid.select("auction", second=col("date_time") // SECOND).aggregate("auction second", bids=Count())
    each = [seconds.select("auction", "bids", window_end=(col("second") + n) * SECOND) for n in range(1, 61)]
    counts = each[0].concat(*each[1:]).aggregate("window_end auction", bids=Sum("bids"))
    best = counts.select("window_end", most=-col("bids"), auction=col("auction")).arrange("window_end").first(1)
    return best.collection().select("window_end", "auction", bids=-col("most"))


def q6(auction: Collection, bid: Collection) -> Collection:
    """The average of each seller's last ten winning prices."""
    ordered = winners(auction, bid).select("seller", last=-col("expires"), id=-col("id"), price=col("price"))
    totals = ordered.arrange("seller").first(10).collection().aggregate("seller", total=Sum("price"), count=Count())
    return totals.select("seller", "count", average=col("total") // col("count"))


def q7(bid: Collection) -> Collection:
    """The highest price of each ten seconds."""
    windows = bid.select("price", window_end=(col("date_time") // (10 * SECOND) + 1) * 10 * SECOND)
    return windows.aggregate("window_end", price=Max("price"))


def q8(auction: Collection, person: Collection) -> Collection:
    """Who sells in the first twelve hours."""
    pairs = auction.select("seller", "date_time", auction=col("id")).join(
        person.select(person=col("id"), since=col("date_time")), {"seller": "person"}
    )
    found = pairs.filter((col("date_time") >= col("since")) & (col("date_time") < col("since") + 12 * HOUR))
    return found.select("auction", "date_time", person=col("seller"))


def q9(auction: Collection, bid: Collection) -> Collection:
    """The winning bid of each auction."""
    bids = bid.select("auction", "event", "bidder", "price", bid_time=col("date_time"))
    offers = auction.join(bids, {"id": "auction"}).filter(
        (col("bid_time") >= col("date_time")) & (col("bid_time") <= col("expires"))
    )
    ordered = offers.select(
        "id", dearest=-col("price"), bid_time=col("bid_time"), event=col("event"), bidder=col("bidder"),
        seller=col("seller"), category=col("category"), reserve=col("reserve"), initial_bid=col("initial_bid"),
        date_time=col("date_time"), expires=col("expires"),
    )  # fmt: skip
    return ordered.arrange("id").first(1).collection().select(
        "id", "seller", "category", "reserve", "initial_bid", "date_time", "expires", "bidder", "bid_time",
        price=-col("dearest"),
    )  # fmt: skip


def q10(bid: Collection) -> Collection:
    """Bids with the day and the minute that name their partition."""
    at = col("date_time").truncate(MINUTE).cast("timestamp")
    return bid.with_columns(dt=at.format_time("%Y-%m-%d"), hm=at.format_time("%H:%M"))


def q13(bid: Collection) -> Collection:
    """Bids with a text that their auction's number makes."""
    return bid.with_columns(value=lit("value-") + (col("auction") % 10_000).cast("string"))


def q14(bid: Collection) -> Collection:
    """Bids of middling prices in another currency, by time of day."""
    price, hour = col("price") * 908, col("date_time") // HOUR % 24
    part = when(hour.between(8, 18)).then("dayTime").when((hour <= 6) | (hour >= 20)).then("nightTime")
    return bid.filter((price > 1_000_000_000) & (price < 50_000_000_000)).with_columns(
        price=price // 1000, bid_time_type=part.otherwise("otherTime"),
        c_counts=col("extra").count_of("c").fill_null(0),
    )  # fmt: skip


RANKS = {
    "total": lit(True),
    "rank1": col("price") < 10_000,
    "rank2": col("price").between(10_000, 999_999),
    "rank3": col("price") >= 1_000_000,
}


def counted(bids: Collection, keys: str, **more: tr.Count | tr.Max) -> Collection:
    """By these keys, how many bids, bidders and auctions there are, all and by rank of price."""
    found = bids.aggregate(keys, **more, **{f"{rank}_bids": Count(where=chosen) for rank, chosen in RANKS.items()})
    for what in ("bidder", "auction"):
        for rank, chosen in RANKS.items():
            name = f"{rank}_{what}s"
            different = bids.filter(chosen).select(*keys.split(), what).distinct()
            found = found.left_join(different.aggregate(keys, **{name: Count()}), keys)
            found = found.with_columns(**{name: col(name).fill_null(0)})
    return found


def q15(bid: Collection) -> Collection:
    """By day: bids, bidders and auctions."""
    return counted(bid.with_columns(day=col("date_time") // DAY), "day")


def q16(bid: Collection) -> Collection:
    """By channel and day: bids, bidders and auctions, and the last minute with a bid."""
    dated = bid.with_columns(day=col("date_time") // DAY, at=col("date_time") // MINUTE % 1440)
    return counted(dated, "channel day", minute=Max("at"))


def q17(bid: Collection) -> Collection:
    """By auction and day: bids by rank of price, and their prices."""
    ranks = {f"{rank}_bids": Count(where=chosen) for rank, chosen in RANKS.items()}
    prices = {"min_price": Min("price"), "max_price": Max("price"), "sum_price": Sum("price")}
    found = bid.with_columns(day=col("date_time") // DAY).aggregate("auction day", **ranks, **prices)
    return found.with_columns(avg_price=col("sum_price") // col("total_bids"))


def q18(bid: Collection) -> Collection:
    """The last bid of each bidder on each auction."""
    ordered = bid.select("bidder", "auction", last=-col("date_time"), event=col("event"), price=col("price"),
                         channel=col("channel"), url=col("url"))  # fmt: skip
    last = ordered.arrange("bidder auction").first(1).collection()
    return last.select("auction", "bidder", "price", "channel", "url", date_time=-col("last"))


def q19(bid: Collection) -> Collection:
    """The ten highest bids of each auction, without their ranks."""
    ordered = bid.select("auction", dearest=-col("price"), date_time=col("date_time"), event=col("event"),
                         bidder=col("bidder"))  # fmt: skip
    best = ordered.arrange("auction").first(10).collection()
    return best.select("auction", "bidder", "date_time", price=-col("dearest"))


def q20(auction: Collection, bid: Collection) -> Collection:
    """Bids with their auctions, of one category."""
    chosen = auction.filter(col("category") == 10).with_columns(auction_time=col("date_time"))
    kept = chosen.select("id", "item_name", "description", "initial_bid", "reserve", "auction_time", "expires",
                         "seller", "category")  # fmt: skip
    return bid.join(kept, {"auction": "id"})


def q21(bid: Collection) -> Collection:
    """Bids with the number of their channel."""
    channel, said = col("channel").lower(), col("url").extract("(?:&|^)channel_id=([^&]*)")
    number = when(channel == "apple").then("0").when(channel == "google").then("1")
    number = number.when(channel == "facebook").then("2").when(channel == "baidu").then("3")
    numbered = bid.with_columns(channel_id=number.otherwise(said)).filter(col("channel_id").is_not_null())
    return numbered.select("auction", "bidder", "price", "channel", "channel_id")


def q22(bid: Collection) -> Collection:
    """Bids with the directories of their url."""
    parts = {f"dir{number}": col("url").split_part("/", 3 + number) for number in (1, 2, 3)}
    return bid.select("auction", "bidder", "price", "channel", **parts)


_BID = "auction bidder price date_time"
_TIMED = "id date_time expires reserve seller category"
QUERIES: dict[str, Query] = {
    "q0": Query({"bid": _BID}, lambda bid: bid),
    "q1": Query({"bid": _BID}, lambda bid: bid.with_columns(price=col("price") * 89 // 100)),
    "q2": Query({"bid": "auction price"}, lambda bid: bid.filter(col("auction") % 123 == 0)),
    "q3": Query({"auction": "id seller category", "person": "id name city state"}, q3),
    "q4": Query({"auction": _TIMED, "bid": "auction price date_time"}, q4),
    "q5": Query({"bid": "auction date_time"}, q5),
    "q6": Query({"auction": _TIMED, "bid": "auction price date_time"}, q6),
    "q7": Query({"bid": "price date_time"}, q7),
    "q8": Query({"auction": "id seller date_time", "person": "id date_time"}, q8),
    "q9": Query({"auction": f"{_TIMED} initial_bid", "bid": f"{_BID} event"}, q9),
    "q10": Query({"bid": f"{_BID} extra"}, q10),
    "q12": Query({"bid": "bidder"}, lambda bid: bid.aggregate("bidder", bids=Count())),
    "q13": Query({"bid": _BID}, q13),
    "q14": Query({"bid": f"{_BID} extra"}, q14),
    "q15": Query({"bid": _BID}, q15),
    "q16": Query({"bid": f"{_BID} channel"}, q16),
    "q17": Query({"bid": "auction price date_time"}, q17),
    "q18": Query({"bid": f"{_BID} event channel url"}, q18),
    "q19": Query({"bid": f"{_BID} event"}, q19),
    "q20": Query({"auction": f"{_TIMED} initial_bid item_name description", "bid": f"{_BID} channel url"}, q20),
    "q21": Query({"bid": "auction bidder price channel url"}, q21),
    "q22": Query({"bid": "auction bidder price channel url"}, q22),
}
