"""One worker's part of session windows: open sessions of its keys, merged by rows that come between them."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COMPLETE, MAX_TIME, Schema, Time, TimeRegressionError, kernel
from tokenring.engine.compiled import (
    DONE,
    FAILED,
    NEEDS_ROOM,
    Record,
    Words,
    address_of,
    column_of,
    entry,
    fail,
    new_message,
    record_of,
    records_of,
    rows_of,
    signed,
    table_at,
    words_at,
)
from tokenring.operators.folds import (
    BLOCK,
    NO_ROOM,
    Folds,
    FoldState,
    Plan,
    bounds,
    fold_block,
    forget_state,
    merge_slots,
    start_slot,
    write_results,
)
from tokenring.operators.folds.moving import KeptFolds
from tokenring.operators.mechanisms import CompiledLogic, driven, give, own_record, times_asked
from tokenring.operators.migrate import Table, offer
from tokenring.operators.sessions.moving_sessions import MovingSessions
from tokenring.operators.sessions.session_kernels import SessionCounts, SessionRow, end_sessions, extend, resolve
from tokenring.operators.state import (
    FIRST_SLOTS,
    KeyColumns,
    KeyMap,
    Keys,
    KeyWords,
    forget_slots,
    gather,
    grown,
    key_column,
    link_columns,
    link_numbers,
    number_by,
    shared_scratch,
    values_of,
    with_key_words,
)
from tokenring.operators.state.moving import KeySlots, MovingKeyWords
from tokenring.operators.time import SENT_EARLIER, Session, named, too_early, whole

_WANTED, _SLOTS, _FRESH, _FRESH_ROWS, _SESSIONS, _CHOSEN, _PICKED = range(7)
_SCRATCH_ROWS = 7
_ROW_WORDS, _COUNTS_WORDS = SessionRow.size, SessionCounts.size
_TOO_LATE, _OVERFLOW = -1, -2


def too_late(plan: Plan, column: str, lateness: int, time: Time, closed: Time) -> TimeRegressionError:
    """What a row raises whose session may have been sent already."""
    if time + lateness < 0 or time > MAX_TIME:
        cure = ", allow lateness=... of as much as they lie before"
        return too_early(plan.operator, plan.schema, [column], time, cure)
    return TimeRegressionError(
        f"operator {plan.operator!r}: a row at {time} came when sessions that it may be part of were sent already: the "
        f"frontier was at {closed}. Rows must not lie before their message's time: {SENT_EARLIER}, "
        f"allow lateness=..., or take them with late=True"
    )


class Sessions(Record):
    """`keys`, `folds`: where keys and folds are. `table` to `meta`: as `extend` takes them, `capacity` sessions;
    `merged`: those that have become part of another, whose state still has to. `lists`: room for three words a session.
    `by`: the columns of the key among the `columns` that arrive; `sent`: how many of them are sent. `key_words`: where
    the key's KeyWords are. `row`: the row to go on with after there was no room."""

    keys: KeyMap
    folds: Folds
    table: int
    heads: int
    free: int
    timers: int
    meta: int
    capacity: int
    merged: int
    lists: int
    by: KeyColumns
    sent: int
    scratch: int
    time: int
    gap: int
    lateness: int
    closed: int
    row: int
    with_start: int
    with_end: int
    key_words: int
    columns: int


@kernel
def _tables(own: Sessions) -> tuple[Words, Words, Words, Words, Words]:
    """What the kernels of sessions take first: table, heads, free, timers and meta."""
    capacity = own.capacity
    return (
        table_at(own.table, capacity, _ROW_WORDS), words_at(own.heads, own.keys.places),
        words_at(own.free, capacity), table_at(own.timers, capacity, 2), words_at(own.meta, _COUNTS_WORDS),
    )  # fmt: skip


@kernel
def _merge(own: Sessions, table: Words, merged: Words) -> int:
    """Fold the state of sessions into those that they have become part of. Returns the fold whose sum left its range;
    NO_ROOM, or -1."""
    lists, count = table_at(own.lists, 3, own.capacity), len(merged)
    roots = lists[1][:count]
    roots[:] = merged
    resolve(table, roots)
    wrong = merge_slots(own.folds, own.folds, merged, roots, lists[2])
    if wrong == -1:
        forget_state(own.folds, merged)
    return wrong


@entry
def _ask(world: int, me: int) -> int:
    """Ask for the end that each row's session has without later rows."""
    state, own = driven(world, me), own_record(world, me, Sessions)
    times_asked(world, me, rows_of(state.message))[:] = column_of(state.message, own.time) + own.gap + own.lateness
    return DONE


@entry
def _take(world: int, me: int) -> int:
    """Put a message's rows into sessions, by blocks, as far as there is room."""
    state, own = driven(world, me), own_record(world, me, Sessions)
    message = state.message
    rows, at, times = rows_of(message), own.row, column_of(message, own.time)
    most = COMPLETE - own.gap - own.lateness
    first, last = most, signed(0)
    if rows > 0:
        first, last = bounds(times)
    if at == 0 and (first + own.lateness < own.closed or last > most):
        fail(world, me, _TOO_LATE, last if last > most else first, own.closed, 0)
        return FAILED
    keyed = with_key_words(world, own.key_words, message, own.columns, own.by)
    if keyed == 0:
        return NEEDS_ROOM
    scratch = table_at(own.scratch, _SCRATCH_ROWS, BLOCK)
    table, heads, free, timers, meta = _tables(own)
    counts, merged = record_of(meta, SessionCounts), words_at(own.merged, own.capacity)
    slots, sessions, fresh = scratch[_SLOTS], scratch[_SESSIONS], scratch[_FRESH]
    while at < rows:
        some = min(BLOCK, rows - at)
        some_have_keys, _ = number_by(
            own.keys, own.by, keyed, at, some, scratch[_WANTED], slots,
            fresh, scratch[_FRESH_ROWS],
        )
        counts.fresh = 0
        done = extend(
            table, heads, free, timers, meta, times[at : at + some_have_keys], slots[:some_have_keys], own.gap, 0,
            sessions, fresh, merged,
        )  # fmt: skip
        for i in range(counts.fresh):
            start_slot(own.folds, fresh[i])
        wrong = -1
        if counts.merged > 0:
            resolve(table, sessions[:done])
            wrong = _merge(own, table, merged[: counts.merged])
        if wrong == -1:
            counts.merged = 0
            wrong = fold_block(world, own.folds, message, at, sessions[:done], scratch[_CHOSEN], scratch[_PICKED])
        if wrong == NO_ROOM:  # the same rows then come to the same sessions, and merge no others
            own.row = at
            return NEEDS_ROOM
        if wrong >= 0:
            fail(world, me, _OVERFLOW, wrong, 0, 0)
            return FAILED
        at += done
        if done < some:
            own.row = at
            return NEEDS_ROOM
    own.row = 0
    state.made = first + own.gap + own.lateness
    return DONE


@kernel
def _forget_keys(own: Sessions, heads: Words, keys: Words, gone: Words) -> None:
    """Forget those of the keys that have no session any more."""
    found = 0
    for key in keys:
        if heads[key] == 0:
            heads[key] = -1  # until all have been seen
            gone[found] = key
            found += 1
    forget_slots(own.keys, gone[:found])
    for i in range(found):
        heads[gone[i]] = 0


@entry
def _emit(world: int, me: int) -> int:
    """Send the sessions that have ended, all in one message at the first one's end."""
    state, own = driven(world, me), own_record(world, me, Sessions)
    own.closed = max(own.closed, state.upto)
    table, heads, free, timers, meta = _tables(own)
    lists, opened = table_at(own.lists, 3, own.capacity), records_of(table, SessionRow)
    found = end_sessions(table, heads, free, timers, meta, own.gap, state.upto - own.lateness, lists[0])
    if found > 0:
        ended, keys = lists[0][:found], lists[1][:found]
        for i in range(found):
            keys[i] = opened[ended[i]].key
        message = new_message(world, me, 0, found)
        position = 0
        if own.with_start:
            starts = column_of(message, position)
            for i in range(found):
                starts[i] = opened[ended[i]].start
            position += 1
        if own.with_end:
            ends = column_of(message, position)
            for i in range(found):
                ends[i] = opened[ended[i]].last + own.gap
            position += 1
        for column in range(own.sent):
            values = column_of(message, position)
            gather(key_column(own.keys, column), keys, values)
            values_of(own.key_words, column, values)
            position += 1
        wrong = write_results(own.folds, ended, message, position)
        if wrong >= 0:
            fail(world, me, _OVERFLOW, wrong, 1, 0)
            return FAILED
        forget_state(own.folds, ended)
        give(world, me, opened[ended[0]].last + own.gap + own.lateness, message)
        _forget_keys(own, heads, keys, lists[2])
    state.made = timers[0, 0] + own.lateness if record_of(meta, SessionCounts).timers > 0 else COMPLETE
    return DONE


class _Sessions:
    """One worker's keys, open sessions and their state."""

    def __init__(
        self, plan: Plan, by: tuple[str, ...], window: Session, lateness: int, moves: Sequence[Table]
    ) -> None:
        self._plan, self._window = plan, window
        self._key_words = KeyWords(plan.schema, by)
        self._keys = Keys(Schema.of(self._key_words.spec), by)
        self.keys: KeySlots = MovingKeyWords(plan.schema.select(by), self._keys, self._key_words, by)
        """See OpenSessions."""
        self._state = FoldState(plan, merges=True)
        self._table = np.zeros((FIRST_SLOTS, SessionRow.size), np.int64)
        self._timers = np.zeros((FIRST_SLOTS, 2), np.int64)
        self._free, self._heads, self._merged = (np.zeros(FIRST_SLOTS, np.int64) for _ in range(3))
        self._meta = np.zeros(SessionCounts.size, np.int64)
        self._scratch = shared_scratch(__name__, _SCRATCH_ROWS, BLOCK)
        self._counts = SessionCounts(self._meta)
        self.own = own = Sessions()
        self._by = link_columns(own.by, [plan.schema.position(name) for name in by])
        own.sent, own.scratch, own.meta = len(plan.by), address_of(self._scratch), address_of(self._meta)
        own.time, own.gap = plan.schema.position(window.time), whole(window.gap)
        own.lateness, own.key_words, own.columns = lateness, self._key_words.address, len(plan.schema)
        own.with_start, own.with_end = named(window)
        self._link()
        kept = KeptFolds(self._state, own.folds, self._link)
        offer(MovingSessions(moves, self, kept, own.gap, lateness))

    @property
    def closed(self) -> Time:
        """See OpenSessions."""
        return self.own.closed

    @closed.setter
    def closed(self, time: Time) -> None:
        self.own.closed = time

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """See OpenSessions."""
        return self._table, self._heads, self._free, self._timers, self._meta

    def reserve(self, sessions: int) -> int:
        """See OpenSessions."""
        self._heads = grown(self._heads, self._keys.capacity)
        room = self._counts.free + len(self._free) - self._counts.limit
        if room < sessions:
            self._lengthen(max(2 * len(self._free), len(self._free) + sessions - room))
        self._link()
        return len(self._free)

    def _link(self) -> None:
        own = self.own
        link_numbers(own.keys, self._keys)
        self._state.link(own.folds)
        self._lists = np.empty((3, len(self._free)), np.int64)  # used within a call
        own.table, own.heads = address_of(self._table), address_of(self._heads)
        own.free, own.timers = address_of(self._free), address_of(self._timers)
        own.capacity, own.lists = len(self._free), address_of(self._lists)
        own.merged = address_of(self._merged)

    def grow(self) -> None:
        """Make room for another key, and another session."""
        self._key_words.grow(self._keys)
        self._keys.grow()
        self._heads = grown(self._heads, self._keys.capacity)
        if self._counts.free == 0 and self._counts.limit == len(self._free):
            self._lengthen(2 * len(self._free))
        self._state.make_room(len(self._free))
        self._link()

    def _lengthen(self, length: int) -> None:
        """Have room for so many sessions."""
        self._table, self._timers = grown(self._table, length, axis=0), grown(self._timers, length, axis=0)
        self._free, self._merged = grown(self._free, length, None), grown(self._merged, length, None)
        self._state.reserve(length)

    def explain(self, error: int, operands: tuple[int, int, int]) -> Exception:
        """What went wrong."""
        if error == _TOO_LATE:
            lateness = self.own.lateness
            return too_late(self._plan, self._window.time, lateness, operands[0], operands[1])
        return self._state.wrong(operands[0], operands[1])


def compiled_sessions(
    plan: Plan, by: tuple[str, ...], window: Session, lateness: int, moves: Sequence[Table]
) -> CompiledLogic:
    """Output is pending at the ends of open sessions, plus the lateness that is allowed. by: the columns of the key
    among those that arrive; the plan's are among the results. moves: the tables of `session_tables`."""
    held = _Sessions(plan, by, window, lateness, moves)
    return CompiledLogic(
        held.own.words, _emit, (_take,), (_ask,), owners=(held,), make_room=held.grow, explain=held.explain
    )
