"""Ways to coordinate, all over one engine: an operator is written once (logic.py) and driven by any of them.

tokens          one token at the least pending time; whole intervals are retired at once
notifications   Naiad: one time a call
watermarks      Flink: marks in band, forwarded by every operator, broadcast (X) or local to a worker (P)
sequential      Spark: each time finishes before the next starts
"""

from collections.abc import Callable

from tokenring.engine import UsageError
from tokenring.operators.mechanisms.interface import Edge, Mechanism, Outlet, Progress
from tokenring.operators.mechanisms.logic import Answer, Give, TimedLogic, distinct
from tokenring.operators.mechanisms.notifications import Notifications
from tokenring.operators.mechanisms.tokens import TOKENS, Sequential, Tokens, late_rows
from tokenring.operators.mechanisms.watermarks import Watermarks

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
    "Answer",
    "Edge",
    "Give",
    "MECHANISMS",
    "Mechanism",
    "Outlet",
    "Progress",
    "TOKENS",
    "TimedLogic",
    "distinct",
    "late_rows",
    "mechanism",
]


def mechanism(name: str) -> Mechanism:
    """A mechanism for one dataflow. Raises UsageError for a name that is not in MECHANISMS."""
    if name not in _MAKE:
        raise UsageError(f"there is no mechanism {name!r}; choose one of {', '.join(MECHANISMS)}")
    return _MAKE[name]()
