"""Windows of operators that keep rows: they go to the owners of their keys, which keep them until the window ends."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import AnyStream, Batch, Notify, Schema, SchemaError, Thins
from tokenring.operators.aggregates.moving_windows import said_of, window_tables
from tokenring.operators.aggregates.pane_state import MovingState
from tokenring.operators.aggregates.window_results import Windows
from tokenring.operators.folds import Plan, to_owners
from tokenring.operators.mechanisms import CompiledLogic, mechanism_of
from tokenring.operators.migrate import Table, of_version
from tokenring.operators.state import HeapedColumns, Keys, RowStore, chain, grown, members_of
from tokenring.operators.state.moving import Rows
from tokenring.operators.time import FOREVER, Sliding, Tumbling, behind_window, checked_window, panes_of

Show = Callable[[Keys, np.ndarray, Batch, np.ndarray], tuple[HeapedColumns, int]]
"""show(keys, slots, rows, which): what is sent of slots. rows: all that they have, slot after slot in the order of
arrival; which, int64 (rows,): the position in `slots` that each belongs to."""
Needed = Callable[[Batch, np.ndarray], np.ndarray]
"""needed(rows, which): which of the rows can be needed still, bool (rows,)."""

_FEW_ROWS = 1024


def windowed(
    stream: AnyStream,
    plan: Plan,
    window: Tumbling | Sliding | None,
    schema: Schema,
    make: Callable[[Plan], MovingState],
    rows: Schema,
    compiled: Callable[[Plan, tuple[str, ...], list[Table]], CompiledLogic] | None = None,
    thins: Thins | None = None,
) -> AnyStream:
    """What `make(plan)` outputs for each window, rows of `schema` behind its bounds; for all of time,
    without these columns, if there is no window. rows: what that keeps of keys. compiled: the same in the worker's
    inner loop, of the plan and the key's columns where rows arrive, and the tables that move. thins: see Exchange.
    SchemaError, naming the operator, where that does not fit."""
    name = plan.operator
    if window is None:
        panes = FOREVER
    else:
        window = checked_window(name, window, stream.schema)
        if not isinstance(window, Tumbling | Sliding):
            raise SchemaError(f"operator {name!r}: its window is Tumbling or Sliding, not {type(window).__name__}")
        panes = panes_of(window, 0)
        schema = behind_window(name, window, stream.schema, schema.spec())
    said = plan.said, said_of(window) if window is not None else ""
    edge, plan, names = to_owners(stream, plan, panes.time, whole=True, thins=thins)
    way = mechanism_of(stream.scope)
    moves = of_version(window_tables(plan, plan.by, [{}, rows.spec()]), *said)
    return way.timed(
        name, [edge], schema, lambda: Windows(plan, panes, schema, False, make, plan.by, moves), Notify.IF_TOKEN,
        compiled=None if compiled is None else lambda: compiled(plan, names, moves), moves=moves,
    )  # fmt: skip


class Gathered:
    """Rows of `schema` by slot, in the order of arrival: all, or with `needed` those that are, and as many again."""

    def __init__(self, schema: Schema, show: Show, needed: Needed | None = None) -> None:
        self._show, self._needed = show, needed
        self._rows = RowStore(schema)
        self._first, self._following = np.zeros(64, np.int64), np.zeros(64, np.int64)
        self._used = 0
        self._free = np.zeros(0, np.int64)
        self._enough = _FEW_ROWS
        """With more rows than this, those that are not needed go."""

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
        if self._needed is not None and self._used - len(self._free) > self._enough:
            self._thin(self._needed)

    def _thin(self, needed: Needed) -> None:
        slots = np.flatnonzero(self._first)
        places, which = self._listed(slots)
        kept = needed(self._rows.batch(places), which)
        self._release(places[~kept])
        self._first[slots] = 0
        chain(places[kept], slots[which[kept]], self._first, self._following)
        self._enough = 2 * int(kept.sum()) + _FEW_ROWS

    def merge(self, other: "Gathered", source: np.ndarray, target: np.ndarray) -> None:
        """See State."""
        places, which = other._listed(source)
        self.take(other._rows.batch(places), target[which])

    def drop(self, slots: np.ndarray) -> None:
        """See State."""
        self._release(self._listed(slots)[0])
        self._first[slots] = 0

    def _release(self, places: np.ndarray) -> None:
        self._rows.drop(places)
        self._free = np.concatenate([self._free, places])

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
        return self._show(keys, slots, self._rows.batch(places), which)
