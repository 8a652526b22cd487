"""Aggregation by key: running, or by windows of time.

aggregate   counts, sums and so on: functions.py has them, windows.py the windows
"""

from operators.aggregates.aggregate import aggregate
from operators.aggregates.functions import Aggregate, Count, CountDistinct, First, Last, Max, Mean, Min, Sum
from operators.aggregates.windows import (
    DAY,
    HOUR,
    MICROSECOND,
    MILLISECOND,
    MINUTE,
    SECOND,
    Session,
    Sliding,
    Tumbling,
    Window,
)

__all__ = [
    "DAY",
    "HOUR",
    "MICROSECOND",
    "MILLISECOND",
    "MINUTE",
    "SECOND",
    "Aggregate",
    "Count",
    "CountDistinct",
    "First",
    "Last",
    "Max",
    "Mean",
    "Min",
    "Session",
    "Sliding",
    "Sum",
    "Tumbling",
    "Window",
    "aggregate",
]
