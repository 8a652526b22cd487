"""The NEXMark queries as lazy frames of Polars, as its users would write them: references for `benchmark queries`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

Frames = Mapping[str, pl.LazyFrame]
"""bid, auction and person, with the columns that the queries read."""

_SECOND = 1_000_000_000
_HOUR = 3_600 * _SECOND
_DAY = 24 * _HOUR
_RANKS: dict[str, pl.Expr | None] = {
    "total": None,
    "rank1": pl.col("price") < 10_000,
    "rank2": (pl.col("price") >= 10_000) & (pl.col("price") < 1_000_000),
    "rank3": pl.col("price") >= 1_000_000,
}


def _counts() -> list[pl.Expr]:
    """How many bids, different bidders and different auctions, of each rank."""
    chosen: list[pl.Expr] = []
    for name, condition in _RANKS.items():
        chosen.append((pl.len() if condition is None else condition.sum()).cast(pl.Int64).alias(f"{name}_bids"))
    for what in ("bidder", "auction"):
        for name, condition in _RANKS.items():
            values = pl.col(what) if condition is None else pl.col(what).filter(condition)
            chosen.append(values.n_unique().cast(pl.Int64).alias(f"{name}_{what}s"))
    return chosen


def _day() -> pl.Expr:
    return (pl.col("date_time") // _DAY).alias("day")


def _instant() -> pl.Expr:
    return pl.col("date_time").cast(pl.Datetime("ns"))


def _winners(frames: Frames, *columns: str) -> pl.LazyFrame:
    """The greatest valid price of each auction."""
    offers = frames["bid"].select("auction", "price", bid_time="date_time")
    return (
        frames["auction"]
        .join(offers, left_on="id", right_on="auction")
        .filter(
            pl.col("price") >= pl.col("reserve"),
            pl.col("bid_time") >= pl.col("date_time"),
            pl.col("bid_time") < pl.col("expires"),
        )
        .group_by("id", *columns)
        .agg(pl.col("price").max())
    )


def _averages(winners: pl.LazyFrame, key: str) -> pl.LazyFrame:
    """The average price of each key, rounded down."""
    return (
        winners.group_by(key)
        .agg(pl.col("price").sum() // pl.len(), count=pl.len().cast(pl.Int64))
        .select(key, pl.col("price").cast(pl.Int64).alias("average"), "count")
    )


def _q0(frames: Frames) -> pl.LazyFrame:
    return frames["bid"].select("auction", "bidder", "price", "date_time")


def _q1(frames: Frames) -> pl.LazyFrame:
    return frames["bid"].select("auction", "bidder", pl.col("price") * 89 // 100, "date_time")


def _q2(frames: Frames) -> pl.LazyFrame:
    return frames["bid"].filter(pl.col("auction") % 123 == 0).select("auction", "price")


def _q3(frames: Frames) -> pl.LazyFrame:
    chosen = frames["auction"].filter(pl.col("category") == 10).select("seller", "id")
    people = frames["person"].filter(pl.col("state").is_in(["OR", "ID", "CA"])).select("id", "name", "city", "state")
    return chosen.join(people, left_on="seller", right_on="id").select("name", "city", "state", "id")


def _q4(frames: Frames) -> pl.LazyFrame:
    return _averages(_winners(frames, "category"), "category")


def _q5(frames: Frames) -> pl.LazyFrame:
    """A bid counts in the sixty windows from the one that ends with its second."""
    seconds = pl.LazyFrame({"later": range(1, 61)}, schema={"later": pl.Int64})
    by_second = frames["bid"].group_by("auction", second=pl.col("date_time") // _SECOND).agg(bids=pl.len())
    windows = (
        by_second.join(seconds, how="cross")
        .group_by("auction", window_end=(pl.col("second") + pl.col("later")) * _SECOND)
        .agg(pl.col("bids").sum().cast(pl.Int64))
    )
    most = windows.group_by("window_end").agg(pl.col("bids").max())
    return (
        windows.join(most, on=["window_end", "bids"])
        .group_by("window_end", "bids")
        .agg(pl.col("auction").min())
        .select("window_end", "auction", "bids")
    )


def _q6(frames: Frames) -> pl.LazyFrame:
    last = (
        _winners(frames, "seller", "expires")
        .sort("expires", "id", descending=True)
        .group_by("seller", maintain_order=True)
        .head(10)
    )
    return _averages(last, "seller")


def _q7(frames: Frames) -> pl.LazyFrame:
    window_end = (pl.col("date_time") // (10 * _SECOND) + 1) * (10 * _SECOND)
    return frames["bid"].group_by(window_end=window_end).agg(pl.col("price").max())


def _q8(frames: Frames) -> pl.LazyFrame:
    people = frames["person"].select("id", came="date_time")
    auctions = frames["auction"].select("id", "seller", "date_time")
    return (
        auctions.join(people, left_on="seller", right_on="id")
        .filter(pl.col("date_time") >= pl.col("came"), pl.col("date_time") < pl.col("came") + 12 * _HOUR)
        .select(person="seller", auction="id", date_time="date_time")
    )


def _q9(frames: Frames) -> pl.LazyFrame:
    auctions = frames["auction"].select("id", "seller", "category", "reserve", "initial_bid", "date_time", "expires")
    bids = frames["bid"].select("auction", "bidder", "price", "event", bid_time="date_time")
    return (
        auctions.join(bids, left_on="id", right_on="auction")
        .filter(pl.col("bid_time").is_between(pl.col("date_time"), pl.col("expires")))
        .sort("price", "bid_time", "event", descending=[True, False, False])
        .unique("id", keep="first", maintain_order=True)
        .drop("event")
    )


def _q10(frames: Frames) -> pl.LazyFrame:
    named = {"dt": _instant().dt.strftime("%Y-%m-%d"), "hm": _instant().dt.strftime("%H:%M")}
    return frames["bid"].select("auction", "bidder", "price", "date_time", "extra", **named)


def _q11(frames: Frames) -> pl.LazyFrame:
    opens = (pl.col("date_time").diff() >= 10 * _SECOND) | (pl.col("bidder") != pl.col("bidder").shift())
    return (
        frames["bid"]
        .select("bidder", "date_time")
        .sort("bidder", "date_time")
        .with_columns(session=opens.fill_null(True).cum_sum())
        .group_by("bidder", "session")
        .agg(
            bids=pl.len().cast(pl.Int64),
            window_start=pl.col("date_time").min(),
            window_end=pl.col("date_time").max() + 10 * _SECOND,
        )
        .drop("session")
    )


def _q12(frames: Frames) -> pl.LazyFrame:
    return frames["bid"].group_by("bidder").agg(bids=pl.len().cast(pl.Int64))


def _q13(frames: Frames) -> pl.LazyFrame:
    side = pl.LazyFrame({"key": range(10_000)}, schema={"key": pl.Int64}).with_columns(
        value=pl.concat_str(pl.lit("value-"), pl.col("key"))
    )
    return (
        frames["bid"]
        .with_columns(key=pl.col("auction") % 10_000)
        .join(side, on="key")
        .select("auction", "bidder", "price", "date_time", "value")
    )


def _q14(frames: Frames) -> pl.LazyFrame:
    exact, hour = pl.col("price") * 908, pl.col("date_time") // _HOUR % 24
    part = (
        pl.when(hour.is_between(8, 18))
        .then(pl.lit("dayTime"))
        .when((hour <= 6) | (hour >= 20))
        .then(pl.lit("nightTime"))
        .otherwise(pl.lit("otherTime"))
    )
    return (
        frames["bid"]
        .filter(exact > 1_000_000_000, exact < 50_000_000_000)
        .select(
            "auction", "bidder", (exact // 1000).alias("price"), part.alias("bid_time_type"), "date_time", "extra",
            c_counts=pl.col("extra").str.count_matches("c", literal=True).fill_null(0).cast(pl.Int64),
        )
    )  # fmt: skip


def _q15(frames: Frames) -> pl.LazyFrame:
    return frames["bid"].group_by(_day()).agg(*_counts())


def _q16(frames: Frames) -> pl.LazyFrame:
    minute = (pl.col("date_time") // (60 * _SECOND) % 1440).max().alias("minute")
    return frames["bid"].group_by("channel", _day()).agg(minute, *_counts())


def _q17(frames: Frames) -> pl.LazyFrame:
    price = pl.col("price")
    return (
        frames["bid"]
        .group_by("auction", _day())
        .agg(
            *_counts()[: len(_RANKS)],
            min_price=price.min(),
            max_price=price.max(),
            sum_price=price.sum(),
        )
        .with_columns(avg_price=pl.col("sum_price") // pl.col("total_bids"))
    )


def _q18(frames: Frames) -> pl.LazyFrame:
    return (
        frames["bid"]
        .sort("date_time", "event", descending=[True, False])
        .unique(["bidder", "auction"], keep="first", maintain_order=True)
        .select("auction", "bidder", "price", "channel", "url", "date_time")
    )


def _q19(frames: Frames) -> pl.LazyFrame:
    return (
        frames["bid"]
        .select("auction", "bidder", "price", "date_time", "event")
        .sort("price", "date_time", "event", descending=[True, False, False])
        .group_by("auction", maintain_order=True)
        .head(10)
        .with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("auction"))
        .select("auction", "rank", "price", "bidder", "date_time")
    )


def _q20(frames: Frames) -> pl.LazyFrame:
    auctions = frames["auction"].filter(pl.col("category") == 10).select(
        "id", "item_name", "description", "initial_bid", "reserve", "expires", "seller", "category",
        auction_time="date_time",
    )  # fmt: skip
    return frames["bid"].join(auctions, left_on="auction", right_on="id").select(
        "auction", "bidder", "price", "channel", "url", "date_time",
        "item_name", "description", "initial_bid", "reserve", "auction_time", "expires", "seller", "category",
    )  # fmt: skip


def _q21(frames: Frames) -> pl.LazyFrame:
    known = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    channel = pl.col("channel").str.to_lowercase()
    told = pl.col("url").str.extract(r"(?:&|^)channel_id=([^&]*)", 1)
    number = channel.replace_strict(known, default=None, return_dtype=pl.String).fill_null(told)
    return (
        frames["bid"]
        .select("auction", "bidder", "price", "channel", channel_id=number)
        .filter(pl.col("channel_id").is_not_null())
    )


def _q22(frames: Frames) -> pl.LazyFrame:
    parts = pl.col("url").str.split("/")
    named = {f"dir{number}": parts.list.get(number + 2, null_on_oob=True) for number in (1, 2, 3)}
    return frames["bid"].select("auction", "bidder", "price", "channel", **named)


LAZY: dict[str, Callable[[Frames], pl.LazyFrame]] = {
    "q0": _q0, "q1": _q1, "q2": _q2, "q3": _q3, "q4": _q4, "q5": _q5, "q6": _q6, "q7": _q7, "q8": _q8, "q9": _q9,
    "q10": _q10, "q11": _q11, "q12": _q12, "q13": _q13, "q14": _q14, "q15": _q15, "q16": _q16, "q17": _q17,
    "q18": _q18, "q19": _q19, "q20": _q20, "q21": _q21, "q22": _q22,
}  # fmt: skip
"""By name: what makes a query's answer."""
