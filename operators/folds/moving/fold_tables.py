"""Which tables the state of aggregates is: a row of words for each slot, and a row for each value that is counted."""

from tokenring.operators.folds import Plan, counted_columns
from tokenring.operators.folds.sets import MOST_FLAGS

VALUE, FLAGS = "#value", "#flags"


def fold_kinds(plan: Plan) -> list[dict[str, str]]:
    """Names and kinds of the columns behind keys: what `FoldState.partials` gives; then, for each set of different
    values, a value and flags of those who count it."""
    sets = [{VALUE: str(plan.schema.kind(column)), FLAGS: "int64"} for column, _ in counted_columns(plan, MOST_FLAGS)]
    return [plan.partial_kinds(), *sets]
