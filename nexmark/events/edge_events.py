"""Events at the edge of every query: equal times and prices, bounds and one beside them, negative sums, odd texts.

Generated events hardly ever stand where a query's condition turns: a wrong comparison answers them rightly. These do,
a few thousand of them, the same for the same seed. They share nothing with the queries but the schema.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tokenring.nexmark.events.schema import STREAMS

Row = dict[str, Any]
Rows = Iterator[tuple[str, Row]]
"""(stream, row): columns that a row does not name are chosen at random, texts may be null."""

_S: Final = 10**9
_H: Final = 3_600 * _S
_D: Final = 24 * _H
_DAY: Final = 17_362 * _D  # 2017-07-15
_INT64: Final = (-(2**63), 2**63 - 1)
_AROUND: Final = (-1, 0, 1)
# Prices where ranks and q14's range begin, those that no double holds, and signs.
_PRICES: Final = (-3, -2, -1, 0, 1, 7, 99, 100, 9_999, 10_000, 999_999, 1_000_000, 2**53 + 1, -(2**53) - 1)
_MIDDLING: Final = (1_101_321, 1_101_322, 1_101_323, 20_000_000, 55_066_078, 55_066_079, 55_066_080)
_CHANNELS: Final = ("apple", "Google", "FACEBOOK", "bAidu", "apple ", "channel-1", "ä", "", None)
_URLS: Final = (
    "https://a.b/c/d/e/f?query=1", "https://a.b/c//e?x=1&channel_id=77&y=2", "channel_id=5", "channel_id=",
    "&channel_id=", "https://h/?channel_id=3", "http://h/?xchannel_id=5", "http://h/?a&channel_id=1&channel_id=2",
    "x&channel_id=ä/ö?z&",     "a/b/c/d", "a/b/c", "a/b/c/d/e/f/g", "///", "//////", "/", "x", "", None,
)  # fmt: skip
_EXTRAS: Final = ("c", "cc-C-ç-c", "abab", "", None)


def edge_tables(seed: int = 1) -> dict[str, pa.Table]:
    """The streams, all columns of the schema, in an arbitrary order of rows."""
    dice = random.Random(seed)
    rows: dict[str, list[Row]] = {name: [] for name in STREAMS}
    for makes in (_lives, _reserves, _negative_averages, _sellers, _ties, _bursts, _sessions, _people, _days, _texts):
        for stream, row in makes(dice):
            rows[stream].append(_whole(stream, row, dice))
    for some in rows.values():
        dice.shuffle(some)
    kinds = {
        name: pa.schema([(c.name, pa.int64() if c.is_integer else pa.string()) for c in stream.columns])
        for name, stream in STREAMS.items()
    }
    return {name: pa.Table.from_pylist(some, kinds[name]) for name, some in rows.items()}


def write_edge_events(folder: Path, seed: int = 1) -> None:
    """Write them as `tokenring stage --from` takes them."""
    for name, table in edge_tables(seed).items():
        pq.write_table(table, folder / f"{name}.parquet")


def _whole(stream: str, row: Row, dice: random.Random) -> Row:
    """The row with every column."""
    if stream == "auction":
        row.setdefault("category", dice.randrange(9, 12))
        row.setdefault("seller", dice.randrange(-3, 9))
        row.setdefault("item_name", dice.choice(("vase", "", None)))
    elif stream == "person":
        row.setdefault("name", dice.choice(("Ann", "", None)))
        row.setdefault("city", dice.choice(("Kent", "", None)))
        row.setdefault("state", dice.choice(("OR", "ID", "CA", "or", "WA", "", None)))
    else:
        row.setdefault("bidder", dice.randrange(-2, 6))
        row.setdefault("channel", dice.choice(_CHANNELS))
        row.setdefault("url", dice.choice(_URLS))
        row.setdefault("extra", dice.choice(_EXTRAS))
    return {column.name: row.get(column.name) for column in STREAMS[stream].columns}


def _auction(number: int, start: int, length: int, **more: Any) -> tuple[str, Row]:
    return "auction", {
        "id": number,
        "date_time": start,
        "expires": start + length,
        "initial_bid": 1,
        "reserve": 0,
    } | more


def _bid(auction: int, time: int, price: int, **more: Any) -> tuple[str, Row]:
    return "bid", {"auction": auction, "date_time": time, "price": price} | more


def _lives(dice: random.Random) -> Rows:
    """Auctions whose highest bid stands at a bound of their life, or just beside one: does it count? Each category has
    one auction, so that it shows in an average."""
    start, length = _DAY + 2 * _H + 3, 25 * _S + 1
    bounds = [bound + beside for bound in (0, length) for beside in _AROUND]
    for number, at in enumerate(bounds):
        key = 123 * (number - 2)
        yield _auction(key, start, length, category=100 + number, seller=200 + number)
        yield _bid(key, start + length // 2, 50)
        yield _bid(key, start + at, 60 + number)
    yield _auction(9_999, start, 0, category=110, seller=210)  # ends as it starts
    yield _bid(9_999, start, 70)
    for number, key in enumerate(_INT64):
        yield _auction(key, start, length, category=key, seller=key)
        yield _bid(key, start + 1, 80 + number, bidder=key)
    for key in (10_000, 10_001, -1, -9_999, -10_000, 122, 124):  # unknown, or q2's and q13's remainders turn there
        yield _bid(key, start + dice.choice(_AROUND), 90)


def _reserves(dice: random.Random) -> Rows:
    """Bids at the reserve and beside it, alone and with others."""
    start = _DAY + 4 * _H
    for number, beside in enumerate(_AROUND):
        for negative in (False, True):
            key, reserve = 20_000 + 2 * number + negative, -500 if negative else 500
            yield _auction(key, start, _S, reserve=reserve, category=120 + 2 * number + negative, seller=220 + number)
            yield _bid(key, start + dice.randrange(_S), reserve + beside)
            yield _bid(key, start + dice.randrange(_S), reserve - 7)


def _negative_averages(dice: random.Random) -> Rows:
    """Sums below zero that their counts do not divide, of categories, of sellers and of an auction's bids of a day."""
    start = _DAY + 6 * _H
    for number, price in enumerate((-1, -2, -4, 0, -7)):
        yield _auction(21_000 + number, start, _H, reserve=-100, category=130 + number // 3, seller=230 + number // 3)
        yield _bid(21_000 + number, start + dice.randrange(_H), price)
    for price in (-3, -3, -4, 2, -1, -5, 1):
        yield _bid(21_100, start + dice.randrange(_H), price)


def _sellers(dice: random.Random) -> Rows:
    """Sellers of more than ten closed auctions, which end at one instant, or each a nanosecond after the other."""
    start = _DAY + 9 * _H
    for seller, closes in (
        (240, lambda _: _S),
        (241, lambda number: _S + number),
        (242, lambda number: _S + number // 2),
    ):
        ids = [seller * 100 + number for number in range(13)]
        dice.shuffle(ids)
        for number, key in enumerate(ids):
            yield _auction(key, start, closes(number), seller=seller, category=140)
            yield _bid(key, start + number, 3 ** (number + 1))


def _ties(dice: random.Random) -> Rows:
    """Bids of equal prices, at one instant and one after the other, around the first and the tenth place; one bidder's
    bids for one auction at one instant."""
    start = _DAY + 12 * _H
    for number in range(4):
        key = 30_000 + number
        yield _auction(key, start, _H, category=10)
        for place in range(14):
            price = (1_000, 1_000 - place // 3, 1_000 - place, 1_000 + place // 9)[number]
            time = start + (place % 3 if number % 2 else dice.randrange(2))
            yield _bid(key, time, price, bidder=place % 4)
        yield _bid(key, start - 1, 1_000, bidder=77)
        yield _bid(key, start + _H, 1_000, bidder=78)
        yield _bid(key, start + _H + 1, 1_001, bidder=79)


def _bursts(dice: random.Random) -> Rows:
    """Bids alone, hours apart, at seconds and at q7's tens of seconds, and beside them; minutes in which several
    auctions have equally many bids, or one more than the others, at their first and their last instants."""
    for number in range(12):
        second = _DAY + 13 * _H + number * 600 * _S + (number % 4) * 10 * _S
        yield _bid(40_000 + number, second + _AROUND[number % 3], -5 - number)
    for number in range(8):
        second = _DAY + 17 * _H + number * 600 * _S
        for key in dice.sample(range(41_000, 41_009), 5):
            for _ in range(3 + (key == 41_004) * (number % 2)):
                yield _bid(key, second + dice.choice((0, 1, _S - 1, _S, 59 * _S, 60 * _S - 1, 60 * _S)), 10)


def _sessions(dice: random.Random) -> Rows:
    """Bidders who come back after almost ten seconds, just ten, and more."""
    for bidder in range(50, 62):
        time = _DAY + 19 * _H + 30 * 60 * _S + dice.randrange(_S)
        for _ in range(9):
            yield _bid(42_000, time, 20, bidder=bidder)
            time += dice.choice((0, 1, 10 * _S - 1, 10 * _S, 10 * _S + 1))


def _people(dice: random.Random) -> Rows:
    """People whose auctions begin before them, with them, and around twelve hours after; one never comes."""
    came = _DAY + 1 * _H
    for number in range(300, 307):
        yield "person", {"id": number, "date_time": came + dice.choice(_AROUND)}
    for number in range(300, 308):
        for at, hours in enumerate((0, 1, 11, 12, 13, 24)):
            for beside in _AROUND:
                key = 50_000 + 100 * (number - 300) + 4 * at + beside
                yield _auction(key, came + hours * _H + beside, 1, seller=number)


def _days(dice: random.Random) -> Rows:
    """Prices of all ranks at all bounds of days, hours and minutes that a query names, each beside the next."""
    hours = (0, 6, 7, 8, 18, 19, 20, 21, 24, 30)
    times = [_DAY + hour * _H + beside for hour in hours for beside in _AROUND]
    times += [_DAY + 23 * _H + minute * 60 * _S + beside for minute in (0, 1, 59) for beside in _AROUND]
    for time in times:
        for price in (*dice.sample(_PRICES, 7), *dice.sample(_MIDDLING, 3)):
            channel = dice.choice(("Google", "channel-1", "", None))
            yield _bid(dice.randrange(60_000, 60_004), time, price, bidder=dice.randrange(70, 74), channel=channel)


def _texts(dice: random.Random) -> Rows:
    """Every channel with every url, every text with a price that q14 takes."""
    for channel in _CHANNELS:
        for url in _URLS:
            time = _DAY + 5 * _H + dice.randrange(60) * 60 * _S
            yield _bid(61_000, time, dice.choice(_MIDDLING), channel=channel, url=url)
