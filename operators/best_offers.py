"""best_offers: for each interval of a stream, the highest offer made within it, emitted when the interval has closed.

Intervals (key, start, end, threshold, payload) and offers (key, time, value) meet by key, in any order. An offer counts
if start <= time < end and value >= threshold. An interval closes once the frontiers of both inputs have reached its
end; if it had an offer, (payload, highest value) is sent at the end's time. One token is held, at the least end of the
open intervals. Keys are unique among intervals. This is what NEXMark's Q4 asks of auctions and bids (the paper's 7.4,
Megaphone's meaning).
"""

from collections.abc import Callable

import numpy as np

from engine import Batch, Exchange, InputPort, Notify, OperatorContext, OutputPort, Schema, Stream, Token
from operators.intervals import (
    DUPLICATE,
    OPEN,
    PENDING,
    Intervals,
    close_intervals,
    make_offers,
    open_intervals,
    settle_pending,
)

_CLOSED_AT_ONCE = 4096


def best_offers(
    intervals: Stream,
    offers: Stream,
    *,
    key: str,
    start: str,
    end: str,
    threshold: str,
    payload: str,
    offer_key: str,
    offer_time: str,
    offer_value: str,
    name: str = "best_offers",
) -> Stream:
    """The highest counting offer of each interval that had one, as (payload, offer_value) int64 rows at the interval's
    end.

    The columns of `intervals` are named by key, start, end (times), threshold and payload; those of `offers` by
    offer_key, offer_time, offer_value; all int64. Both streams are exchanged by key, and nothing but these columns
    crosses. Memory: open intervals, and offers whose interval may still come. Raises ValueError (as OperatorError) for
    a key that is opened twice.
    """
    builder = intervals.scope.operator(name, Notify.ALWAYS)
    crossing = tuple(dict.fromkeys((key, start, end, threshold, payload)))
    builder.input(intervals, Exchange(key, crossing))
    builder.input(offers, Exchange(offer_key, (offer_key, offer_time, offer_value)))
    schema = Schema(f"{payload} {offer_value}")
    output = builder.output(schema)

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, InputPort, OutputPort], None]:
        token.drop()
        state = Intervals()
        meta = state.meta
        counts = meta.data
        positions = [crossing.index(column) for column in (key, start, end, threshold, payload)]
        held: Token | None = None
        settled = 0

        def logic(opening: InputPort, offering: InputPort, output: OutputPort) -> None:
            nonlocal held, settled
            for reference, batch in opening:
                state.reserve(batch.rows)
                columns = batch.columns
                if not open_intervals(state.table, state.heap, meta, *[columns[position] for position in positions]):
                    raise ValueError(
                        f"interval key {int(meta[DUPLICATE])} ({key}) was opened twice; keys must be unique"
                    )
                if counts[OPEN] and (held is None or state.least_end < held.time):
                    earlier = reference.retain()
                    earlier.downgrade(state.least_end)
                    if held is not None:
                        held.drop()
                    held = earlier
            for _, batch in offering:
                if counts[PENDING] + batch.rows >= state.pending_room:
                    state.reserve_pending(batch.rows)
                make_offers(state.table, state.pending, meta, *batch.columns)
            frontier = opening.frontier
            if frontier != settled and counts[PENDING]:
                settled = frontier
                settle_pending(state.table, state.pending, meta, frontier)
            if held is None:
                return
            frontier = min(frontier, offering.frontier)
            if held.time > frontier:
                return
            rows = _CLOSED_AT_ONCE
            while rows == _CLOSED_AT_ONCE:
                room = min(_CLOSED_AT_ONCE, counts[OPEN])
                payloads, values = np.empty(room, np.int64), np.empty(room, np.int64)
                rows = close_intervals(state.table, state.heap, meta, frontier, payloads, values)
                if rows:
                    output.give(held, Batch.wrap(schema, (payloads[:rows], values[:rows]), rows))
            if counts[OPEN]:
                held.downgrade(state.least_end)
            else:
                held.drop()
                held = None

        return logic

    builder.build(construct)
    return output
