"""The string columns of generated events, as Arrow arrays made from counter-based draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenring.nexmark.events.draws import I64, below, draw, seed_key
from tokenring.nexmark.events.generator import Generator

_FIRST_NAMES = "Peter Paul Luke John Saul Vicky Kate Julie Sarah Deiter Walter".split()
_LAST_NAMES = "Shultz Abrams Spencer White Bartels Walton Smith Jones Noris".split()
_CITIES = ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent"]
_CITIES += ["Cheyenne"]
_STATES = "AZ CA ID OR WA WY".split()
_HOT_CHANNELS = "Google Facebook Baidu Apple".split()
_HOT_CHANNEL_RATIO, _CHANNELS, _CHANNELS_PER_ANONYMOUS = 2, 10_000, 10
_LEAST_LENGTH = 3
_ITEM_NAME_LENGTH, _DESCRIPTION_LENGTH, _EMAIL_LENGTH, _DIRECTORY_LENGTH = 20, 100, 7, 5
_BID_EXTRAS, _BID_EXTRA_LENGTHS = 10_000, (54, 82)
_AUCTION_EXTRAS, _AUCTION_EXTRA_LENGTHS = 1_000, (312, 468)
_CHARS_PER_DRAW = 8
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
_LETTERS_AND_GAP = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz__", np.uint8)  # about one in 13 is a gap

# Draw fields; those below 16 belong to the integer columns (nexmark/events/generator.py).
_LENGTH, _CITY, _STATE, _FIRST, _LAST, _CARD = 16, 17, 18, 19, 20, 21
_LETTERS_OF_NAME, _LETTERS_OF_DESCRIPTION, _LETTERS_OF_EMAIL = 24, 32, 50
_HOT_CHANNEL, _CHANNEL, _EXTRA = 16, 17, 60


@dataclass(frozen=True)
class _Stock:
    """Texts that bids and auctions choose from: a channel and its url stand at the same place, the hot ones first."""

    channels: pa.Array
    urls: pa.Array
    bid_extras: pa.Array
    auction_extras: pa.Array


def string_columns(generator: Generator, stream: str, number: I64) -> dict[str, pa.Array]:
    """The string columns of the given events of one stream."""
    return {"person": _person, "auction": _auction, "bid": _bid}[stream](generator.key, number)


def _person(key: int, number: I64) -> dict[str, pa.Array]:
    names = pa.array([f"{first} {last}" for first in _FIRST_NAMES for last in _LAST_NAMES])
    first = below(draw(key, number, _FIRST), len(_FIRST_NAMES))
    last = below(draw(key, number, _LAST), len(_LAST_NAMES))
    full = np.full(len(number), _EMAIL_LENGTH, np.int64)
    letters = _words(key, number, _LETTERS_OF_EMAIL, full, _EMAIL_LENGTH).to_pylist()
    cards = np.char.zfill((draw(key, number, _CARD) % np.uint64(10**16)).astype(str), 16).tolist()
    return {
        "name": names.take(pa.array(first * len(_LAST_NAMES) + last)),
        "email_address": pa.array([f"{word}@{word[::-1]}.com" for word in letters], pa.string()),
        "credit_card": pa.array([" ".join((c[:4], c[4:8], c[8:12], c[12:])) for c in cards], pa.string()),
        "city": pa.array(_CITIES).take(pa.array(below(draw(key, number, _CITY), len(_CITIES)))),
        "state": pa.array(_STATES).take(pa.array(below(draw(key, number, _STATE), len(_STATES)))),
    }


def _auction(key: int, number: I64) -> dict[str, pa.Array]:
    bits = draw(key, number, _LENGTH)
    name_length = _LEAST_LENGTH + below(bits, _ITEM_NAME_LENGTH - _LEAST_LENGTH)
    length = _LEAST_LENGTH + below(bits << np.uint64(32), _DESCRIPTION_LENGTH - _LEAST_LENGTH)
    return {
        "item_name": _words(key, number, _LETTERS_OF_NAME, name_length, _ITEM_NAME_LENGTH),
        "description": _words(key, number, _LETTERS_OF_DESCRIPTION, length, _DESCRIPTION_LENGTH),
        "extra": _chosen(_stock(key).auction_extras, below(draw(key, number, _EXTRA), _AUCTION_EXTRAS)),
    }


def _bid(key: int, number: I64) -> dict[str, pa.Array]:
    stock, hot_channels = _stock(key), len(_HOT_CHANNELS)
    is_hot = below(draw(key, number, _HOT_CHANNEL), _HOT_CHANNEL_RATIO) > 0
    bits = draw(key, number, _CHANNEL)
    channel = np.where(is_hot, below(bits, hot_channels), hot_channels + below(bits, _CHANNELS))
    return {
        "channel": _chosen(stock.channels, channel),
        "url": _chosen(stock.urls, channel),
        "extra": _chosen(stock.bid_extras, below(draw(key, number, _EXTRA), _BID_EXTRAS)),
    }


def _chosen(texts: pa.Array, places: I64) -> pa.Array:
    return texts.take(pa.array(places))


@lru_cache(maxsize=4)
def _stock(key: int) -> _Stock:
    """What one seed's texts are chosen from."""
    key = seed_key(key)
    number = np.arange(len(_HOT_CHANNELS) + _CHANNELS, dtype=np.int64)
    directories = []
    for level in range(3):
        field = 1 + 2 * level
        length = _LEAST_LENGTH + below(draw(key, number, field), _DIRECTORY_LENGTH - _LEAST_LENGTH)
        directories.append(_words(key, number, field + 1, length, _DIRECTORY_LENGTH, _LETTERS_AND_GAP).to_pylist())
    is_anonymous = below(draw(key, number, 0), _CHANNELS_PER_ANONYMOUS) == 0
    is_anonymous[: len(_HOT_CHANNELS)] = True
    urls = []
    for place, parts in enumerate(zip(*directories, strict=True)):
        url = f"https://www.nexmark.com/{'/'.join(parts)}/item.htm?query=1"
        urls.append(url if is_anonymous[place] else f"{url}&channel_id={_channel_id(place - len(_HOT_CHANNELS))}")
    return _Stock(
        channels=pa.array(_HOT_CHANNELS + [f"channel-{channel}" for channel in range(_CHANNELS)]),
        urls=pa.array(urls),
        bid_extras=_extras(seed_key(key + 1), _BID_EXTRAS, *_BID_EXTRA_LENGTHS),
        auction_extras=_extras(seed_key(key + 2), _AUCTION_EXTRAS, *_AUCTION_EXTRA_LENGTHS),
    )


def _channel_id(channel: int) -> int:
    """The channel's 32 bits in reverse order: a number of its own that does not look like a count."""
    return int(f"{channel:032b}"[::-1], 2)


def _extras(key: int, count: int, least: int, above: int) -> pa.Array:
    number = np.arange(count, dtype=np.int64)
    return _words(key, number, 1, least + below(draw(key, number, 0), above - least), above)


def _words(
    key: int, number: I64, field: int, length: I64, most: int, letters: npt.NDArray[np.uint8] = _LETTERS
) -> pa.Array:
    """Random letters of the given lengths: drawn as a matrix of the longest, cut to length."""
    draws = -(-most // _CHARS_PER_DRAW)
    bits = np.stack([draw(key, number, field + index) for index in range(draws)], axis=1)
    octets = bits.astype("<u8", copy=False).view(np.uint8).reshape(len(number), draws * _CHARS_PER_DRAW)
    drawn = letters[(octets.astype(np.uint16) * np.uint16(len(letters))) >> 8]
    kept = drawn[np.arange(draws * _CHARS_PER_DRAW) < length[:, None]]
    offsets = np.zeros(len(number) + 1, np.int32)
    np.cumsum(length, out=offsets[1:])
    return pa.StringArray.from_buffers(len(number), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(kept)))
