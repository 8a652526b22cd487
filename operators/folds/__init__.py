"""What can be aggregated, and the state that it is kept in by slot."""

from tokenring.operators.folds.accumulators import Accumulators
from tokenring.operators.folds.best import Best
from tokenring.operators.folds.conditions import with_conditions
from tokenring.operators.folds.functions import Aggregate, Count, CountDistinct, First, Last, Max, Mean, Min, Sum
from tokenring.operators.folds.groups import Groups
from tokenring.operators.folds.kernels import BLOCK, bounds, distinct_slots
from tokenring.operators.folds.owners import to_owners
from tokenring.operators.folds.plan import ALL, Plan
from tokenring.operators.folds.top_state import TopState

__all__ = [
    "ALL",
    "Accumulators",
    "Aggregate",
    "BLOCK",
    "Best",
    "Count",
    "CountDistinct",
    "First",
    "Groups",
    "Last",
    "Max",
    "Mean",
    "Min",
    "Plan",
    "Sum",
    "TopState",
    "bounds",
    "distinct_slots",
    "to_owners",
    "with_conditions",
]
