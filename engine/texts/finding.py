"""Where a byte is in a text, eight of them at a time."""

from tokenring.shm.kernels import bytes_at, kernel
from tokenring.shm.memory import load_unaligned

_EACH_BYTE, _LOW_BITS = 0x0101010101010101, 0x7F7F7F7F7F7F7F7F
_NUMBERS = 0x0001020304050607  # of bytes, so that the product with 1 << 8 * n has n in its highest


@kernel
def find_octet(address, start, length, octet, times):  # type: ignore[no-untyped-def]
    """Where in a text at an address, from `start` on, this byte is for the n-th time, n >= 1; `length` if it is not.
    """
    at, wanted = start, octet * _EACH_BYTE
    while at + 8 <= length:
        differs = load_unaligned(address + at) ^ wanted
        found = (~((differs & _LOW_BITS) + _LOW_BITS | differs) >> 7) & _EACH_BYTE  # 1 in each byte that is the same
        count = found * _EACH_BYTE >> 56
        if count >= times:
            for _ in range(times - 1):
                found &= found - 1
            return at + ((found & -found) * _NUMBERS >> 56)
        times -= count
        at += 8
    text = bytes_at(address, length)
    while at < length:
        times -= text[at] == octet
        if times == 0:
            return at
        at += 1
    return length
