"""Memory by its address, for kernels of the house's own operators and runs; no part of the engine's face.

Nothing here is checked: an address that is wrong, or outlives what it points to, ends the process. Operators' own
kernels take columns and tables as arrays, which `tokenring.engine` has types for.
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.columns import text_bytes
    from tokenring.engine.texts import find_octet
    from tokenring.shm.kernels import (
        LENGTH_BITS,
        LENGTH_MASK,
        Kernel,
        address_of,
        bytes_at,
        copy_text,
        halves_at,
        in_short,
        records_at,
        same_octets,
        words_at,
    )
    from tokenring.shm.memory import COPIES_FROM, MappedFile, TextSpace, prefetch, text_space

__all__ = [
    "COPIES_FROM",
    "Kernel",
    "LENGTH_BITS",
    "LENGTH_MASK",
    "MappedFile",
    "TextSpace",
    "address_of",
    "bytes_at",
    "copy_text",
    "find_octet",
    "halves_at",
    "in_short",
    "prefetch",
    "records_at",
    "same_octets",
    "text_bytes",
    "text_space",
    "words_at",
]
