"""Times: their order, what a path does to them, and antichains of them."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.times.antichain import Antichain
    from tokenring.engine.times.intervals import Intervals
    from tokenring.engine.times.path_summary import (
        IDENTITY,
        PathSummary,
        enter_summary,
        feedback_summary,
        identity,
        leave_summary,
    )
    from tokenring.engine.times.timestamp import (
        COMPLETE,
        MAX_TIME,
        MOST_COORDINATES,
        AnyTime,
        NestedTime,
        Time,
        as_time,
        coordinates,
        first_time,
        from_coordinates,
        less_equal,
        representable,
        time_from_plain,
    )
