"""A join with versions as an operator: rows wait until no version that they would see can come any more."""



from tokenring.engine import AnyStream, Exchange, Notify, OperatorContext, Stream, Updates
from tokenring.engine.compiled import AtFirstMessage, Compiled
from tokenring.operators.joins.compiled import compiled_versioned, nothing_kept
from tokenring.operators.joins.kept import LEFT, RIGHT, JoinedColumns, versions_tables
from tokenring.operators.joins.narrowed import without_null_words
from tokenring.operators.migrate import at_first_message, is_by_times, of_version, state_moves
from tokenring.operators.state import require_newest
from tokenring.operators.time import go_by_message_times, require_total_order

_BY_COLUMNS = "temporal_join(time=..., version_time=...)"


def declare_versioned(
    columns: JoinedColumns,
    sides: tuple[AnyStream, Stream],
    needs: tuple[tuple[str, ...], tuple[str, ...]],
    times: tuple[str | None, str | None],
    outer: bool,
) -> AnyStream:
    """Rows of the left side with the right side's version of their time. needs: the columns of each side that cross.
    times: the column of each side's rows' own times; None: their messages' times. outer: whether rows without a version
    are sent too."""
    sides = without_null_words(columns, sides)
    scope = sides[LEFT].scope
    require_total_order(columns.operator, scope)
    for side in (LEFT, RIGHT):
        if times[side] is None:
            go_by_message_times(columns.operator, sides[side], f"say {_BY_COLUMNS}, or ")
    require_newest(columns.operator, sides[RIGHT], columns.on[RIGHT], by_time=times[RIGHT] is None)
    builder = sides[0].operator(columns.operator, Notify.IF_TOKEN)
    for side in (LEFT, RIGHT):
        builder.input(sides[side], Exchange(columns.key(side), needs[side]))
    arriving = sides[LEFT].schema.select(needs[LEFT]), sides[RIGHT].schema.select(needs[RIGHT])
    has_due = state_moves(
        builder, of_version(versions_tables(columns, arriving[LEFT]), times), pends=True
    )
    made = builder.output(columns.schema)

    def construct(context: OperatorContext) -> Compiled | AtFirstMessage:
        is_apart = is_by_times(made)
        return at_first_message(
            lambda: compiled_versioned(columns, arriving, times, outer, has_due, is_apart), nothing_kept
        )

    builder.build_compiled(construct, texts=True)
    if (updates := answered(columns, sides[LEFT], outer)) is not None:
        made.updates = updates.reordered(columns.operator)  # by its times
    return made


def answered(columns: JoinedColumns, rows: Stream, outer: bool) -> Updates | None:
    """What rows of the left side are, with the right side's columns: updates, if they were."""
    if rows.updates is None:
        return None
    names = {source: name for (side, source), name in zip(columns.sources, columns.schema.names, strict=True)
             if side == LEFT}  # fmt: skip
    return (rows.updates if outer else rows.updates.filtered(*columns.on[LEFT])).named(names)
