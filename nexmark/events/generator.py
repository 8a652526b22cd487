"""NEXMark events by number: any rows of any stream, made alone, the same bit for bit whoever makes them.

Event m of the generated sequence depends on the seed and m alone. With an out-of-order group size g > 1 the events
arrive in another order: the position n holds the event m = n - n % g + (n * 953) % g, as in Beam, so the events of a
whole group are the same whatever g is. The staged column `event` is the position n.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Final

import numpy as np

from tokenring.nexmark.events.draws import I64, below, below_wide, draw, price, seed_key
from tokenring.nexmark.events.schema import EVENT, TIME_LIMIT_NS
from tokenring.tools.errors import OptionError

DISORDER_STEP: Final = 953
SECOND_NS: Final = 1_000_000_000
MAX_RATE: Final = 10**12
_HOT_BLOCK: Final = 100
_MAX_COUNT: Final = 1 << 30

# Fields of the counter-based draws; strings use the numbers from 16 on (nexmark/events/texts.py).
_BID_HOT_AUCTION, _BID_AUCTION, _BID_HOT_BIDDER, _BID_BIDDER, _BID_PRICE = range(5)
_AUCTION_HOT_SELLER, _AUCTION_SELLER, _AUCTION_CATEGORY, _AUCTION_PRICE, _AUCTION_RESERVE, _AUCTION_LENGTH = range(6)


@dataclass(frozen=True)
class GeneratorConfig:
    """Every parameter of the generator; the defaults are those that Beam and nexmark-flink share."""

    events: int
    seed: int = 1
    rate: int = 1_000_000
    """Events per second of event time."""
    base_time_ns: int = 1_436_918_400 * SECOND_NS
    """The first event's time; Beam's, 2015-07-15T00:00:00Z."""
    person_proportion: int = 1
    auction_proportion: int = 3
    bid_proportion: int = 46
    first_person_id: int = 1000
    first_auction_id: int = 1000
    first_category_id: int = 10
    categories: int = 5
    hot_auction_ratio: int = 2
    hot_seller_ratio: int = 4
    hot_bidder_ratio: int = 4
    auction_id_lead: int = 10
    person_id_lead: int = 10
    in_flight_auctions: int = 100
    active_people: int = 1000
    out_of_order_group_size: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise OptionError(f"{field.name} must be an integer, not {value!r}")
        non_negative = {"seed", "base_time_ns", "first_person_id", "first_auction_id", "first_category_id"}
        non_negative |= {"auction_id_lead", "person_id_lead"}
        limits = {"events": 1 << 53, "seed": (1 << 63) - 1, "rate": MAX_RATE, "base_time_ns": TIME_LIMIT_NS - 1}
        limits["out_of_order_group_size"] = 1 << 20
        for field in fields(self):
            value = getattr(self, field.name)
            least, most = (0 if field.name in non_negative else 1), limits.get(field.name, _MAX_COUNT)
            if not least <= value <= most:
                raise OptionError(f"{field.name} is {value}; it must be between {least} and {most}")
        if math.gcd(self.out_of_order_group_size, DISORDER_STEP) != 1:
            raise OptionError(
                f"out_of_order_group_size is {self.out_of_order_group_size}; "
                f"it must not be a multiple of {DISORDER_STEP}, the step of the permutation"
            )
        ahead = self.out_of_order_group_size + self.horizon_events
        last_ns = self.base_time_ns + 3 * (self.events + ahead) * SECOND_NS // self.rate + 3
        if last_ns >= TIME_LIMIT_NS:
            raise OptionError(
                f"{self.events} events at a rate of {self.rate}/s from {self.base_time_ns} ns pass the last valid time "
                f"{TIME_LIMIT_NS} ns; take fewer events or a higher rate"
            )

    @property
    def mix(self) -> int:
        """Events after which the sequence of kinds repeats."""
        return self.person_proportion + self.auction_proportion + self.bid_proportion

    @property
    def horizon_events(self) -> int:
        """How many events ahead half of the longest auction reaches."""
        return self.in_flight_auctions * self.mix // self.auction_proportion

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


class Generator:
    """Makes columns for chosen rows of one stream."""

    def __init__(self, config: GeneratorConfig) -> None:
        self.config = config
        self.key = seed_key(config.seed)
        person, auction, bid = config.person_proportion, config.auction_proportion, config.bid_proportion
        self._place = {"person": (0, person), "auction": (person, auction), "bid": (person + auction, bid)}
        # Streams draw from different keys, so that their fields need not be numbered together.
        self._keys = {stream: seed_key(self.key + 1 + index) for index, stream in enumerate(self._place)}

    # ---- which events are whose

    def rows(self, stream: str) -> int:
        """How many of the first `config.events` events belong to the stream."""
        group = self.config.out_of_order_group_size
        whole = self.config.events // group * group
        rows = self._rows_before(stream, whole)
        if whole < self.config.events:
            rows += len(self._group_rows(stream, whole // group, whole // group)[0])
        return rows

    def numbers(self, stream: str, start: int, stop: int) -> tuple[I64, I64]:
        """Positions n and event numbers m of the rows start..stop-1 of a stream, in order of arrival."""
        if self.config.out_of_order_group_size == 1:
            number = self._number(stream, np.arange(start, stop, dtype=np.int64))
            return number, number
        group = self.config.out_of_order_group_size
        if start >= stop:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        first, last = (int(self._number(stream, np.array([row]))[0]) // group for row in (start, stop - 1))
        position, number = self._group_rows(stream, first, last)
        skip = start - self._rows_before(stream, first * group)
        return position[skip : skip + stop - start], number[skip : skip + stop - start]

    def _rows_before(self, stream: str, number: int) -> int:
        offset, width = self._place[stream]
        whole, rest = divmod(number, self.config.mix)
        return whole * width + min(max(rest - offset, 0), width)

    def _number(self, stream: str, row: I64) -> I64:
        offset, width = self._place[stream]
        return row // width * self.config.mix + offset + row % width

    def _group_rows(self, stream: str, first: int, last: int) -> tuple[I64, I64]:
        """All rows of the groups first..last: positions (sorted) and event numbers."""
        group = self.config.out_of_order_group_size
        start, stop = self._rows_before(stream, first * group), self._rows_before(stream, (last + 1) * group)
        number = self._number(stream, np.arange(start, stop, dtype=np.int64))
        inverse = pow(DISORDER_STEP, -1, group)
        position = number - number % group + number % group * inverse % group
        order = np.argsort(position)
        order = order[position[order] < self.config.events]
        return position[order], number[order]

    # ---- what is in them

    def time_ns(self, number: I64) -> I64:
        """base + floor(number * 10**9 / rate), in steps that no 64-bit product overflows."""
        rate = self.config.rate
        whole, rest = np.divmod(number, rate)
        fraction = np.zeros_like(number)
        for _ in range(3):
            digit, rest = np.divmod(rest * 1000, rate)
            fraction = fraction * 1000 + digit
        return self.config.base_time_ns + whole * SECOND_NS + fraction

    def last_person(self, number: I64) -> I64:
        """The newest person at this event, counted from 0."""
        whole, rest = np.divmod(number, self.config.mix)
        width = self.config.person_proportion
        return whole * width + np.minimum(rest, width - 1)

    def last_auction(self, number: I64) -> I64:
        """The newest auction at this event, counted from 0 (-1 before the first)."""
        whole, rest = np.divmod(number, self.config.mix)
        width = self.config.auction_proportion
        return whole * width + np.clip(rest - self.config.person_proportion, -1, width - 1)

    def columns(self, stream: str, start: int, stop: int) -> dict[str, I64]:
        """The integer columns, and `event`, of the rows start..stop-1 of a stream."""
        position, number = self.numbers(stream, start, stop)
        make = {"person": self._person, "auction": self._auction, "bid": self._bid}[stream]
        return {**make(number), EVENT: position}

    def batches(self, stream: str, rows_per_batch: int = 1 << 16) -> Iterator[dict[str, I64]]:
        """All rows of a stream, a few at a time."""
        rows = self.rows(stream)
        for start in range(0, rows, rows_per_batch):
            yield self.columns(stream, start, min(start + rows_per_batch, rows))

    def _any_person(self, number: I64, bits: np.ndarray) -> I64:
        people = self.last_person(number) + 1
        active = np.minimum(people, self.config.active_people)
        return people - active + below(bits, active + self.config.person_id_lead)

    def _person(self, number: I64) -> dict[str, I64]:
        return {"id": self.config.first_person_id + self.last_person(number), "date_time": self.time_ns(number)}

    def _auction(self, number: I64) -> dict[str, I64]:
        config, key = self.config, self._keys["auction"]
        hot = below(draw(key, number, _AUCTION_HOT_SELLER), config.hot_seller_ratio) > 0
        hot_seller = self.last_person(number) // _HOT_BLOCK * _HOT_BLOCK
        seller = np.where(hot, hot_seller, self._any_person(number, draw(key, number, _AUCTION_SELLER)))
        initial_bid = price(draw(key, number, _AUCTION_PRICE))
        date_time = self.time_ns(number)
        horizon_ns = self.time_ns(number + config.horizon_events) - date_time
        length_ns = 1 + below_wide(draw(key, number, _AUCTION_LENGTH), np.maximum(2 * horizon_ns, 1))
        return {
            "id": config.first_auction_id + self.last_auction(number),
            "initial_bid": initial_bid,
            "reserve": initial_bid + price(draw(key, number, _AUCTION_RESERVE)),
            "date_time": date_time,
            "expires": date_time + length_ns,
            "seller": config.first_person_id + seller,
            "category": config.first_category_id + below(draw(key, number, _AUCTION_CATEGORY), config.categories),
        }

    def _bid(self, number: I64) -> dict[str, I64]:
        config, key = self.config, self._keys["bid"]
        last_auction = self.last_auction(number)
        oldest = np.maximum(last_auction - config.in_flight_auctions, 0)
        choices = last_auction - oldest + 1 + config.auction_id_lead
        any_auction = oldest + below(draw(key, number, _BID_AUCTION), choices)
        hot = below(draw(key, number, _BID_HOT_AUCTION), config.hot_auction_ratio) > 0
        auction = np.where(hot, last_auction // _HOT_BLOCK * _HOT_BLOCK, any_auction)
        hot = below(draw(key, number, _BID_HOT_BIDDER), config.hot_bidder_ratio) > 0
        hot_bidder = self.last_person(number) // _HOT_BLOCK * _HOT_BLOCK + 1
        bidder = np.where(hot, hot_bidder, self._any_person(number, draw(key, number, _BID_BIDDER)))
        return {
            "auction": config.first_auction_id + auction,
            "bidder": config.first_person_id + bidder,
            "price": price(draw(key, number, _BID_PRICE)),
            "date_time": self.time_ns(number),
        }
