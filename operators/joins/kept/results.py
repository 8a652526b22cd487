"""Rows of a join's result, put together from rows of both sides."""

import numpy as np

from tokenring.engine import Batch, Schema
from tokenring.operators.joins.kept.joined_columns import LEFT, RIGHT, JoinedColumns
from tokenring.operators.state import RowStore

Part = tuple[Batch | RowStore | None, np.ndarray] | None
"""Chosen rows of a side: numbers of rows of a message, or places of what is kept. A source that is None has no columns
in the result; a part that is None is all nulls."""


class Results:
    """What makes a join's results. arriving: the schemas of both sides' messages."""

    __slots__ = ("_instead", "_sources", "schema")

    def __init__(self, columns: JoinedColumns, arriving: tuple[Schema, Schema]) -> None:
        self.schema = columns.schema
        # Where each column is: the side, its position in that side's messages, and in what is kept of it.
        self._sources = [
            (side, arriving[side].position(name), columns.kept(side).index(name)) for side, name in columns.sources
        ]
        kept = columns.kept(RIGHT)
        # And where it is in rows of the right side alone.
        self._instead = [
            source if name is None else (RIGHT, arriving[RIGHT].position(name), kept.index(name))
            for source, name in zip(self._sources, columns.instead, strict=True)
        ]

    def of(self, left: Part, right: Part, rows: int, missing: np.ndarray | None = None) -> Batch:
        """So many rows of both sides, side by side. missing, bool (rows,): where the right side is null instead."""
        if missing is not None and missing.all():
            right, missing = None, None
        parts = left, right
        sources = self._sources if left is not None else self._instead
        columns: list[np.ndarray] = []
        heaps: list[np.ndarray | None] = []
        for (side, position, kept), kind in zip(sources, self.schema.kinds, strict=True):
            part = parts[side]
            heap = None
            if part is None:
                words = np.repeat(kind.null_word(), rows)
                heap = np.zeros(1, np.uint8) if kind.is_text else None
            elif isinstance(part[0], Batch):
                words = part[0].columns[position][part[1]]
                heap = part[0].heaps[position] if kind.is_text else None
            else:
                assert part[0] is not None
                words, heap = part[0].column(kept, part[1])
            if missing is not None and side == RIGHT:
                words[missing] = kind.null_word()
            columns.append(words)
            heaps.append(heap)
        if not self.schema.has_text:
            return Batch.wrap(self.schema, tuple(columns), rows)
        messages = [part[0] for part in parts if part is not None and isinstance(part[0], Batch)]
        lender = next((one for one in messages if one.lent is not None), None)
        return Batch.wrap(self.schema, tuple(columns), rows, tuple(heaps), lender)


def both(side: int, mine: Part, theirs: Part) -> tuple[Part, Part]:
    """The parts of one side and of the other, as left and right."""
    return (mine, theirs) if side == LEFT else (theirs, mine)


def with_found(
    results: Results, batch: Batch, source: Batch | RowStore | None, found: np.ndarray, outer: bool
) -> Batch:
    """The rows of a message of the left side with what was found of the right for each, int64 (rows,), -1: nothing;
    those for which nothing was are left out, or have nulls if `outer`."""
    missing = found < 0
    if not missing.any():
        return results.of((batch, np.arange(batch.rows)), (source, found), batch.rows)
    if outer:
        return results.of((batch, np.arange(batch.rows)), (source, found), batch.rows, missing)
    rows = np.flatnonzero(~missing)
    return results.of((batch, rows), (source, found[rows]), len(rows))
