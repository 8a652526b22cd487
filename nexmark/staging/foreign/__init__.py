"""Events from elsewhere: found out, checked row by row, and written down in one shape."""

from tokenring.nexmark.staging.foreign.foreign import find_source, normalise

__all__ = [
    "find_source",
    "normalise",
]
