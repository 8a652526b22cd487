"""Joins whose results change, as collections: a row with nulls is taken away again when its match comes."""

from tokenring.engine import Stream
from tokenring.operators import collections
from tokenring.operators.expressions import col
from tokenring.operators.joins.kept import SIDES, JoinedColumns

_METHODS = {
    "left": "left_join", "right": "right_join", "full": "full_join", "semi": "semijoin", "anti": "antijoin",
}  # fmt: skip


def joined_that_change(columns: JoinedColumns, sides: tuple[Stream, Stream], how: str) -> "collections.Collection":
    """What a join of all rows up to each time is. how: one that is not "inner", whose pairs stay."""
    name = columns.operator
    keys = [f"key {number}" for number in range(len(columns.on[0]))]
    rows = []
    for side, stream in enumerate(sides):
        needed = {key: col(source) for key, source in zip(keys, columns.on[side], strict=True)}
        needed |= {f"{side} {source}": col(source) for source in columns.kept(side)}
        rows.append(collections.collection(stream, name=f"{name}.{SIDES[side]}.rows").select(**needed))
    left, right = rows
    met = getattr(left, _METHODS[how])(right, keys, name)
    chosen = {}
    for result, (side, source), other in zip(columns.schema.names, columns.sources, columns.instead, strict=True):
        is_shared = other is not None  # the key of the side that has the row
        chosen[result] = col(keys[columns.on[0].index(source)] if is_shared else f"{side} {source}")
    return met.select(**chosen).as_schema(columns.schema, f"{name}.columns")
