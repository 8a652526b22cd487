"""Joins of collections: the columns that they meet by, and the rows that meet none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tokenring.engine import Schema, SchemaError
from tokenring.engine.arguments import is_text
from tokenring.operators.collections.refused import require_one_kind
from tokenring.operators.expressions import Alias, Expression, col
from tokenring.operators.rows import columns_of

if TYPE_CHECKING:
    from tokenring.operators.collections.arranged import Arranged
    from tokenring.operators.collections.collection import Collection

Columns = str | Sequence[str]
On = Columns | Mapping[str, str]


def names_of(columns: Columns, name: str) -> tuple[str, ...]:
    """The names that words of a text, or a sequence, are. SchemaError, of operator `name`, for what is neither."""
    names = []
    for each in columns_of(columns, f"operator {name!r}"):
        if isinstance(each, Expression | Alias):
            raise SchemaError(
                f"operator {name!r}: columns of collections are named here, not {each!r}: compute it before, by "
                f"with_columns"
            )
        names.append(each)
    return tuple(names)


class Meeting:
    """Two collections that are to meet by columns, those of the right called as on the left.

    on: names that both have, or the left's to the right's; or both said by left_on and right_on. suffix: what the names
    of the right's other columns end in where the left has such a column too.
    """

    def __init__(
        self, name: str, left: Collection, right: Collection, on: On | None, left_on: Columns | None,
        right_on: Columns | None, suffix: str = "",
    ) -> None:  # fmt: skip
        left.require_same_scope(name, right)
        if (left_on is not None) + (right_on is not None) != (2 if on is None else 0):
            raise SchemaError(
                f"operator {name!r}: say which columns are to be equal: on='id', or left_on='seller', right_on='id'"
            )
        if isinstance(on, Mapping):
            left_on, right_on = tuple(on), tuple(on.values())
        elif on is not None:
            left_on = right_on = on
        if not is_text(suffix):
            raise SchemaError(f"operator {name!r}: suffix= is text, such as '_right', not {suffix!r}")
        self.keys, others = names_of(left_on or (), name), names_of(right_on or (), name)
        if len(self.keys) != len(others) or not self.keys:
            raise SchemaError(
                f"operator {name!r}: {len(self.keys)} columns of the left and {len(others)} of the right are to be "
                f"equal: name as many of both, and one at least"
            )
        for rows, keys in ((left, self.keys), (right, others)):
            for key in keys:
                rows.schema.position(key, f"operator {name!r}", "to join by")
        for key, other in zip(self.keys, others, strict=True):  # while the right's columns are called as they are there
            require_one_kind(name, key, left.schema.kind(key), other, right.schema.kind(other))
        self.name, self.left, self._right, self._suffix = name, left, right, suffix
        self._others = others

    @property
    def right(self) -> Collection:
        """The right side, its columns called as they are in the result."""
        columns = dict(zip(self.keys, self._others, strict=True))
        for each in self._right.schema.names:
            if each not in self._others:
                new = each + self._suffix if each in self.left.schema.positions else each
                if new in columns or new in self.left.schema.positions:
                    raise SchemaError(
                        f"operator {self.name!r}: both sides have a column {new!r}; select another name for one, or "
                        f"say suffix='_right'"
                    )
                columns[new] = each
        if tuple(columns.items()) == tuple(zip(self._right.schema.names, self._right.schema.names, strict=True)):
            return self._right
        return self._right.select(**{new: col(old) for new, old in columns.items()})

    def arranged(self) -> tuple[Arranged, Arranged]:
        """Both by key."""
        return self.left.arrange(self.keys, f"{self.name}.left"), self.right.arrange(self.keys, f"{self.name}.right")

    def met(self) -> Collection:
        """The left's rows of which the right has the key."""
        kept = self._right.kept
        if kept is not None and kept.keys == self._others:
            there = kept.aggregate(f"{self.name}.keys")
        else:
            keys = self._right.select(*self._others)
            there = keys.arrange(self._others, f"{self.name}.right").each(f"{self.name}.keys")
        met = self.left.arrange(self.keys, f"{self.name}.left").join(there, self.name)
        return met.as_schema(self.left.schema, f"{self.name}.columns")

    def outer(self, keeps_left: bool, keeps_right: bool) -> Collection:
        """Pairs, and the rows of one side or both that meet none, with nulls in place of the other side."""
        left, right = self.arranged()
        pairs = left.join(right, self.name)
        schema = {each: str(pairs.schema.kind(each)) for each in self.keys}
        for side, may_miss in ((left, keeps_right), (right, keeps_left)):
            for each in side.schema.names[len(self.keys) :]:
                kind = str(side.schema.kind(each))
                schema[each] = f"{kind.removesuffix('?')}?" if may_miss else kind
        whole, columns = Schema.of(schema), f"{self.name}.columns"
        parts = [pairs.as_schema(whole, columns)]
        for rows, mine, other, kept, which in (
            (self.left, left, right, keeps_left, "left"),
            (self.right, right, left, keeps_right, "right"),
        ):
            if kept:
                met = mine.join(other.aggregate(f"{self.name}.{which}.keys"), f"{self.name}.{which}.met")
                parts += [rows.as_schema(whole, columns), met.as_schema(whole, columns).negate()]
        return parts[0].concat(*parts[1:])
