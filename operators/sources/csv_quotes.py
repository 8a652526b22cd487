"""Quoted values of CSV that go on behind their line, or have no end."""

from tokenring.engine import int64, kernel
from tokenring.engine.raw import bytes_at, find_octet

_QUOTE, _NEWLINE, _RETURN = ord('"'), ord("\n"), ord("\r")


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
