"""best_offers in the worker's inner loop: the same kernels over the same tables, as entries that a driver calls."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COMPLETE, kernel
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
    shorten,
    table_at,
    words_at,
)
from tokenring.operators import migrate
from tokenring.operators.mechanisms import MADE, MESSAGE, UPTO, CompiledLogic, driven, give, own_words
from tokenring.operators.paper.intervals import (
    DUPLICATE,
    PENDING,
    Intervals,
    close_intervals,
    make_offers,
    open_intervals,
    settle_pending,
)
from tokenring.operators.paper.moving_intervals import MovingIntervals
from tokenring.operators.paper.timing_wheel import (
    DUE_WORDS,
    ENTRY_WORDS,
    HELD,
    LEAST_TIME,
    META_WORDS,
    WHEEL_ROWS,
    WHEEL_WORDS,
)

# Words of its own: addresses and sizes of the tables; how many rows there was no room for; whether the key is sent;
# the columns of key, start, end, threshold and payload.
TABLE_AT, TABLE_ROWS, ENTRIES_AT, ENTRIES_ROOM, WHEEL_AT, DUE_AT, ENDS_AT, OFFERS_AT, OFFERS_ROOM, META_AT, WANTED, \
    WITH_KEY, KEY_COLUMN = range(13)  # fmt: skip
OWN_WORDS = KEY_COLUMN + 5
_META_WORDS = 4
_CLOSED_AT_ONCE = 4096
_OPENED_TWICE = -1


@kernel
def _table(own):  # type: ignore[no-untyped-def]
    return table_at(own[TABLE_AT], own[TABLE_ROWS], 8)


@kernel
def _entries(own):  # type: ignore[no-untyped-def]
    return table_at(own[ENTRIES_AT], own[ENTRIES_ROOM], ENTRY_WORDS)


@kernel
def _wheel(own):  # type: ignore[no-untyped-def]
    return table_at(own[WHEEL_AT], WHEEL_ROWS, WHEEL_WORDS)


@kernel
def _ends(own):  # type: ignore[no-untyped-def]
    return words_at(own[ENDS_AT], META_WORDS)


@kernel
def _least(own):  # type: ignore[no-untyped-def]
    """The least end of the open intervals."""
    return _ends(own)[LEAST_TIME] if _ends(own)[HELD] > 0 else COMPLETE


@entry
def open_some(world, me):  # type: ignore[no-untyped-def]
    """Take intervals."""
    state, own = driven(world, me), own_words(world, me, OWN_WORDS)
    message, meta = state[MESSAGE], words_at(own[META_AT], _META_WORDS)
    if _ends(own)[HELD] + rows_of(message) > own[ENTRIES_ROOM]:
        own[WANTED] = rows_of(message)
        return NEEDS_ROOM
    first = own[KEY_COLUMN : KEY_COLUMN + 5]
    if not open_intervals(
        _table(own), _entries(own), _wheel(own), _ends(own), meta, column_of(message, first[0]),
        column_of(message, first[1]), column_of(message, first[2]), column_of(message, first[3]),
        column_of(message, first[4]),
    ):  # fmt: skip
        fail(world, me, _OPENED_TWICE, meta[DUPLICATE], 0, 0)
        return FAILED
    state[MADE] = _least(own)
    return DONE


@entry
def offer(world, me):  # type: ignore[no-untyped-def]
    """Take offers."""
    state, own = driven(world, me), own_words(world, me, OWN_WORDS)
    message, meta = state[MESSAGE], words_at(own[META_AT], _META_WORDS)
    if meta[PENDING] + rows_of(message) >= own[OFFERS_ROOM]:
        own[WANTED] = -rows_of(message)
        return NEEDS_ROOM
    offers = table_at(own[OFFERS_AT], own[OFFERS_ROOM], 3)
    make_offers(_table(own), offers, meta, column_of(message, 0), column_of(message, 1), column_of(message, 2))
    return DONE


@entry
def forget(world, me):  # type: ignore[no-untyped-def]
    """Forget offers whose interval can no longer come."""
    own = own_words(world, me, OWN_WORDS)
    meta = words_at(own[META_AT], _META_WORDS)
    if meta[PENDING] > 0:
        settle_pending(_table(own), table_at(own[OFFERS_AT], own[OFFERS_ROOM], 3), meta, driven(world, me)[UPTO])
    return DONE


@entry
def close(world, me):  # type: ignore[no-untyped-def]
    """Close intervals; those that close together go in one message."""
    state, own = driven(world, me), own_words(world, me, OWN_WORDS)
    due = table_at(own[DUE_AT], own[ENTRIES_ROOM], DUE_WORDS)
    time = _least(own)
    none = words_at(own[META_AT], 0)
    rows = _CLOSED_AT_ONCE
    while rows == _CLOSED_AT_ONCE:
        room = min(_CLOSED_AT_ONCE, _ends(own)[HELD])
        closed = new_message(world, me, 0, room)
        keys, ends = none, none
        if own[WITH_KEY]:
            keys, ends = column_of(closed, 2), column_of(closed, 3)
        rows = close_intervals(
            _table(own), _entries(own), _wheel(own), due, _ends(own), state[UPTO], column_of(closed, 0),
            column_of(closed, 1), keys, ends,
        )  # fmt: skip
        shorten(closed, rows)
        give(world, me, time, closed)
    state[MADE] = _least(own)
    return DONE


def compiled_offers(key: str, positions: Sequence[int], with_key: bool) -> CompiledLogic:
    """The logic on one worker. positions: of key, start, end, threshold and payload among the columns that arrive."""
    state = Intervals()
    words = np.zeros(OWN_WORDS, np.int64)
    words[WITH_KEY], words[KEY_COLUMN:] = with_key, positions

    def link() -> None:
        words[TABLE_AT], words[TABLE_ROWS] = address_of(state.table), len(state.table)
        words[ENTRIES_AT], words[ENTRIES_ROOM] = address_of(state.ends.entries), len(state.ends.entries)
        words[WHEEL_AT], words[DUE_AT] = address_of(state.ends.wheel), address_of(state.ends.due)
        words[ENDS_AT] = address_of(state.ends.meta)
        words[OFFERS_AT], words[OFFERS_ROOM] = address_of(state.pending), state.pending_room
        words[META_AT] = address_of(state.meta)

    def make_room() -> None:
        wanted = int(words[WANTED])
        if wanted > 0:
            state.reserve(wanted)
        else:
            state.reserve_pending(-wanted)
        link()

    def explain(error: int, operands: tuple[int, int, int]) -> Exception:
        return ValueError(f"interval key {operands[0]} ({key}) was opened twice; keys must be unique")

    link()
    migrate.offer(MovingIntervals(state, link))
    return CompiledLogic(
        words, close, (open_some, offer), forget, owners=(state,), make_room=make_room, explain=explain
    )
