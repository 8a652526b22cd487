"""Aggregation by key: running, or by windows of time.

aggregate   counts, sums and so on, of all rows of a key or by window
count       how many rows there are
distinct    the first row of each key
reduce      a function of all rows of each key
scan        a function of each row and its key's state
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.aggregates.aggregate import aggregate
    from tokenring.operators.aggregates.changing import as_named, first_that_change, rankable, require_alone
    from tokenring.operators.aggregates.moving_windows import MovingWindows, window_tables
    from tokenring.operators.aggregates.reduce import reduce
    from tokenring.operators.aggregates.rows_by_key import count, distinct
    from tokenring.operators.aggregates.scan import scan
    from tokenring.operators.aggregates.window_rows import Needed, Show, windowed
    from tokenring.operators.folds import Aggregate, Count, CountDistinct, First, Last, Max, Mean, Min, Sum
    from tokenring.operators.folds.own import ApproxQuantile, ArgMax, ArgMin, OwnAggregate, StdDev, Variance
