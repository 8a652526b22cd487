"""What bytes of CSV and of JSON are looked through for before readers of whole blocks, which see less in them, do."""

import numpy as np

from tokenring.engine import int64, kernel
from tokenring.engine.raw import bytes_at, find_octet, words_at

_QUOTE, _NEWLINE, _RETURN, _SPACE, _TAB = ord('"'), ord("\n"), ord("\r"), ord(" "), ord("\t")
_ZERO, _X, _CAPITAL_X = ord("0"), ord("x"), ord("X")
_OPENS, _CLOSES, _LIST = ord("{"), ord("}"), ord("[")
DEEP = 1000
"""Levels of lists and objects, of which orjson takes some more, and msgspec as many as Python has frames."""


@kernel
def _closing(address: int, at: int, size: int) -> int:
    """Where the quoted value ends whose bytes begin at `at`: two quotes are one of the value's. `size` if nowhere."""
    octets = bytes_at(address, size)
    while True:
        at = find_octet(address, at, size, _QUOTE, 1)
        if at + 1 >= size or octets[at + 1] != _QUOTE:
            return at
        at += 2


@kernel(int64(int64, int64, int64, int64))
def faulty_quote(address: int, size: int, delimiter: int, may_cross: int) -> int:
    """Where in `size` bytes of whole lines the first quoted value begins, behind its quote, that has no end, or unless
    they may that goes across lines; -1 if none does. A quote within a value that does not begin with one is no quote.
    """
    octets = bytes_at(address, size)
    at, line_end = find_octet(address, 0, size, _QUOTE, 1), -1
    while at < size:
        before = octets[at - 1] if at > 0 else _NEWLINE
        if before != delimiter and before != _NEWLINE and before != _RETURN:
            at = find_octet(address, at + 1, size, _QUOTE, 1)
            continue
        end = _closing(address, at + 1, size)
        if end >= size:
            return at + 1
        if may_cross == 0:
            if line_end <= at:
                line_end = find_octet(address, at + 1, size, _NEWLINE, 1)
            if line_end < end:
                return at + 1
        at = find_octet(address, end + 1, size, _QUOTE, 1)
    return -1


@kernel
def _has_hexadecimal(octets: np.ndarray) -> bool:
    """Whether 0x is anywhere. The loop has no branch, and so becomes vectors: in texts x is like other letters."""
    found = np.uint8(0)
    for at in range(len(octets) - 1):
        found |= np.uint8((octets[at] == _ZERO) & ((octets[at + 1] | np.uint8(_X ^ _CAPITAL_X)) == _X))
    return found != 0


@kernel(int64(int64, int64, int64))
def may_be_hexadecimal(address: int, size: int, delimiter: int) -> int:
    """Whether one of the values in `size` bytes of CSV may begin with 0x."""
    octets = bytes_at(address, size)
    if not _has_hexadecimal(octets):
        return 0
    for octet in (_X, _CAPITAL_X):
        at = find_octet(address, 1, size, octet, 1)
        while at < size:
            if octets[at - 1] == _ZERO:
                before = at - 2
                while before >= 0 and octets[before] in (_SPACE, _TAB, _QUOTE):
                    before -= 1
                if before < 0 or octets[before] in (delimiter, _NEWLINE, _RETURN):
                    return 1
            at = find_octet(address, at + 1, size, octet, 1)
    return 0


@kernel(int64(int64, int64, int64, int64))
def plain_lines(address: int, size: int, numbers_address: int, room: int) -> int:
    """How many of the lines in `size` bytes, of which each ends with a newline, are not empty, and their numbers, of
    which there is room for so many. -1 where one of them does not begin and end as an object does, or may be deeper
    than DEEP."""
    octets, numbers = bytes_at(address, size), words_at(numbers_address, room)
    start = line = found = 0
    while start < size:
        end = find_octet(address, start, size, _NEWLINE, 1)
        if end > start:
            last = end - 1
            if octets[last] == _RETURN and last > start:
                last -= 1
            if octets[start] != _OPENS or octets[last] != _CLOSES:
                return -1
            if last - start >= 2 * DEEP:
                levels = 0
                for at in range(start, last):
                    levels += octets[at] == _OPENS or octets[at] == _LIST
                if levels > DEEP:
                    return -1
            numbers[found] = line
            found += 1
        line += 1
        start = end + 1
    return found
