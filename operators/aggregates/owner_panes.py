"""Windows of operators that keep rows: they go to the owners of their keys, which keep them until the window ends."""

from collections.abc import Callable

from tokenring.engine import AnyStream, Notify, Schema, SchemaError
from tokenring.operators.aggregates.moving_windows import window_tables
from tokenring.operators.aggregates.pane_state import MovingState
from tokenring.operators.aggregates.window_results import Windows
from tokenring.operators.folds import Plan, to_owners
from tokenring.operators.mechanisms import mechanism_of
from tokenring.operators.time import FOREVER, Sliding, Tumbling, behind_window, checked_window, panes_of


def windowed(
    stream: AnyStream,
    plan: Plan,
    window: Tumbling | Sliding | None,
    schema: Schema,
    make: Callable[[Plan], MovingState],
    rows: Schema,
) -> AnyStream:
    """What `make(plan)` outputs for each window, rows of `schema` behind its bounds; for all of time,
    without these columns, if there is no window. rows: what that keeps of keys.
    SchemaError, naming the operator, where that does not fit."""
    name = plan.operator
    if window is None:
        panes = FOREVER
    else:
        window = checked_window(name, window, stream.schema)
        if not isinstance(window, Tumbling | Sliding):
            raise SchemaError(f"operator {name!r}: its window is Tumbling or Sliding, not {type(window).__name__}")
        panes = panes_of(window, 0)
        schema = behind_window(name, window, stream.schema, schema.spec())
    edge, plan, _ = to_owners(stream, plan, panes.time, whole=True)
    way = mechanism_of(stream.scope)
    moves = window_tables(plan, plan.by, [{}, rows.spec()])
    return way.timed(
        name, [edge], schema, lambda: Windows(plan, panes, schema, False, make, plan.by, moves), Notify.IF_TOKEN,
        moves=moves,
    )  # fmt: skip
