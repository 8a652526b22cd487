"""What users say of the sides of a join: which is unique, and which of their rows are wanted."""

from typing import Any

from tokenring.engine import AnyStream, SchemaError, Stream
from tokenring.engine.columns import free_name
from tokenring.operators.expressions import Expression, col, not_null_word
from tokenring.operators.joins.kept import HOWS, LEFT, RIGHT, SIDES, JoinedColumns, On, pairs_of
from tokenring.operators.rows import computed, filter, unique_columns, with_columns

_CAN_MATCH = "can match"


def require_unique(name: str, unique: str | None) -> None:
    """SchemaError for what is no side."""
    if unique not in (None, *SIDES):
        raise SchemaError(f"operator {name!r}: unique is 'left', 'right' or None, not {unique!r}")


def proved_unique(name: str, sides: tuple[Stream, Stream], on: On, how: str) -> str | None:
    """The side that is known to have at most one row for each key, since its source has proved that of a column of the
    key; None for neither, or where one row a key is looked at anyway."""
    keys = pairs_of(on, name)
    for side, names in ((RIGHT, keys.values()), (LEFT, keys.keys())):
        if not HOWS[how].once and not unique_columns(sides[side]).isdisjoint(names):
            return SIDES[side]
    return None


def refuse_once(plan: JoinedColumns, how: str, unique: str | None) -> None:
    """SchemaError where a side is said to be unique of which one row a key is looked at anyway."""
    if unique is not None and plan.how.once:
        raise SchemaError(
            f"operator {plan.operator!r}: how={how!r} sends each row of the left side once at most, and keeps one row "
            f"a key of the right; leave unique= out"
        )


def number_of(unique: str | None) -> int:
    """The side's number, -1 for none."""
    return -1 if unique is None else SIDES.index(unique)


def without_null_words(plan: JoinedColumns, sides: tuple[AnyStream, Stream]) -> tuple[AnyStream, Stream]:
    """The sides, where numbers of columns that may be null in the result, and are not here, are not the one that stands
    for null: that is an error at its row."""
    made: list[Any] = list(sides)
    shown = [*zip(plan.sources, plan.schema.kinds, strict=True)]
    if plan.how.alone[RIGHT]:  # whose keys are shown where the left side has no row
        keys = dict(zip(plan.on[LEFT], plan.on[RIGHT], strict=True))
        shown += [((RIGHT, keys[name]), kind) for (side, name), kind in shown if side == LEFT and name in keys]
    for side in (LEFT, RIGHT):
        stream: Stream = sides[side]
        checked = {
            source: not_null_word(col(source))
            for (where, source), kind in shown
            if where == side and kind.nullable > stream.schema.kind(source).nullable and kind.null_is_a_number
        }
        if checked:
            columns = {name: col(name) for name in stream.schema.names} | checked
            made[side] = computed(stream, f"{plan.operator}.{SIDES[side]}_numbers", columns)
    return made[LEFT], made[RIGHT]


def narrowed(
    name: str,
    sides: tuple[Stream, Stream],
    conditions: tuple[Expression | None, Expression | None],
    unique: str | None,
) -> tuple[tuple[Stream, Stream], tuple[str | None, str | None]]:
    """The sides with only the rows that are wanted; of the unique side all rows, for the keys of the others are to be
    known: with a column more, which is named beside, that says whether a row can match."""
    streams: list[Stream] = []
    columns: list[str | None] = []
    for side, stream, condition in zip(SIDES, sides, conditions, strict=True):
        column = None
        if condition is not None and side != unique:
            stream = filter(stream, condition, name=f"{name}.{side}_where")
        elif condition is not None:
            column = free_name(_CAN_MATCH, stream.schema.positions)
            stream = with_columns(stream, **{column: condition})
            if stream.schema.kind(column).family != "bool":
                raise SchemaError(
                    f"operator {name!r}: {side}_where={condition!r} is {stream.schema.kind(column)}, not bool; "
                    f"compare it with something"
                )
        streams.append(stream)
        columns.append(column)
    return (streams[0], streams[1]), (columns[0], columns[1])
