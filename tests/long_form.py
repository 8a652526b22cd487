"""The suite's long form, `./scripts/test --long`: slow tests as well, and all examples of random ones, always new."""

import os

LONG = "TOKENRING_LONG" in os.environ
_PART = 3


def examples(count: int) -> int:
    """How many examples a random test tries: so many in the long form, a part of them in the short one."""
    return count if LONG else max(3, count // _PART)
