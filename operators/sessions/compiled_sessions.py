"""Session windows in the worker's inner loop: what `Sessions` sends, by the same kernels."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COMPLETE, Schema, Time, kernel
from tokenring.engine.compiled import (
    DONE,
    FAILED,
    NEEDS_ROOM,
    address_of,
    column_of,
    entry,
    fail,
    new_message,
    rows_of,
    table_at,
    words_at,
)
from tokenring.operators.folds import (
    BLOCK,
    FOLDS_WORDS,
    Accumulators,
    FoldTables,
    Plan,
    bounds,
    fold_block,
    gather,
    merge_slots,
    start_slot,
    write_results,
)
from tokenring.operators.folds.moving import CompiledFolds
from tokenring.operators.mechanisms import MADE, MESSAGE, UPTO, CompiledLogic, driven, give, own_words
from tokenring.operators.migrate import Table, offer
from tokenring.operators.sessions.moving_sessions import MovingSessions
from tokenring.operators.sessions.session_kernels import (
    FRESH,
    KEY,
    LAST,
    MERGED,
    META_WORDS,
    SESSION_WORDS,
    START,
    TIMERS,
    end_sessions,
    extend,
    resolve,
)
from tokenring.operators.sessions.sessions import too_late
from tokenring.operators.state import (
    FREE,
    LIMIT,
    NUMBERS_WORDS,
    PLACES,
    SOURCE_WORDS,
    Keys,
    KeyWords,
    forget_slots,
    grown,
    key_column,
    link_numbers,
    number_by,
    shared_scratch,
    values_of,
    with_key_words,
)
from tokenring.operators.state.moving import KeySlots, MovingKeyWords
from tokenring.operators.time import Session, named, whole

# Words of its own: where keys and folds are. TABLE to META: as `extend` takes them, CAPACITY sessions. LISTS: room for
# three words a session. BY: the columns of the key among the COLUMNS that arrive; SENT: how many of them are sent.
# KEY_WORDS: where the key's KeyWords are. ROW: the row to go on with after there was no room.
_KEYS = 0
_FOLDED = NUMBERS_WORDS
_TABLE, _HEADS, _FREE_LIST, _TIMERS, _META, _CAPACITY, _LISTS, _BY, _BY_COUNT, _SOURCES, _SENT, _SCRATCH, _TIME, _GAP, \
    _LATENESS, _CLOSED, _ROW, _WITH_START, _WITH_END, _KEY_WORDS, _COLUMNS \
    = range(_FOLDED + FOLDS_WORDS, _FOLDED + FOLDS_WORDS + 21)  # fmt: skip
_OWN_WORDS = _COLUMNS + 1
_WANTED, _SLOTS, _FRESH, _FRESH_ROWS, _SESSIONS, _CHOSEN, _PICKED = range(7)
_SCRATCH_ROWS = 7
_TOO_LATE, _OVERFLOW = -1, -2


@kernel
def _tables(own):  # type: ignore[no-untyped-def]
    """What the kernels of sessions take first: table, heads, free, timers and meta."""
    capacity = own[_CAPACITY]
    return (
        table_at(own[_TABLE], capacity, SESSION_WORDS), words_at(own[_HEADS], own[_KEYS + PLACES]),
        words_at(own[_FREE_LIST], capacity), table_at(own[_TIMERS], capacity, 2), words_at(own[_META], META_WORDS),
    )  # fmt: skip


@kernel
def _merge(own, table, merged, roots, words):  # type: ignore[no-untyped-def]
    """Fold the state of sessions into those that they have become part of. Returns the fold whose sum left its range;
    -1 if none did."""
    roots[:] = merged
    resolve(table, roots)
    return merge_slots(own, _FOLDED, _FOLDED, merged, roots, words)


@entry
def _take(world, me):  # type: ignore[no-untyped-def]
    """Put a message's rows into sessions, by blocks, as far as there is room."""
    state, own = driven(world, me), own_words(world, me, _OWN_WORDS)
    message = state[MESSAGE]
    rows, at, times = rows_of(message), own[_ROW], column_of(message, own[_TIME])
    first = COMPLETE - own[_GAP] - own[_LATENESS]
    if rows > 0:
        first, _ = bounds(times)
    if at == 0 and first + own[_LATENESS] < own[_CLOSED]:
        fail(world, me, _TOO_LATE, first, own[_CLOSED], 0)
        return FAILED
    keyed = with_key_words(world, own[_KEY_WORDS], message, own[_COLUMNS], words_at(own[_BY], own[_BY_COUNT]))
    if keyed == 0:
        return NEEDS_ROOM
    scratch = table_at(own[_SCRATCH], _SCRATCH_ROWS, BLOCK)
    table, heads, free, timers, meta = _tables(own)
    lists = table_at(own[_LISTS], 3, own[_CAPACITY])
    slots, sessions, fresh = scratch[_SLOTS], scratch[_SESSIONS], scratch[_FRESH]
    while at < rows:
        some = min(BLOCK, rows - at)
        some_have_keys, _ = number_by(
            own, _KEYS, _BY, keyed, at, some, scratch[_WANTED], slots, fresh, scratch[_FRESH_ROWS]
        )
        meta[FRESH] = meta[MERGED] = 0
        done = extend(
            table, heads, free, timers, meta, times[at : at + some_have_keys], slots[:some_have_keys], own[_GAP], 0,
            sessions, fresh, lists[0],
        )  # fmt: skip
        for i in range(meta[FRESH]):
            start_slot(own, _FOLDED, fresh[i])
        merged = meta[MERGED]
        if merged > 0:
            resolve(table, sessions[:done])
        wrong = fold_block(own, _FOLDED, message, at, sessions[:done], scratch[_CHOSEN], scratch[_PICKED])
        if wrong < 0 and merged > 0:
            wrong = _merge(own, table, lists[0][:merged], lists[1][:merged], lists[2])
        if wrong >= 0:
            fail(world, me, _OVERFLOW, wrong, 0, 0)
            return FAILED
        at += done
        if done < some:
            own[_ROW] = at
            return NEEDS_ROOM
    own[_ROW] = 0
    state[MADE] = first + own[_GAP] + own[_LATENESS]
    return DONE


@kernel
def _forget_keys(own, heads, keys, gone):  # type: ignore[no-untyped-def]
    """Forget those of the keys that have no session any more."""
    found = 0
    for key in keys:
        if heads[key] == 0:
            heads[key] = -1  # until all have been seen
            gone[found] = key
            found += 1
    forget_slots(own, _KEYS, gone[:found])
    for i in range(found):
        heads[gone[i]] = 0


@entry
def _emit(world, me):  # type: ignore[no-untyped-def]
    """Send the sessions that have ended, all in one message at the first one's end."""
    state, own = driven(world, me), own_words(world, me, _OWN_WORDS)
    own[_CLOSED] = max(own[_CLOSED], state[UPTO])
    table, heads, free, timers, meta = _tables(own)
    lists = table_at(own[_LISTS], 3, own[_CAPACITY])
    found = end_sessions(table, heads, free, timers, meta, own[_GAP], state[UPTO] - own[_LATENESS], lists[0])
    if found > 0:
        ended, keys = lists[0][:found], lists[1][:found]
        for i in range(found):
            keys[i] = table[ended[i], KEY]
        message = new_message(world, me, 0, found)
        position = 0
        if own[_WITH_START]:
            starts = column_of(message, position)
            for i in range(found):
                starts[i] = table[ended[i], START]
            position += 1
        if own[_WITH_END]:
            ends = column_of(message, position)
            for i in range(found):
                ends[i] = table[ended[i], LAST] + own[_GAP]
            position += 1
        for column in range(own[_SENT]):
            values = column_of(message, position)
            gather(key_column(own, _KEYS, column), keys, values)
            values_of(own[_KEY_WORDS], column, values)
            position += 1
        write_results(own, _FOLDED, ended, message, position)
        give(world, me, table[ended[0], LAST] + own[_GAP] + own[_LATENESS], message)
        _forget_keys(own, heads, keys, lists[2])
    state[MADE] = timers[0, 0] + own[_LATENESS] if meta[TIMERS] > 0 else COMPLETE
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
        self._state = Accumulators(plan)
        self._folds = FoldTables(plan, self._state)
        self._table, self._timers = np.zeros((64, SESSION_WORDS), np.int64), np.zeros((64, 2), np.int64)
        self._free, self._heads, self._meta = np.zeros(64, np.int64), np.zeros(64, np.int64), np.zeros(5, np.int64)
        self._by = np.array([plan.schema.position(name) for name in by], np.int64)
        self._sources = np.zeros((len(by), SOURCE_WORDS), np.int64)
        self._scratch = shared_scratch(__name__, _SCRATCH_ROWS, BLOCK)
        self.words = words = np.zeros(_OWN_WORDS, np.int64)
        words[_BY], words[_BY_COUNT], words[_SOURCES] = address_of(self._by), len(by), address_of(self._sources)
        words[_SENT], words[_SCRATCH], words[_META] = len(plan.by), address_of(self._scratch), address_of(self._meta)
        words[_TIME], words[_GAP] = plan.schema.position(window.time), whole(window.gap)
        words[_LATENESS], words[_KEY_WORDS], words[_COLUMNS] = lateness, self._key_words.address, len(plan.schema)
        words[_WITH_START], words[_WITH_END] = named(window)
        self._link()

        kept = CompiledFolds(self._state, self._folds, words, _FOLDED, self._link)
        offer(MovingSessions(moves, self, kept, int(words[_GAP]), lateness))

    @property
    def closed(self) -> Time:
        """See OpenSessions."""
        return int(self.words[_CLOSED])

    @closed.setter
    def closed(self, time: Time) -> None:
        self.words[_CLOSED] = time

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """See OpenSessions."""
        return self._table, self._heads, self._free, self._timers, self._meta

    def reserve(self, sessions: int) -> int:
        """See OpenSessions."""
        self._heads = grown(self._heads, self._keys.capacity)
        room = int(self._meta[FREE]) + len(self._free) - int(self._meta[LIMIT])
        if room < sessions:
            self._lengthen(max(2 * len(self._free), len(self._free) + sessions - room))
        self._link()
        return len(self._free)

    def _link(self) -> None:
        words = self.words
        link_numbers(words, _KEYS, self._keys)
        self._folds.link(words, _FOLDED)
        self._lists = np.empty((3, len(self._free)), np.int64)  # used within a call
        words[_TABLE], words[_HEADS] = address_of(self._table), address_of(self._heads)
        words[_FREE_LIST], words[_TIMERS] = address_of(self._free), address_of(self._timers)
        words[_CAPACITY], words[_LISTS] = len(self._free), address_of(self._lists)

    def grow(self) -> None:
        """Make room for another key, and another session."""
        self._key_words.grow(self._keys)
        self._keys.grow()
        self._heads = grown(self._heads, self._keys.capacity)
        if self._meta[FREE] == 0 and self._meta[LIMIT] == len(self._free):
            self._lengthen(2 * len(self._free))
        self._link()

    def _lengthen(self, length: int) -> None:
        """Have room for so many sessions."""
        self._table, self._timers = grown(self._table, length, axis=0), grown(self._timers, length, axis=0)
        self._free = grown(self._free, length, None)
        self._folds.make_room(length)

    def explain(self, error: int, operands: tuple[int, int, int]) -> Exception:
        """What went wrong."""
        if error == _TOO_LATE:
            lateness = int(self.words[_LATENESS])
            return too_late(self._plan, self._window.time, lateness, operands[0], operands[1])
        return self._state.wrong(operands[0])


def compiled_sessions(
    plan: Plan, by: tuple[str, ...], window: Session, lateness: int, moves: Sequence[Table]
) -> CompiledLogic:
    """`Sessions` of a plan for which `can_fold` holds, without sets of different values."""
    held = _Sessions(plan, by, window, lateness, moves)
    return CompiledLogic(
        held.words, _emit, (_take,), owners=(held,), make_room=held.grow, explain=held.explain
    )
