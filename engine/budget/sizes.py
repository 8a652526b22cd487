"""Sizes of memory as people write them: 4G, 512M, 1.5GiB."""

import re
from decimal import Decimal

from tokenring.engine.errors import ConfigError

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)


def bytes_of(size: str) -> int:
    """The bytes of "4G", "512M", "1.5GiB", "800000000": K, M, G and T are powers of 1024, as in `ulimit` and cgroups.

    Raises ConfigError for all else, and for 0.
    """
    found = _SIZE.fullmatch(size.strip())
    size_bytes = int(Decimal(found[1]) * 1024 ** _POWERS[found[2].lower()]) if found else 0
    if size_bytes <= 0:
        raise ConfigError(f"{size!r} is no size of memory; write 4G, 512M, 1.5GiB or a number of bytes")
    return size_bytes


def in_words(size_bytes: int) -> str:
    """So many bytes for people: 1.5 GiB, 20 MiB, 300 bytes."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if abs(size_bytes) >= 1 << power:
            number = size_bytes / (1 << power)
            return f"{number:.{0 if number >= 100 else 1}f} {unit}"
    return f"{size_bytes} bytes"
