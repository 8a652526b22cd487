"""What can be aggregated, and the state that it is kept in by slot."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.folds.conditions import with_conditions
    from tokenring.operators.folds.distinct_values import clear_sets, forget_state, put_pairs
    from tokenring.operators.folds.fold_records import FoldRow, Folds, accumulated, folds_of, start_slot
    from tokenring.operators.folds.fold_state import FoldState
    from tokenring.operators.folds.folding import (
        NO_ROOM,
        fold_block,
        fold_stretches,
        merge_slots,
        take_away_slots,
        write_partials,
        write_results,
        write_rows,
    )
    from tokenring.operators.folds.functions import (
        Aggregate,
        Count,
        CountDistinct,
        First,
        Last,
        Max,
        Mean,
        Min,
        Shape,
        Sum,
        column_of,
    )
    from tokenring.operators.folds.kernels import (
        BLOCK,
        CALLED,
        COUNT,
        MAX,
        MAX_FLOAT,
        MIN,
        MIN_FLOAT,
        SUM,
        SUM_FLOAT,
        SUM_UNSIGNED,
        bounds,
        distinct_slots,
        fold_inside,
        mean_of,
    )
    from tokenring.operators.folds.owners import to_owners
    from tokenring.operators.folds.plan import ALL, OPTIONS, Plan, counted_columns, require_other_names
