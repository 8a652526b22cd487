"""enrich: each row with what a table says about its key: a table that is given, or one that changes as rows come."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tokenring.engine import AnyStream, Batch, Schema, SchemaError, Stream
from tokenring.engine.columns import require_values
from tokenring.operators.joins.kept import (
    LEFT,
    RIGHT,
    Chosen,
    JoinedColumns,
    Names,
    On,
    joined_on,
    known,
    present,
    require_how,
)
from tokenring.operators.joins.tables import batch_of
from tokenring.operators.joins.versioned import answered, declare_versioned
from tokenring.operators.state import Keys


def enrich(
    rows: AnyStream,
    table: Stream | Batch | Mapping[str, Any] | Any,
    *,
    on: On | None = None,
    left_on: Names = None,
    right_on: Names = None,
    columns: Chosen = None,
    how: str = "inner",
    name: str = "enrich",
) -> AnyStream:
    """Each row with the table's row of its key; rows that have none are left out, or have nulls with how="left".

    `enrich(bids, channels, on="channel", columns="auction channel_id")`. on, left_on, right_on, columns: as in
    `join`, rows being the left side.

    A table that is a stream may grow and change: its latest row of each key counts, by messages' times. A row sees what
    the table says up to the time of the row's message, changes at that time included, so it waits until the table's
    frontier has passed that time; it is sent at its message's time, with one token held at the least of these. Both
    streams are exchanged by key. Memory: rows that wait, 24 bytes and 8 for each column a key, and older rows of a key
    that rows may still see.

    A table that is an Arrow table, a Batch, or a mapping of columns is read when the dataflow is declared, on each
    worker, and has each key once. Rows then stay where they are, and are answered at once. Memory: the table, and its
    keys.

    Raises SchemaError for columns that are not there or do not fit, or if such a table has a key twice; GraphError for
    a table that is a stream, in loops, or of updates, such as running counts: one of an earlier time may come later;
    and, as table or rows beside one, for what collections tell, whose messages may be earlier than it is.
    """
    require_how(name, how)
    on = joined_on(name, on, left_on, right_on)
    if isinstance(table, Stream):
        plan = JoinedColumns.of(name, rows.schema, table.schema, on, columns, how=how)
        needs = plan.crossing(LEFT), plan.crossing(RIGHT)
        return declare_versioned(plan, (rows, table), needs, (None, None), how == "left")
    given = batch_of(name, table)
    plan = JoinedColumns.of(name, rows.schema, given.schema, on, columns, how=how)
    _require_values(plan, given)
    enriched = rows.apply(name, plan.schema, _LookUp(plan, rows.schema, given, how == "left"))
    enriched.updates = answered(plan, rows, how == "left")
    return enriched


def _require_values(plan: JoinedColumns, table: Batch) -> None:
    """SchemaError where a number of the table would be null in the result."""
    for (side, source), kind in zip(plan.sources, plan.schema.kinds, strict=True):
        if side == RIGHT and not table.schema.kind(source).nullable:
            try:
                require_values(kind, table.columns[table.schema.position(source)])
            except SchemaError as error:
                raise SchemaError(f"operator {plan.operator!r}: the table's column {source!r}: {error}") from None


class _LookUp:
    """What a given table makes of a message's rows."""

    __slots__ = ("_keys", "_on", "_outer", "_schema", "_sources", "_table")

    def __init__(self, plan: JoinedColumns, arriving: Schema, table: Batch, outer: bool) -> None:
        self._table = present(table, plan.on[RIGHT])
        self._keys = Keys(table.schema, plan.on[RIGHT])
        slots = self._keys.slots(self._table)
        if len(self._keys) < len(slots):
            first = int(np.flatnonzero(slots != np.arange(len(slots)))[0])
            key = ", ".join([f"{of}={self._table.slice(first, first + 1)[of].tolist()[0]!r}" for of in plan.on[RIGHT]])
            raise SchemaError(
                f"operator {plan.operator!r}: the table has {key} twice; leave one row for each key, or join with it"
            )
        self._schema, self._on, self._outer = plan.schema, plan.on[LEFT], outer
        sides = arriving, table.schema
        self._sources = [(side, sides[side].position(name)) for side, name in plan.sources]

    def __call__(self, batch: Batch) -> Batch | None:
        found = known(self._keys, batch, self._on)  # slots, which are the table's rows: each has a key of its own
        missing = found < 0
        if missing.any() and not self._outer:
            batch, found = batch.filter(~missing), found[~missing]
            missing = missing[:0]
        if not batch.rows:
            return None
        columns: list[np.ndarray] = []
        heaps: list[np.ndarray | None] = []
        for (side, position), kind in zip(self._sources, self._schema.kinds, strict=True):
            source = (batch, self._table)[side]
            if side == LEFT:
                words = batch.columns[position]
            elif missing.any():
                words = np.repeat(kind.null_word(), batch.rows)
                words[~missing] = source.columns[position][found[~missing]]
            else:
                words = source.columns[position][found]
            columns.append(words)
            heaps.append(source.heaps[position] if kind.is_text else None)
        return Batch.wrap(
            self._schema, tuple(columns), batch.rows, tuple(heaps) if self._schema.has_text else (), batch
        )
