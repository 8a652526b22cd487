"""How many words the stamp of a message or of a progress record has, for all of this process and those it forks."""

import os

from tokenring.shm.errors import KernelError

FEWEST, _MOST = 4, 60
_SETTING = "TOKENRING_COORDINATES"


def _as_set(text: str) -> int:
    if text.isascii() and text.isdecimal() and FEWEST <= int(text) <= _MOST:
        return int(text)
    raise KernelError(f"{_SETTING}={text!r} in the environment: how many coordinates times have is {FEWEST} to {_MOST}")


STAMP_WORDS = _as_set(os.environ.get(_SETTING) or str(FEWEST))
"""A constant of kernels, as the depth of times is a type's in other engines: a root scope pays for room alone."""


def in_lines(words: int) -> int:
    """So many words, rounded up to whole cache lines."""
    return -(-words // 8) * 8
