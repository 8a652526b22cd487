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
    from tokenring.operators.time.delay import delay, finished_first, ordered_by
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
    from tokenring.operators.time.late import (
        SENT_EARLIER,
        Due,
        behind,
        behind_own,
        fill_ends,
        give_split,
        split_by_messages,
        split_late,
        split_outputs,
        start_of_pane,
    )
    from tokenring.operators.time.notificator import Notificator, Stash
    from tokenring.operators.time.orders import check_order, order_words, ranked
    from tokenring.operators.time.own_times import (
        TimesOfRows,
        go_by_message_times,
        kind_of_times,
        outside_times,
        require_integer_times,
        require_message_times,
        require_own_time,
        require_total_order,
        tell_times,
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
        require_scope,
    )
    from tokenring.operators.time.windows import (
        FOREVER,
        FixedWindow,
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
        require_fixed,
        require_in_time,
        whole,
    )
    from tokenring.operators.time.with_late import WithLate, with_late
