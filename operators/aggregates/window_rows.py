"""Windows of operators that keep rows: they go to the owners of their keys, which keep them until the window ends."""

from collections.abc import Callable, Sequence

import numpy as np
from sortedcontainers import SortedDict, SortedSet

from tokenring.engine import COMPLETE, AnyStream, Batch, Notify, Schema, Time
from tokenring.engine.columns import free_name
from tokenring.operators.aggregates.moving_windows import CLOSED, said_of
from tokenring.operators.aggregates.pane_ends import BEFORE_ALL, PANE, ends_of, too_late
from tokenring.operators.durations import Span
from tokenring.operators.folds import Plan, to_owners
from tokenring.operators.mechanisms import Give, distinct, mechanism_of
from tokenring.operators.migrate import Leaving, Table, of_version, offer
from tokenring.operators.rows import has_windows, require_no_starts
from tokenring.operators.state import HeapedColumns, Keys, joined, wrapped
from tokenring.operators.time import (
    FOREVER,
    FixedWindow,
    Panes,
    behind_window,
    bounds_of,
    checked_lateness,
    checked_window,
    panes_of,
    require_fixed,
    require_in_time,
    too_early,
)

Show = Callable[[Batch, np.ndarray], tuple[HeapedColumns, int]]
"""show(rows, which): what is sent of a window: columns, heaps and how many rows. rows: all that it has, in the order of
arrival; which, int64 (rows,): the key of each, numbered from 0 on as they come."""
Needed = Callable[[Batch, np.ndarray], np.ndarray]
"""needed(rows, which): which of the rows of a pane can be needed still, bool (rows,)."""

_FEW_ROWS = 1024


def windowed(
    stream: AnyStream,
    plan: Plan,
    window: FixedWindow | None,
    schema: Schema,
    show: Show,
    needed: Needed | None = None,
    lateness: Span = 0,
) -> AnyStream:
    """What `show` makes of the rows of each window, rows of `schema` behind its bounds; for all of time, without these
    columns, if there is no window. needed: if given, what is not goes when there are twice as many rows. lateness: how
    long after its end a window is sent. SchemaError, naming the operator, where that does not fit."""
    name, rows = plan.operator, stream.schema
    if window is None:
        require_in_time(name, lateness)
        panes, said = FOREVER, ""
    else:
        window = require_fixed(name, checked_window(name, window, stream.schema))
        lateness = checked_lateness(name, lateness, window, stream.schema)
        if lateness == 0:
            require_no_starts(name, stream, window.time)
        panes, said = panes_of(window, lateness), said_of(window, lateness)
        schema = behind_window(name, window, stream.schema, schema.spec())
    edge, plan, names = to_owners(stream, plan, panes.time, whole=True)
    own = {free_name(column, plan.schema.positions): "int64" for column in (PANE, CLOSED)}
    table = Table(Schema.of(own | plan.schema.spec()), names)
    made = mechanism_of(stream.scope).timed(
        name, [edge], schema, lambda: WindowRows(plan, rows, panes, schema, show, needed, table), Notify.IF_TOKEN,
        moves=of_version([table], plan.said, said),
    )  # fmt: skip
    if window is not None and lateness == 0:
        has_windows(made, window.start, window.end)
    return made


class _Part:
    """Rows of a pane, in the order of arrival. enough: with more than this, those that are not needed go."""

    __slots__ = ("batches", "count", "enough")

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.count, self.enough = 0, _FEW_ROWS

    def add(self, batches: Sequence[Batch]) -> None:
        """Rows come, behind those that are there."""
        self.batches += batches
        self.count += sum([batch.rows for batch in batches])


class WindowRows:
    """The rows of open panes. Output is pending at the ends of windows. All ends are with the lateness that is allowed.
    """

    late = 0

    def __init__(
        self,
        plan: Plan,
        rows: Schema,
        panes: Panes,
        schema: Schema,
        show: Show,
        needed: Needed | None,
        table: Table,
    ) -> None:
        """plan: over what arrives; rows: what `show` takes of it; schema: of what is sent; table: what rows are as they
        move."""
        self._plan, self._rows, self._panes, self._schema = plan, rows, panes, schema
        self._show, self._needed, self._table = show, needed, table
        self._time = -1 if panes.time is None else plan.schema.position(panes.time)
        # By its end, and up to when windows were sent with these rows, before they moved here or others came to them.
        self._open: SortedDict = SortedDict()
        self._pending: SortedSet = SortedSet()  # ends of windows that have rows
        self._closed = BEFORE_ALL
        self.takes = (self._take,)
        offer(self)

    def _take(self, batch: Batch) -> Time:
        most = int(batch.columns[self._time].max(initial=0)) if self._time >= 0 else 0
        if most >= COMPLETE - self._panes.lateness - self._panes.longest:
            raise too_early(self._plan.operator, self._plan.schema, self._panes.columns, most)
        ends, least = self._ends(batch)
        if least <= self._closed:
            raise too_late(self._plan, self._panes, least, self._closed, has_late=False)
        self._keep(batch, ends, np.full(batch.rows, BEFORE_ALL))
        return self.least()

    def _ends(self, batch: Batch) -> tuple[np.ndarray, Time]:
        ends, least = ends_of(batch, self._time, self._panes)
        return ends + self._panes.lateness, least + self._panes.lateness

    def _window_ends(self, end: Time) -> list[Time]:
        lateness = self._panes.lateness
        return [window + lateness for window in self._panes.window_ends(end - lateness)]

    def _keep(self, batch: Batch, ends: np.ndarray, sent: np.ndarray) -> None:
        for end in distinct(ends):
            of_pane = ends == end
            for upto in distinct(sent[of_pane]):
                part = self._part(end, upto)
                part.add([batch.filter(of_pane & (sent == upto)).copy()])
                self._pending.update([window for window in self._window_ends(end) if window > upto])
                if self._needed is not None and part.count > part.enough:
                    rows, which = self._numbered(part.batches)
                    part.batches = [rows.filter(self._needed(rows, which))]
                    part.count = part.batches[0].rows
                    part.enough = 2 * part.count + _FEW_ROWS

    def _part(self, end: Time, sent: Time) -> _Part:
        part: _Part = self._open.setdefault((end, sent), _Part())
        return part

    def _numbered(self, batches: Sequence[Batch]) -> tuple[Batch, np.ndarray]:
        """Rows in their order, and the key of each, from 0: int64 (rows,)."""
        rows = Batch.concatenate(batches)
        if not self._plan.by:
            return rows, np.zeros(rows.rows, np.int64)
        return rows, Keys(rows.schema, self._plan.by).slots(rows)

    def advance(self, frontier: Time) -> None:
        """Nothing waits for anything but its window's end."""

    def least(self) -> Time:
        """The least end of the windows that have rows."""
        return self._pending[0] if self._pending else COMPLETE

    def emit(self, upto: Time, give: Give) -> Time:
        """Close windows, a message each."""
        panes = self._panes
        self._closed = max(self._closed, upto)
        while self._pending and self._pending[0] <= upto:
            end = self._pending.pop(0)
            first = end if panes.is_tumbling else end - panes.width + panes.step
            inside = self._open.irange((first, BEFORE_ALL), (end, end), inclusive=(True, False))
            batches = [batch for pane in inside if pane[1] < end for batch in self._open[pane].batches]
            rows, which = self._numbered(batches)
            shown, count = self._show(rows.select(self._rows), which)
            if panes.time is not None:
                ended = end - panes.lateness
                bounds = np.full(count, panes.start_of(ended)), np.full(count, ended)
                shown = joined(bounds_of(*bounds, panes.named), shown)
            give(end, wrapped(self._schema, shown, count))
            done = end if panes.is_tumbling else end - panes.width + panes.every
            while self._open and self._open.peekitem(0)[0][0] <= done:
                self._open.popitem(0)
        return self.least()

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The ends of the windows that the rows are in."""
        ends = distinct(self._ends(batch)[0])
        return sorted({window for end in ends for window in self._window_ends(end)})

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """See Moves."""
        made, stays = [Batch(self._table.schema, {name: [] for name in self._table.schema.names})], []
        for (end, sent), part in self._open.items():
            rows = Batch.concatenate(part.batches)
            leaves = leaving.rows(rows, self._table.key)
            gone = rows.filter(leaves)
            times = np.full(gone.rows, end), np.full(gone.rows, max(sent, self._closed))
            columns = joined((times, (None, None)), (gone.columns, gone.heaps or (None,) * len(gone.columns)))
            made.append(wrapped(self._table.schema, columns, gone.rows))
            part.batches, part.count = [rows.filter(~leaves)], rows.rows - gone.rows
            if part.count:
                stays.append((end, sent))
        self._open = SortedDict({pane: self._open[pane] for pane in stays})
        self._pending = SortedSet(
            [window for end, sent in stays for window in self._window_ends(end) if window > max(sent, self._closed)]
        )  # fmt: skip
        return [Batch.concatenate(made)]

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """See Moves."""
        (table,) = tables
        here, self._open = self._open, SortedDict()
        for (end, upto), part in here.items():  # windows are sent anew of rows that come, which were not sent with them
            self._part(end, max(upto, self._closed)).add(part.batches)
        ends, sent = table.columns[:2]
        self._keep(table.select(self._plan.schema), ends, sent)
        self._closed = max(self._closed, int(sent.max(initial=BEFORE_ALL)))
        return self.least()
