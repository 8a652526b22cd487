"""The kernels of session windows: which session each row is in, and which have ended.

`table`, int64 (sessions, 6): of a SessionRow each. `heads`, int64 (keys,): session + 1 of the open session of each key
that had a row last, 0 if it has none: rows that come in order, whichever way, find theirs in a step or two. `timers`:
one entry for each session that is open, or was merged into another: (its end, or an earlier time, and the session).
`free`: sessions to be used again. `meta`: the words of SessionCounts.
"""

from collections.abc import Sequence

from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel, void
from tokenring.engine.compiled import Record, Words, record_of, records_of
from tokenring.operators.state import FreeList, give_place, pop, push, take_place


class SessionRow(Record):
    """A session: the first and last row's times, the key's slot, session + 1 of the key's open sessions that are next
    to it in time, and the session it was merged into (itself if it is open)."""

    start: int
    last: int
    key: int
    earlier: int
    later: int
    root: int


class SessionCounts(FreeList):
    """How many entries `timers` has; how many sessions are new, and were merged, in this call."""

    timers: int
    fresh: int
    merged: int


@kernel
def session_at(rows: Sequence[SessionRow], head: int, time: int, gap: int) -> tuple[int, int, int]:
    """The session of a key that a time is part of, -1 if there is none: then also the one before it, and the one behind
    it, -1 for none. head: any of them, plus one, 0 if there are none."""
    at = head - 1
    while at >= 0:
        if time - rows[at].last >= gap:
            later = rows[at].later - 1
            if later < 0 or rows[later].start - time >= gap:
                return -1, at, later
            at = later
        elif rows[at].start - time >= gap:
            earlier = rows[at].earlier - 1
            if earlier < 0 or time - rows[earlier].last >= gap:
                return -1, earlier, at
            at = earlier
        else:
            return at, -1, -1
    return -1, -1, -1


@kernel
def open_session(
    rows: Sequence[SessionRow], heads: Words, session: int, key: int, start: int, last: int, earlier: int, later: int
) -> None:
    """Let a session stand between two others of its key, -1 for none."""
    rows[session].start, rows[session].last, rows[session].key, rows[session].root = start, last, key, session
    rows[session].earlier, rows[session].later = earlier + 1, later + 1
    if earlier >= 0:
        rows[earlier].later = session + 1
    if later >= 0:
        rows[later].earlier = session + 1
    heads[key] = session + 1


@kernel
def _unlink(rows: Sequence[SessionRow], heads: Words, session: int) -> None:
    key, earlier, later = rows[session].key, rows[session].earlier, rows[session].later
    if earlier > 0:
        rows[earlier - 1].later = later
    if later > 0:
        rows[later - 1].earlier = earlier
    if heads[key] == session + 1:
        heads[key] = later if later > 0 else earlier


@kernel
def _absorb(
    rows: Sequence[SessionRow], heads: Words, session: int, time: int, gap: int, merged: Words, counts: SessionCounts
) -> None:
    """Make `time` part of a session, and with it the sessions beside it that it now reaches."""
    rows[session].start = min(rows[session].start, time)
    rows[session].last = max(rows[session].last, time)
    while True:
        earlier, later = rows[session].earlier - 1, rows[session].later - 1
        if later >= 0 and rows[later].start - rows[session].last < gap:
            other, rows[session].last = later, rows[later].last
        elif earlier >= 0 and rows[session].start - rows[earlier].last < gap:
            other, rows[session].start = earlier, rows[earlier].start
        else:
            return
        rows[other].root = session
        merged[counts.merged] = other
        counts.merged += 1
        _unlink(rows, heads, other)


@kernel(int64(TABLE, WORDS, WORDS, TABLE, WORDS, COLUMN, COLUMN, int64, int64, WORDS, WORDS, WORDS))
def extend(
    table: Words,
    heads: Words,
    free: Words,
    timers: Words,
    meta: Words,
    times: Words,
    keys: Words,
    gap: int,
    start: int,
    sessions: Words,
    fresh: Words,
    merged: Words,
) -> int:
    """Put rows from `start` on into sessions, new ones where there is none; fresh, merged: those that were made, and
    those that became part of another. Returns the row at which there was no room, len(times) if all are done."""
    rows, counts = records_of(table, SessionRow), record_of(meta, SessionCounts)
    for i in range(start, len(times)):
        time, key = times[i], keys[i]
        at, earlier, later = session_at(rows, heads[key], time, gap)
        if at >= 0:
            heads[key] = at + 1
            if time < rows[at].start or time > rows[at].last:
                _absorb(rows, heads, at, time, gap, merged, counts)
        else:
            if counts.free == 0 and counts.limit == len(rows):
                return i
            at = take_place(free, counts)
            open_session(rows, heads, at, key, time, time, earlier, later)
            push(timers, counts.timers, time + gap, at)
            counts.timers += 1
            fresh[counts.fresh] = at
            counts.fresh += 1
        sessions[i] = at
    return len(times)


@kernel(void(TABLE, WORDS))
def resolve(table: Words, sessions: Words) -> None:
    """Replace sessions by those that they have become part of."""
    rows = records_of(table, SessionRow)
    for i in range(len(sessions)):
        while rows[sessions[i]].root != sessions[i]:
            sessions[i] = rows[sessions[i]].root


@kernel(int64(TABLE, WORDS, WORDS, TABLE, WORDS, int64, int64, WORDS))
def end_sessions(
    table: Words, heads: Words, free: Words, timers: Words, meta: Words, gap: int, upto: int, ended: Words
) -> int:
    """Take out the sessions that end by `upto`, in the order of their ends; what their rows of `table` say stays until
    they are used again. Returns how many. The first timer, if any is left, is then an open session's end."""
    rows, counts = records_of(table, SessionRow), record_of(meta, SessionCounts)
    found = 0
    while counts.timers > 0:
        time, session = timers[0, 0], timers[0, 1]
        end = rows[session].last + gap
        is_open = rows[session].root == session
        if is_open and time == end and end > upto:
            break
        pop(timers, counts.timers)
        counts.timers -= 1
        if is_open and end > time:  # it went on
            push(timers, counts.timers, end, session)
            counts.timers += 1
            continue
        if is_open:
            _unlink(rows, heads, session)
            ended[found] = session
            found += 1
        give_place(free, counts, session)
    return found
