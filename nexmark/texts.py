"""The string columns of generated persons and auctions, as Arrow arrays made from counter-based draws."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nexmark.draws import I64, below, draw
from nexmark.generator import Generator

_FIRST_NAMES = "Peter Paul Luke John Saul Vicky Kate Julie Sarah Deiter Walter".split()
_LAST_NAMES = "Shultz Abrams Spencer White Bartels Walton Smith Jones Noris".split()
_CITIES = ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent"]
_CITIES += ["Cheyenne"]
_STATES = "AZ CA ID OR WA WY".split()
_LEAST_LENGTH = 3
_ITEM_NAME_LENGTH, _DESCRIPTION_LENGTH, _EMAIL_LENGTH = 20, 100, 7
_CHARS_PER_DRAW = 8
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)

# Draw fields; those below 16 belong to the integer columns (nexmark/generator.py).
_LENGTH, _CITY, _STATE, _FIRST, _LAST, _CARD = 16, 17, 18, 19, 20, 21
_LETTERS_OF_NAME, _LETTERS_OF_DESCRIPTION, _LETTERS_OF_EMAIL = 24, 32, 50


def string_columns(generator: Generator, stream: str, number: I64) -> dict[str, pa.Array]:
    """The string columns of the given events of one stream; bids have none."""
    if stream == "person":
        return _person(generator.key, number)
    if stream == "auction":
        key = generator.key
        bits = draw(key, number, _LENGTH)
        name_length = _LEAST_LENGTH + below(bits, _ITEM_NAME_LENGTH - _LEAST_LENGTH)
        length = _LEAST_LENGTH + below(bits << np.uint64(32), _DESCRIPTION_LENGTH - _LEAST_LENGTH)
        return {
            "item_name": _words(key, number, _LETTERS_OF_NAME, name_length, _ITEM_NAME_LENGTH),
            "description": _words(key, number, _LETTERS_OF_DESCRIPTION, length, _DESCRIPTION_LENGTH),
        }
    return {}


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


def _words(key: int, number: I64, field: int, length: I64, most: int) -> pa.Array:
    """Random letters of the given lengths: drawn as a matrix of the longest, cut to length."""
    draws = -(-most // _CHARS_PER_DRAW)
    bits = np.stack([draw(key, number, field + index) for index in range(draws)], axis=1)
    octets = bits.astype("<u8", copy=False).view(np.uint8).reshape(len(number), draws * _CHARS_PER_DRAW)
    letters = _LETTERS[(octets.astype(np.uint16) * np.uint16(len(_LETTERS))) >> 8]
    kept = letters[np.arange(draws * _CHARS_PER_DRAW) < length[:, None]]
    offsets = np.zeros(len(number) + 1, np.int32)
    np.cumsum(length, out=offsets[1:])
    return pa.StringArray.from_buffers(len(number), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(kept)))
