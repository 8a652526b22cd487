"""reduce: a function of all rows of each key, by window or at the end, in whole columns."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tokenring.engine import AnyStream, Batch, Schema, SchemaError
from tokenring.operators.aggregates.owner_panes import windowed
from tokenring.operators.folds import Plan
from tokenring.operators.rows import Columns, with_key
from tokenring.operators.state import HeapedColumns, Keys, RowStore, chain, grown, joined, members_of, require_rows
from tokenring.operators.state.moving import Rows
from tokenring.operators.time import Sliding, Tumbling

Function = Callable[[Batch, np.ndarray], Mapping[str, Any]]


def reduce(
    stream: AnyStream,
    by: Columns,
    function: Function,
    schema: Schema,
    *,
    window: Tumbling | Sliding | None = None,
    name: str = "reduce",
) -> AnyStream:
    """Rows (the columns `by`, those of `schema`), one for each key: what `function` makes of all its rows.

    function(rows, starts) -> columns of `schema`, one value for each key. rows: a Batch of many keys' rows, those of a
    key one after the other in the order of arrival; starts: where each key's rows begin, int64 (keys,), so that
    `numpy.add.reduceat(rows["price"], starts)` are their sums. No key is without rows.

    Called when a window ends, for its rows; rows start with (window_start, window_end) then. Without a window, once,
    when the input has ended. Rows are exchanged by key and kept until then: that is the memory. Where `aggregate` can
    do it, it needs far less. Raises SchemaError, naming the operator, for columns that are not there or do not fit.
    """
    require_rows(name, stream)
    stream, names = with_key(stream, name, by, shown=True)
    plan = Plan.of(name, stream.schema, names, {})
    for clash in set(plan.by) & set(schema.names):
        raise SchemaError(f"operator {name!r}: {clash!r} is a column to group by; call the result otherwise")
    rows = stream.schema
    output = Schema.of(plan.keys | schema.spec())
    return windowed(stream, plan, window, output, lambda plan: Gathered(plan, rows, schema, function), rows)


class Gathered:
    """All rows of `rows` by slot, in the order of arrival, and what a function makes of them."""

    def __init__(self, plan: Plan, rows: Schema, schema: Schema, function: Function) -> None:
        self._plan, self._schema, self._function = plan, schema, function
        self._rows = RowStore(rows)
        self._first, self._following = np.zeros(64, np.int64), np.zeros(64, np.int64)
        self._used = 0
        self._free = np.zeros(0, np.int64)

    def reset(self, slots: np.ndarray, limit: int) -> None:
        """See State."""
        self._first = grown(self._first, limit)
        self._first[slots] = 0

    def take(self, batch: Batch, slots: np.ndarray) -> None:
        """See State."""
        again = self._free[: batch.rows]
        self._free = self._free[batch.rows :]
        new = batch.rows - len(again)
        places = np.concatenate([again, np.arange(self._used, self._used + new)])
        self._used += new
        self._following = grown(self._following, self._used)
        self._rows.put(places, batch.select(self._rows.schema), np.arange(batch.rows))
        chain(places, slots, self._first, self._following)

    def merge(self, other: "Gathered", source: np.ndarray, target: np.ndarray) -> None:
        """See State."""
        places, which = other._listed(source)
        self.take(other._rows.batch(places), target[which])

    def drop(self, slots: np.ndarray) -> None:
        """See State."""
        places = self._listed(slots)[0]
        self._rows.drop(places)
        self._free = np.concatenate([self._free, places])
        self._first[slots] = 0

    def out(self, slots: np.ndarray) -> Sequence[Rows]:
        """See Kept."""
        places, which = self._listed(slots)
        rows = self._rows.batch(places)
        self.drop(slots)
        return [(((), ()), None), ((rows.columns, rows.heaps or (None,) * len(rows.columns)), which)]

    def put(self, limit: int, slots: Sequence[np.ndarray], tables: Sequence[Batch]) -> None:
        """See Kept."""
        self.reset(slots[0], limit)
        self.take(tables[1].select(self._rows.schema), slots[1])

    def _listed(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the rows of slots are, by slot and in the order of arrival; and of which of the slots each is."""
        places, which = members_of(slots, self._first, self._following)
        order = np.argsort(which[::-1], kind="stable")  # a chain leads from the last to the first
        return places[::-1][order], which[::-1][order]

    def output(self, keys: Keys, slots: np.ndarray) -> tuple[HeapedColumns, int]:
        """See State."""
        places, which = self._listed(slots)
        starts = np.searchsorted(which, np.arange(len(slots)))
        made = Batch(self._schema, self._function(self._rows.batch(places), starts))
        if made.rows != len(slots):
            raise SchemaError(
                f"operator {self._plan.operator!r}: the function gave {made.rows} rows for {len(slots)} keys; it must "
                f"give one for each"
            )
        results = made.columns, made.heaps or (None,) * len(made.columns)
        named = len(self._plan.by)
        if not named:
            return results, made.rows
        columns, heaps = keys.columns(slots)
        return joined((columns[-named:], heaps[-named:]), results), made.rows
