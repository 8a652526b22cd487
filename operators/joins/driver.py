"""A join as an operator: its inputs, how its state moves, and how its rows are sent that match nothing."""

from typing import Any

from tokenring.engine import AnyStream, Exchange, GraphError, Notify, OperatorContext, Stream
from tokenring.engine.compiled import AtFirstMessage, Compiled
from tokenring.operators.joins.compiled import compiled_join, nothing_kept
from tokenring.operators.joins.kept import LEFT, RIGHT, Extents, JoinedColumns, join_tables
from tokenring.operators.joins.moving_rights import declare_moving
from tokenring.operators.joins.narrowed import without_null_words
from tokenring.operators.migrate import (
    at_first_message,
    has_bins,
    hears_of_ends,
    is_by_times,
    of_version,
    saving_of,
    sends_at_any_times,
    state_moves,
)
from tokenring.operators.state import changes_among, require_rows
from tokenring.operators.time import require_total_order


def declare(
    columns: JoinedColumns,
    sides: tuple[AnyStream, Stream],
    needs: tuple[tuple[str, ...], tuple[str, ...]],
    extents: Extents | None = None,
    unique: int = -1,
) -> AnyStream:
    """The operator of a join. needs: the columns of each side that cross. The rest: see `compiled_join`."""
    sides = without_null_words(columns, sides)
    scope = sides[LEFT].scope
    waits = extents is not None or any(columns.how.alone)  # for frontiers, which say that rows match no more
    require_total_order(columns.operator, scope)
    require_rows(columns.operator, *sides)
    updates = changes_among(*sides)
    if extents is None and any(columns.how.alone) and has_bins(scope):
        if saving_of(scope) is not None:
            raise GraphError(
                f"operator {columns.operator!r}: what of a join matches nothing before its inputs end is not saved "
                f"where state moves: give it window=, or bounds (interval_join); or leave bins= out, or recovery="
            )
        moving: Any = declare_moving(columns, sides, needs, unique)
        moving.updates = updates
        return moving
    builder = sides[0].operator(columns.operator, Notify.ALWAYS if waits else Notify.NEVER)
    if extents is None and waits:
        hears_of_ends(builder)
    for side in (LEFT, RIGHT):
        builder.input(sides[side], Exchange(columns.key(side), needs[side]))
    said = "" if extents is None else extents.said
    has_due = state_moves(builder, of_version(join_tables(columns, extents is not None), said), pends=waits)
    made = builder.output(columns.schema)
    made.updates = updates
    if columns.how.once and columns.how.matches:  # each with the match that is found first, of several
        sends_at_any_times(scope)
    arriving = sides[LEFT].schema.select(needs[LEFT]), sides[RIGHT].schema.select(needs[RIGHT])

    def construct(context: OperatorContext) -> Compiled | AtFirstMessage:
        is_apart = is_by_times(made)
        return at_first_message(
            lambda: compiled_join(columns, arriving, extents, unique, has_due, is_apart=is_apart), nothing_kept
        )

    builder.build_compiled(construct, texts=True)
    return made
