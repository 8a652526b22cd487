"""best_offers in the worker's inner loop: the same kernels over the same tables, as entries that a driver calls."""

from collections.abc import Sequence

from tokenring.engine import COMPLETE, kernel
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
    record_at,
    room,
    rows_of,
    shorten,
    table_at,
    words_at,
)
from tokenring.operators import migrate
from tokenring.operators.mechanisms import CompiledLogic, asks_nothing, driven, give, own_record, times_asked
from tokenring.operators.paper.intervals import (
    INTERVAL_WORDS,
    Intervals,
    OfferCounts,
    close_intervals,
    make_offers,
    open_intervals,
    settle_pending,
)
from tokenring.operators.paper.moving_intervals import MovingIntervals
from tokenring.operators.paper.timing_wheel import DUE_WORDS, ENTRY_WORDS, WHEEL_ROWS, WHEEL_WORDS, WheelCounts

_COUNT_WORDS = OfferCounts.size
_WHEEL_COUNT_WORDS = WheelCounts.size
_CLOSED_AT_ONCE = 4096
_OPENED_TWICE = -1


class Offers(Record):
    """Addresses and sizes of the tables. `wanted`: how many rows there was no room for; `with_key`: whether the key is
    sent; `columns`: of key, start, end, threshold and payload."""

    table: int
    table_rows: int
    entries: int
    entries_room: int
    wheel: int
    due: int
    ends: int
    offers: int
    offers_room: int
    counts: int
    wanted: int
    with_key: int
    columns: Words = room(5)


@kernel
def _table(own: Offers) -> Words:
    return table_at(own.table, own.table_rows, INTERVAL_WORDS)


@kernel
def _entries(own: Offers) -> Words:
    return table_at(own.entries, own.entries_room, ENTRY_WORDS)


@kernel
def _wheel(own: Offers) -> Words:
    return table_at(own.wheel, WHEEL_ROWS, WHEEL_WORDS)


@kernel
def _ends(own: Offers) -> WheelCounts:
    return record_at(own.ends, WheelCounts)


@kernel
def _counts(own: Offers) -> Words:
    return words_at(own.counts, _COUNT_WORDS)


@kernel
def _least(own: Offers) -> int:
    """The least end of the open intervals."""
    return _ends(own).least_time if _ends(own).held > 0 else COMPLETE


@entry
def open_some(world: int, me: int) -> int:
    """Take intervals."""
    state, own = driven(world, me), own_record(world, me, Offers)
    message = state.message
    if _ends(own).held + rows_of(message) > own.entries_room:
        own.wanted = rows_of(message)
        return NEEDS_ROOM
    first = own.columns
    if not open_intervals(
        _table(own), _entries(own), _wheel(own), words_at(own.ends, _WHEEL_COUNT_WORDS), _counts(own),
        column_of(message, first[0]), column_of(message, first[1]), column_of(message, first[2]),
        column_of(message, first[3]), column_of(message, first[4]),
    ):  # fmt: skip
        fail(world, me, _OPENED_TWICE, record_at(own.counts, OfferCounts).duplicate, 0, 0)
        return FAILED
    state.made = _least(own)
    return DONE


@entry
def ask_ends(world: int, me: int) -> int:
    """Ask for the ends of intervals; those that end before they begin never open."""
    state, own = driven(world, me), own_record(world, me, Offers)
    starts, ends = column_of(state.message, own.columns[1]), column_of(state.message, own.columns[2])
    asked, count = times_asked(world, me, len(ends)), 0
    for i in range(len(ends)):
        if ends[i] > starts[i]:
            asked[count] = ends[i]
            count += 1
    state.asked_count = count
    return DONE


@entry
def offer(world: int, me: int) -> int:
    """Take offers."""
    state, own = driven(world, me), own_record(world, me, Offers)
    message = state.message
    if record_at(own.counts, OfferCounts).pending + rows_of(message) >= own.offers_room:
        own.wanted = -rows_of(message)
        return NEEDS_ROOM
    offers = table_at(own.offers, own.offers_room, 3)
    make_offers(_table(own), offers, _counts(own), column_of(message, 0), column_of(message, 1), column_of(message, 2))
    return DONE


@entry
def forget(world: int, me: int) -> int:
    """Forget offers whose interval can no longer come."""
    own = own_record(world, me, Offers)
    if record_at(own.counts, OfferCounts).pending > 0:
        settle_pending(_table(own), table_at(own.offers, own.offers_room, 3), _counts(own), driven(world, me).upto)
    return DONE


@entry
def close(world: int, me: int) -> int:
    """Close intervals; those that close together go in one message."""
    state, own = driven(world, me), own_record(world, me, Offers)
    due = table_at(own.due, own.entries_room, DUE_WORDS)
    time = _least(own)
    none = words_at(own.counts, 0)
    rows = _CLOSED_AT_ONCE
    while rows == _CLOSED_AT_ONCE:
        room = min(_CLOSED_AT_ONCE, _ends(own).held)
        closed = new_message(world, me, 0, room)
        keys, ends = none, none
        if own.with_key != 0:
            keys, ends = column_of(closed, 2), column_of(closed, 3)
        rows = close_intervals(
            _table(own), _entries(own), _wheel(own), due, words_at(own.ends, _WHEEL_COUNT_WORDS), state.upto,
            column_of(closed, 0), column_of(closed, 1), keys, ends,
        )  # fmt: skip
        shorten(closed, rows)
        give(world, me, time, closed)
    state.made = _least(own)
    return DONE


def compiled_offers(key: str, positions: Sequence[int], with_key: bool) -> CompiledLogic:
    """The logic on one worker. positions: of key, start, end, threshold and payload among the columns that arrive."""
    state = Intervals()
    own = Offers()
    own.with_key, own.columns[:] = with_key, positions

    def link() -> None:
        own.table, own.table_rows = address_of(state.table), len(state.table)
        own.entries, own.entries_room = address_of(state.ends.entries), len(state.ends.entries)
        own.wheel, own.due = address_of(state.ends.wheel), address_of(state.ends.due)
        own.ends = state.ends.counts.address
        own.offers, own.offers_room = address_of(state.pending), state.pending_room
        own.counts = state.counts.address

    def make_room() -> None:
        wanted = own.wanted
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
        own.words, close, (open_some, offer), (ask_ends, asks_nothing), forget, owners=(state,),
        make_room=make_room, explain=explain,
    )  # fmt: skip
