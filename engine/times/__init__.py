"""Times: their order, what a path does to them, and antichains of them."""

from tokenring.engine.times.antichain import Antichain
from tokenring.engine.times.intervals import Intervals
from tokenring.engine.times.timestamp import (
    COMPLETE,
    IDENTITY,
    MAX_TIME,
    MOST_COORDINATES,
    AnyTime,
    PathSummary,
    Time,
    as_time,
    coordinates,
    enter_summary,
    feedback_summary,
    first_time,
    from_coordinates,
    identity,
    leave_summary,
    less_equal,
    representable,
)

__all__ = [
    "Antichain",
    "AnyTime",
    "COMPLETE",
    "IDENTITY",
    "Intervals",
    "MAX_TIME",
    "MOST_COORDINATES",
    "PathSummary",
    "Time",
    "as_time",
    "coordinates",
    "enter_summary",
    "feedback_summary",
    "first_time",
    "from_coordinates",
    "identity",
    "leave_summary",
    "less_equal",
    "representable",
]
