"""What a join takes of both sides and makes of them: the columns that users name, checked when it is declared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tokenring.engine import Batch, Schema, SchemaError, did_you_mean
from tokenring.engine.columns import is_one_of, names_of
from tokenring.operators.expressions import Alias, Expression, cure_of_keys
from tokenring.operators.state import RowStore
from tokenring.operators.time import require_own_time

LEFT, RIGHT = 0, 1
SIDES = ("left", "right")


@dataclass(frozen=True)
class How:
    """What a join sends. matches: rows that match. alone: rows of each side that match nothing. once: rows of the left
    side only, each once, not pairs."""

    matches: bool = True
    alone: tuple[bool, bool] = (False, False)
    once: bool = False

    def __str__(self) -> str:
        return f"how={next(name for name, how in HOWS.items() if how == self)}"


HOWS = {
    "inner": How(),
    "left": How(alone=(True, False)),
    "right": How(alone=(False, True)),
    "full": How(alone=(True, True)),
    "semi": How(once=True),
    "anti": How(matches=False, alone=(True, False), once=True),
}

On = str | Sequence[str] | Mapping[str, str]
"""The columns that must be equal: names that both sides have ("id", "auction bidder", ("auction", "bidder")), or a
mapping of the left side's to the right side's ({"seller": "id"})."""
Names = str | Sequence[str] | None
Chosen = str | Sequence[str] | Mapping[str, str] | None
"""The columns of the result: names of either side's columns, "left.price" and "right.price" where both have one; or a
mapping of the result's names to them ({"bid_price": "left.price"}). None: all of the left's, and the right's but its
key."""


@dataclass(frozen=True)
class JoinedColumns:
    """The keys of both sides, and for each column of the result the side that has it, and its name there; `instead`,
    for each, the right side's column that says it in rows of that side alone; `where`, for each side, the column that
    says of a row whether it can match, None where all can."""

    operator: str
    sides: tuple[Schema, Schema]
    on: tuple[tuple[str, ...], tuple[str, ...]]
    sources: tuple[tuple[int, str], ...]
    instead: tuple[str | None, ...]
    schema: Schema
    how: How
    where: tuple[str | None, str | None] = (None, None)

    @classmethod
    def of(
        cls,
        operator: str,
        left: Schema,
        right: Schema,
        on: On,
        chosen: Chosen,
        how: str = "inner",
        first: Sequence[str] = (),
        where: tuple[str | None, str | None] = (None, None),
    ) -> Self:
        """how: of HOWS. first: columns of both sides that come first in every result. where: columns besides those of
        `left` and `right`. SchemaError, naming the operator and both sides, for names that are not there or clash, and
        for keys that cannot be equal."""
        pairs = pairs_of(on, operator)
        if not pairs:
            raise SchemaError(
                f"operator {operator!r}: nothing to join on; give on='column', of both sides; for all pairs, one that "
                f"is the same in all rows, by with_columns(all=lit(0)) before"
            )
        for side, schema, names in ((LEFT, left, pairs.keys()), (RIGHT, right, pairs.values())):
            for name in names:
                require(operator, schema, name, f"of the {SIDES[side]} side to join on")
        for mine, theirs in pairs.items():
            if left.kind(mine).name != right.kind(theirs).name:
                raise SchemaError(
                    f"operator {operator!r}: {mine!r} of the left side is {left.kind(mine)}, {theirs!r} of the right "
                    f"side is {right.kind(theirs)}; keys are of one kind: "
                    f"{cure_of_keys(left.kind(mine), right.kind(theirs))}"
                )
        meaning = HOWS[how]
        outputs, keys = _chosen(operator, left, right, pairs, chosen, first, meaning.once)
        shared = pairs | {name: name for name in first} if meaning.alone[RIGHT] else {}
        instead = {name: shared.get(source) if name in keys else None for name, (_, source) in outputs.items()}
        kinds = {}
        for name, (side, source) in outputs.items():
            kind, other = (left, right)[side].kind(source), instead[name]
            null = right.kind(other).nullable if other else meaning.alone[1 - side] and not meaning.once
            kinds[name] = f"{kind.name}?" if null else str(kind)
        on_both = tuple(pairs), tuple(pairs.values())
        chosen_sources, others = tuple(outputs.values()), tuple(instead.values())
        return cls(operator, (left, right), on_both, chosen_sources, others, Schema.of(kinds), meaning, where)

    def kept(self, side: int) -> tuple[str, ...]:
        """The columns of one side that are in the result, each once."""
        names = [name for at, name in self.sources if at == side]
        names += [name for name in self.instead if name is not None and side == RIGHT]
        return tuple(dict.fromkeys(names))

    def crossing(self, side: int, *more: str) -> tuple[str, ...]:
        """The columns of one side that the join needs: its key, what is kept, and `more`."""
        where = self.where[side]
        return tuple(dict.fromkeys((*self.on[side], *more, *self.kept(side), *(() if where is None else (where,)))))

    def key(self, side: int) -> str | tuple[str, ...]:
        """What to exchange one side by."""
        return self.on[side][0] if len(self.on[side]) == 1 else self.on[side]

    def kept_beside(self, side: int) -> tuple[str, ...]:
        """As `kept`, but for what the other side's row says in every pair, where rows of this side are in pairs only.
        """
        return tuple([name for name in self.kept(side) if self.how.alone[side] or self.twin(side, name) is None])

    def twin(self, side: int, name: str) -> str | None:
        """The other side's column that has the same word wherever the keys are equal; None if there is none."""
        if name not in self.on[side] or self.sides[side].kind(name).is_float:  # 0.0 is equal to -0.0
            return None
        return self.on[1 - side][self.on[side].index(name)]

    def store(self, side: int, names: tuple[str, ...] | None = None) -> RowStore | None:
        """Room for these columns of one side's rows, by default all that are kept; None if there are none."""
        names = self.kept(side) if names is None else names
        return RowStore(self.sides[side].select(names)) if names else None


def pairs_of(on: On, operator: str) -> dict[str, str]:
    """The left side's columns to join on, each with the right's that it is to be equal to."""
    if isinstance(on, Mapping):
        return dict(on)
    if isinstance(on, Expression | Alias):
        raise SchemaError(
            f"operator {operator!r}: on= names columns: compute {on!r} before, by with_columns, on both sides"
        )
    return {name: name for name in names_of(on, f"operator {operator!r}: on=")}


def require(operator: str, schema: Schema, name: str, what: str) -> None:
    """SchemaError if there is no such column."""
    schema.position(name, f"operator {operator!r}", what)


def require_times(operator: str, sides: Sequence[tuple[Schema, str, str]]) -> None:
    """SchemaError if a column of two that are compared is not there or cannot be a time, or one is of instants and the
    other of bare numbers. sides: schema, column, and what it is for."""
    for schema, name, what in sides:
        require(operator, schema, name, what)
        require_own_time(f"operator {operator!r}: {name!r} {what}", schema, name)
    (left, of_left, _), (right, of_right, _) = sides
    kinds = left.kind(of_left), right.kind(of_right)
    if kinds[0].is_instant != kinds[1].is_instant:
        bare = of_right if kinds[0].is_instant else of_left
        raise SchemaError(
            f"operator {operator!r}: {of_left!r} {sides[0][2]} is {kinds[0]}, and {of_right!r} {sides[1][2]} is "
            f'{kinds[1]}; say with_columns({bare}=col({bare!r}).cast("timestamp")) before if those are ns since 1970, '
            f"and multiply them first if they are not"
        )


def require_how(operator: str, how: str, among: Sequence[str] = ("inner", "left")) -> None:
    """SchemaError for what is no way to join."""
    if not is_one_of(how, among):
        ways = f"{', '.join(map(repr, among[:-1]))} or {among[-1]!r}"
        raise SchemaError(f"operator {operator!r}: how is {ways}, not {how!r}{did_you_mean(how, among)}")


def joined_on(operator: str, on: On | None, left_on: Names, right_on: Names) -> On:
    """What to join on, said by `on` or by left_on and right_on; SchemaError for both, neither, or no pairs."""
    if on is not None:
        if left_on is not None or right_on is not None:
            raise SchemaError(f"operator {operator!r}: give on= or left_on= and right_on=, not both")
        return on
    if left_on is None or right_on is None:
        raise SchemaError(f"operator {operator!r}: nothing to join on; give on=, or left_on= and right_on=")
    mine = names_of(left_on, f"operator {operator!r}: left_on=")
    theirs = names_of(right_on, f"operator {operator!r}: right_on=")
    if len(mine) != len(theirs):
        raise SchemaError(
            f"operator {operator!r}: left_on= names {len(mine)} columns ({', '.join(mine)}), right_on= {len(theirs)} "
            f"({', '.join(theirs)}); the first is equal to the first, and so on"
        )
    for names, side in ((mine, "left_on"), (theirs, "right_on")):
        if twice := [name for name in names if names.count(name) > 1]:
            raise SchemaError(
                f"operator {operator!r}: {side}= names {twice[0]!r} twice; filter first for rows where the two columns "
                f"it shall be equal to are equal"
            )
    return dict(zip(mine, theirs, strict=True))


def present(batch: Batch, names: Sequence[str]) -> Batch:
    """The rows whose key has no null: null is equal to nothing."""
    for name in names:
        if batch.schema.kind(name).nullable:
            batch = batch.filter(~batch.nulls(name))
    return batch


def can_match(batch: Batch, where: str) -> np.ndarray:
    """Which rows can match, as this column has it, bool (rows,): null is no."""
    able: np.ndarray = batch.words(where) == 1
    return able


def _chosen(
    operator: str,
    left: Schema,
    right: Schema,
    pairs: Mapping[str, str],
    chosen: Chosen,
    first: Sequence[str],
    left_only: bool,
) -> tuple[dict[str, tuple[int, str]], set[str]]:
    """The result's columns by name: the side, and the name there; and which of them are what both sides have in
    common, not a column that was named as one side's."""
    outputs = {name: (LEFT, name) for name in first}
    common = set(first)
    shared = {**pairs, **{name: name for name in first}}
    if chosen is None:
        keys = set(pairs.values())
        everything = [(LEFT, name) for name in left.names if name not in first]
        everything += [(RIGHT, name) for name in right.names if name not in keys | set(first) and not left_only]
        wanted = [(name, (side, name)) for side, name in everything]
        common |= {name for side, name in everything if side == LEFT and name in pairs}
    else:
        spelled = dict(chosen) if isinstance(chosen, Mapping) else {_bare(name): name for name in names_of(chosen)}
        if not isinstance(chosen, Mapping) and len(spelled) != len(names_of(chosen)):
            raise _clash(operator, left, right, names_of(chosen))
        wanted = [(name, _source(operator, left, right, shared, source)) for name, source in spelled.items()]
        common |= {name for name, source in spelled.items() if source in pairs}
    for name, source in wanted:
        if name in outputs:
            raise _clash(operator, left, right, [name])
        if left_only and source[0] == RIGHT:
            raise SchemaError(
                f"operator {operator!r}: {source[1]!r} is a column of the right side; semi and anti joins give rows of "
                f"the left side alone, which has {', '.join(left.names)}"
            )
        outputs[name] = source
    return outputs, common


def _bare(name: str) -> str:
    side, dot, column = name.partition(".")
    return column if dot and side in SIDES else name


def _source(operator: str, left: Schema, right: Schema, pairs: Mapping[str, str], name: str) -> tuple[int, str]:
    """The side that a column is of, and its name there."""
    side, dot, column = name.partition(".")
    if dot and side in SIDES:
        if having := [of for of, schema in zip(SIDES, (left, right), strict=True) if name in schema.positions]:
            raise SchemaError(
                f"operator {operator!r}: {name!r} may be column {column!r} of the {side} side or column {name!r} of "
                f"the {having[0]} side: say '{having[0]}.{name}' for the latter, or rename that before the join"
            )
        require(operator, (left, right)[SIDES.index(side)], column, f"of the {side} side for the result")
        return SIDES.index(side), column
    if name in left.positions and name in right.positions and pairs.get(name) != name:
        raise SchemaError(
            f"operator {operator!r}: {name!r} is a column of both sides, the left's {', '.join(left.names)} and the "
            f"right's {', '.join(right.names)}; say 'left.{name}' or 'right.{name}'"
        )
    if name not in left.positions and name not in right.positions:
        raise SchemaError(
            f"operator {operator!r}: no column {name!r} for the result; the left side has {', '.join(left.names)}, the "
            f"right side {', '.join(right.names)}{did_you_mean(name, [*left.names, *right.names])}"
        )
    return (LEFT if name in left.positions else RIGHT), name


def _clash(operator: str, left: Schema, right: Schema, names: Sequence[str]) -> SchemaError:
    name = next((name for name in names if _bare(name) in left.positions and _bare(name) in right.positions), names[0])
    return SchemaError(
        f"operator {operator!r}: two columns of the result would be called {_bare(name)!r}: the left side has "
        f"{', '.join(left.names)}, the right side {', '.join(right.names)}; choose with "
        f"columns={{'mine': 'left.{_bare(name)}', 'theirs': 'right.{_bare(name)}'}}"
    )
