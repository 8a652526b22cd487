"""A join as an operator: messages go to the matcher, frontiers say which rows may go; a token where nulls are due."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tokenring.engine import (
    COMPLETE,
    AnyStream,
    Batch,
    Exchange,
    GraphError,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Stream,
    Thins,
    Time,
    Token,
    TokenRef,
)
from tokenring.operators.joins.compiled import compiled_join
from tokenring.operators.joins.kept import LEFT, RIGHT, Extents, JoinedColumns, join_tables
from tokenring.operators.joins.matcher import Matcher
from tokenring.operators.joins.moving_rights import declare_moving
from tokenring.operators.joins.sent import answer
from tokenring.operators.migrate import has_bins, hears_of_ends, of_version, offer, saving_of, state_moves
from tokenring.operators.state import require_rows
from tokenring.operators.time import require_total_order


def declare(
    columns: JoinedColumns,
    sides: tuple[AnyStream, Stream],
    needs: tuple[tuple[str, ...], tuple[str, ...]],
    extents: Extents | None = None,
    unique: int = -1,
    thins: Sequence[Thins | None] = (None, None),
) -> AnyStream:
    """The operator of a join. needs: the columns of each side that cross; thins: of each, see Exchange. The rest: see
    Matcher."""
    scope = sides[LEFT].scope
    right_first = unique == RIGHT or columns.how.once
    waits = extents is not None or any(columns.how.alone)  # for frontiers, which say that rows match no more
    require_total_order(columns.operator, scope)
    require_rows(columns.operator, *sides)
    if extents is None and any(columns.how.alone) and has_bins(scope):
        if saving_of(scope) is not None:
            raise GraphError(
                f"operator {columns.operator!r}: what of a join matches nothing before its inputs end is not saved "
                f"where state moves: give it window=, or bounds (interval_join); or leave bins= out, or recovery="
            )
        moving: Any = declare_moving(columns, sides, needs, unique)
        return moving
    builder = sides[0].operator(columns.operator, Notify.ALWAYS if waits else Notify.NEVER)
    if extents is None and waits:
        hears_of_ends(builder)
    for side in (LEFT, RIGHT):
        builder.input(sides[side], Exchange(columns.key(side), needs[side], thins=thins[side]))
    has_due = state_moves(
        builder, of_version(join_tables(columns, extents is not None), extents or ""), pends=waits
    )
    made = builder.output(columns.schema)
    arriving = sides[LEFT].schema.select(needs[LEFT]), sides[RIGHT].schema.select(needs[RIGHT])

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()
        matcher = Matcher(columns, arriving, extents, unique)
        offer(matcher.moves)
        context.inspectable(lambda: {"left": len(matcher.sides[LEFT]), "right": len(matcher.sides[RIGHT])})
        held: Token | None = None
        pending = COMPLETE  # the least time at which a row may turn out to match nothing: where the token is

        def send_held(time: Time, rows: Batch) -> None:
            assert held is not None
            output.give(held, rows, time)

        output: OutputPort

        def hold(reference: TokenRef) -> None:
            nonlocal held, pending
            if matcher.least < pending:
                pending = matcher.least
                earlier = reference.retain()
                earlier.downgrade(pending)
                if held is not None:
                    held.drop()
                held = earlier

        def logic(left: InputPort, right: InputPort, *more: Any) -> None:
            nonlocal held, pending, output
            *due, output = more  # where state moves there is an input for what became due by it
            for port in due:
                for reference, _ in port:
                    hold(reference)
            ports = ((LEFT, left), (RIGHT, right))
            matcher.note_ended(left.frontier == COMPLETE, right.frontier == COMPLETE)
            for side, port in ports[::-1] if right_first else ports:  # rows that find their match are not kept
                for reference, batch in port:
                    matcher.take(side, batch, reference.time, partial(answer, output, reference))
                    hold(reference)
            if not waits or matcher.least < pending:  # until the right to what came with a bin is here
                return
            matcher.expire((left.frontier, right.frontier), send_held)
            if held is not None and matcher.least > pending:
                pending = matcher.least
                if pending == COMPLETE:
                    held.drop()
                    held = None
                else:
                    held.downgrade(pending)

        return logic

    if builder.can_be_compiled_with_texts:
        builder.build_compiled(lambda context: compiled_join(columns, arriving, extents, unique, has_due), texts=True)
    else:
        builder.build(construct)
    return made
