"""Ways to coordinate, all over one engine: an operator is written once (logic.py) and driven by any of them.

tokens          one token at the least pending time; whole intervals are retired at once
notifications   Naiad: one time a call
watermarks      Flink: marks in band, forwarded by every operator, broadcast (X) or local to a worker (P)
sequential      Spark: each time finishes before the next starts
"""

from collections.abc import Callable

from engine import UsageError
from operators.mechanisms.logic import Answer, Give, TimedLogic, distinct
from operators.mechanisms.mechanism import Edge, Mechanism, Outlet, Progress
from operators.mechanisms.notifications import Notifications
from operators.mechanisms.tokens import TOKENS, Sequential, Tokens
from operators.mechanisms.watermarks import Watermarks

_MAKE: dict[str, Callable[[], Mechanism]] = {
    "tokens": Tokens,
    "notifications": Notifications,
    "watermarks-X": lambda: Watermarks("watermarks-X", crosses=True),
    "watermarks-P": lambda: Watermarks("watermarks-P", crosses=False),
    "sequential": Sequential,
}

MECHANISMS = tuple(_MAKE)
"""Their names, as on the command line."""

__all__ = [
    "MECHANISMS",
    "TOKENS",
    "Answer",
    "Edge",
    "Give",
    "Mechanism",
    "Outlet",
    "Progress",
    "TimedLogic",
    "distinct",
    "mechanism",
]


def mechanism(name: str) -> Mechanism:
    """A mechanism for one dataflow. Raises UsageError for a name that is not in MECHANISMS."""
    if name not in _MAKE:
        raise UsageError(f"there is no mechanism {name!r}; choose one of {', '.join(MECHANISMS)}")
    return _MAKE[name]()
