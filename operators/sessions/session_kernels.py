"""The kernels of session windows: which session each row is in, and which have ended.

`table`, int64 (sessions, 5): of a SessionRow each. `heads`, int64 (keys,): session + 1 of each key's first open
session, 0 if it has none. `timers`: one entry for each session that is open, or was merged into another: (its end, or
an earlier time, and the session). `free`: sessions to be used again. `meta`: the words of SessionCounts.
"""

from collections.abc import Sequence

from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel, void
from tokenring.engine.compiled import Record, Words, record_of, records_of
from tokenring.operators.state import FreeList, give_place, pop, push, take_place


class SessionRow(Record):
    """A session: the first and last row's times, the key's slot, session + 1 of the key's next session, and the session
    it was merged into (itself if it is open)."""

    start: int
    last: int
    key: int
    next: int
    root: int


class SessionCounts(FreeList):
    """How many entries `timers` has; how many sessions are new, and were merged, in this call."""

    timers: int
    fresh: int
    merged: int


@kernel
def _absorb(
    rows: Sequence[SessionRow], heads: Words, session: int, time: int, gap: int, merged: Words, counts: SessionCounts
) -> None:
    """Make `time` part of a session, and with it all sessions of the key that it now reaches."""
    key = rows[session].key
    rows[session].start = min(rows[session].start, time)
    rows[session].last = max(rows[session].last, time)
    before, at = -1, heads[key] - 1
    while at >= 0:
        following = rows[at].next - 1
        reached = rows[at].start - rows[session].last < gap and rows[session].start - rows[at].last < gap
        if at != session and reached:
            rows[session].start = min(rows[session].start, rows[at].start)
            rows[session].last = max(rows[session].last, rows[at].last)
            rows[at].root = session
            merged[counts.merged] = at
            counts.merged += 1
            if before < 0:
                heads[key] = following + 1
            else:
                rows[before].next = following + 1
        else:
            before = at
        at = following


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
        at = heads[key] - 1
        while at >= 0 and not (time - rows[at].last < gap and rows[at].start - time < gap):
            at = rows[at].next - 1
        if at >= 0:
            if time < rows[at].start or time > rows[at].last:
                _absorb(rows, heads, at, time, gap, merged, counts)
        else:
            if counts.free == 0 and counts.limit == len(rows):
                return i
            at = take_place(free, counts)
            rows[at].start, rows[at].last, rows[at].key, rows[at].root = time, time, key, at
            rows[at].next = heads[key]
            heads[key] = at + 1
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


@kernel
def _unlink(rows: Sequence[SessionRow], heads: Words, session: int) -> None:
    key = rows[session].key
    if heads[key] == session + 1:
        heads[key] = rows[session].next
        return
    at = heads[key] - 1
    while rows[at].next != session + 1:
        at = rows[at].next - 1
    rows[at].next = rows[session].next


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
