"""Operators that look at each row by itself, and that spread rows over streams and workers."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.rows.arrival import with_arrival
    from tokenring.operators.rows.batches import filter_batches, map_batches, mask_of
    from tokenring.operators.rows.branch import branch, partition
    from tokenring.operators.rows.exchange import broadcast, exchange, hand_on
    from tokenring.operators.rows.filter import filter
    from tokenring.operators.rows.inspect import inspect
    from tokenring.operators.rows.int64_columns import require_int64, require_whole
    from tokenring.operators.rows.iterate import iterate
    from tokenring.operators.rows.key_columns import (
        Column,
        Columns,
        columns_of,
        exchanged_by,
        key_columns,
        require_kept,
        said_of_aliases,
        unnamed,
        with_key,
        without_unnamed,
    )
    from tokenring.operators.rows.known_streams import (
        has_end,
        has_known_end,
        has_unique,
        has_windows,
        is_filtered,
        read_first,
        require_no_starts,
        rows_known,
        unique_columns,
        waits_of,
    )
    from tokenring.operators.rows.leaving_out import LeavingOut, is_in_vain, is_looked_at, left_of
    from tokenring.operators.rows.on_error import ERROR, OnError, gives_failed, with_errors
    from tokenring.operators.rows.passed_on import passing_on
    from tokenring.operators.rows.projection import (
        all_columns,
        columns_kept,
        computed,
        drop_columns,
        new_names,
        rename,
        require_other_columns,
        select,
        with_columns,
    )
    from tokenring.operators.rows.rowwise import (
        Row,
        RowwiseWarning,
        batch_of,
        filter_rows,
        flat_map_rows,
        map_rows,
        rows_of,
    )
    from tokenring.operators.rows.union import union
