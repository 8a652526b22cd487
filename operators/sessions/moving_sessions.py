"""The state of session windows as tables: a row for each open session, and those of what is folded."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tokenring.engine import COLUMN, COMPLETE, TABLE, WORDS, Batch, Schema, Time, int64, kernel, void
from tokenring.engine.compiled import Words, record_of, records_of
from tokenring.operators.folds import Plan
from tokenring.operators.folds.moving import fold_kinds
from tokenring.operators.migrate import Leaving, Table
from tokenring.operators.sessions.session_kernels import SessionCounts, SessionRow, open_session, session_at
from tokenring.operators.state import HeapedColumns, Keys, joined, push, take_place
from tokenring.operators.state.moving import Kept, KeySlots, rows_out, tables_of

_START, _LAST, _CLOSED = "#start", "#last", "#closed"
_GONE = -1


@kernel(int64(TABLE, WORDS, COLUMN, WORDS, WORDS))
def _take_sessions(table: Words, heads: Words, keys: Words, sessions: Words, which: Words) -> int:
    """Write the open sessions of keys, and of which of them each is, as far as there is room; those are not open any
    more, and their places come back with their timers, as merged ones do. Returns how many there are."""
    rows, found = records_of(table, SessionRow), 0
    for i in range(len(keys)):
        at = heads[keys[i]] - 1
        while at >= 0 and rows[at].later > 0:
            at = rows[at].later - 1
        while at >= 0:
            if found < len(sessions):
                sessions[found], which[found] = at, i
            found += 1
            at = rows[at].earlier - 1
    if found <= len(sessions):
        for i in range(found):
            rows[sessions[i]].root = _GONE
        for key in keys:
            heads[key] = 0
    return found


@kernel(void(TABLE, WORDS, WORDS, TABLE, WORDS, COLUMN, COLUMN, COLUMN, int64, WORDS))
def _put_sessions(
    table: Words,
    heads: Words,
    free: Words,
    timers: Words,
    meta: Words,
    keys: Words,
    starts: Words,
    lasts: Words,
    gap: int,
    sessions: Words,
) -> None:
    """Open sessions, for which there is room; write which they are."""
    rows, counts = records_of(table, SessionRow), record_of(meta, SessionCounts)
    for i in range(len(keys)):
        at = take_place(free, counts)
        _, earlier, later = session_at(rows, heads[keys[i]], starts[i], gap)
        open_session(rows, heads, at, keys[i], starts[i], lasts[i], earlier, later)
        push(timers, counts.timers, lasts[i] + gap, at)
        counts.timers += 1
        sessions[i] = at


class OpenSessions(Protocol):
    """One worker's keys and open sessions."""

    closed: Time
    """Sessions that ended by then are sent."""

    keys: KeySlots
    """By which sessions are chained."""

    def reserve(self, sessions: int) -> int:
        """Have room for what keys there are, and for so many sessions more; returns what all sessions are less than."""

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What `extend` takes first, until the next `reserve`: table, heads, free, timers and meta."""


def session_tables(plan: Plan, by: Sequence[str]) -> list[Table]:
    """The tables that sessions are as they move, of keys of the columns `by`."""
    first, *others = fold_kinds(plan)
    about = {_START: "int64", _LAST: "int64", _CLOSED: "int64"}
    return tables_of(plan.schema.select(by), by, [about | first, *[{_START: "int64"} | other for other in others]])


class MovingSessions:
    """How the sessions of one worker move."""

    def __init__(self, tables: Sequence[Table], here: OpenSessions, kept: Kept, gap: int, lateness: int) -> None:
        """kept: what is kept by session."""
        self._schemas = [table.schema for table in tables]
        self._here, self._kept, self._gap, self._lateness = here, kept, gap, lateness

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """See Moves."""
        here = self._here
        slots = here.keys.leaving(leaving)
        table, heads, *_ = here.tables
        room = len(slots) + 64
        while True:
            sessions, which = np.empty(room, np.int64), np.empty(room, np.int64)
            found = _take_sessions(table, heads, slots, sessions, which)
            if found <= room:
                break
            room = found
        sessions, which = sessions[:found], which[:found]
        open_rows = SessionRow.of_table(table)[sessions]
        starts: HeapedColumns = (open_rows["start"],), (None,)
        about: HeapedColumns = (open_rows["last"], np.full(found, here.closed, np.int64)), (None, None)
        (first, _), *others = self._kept.out(sessions)
        rows = [(joined(starts, about, first), None)]
        made = rows_out(self._schemas[:1], here.keys.columns(slots[which]), rows, found)
        keys = joined(here.keys.columns(slots[which]), starts)
        made += rows_out(self._schemas[1:], keys, others, found)
        here.keys.forget(slots)
        return made

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """See Moves."""
        here, first = self._here, tables[0]
        slots = here.keys.enter(first)
        limit = here.reserve(first.rows)
        starts, lasts = first.words(_START), first.words(_LAST)
        sessions = np.empty(first.rows, np.int64)
        _put_sessions(*here.tables, slots, starts, lasts, self._gap, sessions)
        owners = [sessions]
        if len(tables) > 1:
            schema = Schema("slot start")
            known = Keys(schema, schema.names)
            known.slots(Batch.wrap(schema, (slots, starts), first.rows))
            for table in tables[1:]:
                key = here.keys.find(table), table.words(_START)
                owners.append(sessions[known.find(Batch.wrap(schema, key, table.rows))])
        self._kept.put(limit, owners, tables)
        here.closed = max(here.closed, int(first.words(_CLOSED).max(initial=-1)))
        return int(lasts.min()) + self._gap + self._lateness if first.rows else COMPLETE
