"""best_offers: for each interval of a stream, the highest offer made within it, emitted when the interval has closed.

Intervals (key, start, end, threshold, payload) and offers (key, time, value) meet by key, in any order. An offer counts
if start <= time < end and value >= threshold. An interval closes once the frontiers of both inputs have reached its
end; if it had an offer, (payload, highest value) is sent at the end's time. One token is held, at the least end of the
open intervals. Keys are unique among intervals. This is what NEXMark's Q4 asks of auctions and bids (the paper's 7.4,
Megaphone's meaning).
"""

import numpy as np

from tokenring.engine import COMPLETE, AnyStream, Batch, Exchange, Notify, Schema, SchemaError, Time
from tokenring.operators.mechanisms import Give, distinct, mechanism_of
from tokenring.operators.migrate import offer
from tokenring.operators.paper.compiled_offers import compiled_offers
from tokenring.operators.paper.intervals import Intervals, close_intervals, make_offers, open_intervals, settle_pending
from tokenring.operators.paper.moving_intervals import OPEN, WAITING, MovingIntervals
from tokenring.operators.state import require_rows

_CLOSED_AT_ONCE = 4096
_NONE = np.empty(0, np.int64)


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
    a key that is opened twice, SchemaError where two columns of the result, or of the offers, would be one.
    """
    require_rows(name, intervals, offers)
    result = (payload, offer_value, *((key, end) if with_key else ()))
    offered = (offer_key, offer_time, offer_value)
    for names, what in ((result, "its result"), (offered, "offers")):
        if len(set(names)) < len(names):
            raise SchemaError(f"operator {name!r}: the columns of {what}, {', '.join(names)}, need names that differ")
    crossing = tuple(dict.fromkeys((key, start, end, threshold, payload)))
    edges = [
        (intervals, Exchange(key, crossing)),
        (offers, Exchange(offer_key, offered)),
    ]
    schema = Schema.of(dict.fromkeys(result, "int64"))
    positions = [crossing.index(column) for column in (key, start, end, threshold, payload)]
    way = mechanism_of(intervals.scope)
    return way.timed(
        name, edges, schema, lambda: _BestOffers(schema, key, positions), Notify.ALWAYS,
        lambda: compiled_offers(key, positions, with_key), moves=(OPEN, WAITING),
    )  # fmt: skip


class _BestOffers:
    """One worker's part. Output is pending at the ends of open intervals."""

    __slots__ = ("_counts", "_key", "_meta", "_positions", "_schema", "_state", "_with_key", "takes")

    late = 0

    def __init__(self, schema: Schema, key: str, positions: list[int]) -> None:
        self._schema = schema
        self._with_key = len(schema) > 2
        self._key = key
        self._positions = positions  # of key, start, end, threshold and payload among the columns that arrive
        self._state = Intervals()
        self._counts = self._state.counts
        self.takes = (self._open, self._offer)
        offer(MovingIntervals(self._state))

    def _open(self, batch: Batch) -> Time:
        state, counts = self._state, self._counts
        state.reserve(batch.rows)
        columns, ends = batch.columns, state.ends
        opened = [columns[position] for position in self._positions]
        if not open_intervals(state.table, ends.entries, ends.wheel, ends.counts.words, counts.words, *opened):
            raise ValueError(f"interval key {counts.duplicate} ({self._key}) was opened twice; keys must be unique")
        return state.least_end if state.open else COMPLETE

    def _offer(self, batch: Batch) -> Time:
        state = self._state
        if self._counts.pending + batch.rows >= state.pending_room:
            state.reserve_pending(batch.rows)
        make_offers(state.table, state.pending, self._counts.words, *batch.columns)
        return COMPLETE  # what is pending, the intervals have said

    def advance(self, frontier: Time) -> None:
        """Offers that waited for an interval which can no longer come are forgotten."""
        if self._counts.pending:
            state = self._state
            settle_pending(state.table, state.pending, self._counts.words, frontier)

    def least(self) -> Time:
        """The least end of the open intervals."""
        return self._state.least_end if self._state.open else COMPLETE

    def emit(self, upto: Time, give: Give) -> Time:
        """Close intervals; those that close together go in one message."""
        state, ends = self._state, self._state.ends
        time = state.least_end
        rows = _CLOSED_AT_ONCE
        while rows == _CLOSED_AT_ONCE:
            room = min(_CLOSED_AT_ONCE, state.open)
            payloads, values = np.empty(room, np.int64), np.empty(room, np.int64)
            keys, stops = (np.empty(room, np.int64), np.empty(room, np.int64)) if self._with_key else (_NONE, _NONE)
            rows = close_intervals(
                state.table, ends.entries, ends.wheel, ends.due, ends.counts.words, upto, payloads, values, keys, stops
            )
            if rows:
                columns = (payloads[:rows], values[:rows], keys[:rows], stops[:rows])
                give(time, Batch.wrap(self._schema, columns if self._with_key else columns[:2], rows))
        return state.least_end if state.open else COMPLETE

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The ends of the intervals."""
        if port == 1:
            return []
        starts, ends = (batch.columns[position] for position in self._positions[1:3])
        return distinct(ends[ends > starts])  # others never open
