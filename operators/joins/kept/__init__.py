"""What joins keep and make: columns of both sides, rows by key, versions; and how all that moves.

joined_columns  what a join takes and makes
extents         how rows match in time
side, kernels   rows by key, chained
unique_side, unique_kernels
                rows by key, of a side that has one a key, where they expire
versions, version_kernels
                rows by key and the time from which they are valid
moved_columns, moving_sides, moving_versions, moving_kernels
                what is kept as columns, where bins move
"""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.joins.kept.extents import FAR, Extents, Reach, refused
    from tokenring.operators.joins.kept.joined_columns import (
        HOWS,
        LEFT,
        RIGHT,
        SIDES,
        Chosen,
        JoinedColumns,
        Names,
        On,
        can_match,
        joined_on,
        pairs_of,
        present,
        require_how,
        require_times,
    )
    from tokenring.operators.joins.kept.kernels import (
        A_PLACE,
        A_ROW,
        ANY,
        BARRED,
        EVERY,
        FIRST,
        HAS_ROW,
        MATCHES,
        NO_ROW,
        WAITS,
        BoundedLink,
        Cursor,
        SideCounts,
        add,
        add_bounded,
        bar,
        expire,
        link_at,
        probe,
        take_chains,
    )
    from tokenring.operators.joins.kept.moved_columns import MovedColumns
    from tokenring.operators.joins.kept.moving_sides import MovingSides, join_tables
    from tokenring.operators.joins.kept.moving_versions import MovingVersions, versions_tables
    from tokenring.operators.joins.kept.side import AT_ONCE, Side
    from tokenring.operators.joins.kept.unique_side import (
        UniqueSide,
        add_at_slots,
        due_of,
        expire_at_slots,
        has_matched,
        meet_at_slots,
        time_at,
    )
    from tokenring.operators.joins.kept.versions import Version, add_versions, find_versions, known
