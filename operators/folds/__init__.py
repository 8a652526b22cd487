"""What can be aggregated, and the state that it is kept in by slot."""

from tokenring.operators.folds.accumulators import Accumulators
from tokenring.operators.folds.best import Best
from tokenring.operators.folds.compiled_best import compiled_best
from tokenring.operators.folds.compiled_folds import (
    NO_ROOM,
    fold_block,
    fold_stretches,
    gather,
    merge_slots,
    take_away_slots,
    write_partials,
    write_results,
    write_rows,
)
from tokenring.operators.folds.compiled_sets import drop_sets
from tokenring.operators.folds.compiled_tables import (
    COLUMN,
    FOLD_COUNT,
    FOLDS_WORDS,
    OPERATION,
    FoldTables,
    accumulated,
    can_fold,
    folds_of,
    start_slot,
)
from tokenring.operators.folds.compiled_top import compiled_top
from tokenring.operators.folds.conditions import with_conditions
from tokenring.operators.folds.functions import Aggregate, Count, CountDistinct, First, Last, Max, Mean, Min, Sum
from tokenring.operators.folds.groups import Groups, leave_groups
from tokenring.operators.folds.kernels import BLOCK, COUNT, bounds, distinct_slots, fold_inside
from tokenring.operators.folds.owners import to_owners
from tokenring.operators.folds.plan import ALL, Plan
from tokenring.operators.folds.top_state import TopState

__all__ = [
    "write_partials",
    "drop_sets",
    "NO_ROOM",
    "ALL",
    "Accumulators",
    "Aggregate",
    "BLOCK",
    "Best",
    "COLUMN",
    "COUNT",
    "Count",
    "CountDistinct",
    "FOLDS_WORDS",
    "FOLD_COUNT",
    "First",
    "FoldTables",
    "Groups",
    "Last",
    "Max",
    "Mean",
    "Min",
    "OPERATION",
    "Plan",
    "Sum",
    "TopState",
    "accumulated",
    "bounds",
    "can_fold",
    "compiled_best",
    "compiled_top",
    "distinct_slots",
    "fold_block",
    "fold_inside",
    "fold_stretches",
    "folds_of",
    "gather",
    "leave_groups",
    "merge_slots",
    "start_slot",
    "take_away_slots",
    "to_owners",
    "with_conditions",
    "write_results",
    "write_rows",
]
