"""The three NEXMark streams: their columns, kinds, and which of them events from elsewhere must have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["int64", "time", "string"]

TIME_LIMIT_NS: Final = 1 << 62
"""Valid times are 0 <= t < TIME_LIMIT_NS: half of int64, so that adding a window or a lifetime never wraps."""


@dataclass(frozen=True)
class Column:
    """One column; `time` is an int64 of nanoseconds since 1970-01-01."""

    name: str
    kind: Kind
    required: bool = True

    @property
    def is_integer(self) -> bool:
        return self.kind != "string"


@dataclass(frozen=True)
class Stream:
    """One stream; `rank` orders rows of different streams at the same instant."""

    name: str
    rank: int
    columns: tuple[Column, ...]

    @property
    def integer_columns(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns if c.is_integer)

    @property
    def string_columns(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns if not c.is_integer)


EVENT: Final = "event"
"""Staged beside the columns: the row's 0-based position in the order of all events."""

FLOOR: Final = "floor"
"""Staged where times are out of order: the least date_time of this row and all later rows of its stream."""

PERSON: Final = Stream(
    "person",
    0,
    (
        Column("id", "int64"),
        Column("name", "string", required=False),
        Column("email_address", "string", required=False),
        Column("credit_card", "string", required=False),
        Column("city", "string", required=False),
        Column("state", "string", required=False),
        Column("date_time", "time"),
    ),
)
AUCTION: Final = Stream(
    "auction",
    1,
    (
        Column("id", "int64"),
        Column("item_name", "string", required=False),
        Column("description", "string", required=False),
        Column("initial_bid", "int64"),
        Column("reserve", "int64"),
        Column("date_time", "time"),
        Column("expires", "time"),
        Column("seller", "int64"),
        Column("category", "int64"),
        Column("extra", "string", required=False),
    ),
)
BID: Final = Stream(
    "bid",
    2,
    (
        Column("auction", "int64"),
        Column("bidder", "int64"),
        Column("price", "int64"),
        Column("channel", "string", required=False),
        Column("url", "string", required=False),
        Column("date_time", "time"),
        Column("extra", "string", required=False),
    ),
)

STREAMS: Final[dict[str, Stream]] = {stream.name: stream for stream in (PERSON, AUCTION, BID)}
