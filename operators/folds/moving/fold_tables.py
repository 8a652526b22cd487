"""Which tables the state of aggregates is: a row of words for each slot, and a row for each value that is counted."""

from tokenring.operators.folds import Plan, counted_columns
from tokenring.operators.folds.sets import MOST_FLAGS

VALUE, FLAGS = "#value", "#flags"


def fold_kinds(plan: Plan) -> list[dict[str, str]]:
    """Names and kinds of the columns behind keys: what `Accumulators.partials` gives; then, for each set of different
    values that compiled operators have, a value and flags of those who count it."""
    sets = [{VALUE: str(plan.schema.kind(column)), FLAGS: "int64"} for column, _ in pieces_of(plan)]
    return [plan.partial_kinds(), *sets]


def pieces_of(plan: Plan) -> list[tuple[str, list[int]]]:
    """The sets: the column that each has values of, and the folds that count them."""
    return counted_columns(plan, MOST_FLAGS)
