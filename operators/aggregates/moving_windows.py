"""The state of windows as tables: of each open pane and key, with how far windows have been sent where it was."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from tokenring.engine import Batch, Schema, Time
from tokenring.operators.aggregates.pane_ends import PANE
from tokenring.operators.folds import Plan
from tokenring.operators.migrate import Leaving, Table
from tokenring.operators.state import joined
from tokenring.operators.state.moving import Kept, KeySlots, rows_out, slots_by_table, tables_of
from tokenring.operators.time import Window

CLOSED = "#closed"
"""The column of how far windows were sent where state was."""


class OpenPanes(Protocol):
    """The open panes of a worker, as slots of theirs leave and come."""

    @property
    def closed(self) -> Time:
        """All that was pending up to then is sent."""

    def leave(self, slots: np.ndarray) -> None:
        """Slots, each named once, are of no pane any more: int64 (n,)."""

    def make_room(self) -> None:
        """There may be more slots than before."""

    def arrive(self, slots: np.ndarray, ends: np.ndarray, closed: np.ndarray) -> None:
        """Slots are of the panes that end at `ends`; where they come from all was sent up to `closed`: int64 (n,)."""

    def least(self) -> Time:
        """The least time at which output is pending."""


def said_of(window: Window, lateness: int = 0) -> str:
    """How a window cuts time, and for how long after its end it is kept, in words: not what its bounds are called."""
    cut = repr(replace(window, start=None, end=None))
    return f"{cut}; lateness={lateness}" if lateness else cut


def window_tables(plan: Plan, exchanged: Sequence[str], kinds: Sequence[Mapping[str, str]]) -> list[Table]:
    """The tables that windows are as they move; exchanged: what rows go by, none if all rows are together. kinds: what
    is kept of each pane and key."""
    first, *others = kinds
    keys = Schema.of({plan.own(PANE): "int64"} | plan.keys)
    return tables_of(keys, exchanged, [{CLOSED: "int64"} | dict(first), *others])


class MovingWindows:
    """How the windows of one worker move."""

    def __init__(self, tables: Sequence[Table], keys: KeySlots, kept: Kept, panes: OpenPanes) -> None:
        self._schemas = [table.schema for table in tables]
        self._keys, self._kept, self._panes = keys, kept, panes

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """See Moves."""
        slots = self._keys.leaving(leaving)
        keys = self._keys.columns(slots)
        (first, _), *others = self._kept.out(slots)
        closed = np.full(len(slots), self._panes.closed, np.int64)
        made = rows_out(self._schemas, keys, [(joined(((closed,), (None,)), first), None), *others], len(slots))
        self._panes.leave(slots)
        self._keys.forget(slots)
        self._panes.make_room()
        return made

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """See Moves."""
        slots = slots_by_table(self._keys, tables)
        self._panes.make_room()
        self._kept.put(self._keys.limit, slots, tables)
        self._panes.arrive(slots[0], tables[0].columns[0], tables[0].words(CLOSED))
        return self._panes.least()

