"""Aggregation by key: running, or by windows of time.

aggregate   counts, sums and so on: functions.py has them, windows.py the windows
count       how many rows there are
distinct    the first row of each key
last_by     the last row of each key
top         the best rows of each key
reduce      a function of all rows of each key
"""

from operators.aggregates.aggregate import aggregate
from operators.aggregates.functions import Aggregate, Count, CountDistinct, First, Last, Max, Mean, Min, Sum
from operators.aggregates.reduce import reduce
from operators.aggregates.rows_by_key import count, distinct, last_by
from operators.aggregates.top import top
from operators.aggregates.windows import Session, Sliding, Tumbling, Window

__all__ = [
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
    "count",
    "distinct",
    "last_by",
    "reduce",
    "top",
]
