"""Time in rows: windows, lateness, orders, when sources send, and what waits for its time."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.time.clock_table import (
        ClockWindows,
        ends_by_clock,
        knows,
        knows_starts,
        longest_of,
        start_by_clock,
    )
    from tokenring.operators.time.delay import delay, finished_first
    from tokenring.operators.time.finished import (
        compared,
        coordinate_of,
        end_of_time,
        finished_aside,
        may_come,
        set_all_aside,
        together,
    )
    from tokenring.operators.time.idle import Promises
    from tokenring.operators.time.late import Due, fill_ends, give_split, split_by_messages, split_late, split_outputs
    from tokenring.operators.time.notificator import Notificator, Stash
    from tokenring.operators.time.orders import check_order, order_words, ranked
    from tokenring.operators.time.own_times import (
        before_times,
        require_integer_times,
        require_own_time,
        require_total_order,
        too_early,
    )
    from tokenring.operators.time.timing import (
        NOTHING,
        TIME_KINDS,
        Clock,
        Outlet,
        RowOrigin,
        Timing,
        block_minima,
        floors_after,
        position_of,
        require_root,
    )
    from tokenring.operators.time.windows import (
        FOREVER,
        Panes,
        Session,
        Sliding,
        Tumbling,
        Window,
        behind_window,
        bounds_of,
        checked_lateness,
        checked_window,
        named,
        panes_of,
        whole,
    )
    from tokenring.operators.time.with_late import WithLate, with_late

__all__ = [
    "Clock",
    "ClockWindows",
    "Due",
    "FOREVER",
    "NOTHING",
    "Notificator",
    "Outlet",
    "Panes",
    "Promises",
    "RowOrigin",
    "Session",
    "Sliding",
    "Stash",
    "TIME_KINDS",
    "Timing",
    "Tumbling",
    "Window",
    "WithLate",
    "before_times",
    "behind_window",
    "block_minima",
    "bounds_of",
    "check_order",
    "checked_lateness",
    "checked_window",
    "compared",
    "coordinate_of",
    "delay",
    "end_of_time",
    "ends_by_clock",
    "fill_ends",
    "finished_aside",
    "finished_first",
    "floors_after",
    "give_split",
    "knows",
    "knows_starts",
    "longest_of",
    "may_come",
    "named",
    "order_words",
    "panes_of",
    "position_of",
    "ranked",
    "require_own_time",
    "require_root",
    "require_integer_times",
    "require_total_order",
    "set_all_aside",
    "split_by_messages",
    "split_late",
    "split_outputs",
    "start_by_clock",
    "together",
    "too_early",
    "whole",
    "with_late",
]
