"""Events as no generator makes them, staged without Spark: unknown and negative ids, ties, gaps, texts of all sorts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from tests.nexmark.helpers import SECOND_NS, auction, bid, seal, table
from tokenring.nexmark.events.edge_events import edge_tables
from tokenring.nexmark.events.schema import STREAMS

_URLS = ["https://a.b/c/d/e/f?query=1", "https://a.b/c//e?x=1&channel_id=77&y=2", "channel_id=5", "&channel_id="]
_URLS += ["//host/ä/ö/ü/channel_id=3", "http://h/?xchannel_id=5", "x/y", ""]
_CHANNELS = ["Google", "apple", "FACEBOOK", "bAidu", "channel-1", "ä", ""]


def seal_foreign(folder: Path, texts: Sequence[str] = ("channel", "url", "extra")) -> Path:
    """4,000 bids of 200 auctions at few instants, around the hours where q14's parts of the day and days themselves
    begin; `texts` are those that bids have.
    """
    dice = random.Random(6)
    starts = [1_500_015_480 + hours * 3_600 for hours in (0, 1, 17)]  # 06:58, 07:58 and 23:58 UTC
    moments = [(dice.choice(starts) + dice.randrange(240)) * SECOND_NS for _ in range(300)]
    rows: dict[str, list[dict[str, Any]]] = {"person": [], "auction": [], "bid": []}
    for number in range(60):
        lives_in = {"city": dice.choice(["Kent", None]), "state": dice.choice(["OR", "WA", None])}
        person = {"id": number - 5, "date_time": dice.choice(moments), "name": f"n {number}"}
        rows["person"].append(person | lives_in)
    for number in range(200):
        begin, least = dice.choice(moments), dice.randrange(10**6)
        span = {"date_time": begin, "expires": begin + dice.choice([0, 1, SECOND_NS, 3_600 * SECOND_NS])}
        sold = {"seller": dice.randrange(-5, 50), "category": dice.randrange(9, 12), "reserve": least}
        rows["auction"].append(auction(id=(number - 4) * 123, item_name=dice.choice(["vase", None]), **span, **sold))
    ids = [row["id"] for row in rows["auction"]]
    written = {"channel": _CHANNELS, "url": _URLS, "extra": ["ccc", "abc", "", "cäc"]}
    for _ in range(4_000):
        said = {name: dice.choice([*written[name], None]) for name in texts}
        price = dice.choice([0, 9_999, 10_000, 999_999, 1_000_000, dice.randrange(10**8), 10**12])
        of = {"auction": dice.choice([*ids, 7]), "bidder": dice.randrange(-2, 9), "date_time": dice.choice(moments)}
        rows["bid"].append(bid(price=price, **of, **said))
    return seal_in_order(folder, rows)


def seal_edges(folder: Path, *, by_time: bool, seed: int = 1) -> Path:
    """The events at the queries' edges, in the order of their times, or in an arbitrary one."""
    rows = {name: table.to_pylist() for name, table in edge_tables(seed).items()}
    if by_time:
        return seal_in_order(folder, rows)
    dice = random.Random(seed)
    return seal_in_order(folder, rows, lambda _: dice.random())


def seal_in_order(
    folder: Path,
    rows: dict[str, list[dict[str, Any]]],
    place: Callable[[dict[str, Any]], float] = itemgetter("date_time"),
) -> Path:
    """Stage rows, numbered by their places, then by their streams."""
    everything = [(place(row), STREAMS[name].rank, row) for name in rows for row in rows[name]]
    for event, (_, _, row) in enumerate(sorted(everything, key=lambda one: one[:2])):
        row["event"] = event
    in_order = {name: sorted(some, key=lambda row: row["event"]) for name, some in rows.items()}
    return seal(folder, {name: table(name, some, event=True) for name, some in in_order.items()})
