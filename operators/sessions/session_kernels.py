"""The kernels of session windows: which session each row is in, and which have ended.

`table`, int64 (sessions, 5): below. `heads`, int64 (keys,): session + 1 of each key's first open session, 0 if it has
none. `timers`: one entry for each session that is open, or was merged into another: (its end, or an earlier time, and
the session). `free`: sessions to be used again. `meta`: the counts below.
"""

from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel, void
from tokenring.operators.state import FREE, LIMIT, give_place, pop, push, take_place

START, LAST, KEY, NEXT, ROOT = range(5)
"""Of a session: the first and last row's times, the key's slot, session + 1 of the key's next session, and the session
it was merged into (itself if it is open)."""
SESSION_WORDS = 5
TIMERS, FRESH, MERGED = range(2, 5)
"""Words of `meta` behind those of the free list: entries of `timers`; of `fresh` and `merged` in this call."""
META_WORDS = 5


@kernel
def _absorb(table, heads, session, time, gap, merged, meta):  # type: ignore[no-untyped-def]
    """Make `time` part of a session, and with it all sessions of the key that it now reaches."""
    key = table[session, KEY]
    table[session, START] = min(table[session, START], time)
    table[session, LAST] = max(table[session, LAST], time)
    before, at = -1, heads[key] - 1
    while at >= 0:
        following = table[at, NEXT] - 1
        reached = table[at, START] - table[session, LAST] < gap and table[session, START] - table[at, LAST] < gap
        if at != session and reached:
            table[session, START] = min(table[session, START], table[at, START])
            table[session, LAST] = max(table[session, LAST], table[at, LAST])
            table[at, ROOT] = session
            merged[meta[MERGED]] = at
            meta[MERGED] += 1
            if before < 0:
                heads[key] = following + 1
            else:
                table[before, NEXT] = following + 1
        else:
            before = at
        at = following


@kernel(int64(TABLE, WORDS, WORDS, TABLE, WORDS, COLUMN, COLUMN, int64, int64, WORDS, WORDS, WORDS))
def extend(table, heads, free, timers, meta, times, keys, gap, start, sessions, fresh, merged):  # type: ignore[no-untyped-def]
    """Put rows from `start` on into sessions, new ones where there is none; fresh, merged: those that were made, and
    those that became part of another. Returns the row at which there was no room, len(times) if all are done."""
    for i in range(start, len(times)):
        time, key = times[i], keys[i]
        at = heads[key] - 1
        while at >= 0 and not (time - table[at, LAST] < gap and table[at, START] - time < gap):
            at = table[at, NEXT] - 1
        if at >= 0:
            if time < table[at, START] or time > table[at, LAST]:
                _absorb(table, heads, at, time, gap, merged, meta)
        else:
            if meta[FREE] == 0 and meta[LIMIT] == table.shape[0]:
                return i
            at = take_place(free, meta)
            table[at, START], table[at, LAST], table[at, KEY], table[at, ROOT] = time, time, key, at
            table[at, NEXT] = heads[key]
            heads[key] = at + 1
            push(timers, meta[TIMERS], time + gap, at)
            meta[TIMERS] += 1
            fresh[meta[FRESH]] = at
            meta[FRESH] += 1
        sessions[i] = at
    return len(times)


@kernel(void(TABLE, WORDS))
def resolve(table, sessions):  # type: ignore[no-untyped-def]
    """Replace sessions by those that they have become part of."""
    for i in range(len(sessions)):
        while table[sessions[i], ROOT] != sessions[i]:
            sessions[i] = table[sessions[i], ROOT]


@kernel
def _unlink(table, heads, session):  # type: ignore[no-untyped-def]
    key = table[session, KEY]
    if heads[key] == session + 1:
        heads[key] = table[session, NEXT]
        return
    at = heads[key] - 1
    while table[at, NEXT] != session + 1:
        at = table[at, NEXT] - 1
    table[at, NEXT] = table[session, NEXT]


@kernel(int64(TABLE, WORDS, WORDS, TABLE, WORDS, int64, int64, WORDS))
def end_sessions(table, heads, free, timers, meta, gap, upto, ended):  # type: ignore[no-untyped-def]
    """Take out the sessions that end by `upto`, in the order of their ends; what their rows of `table` say stays until
    they are used again. Returns how many. The first timer, if any is left, is then an open session's end."""
    found = 0
    while meta[TIMERS] > 0:
        time, session = timers[0, 0], timers[0, 1]
        end = table[session, LAST] + gap
        is_open = table[session, ROOT] == session
        if is_open and time == end and end > upto:
            break
        pop(timers, meta[TIMERS])
        meta[TIMERS] -= 1
        if is_open and end > time:  # it went on
            push(timers, meta[TIMERS], end, session)
            meta[TIMERS] += 1
            continue
        if is_open:
            _unlink(table, heads, session)
            ended[found] = session
            found += 1
        give_place(free, meta, session)
    return found
