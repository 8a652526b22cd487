"""best_offers: for each interval of a stream, the highest offer made within it, emitted when the interval has closed.

Intervals (key, start, end, threshold, payload) and offers (key, time, value) meet by key, in any order. An offer counts
if start <= time < end and value >= threshold. An interval closes once the frontiers of both inputs have reached its
end; if it had an offer, (payload, highest value) is sent at the end's time. One token is held, at the least end of the
open intervals. Keys are unique among intervals. This is what NEXMark's Q4 asks of auctions and bids (the paper's 7.4,
Megaphone's meaning).
"""

from collections.abc import Sequence

from tokenring.engine import COMPLETE, AnyStream, Exchange, Notify, Schema, SchemaError, kernel
from tokenring.engine.arguments import require_flags
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
from tokenring.operators.mechanisms import (
    CompiledLogic,
    asks_nothing,
    driven,
    give,
    mechanism_of,
    own_record,
    times_asked,
)
from tokenring.operators.paper.intervals import (
    INTERVAL_WORDS,
    Intervals,
    OfferCounts,
    close_intervals,
    make_offers,
    open_intervals,
    settle_pending,
)
from tokenring.operators.paper.moving_intervals import OPEN, WAITING, MovingIntervals
from tokenring.operators.paper.timing_wheel import DUE_WORDS, ENTRY_WORDS, WHEEL_ROWS, WHEEL_WORDS, WheelCounts
from tokenring.operators.rows import require_int64
from tokenring.operators.state import require_rows

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


def best_offers(
    intervals: AnyStream,
    offers: AnyStream,
    *,
    key: str,
    start: str,
    end: str,
    threshold: str,
    payload: str,
    offer_key: str,
    offer_time: str,
    offer_value: str,
    with_key: bool = False,
    name: str = "best_offers",
) -> AnyStream:
    """The highest counting offer of each interval that had one, as (payload, offer_value) int64 rows at the interval's
    end; with_key: as (payload, offer_value, key, end).

    The columns of `intervals` are named by key, start, end (times), threshold and payload; those of `offers` by
    offer_key, offer_time, offer_value; all int64. Both streams are exchanged by key, and nothing but these columns
    crosses. Memory: open intervals, and offers whose interval may still come. Raises ValueError (as OperatorError) for
    a key that is opened twice, SchemaError where two columns of the result, or of the offers, would be one, and for
    columns that are not int64, or may be null.
    """
    require_flags(f"operator {name!r}", with_key=with_key)
    require_rows(name, intervals, offers)
    result = (payload, offer_value, *((key, end) if with_key else ()))
    offered = (offer_key, offer_time, offer_value)
    for names, what in ((result, "its result"), (offered, "offers")):
        if len(set(names)) < len(names):
            raise SchemaError(f"operator {name!r}: the columns of {what}, {', '.join(names)}, need names that differ")
    crossing = tuple(dict.fromkeys((key, start, end, threshold, payload)))
    require_int64(name, intervals.schema, *crossing)
    require_int64(name, offers.schema, *offered)
    edges = [
        (intervals, Exchange(key, crossing)),
        (offers, Exchange(offer_key, offered)),
    ]
    schema = Schema.of(dict.fromkeys(result, "int64"))
    positions = [crossing.index(column) for column in (key, start, end, threshold, payload)]
    way = mechanism_of(intervals.scope)
    return way.timed(
        name, edges, schema, None, Notify.ALWAYS,
        lambda: compiled_offers(key, positions, with_key), moves=(OPEN, WAITING),
    )  # fmt: skip
