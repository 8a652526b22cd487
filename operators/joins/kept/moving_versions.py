"""The state of a join with versions as columns: versions, and rows that wait for them, of bins that move."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from tokenring.engine import COMPLETE, Batch, Schema, Time
from tokenring.operators.joins.kept.joined_columns import RIGHT, JoinedColumns
from tokenring.operators.joins.kept.moved_columns import MovedColumns, rows_table, said_of, waiting_table
from tokenring.operators.joins.kept.moving_kernels import take_kept
from tokenring.operators.joins.kept.side import Side
from tokenring.operators.joins.kept.versions import Version, add_versions
from tokenring.operators.migrate import Leaving, Table, of_version
from tokenring.operators.state import LEAST, KeptTexts
from tokenring.operators.state.moving import KeySlots


def versions_tables(columns: JoinedColumns, rows: Schema) -> list[Table]:
    """What the state of a join with versions is as it moves. rows: the schema of the left side's messages."""
    return of_version([rows_table(columns, RIGHT, "time"), waiting_table(columns, rows)], said_of(columns))


class Waiting(Protocol):
    """Rows of the left side that wait for versions."""

    def take_out(self, leaving: Leaving, table: Table) -> Batch:
        """Forget rows that leave, and return them, those of a message together."""

    def put_in(self, table: Batch) -> Time:
        """Let rows wait that did elsewhere; returns the least of their times, COMPLETE if there are none."""


class MovingVersions:
    """One worker's part of a join with versions, as bins leave and come."""

    __slots__ = ("_changed", "_keys", "_moved", "_side", "_tables", "_waiting")

    def __init__(
        self,
        columns: JoinedColumns,
        rows: Schema,
        keys: KeySlots,
        side: Side,
        waiting: Waiting,
        texts: KeptTexts | None,
        changed: Callable[[], None],
    ) -> None:
        """side: the versions. texts: where theirs are, if they have any. changed: to be called when there are more."""
        self._keys, self._side, self._waiting, self._changed = keys, side, waiting, changed
        self._tables = versions_tables(columns, rows)
        self._moved = MovedColumns(self._tables[0], side.store, texts, columns.on[RIGHT])

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """See Moves."""
        slots = self._keys.leaving(leaving)
        heads, links, free, meta, _ = self._side.tables
        places, owners = np.empty(len(self._side), np.int64), np.empty(len(self._side), np.int64)
        found = take_kept(heads, 1, links, free, meta, slots, places, owners)
        places, owners = places[:found][::-1], owners[:found][::-1]  # of each key the earliest first
        versions = self._moved.taken(self._keys.columns(owners), places, [Version.of_table(links)["time"][places]])
        self._keys.forget(slots)
        return [versions, self._waiting.take_out(leaving, self._tables[1])]

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """See Moves. Output is pending at the times of rows that wait."""
        versions, rows = tables
        side = self._side
        slots = self._keys.enter(versions)
        side.have_slots(self._keys.limit)
        side.reserve(versions.rows)
        heads, links, free, meta, _ = side.tables
        places = np.empty(versions.rows, np.int64)
        times = np.ascontiguousarray(versions.words("time"))
        gone = COMPLETE if heads[slots].any() else LEAST
        add_versions(heads, links, free, meta, slots, times, LEAST, gone, places)
        self._moved.put(places, versions, len(links))
        least = self._waiting.put_in(rows)
        self._changed()
        return least
