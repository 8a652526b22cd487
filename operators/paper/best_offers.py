"""best_offers: for each interval of a stream, the highest offer made within it, emitted when the interval has closed.

Intervals (key, start, end, threshold, payload) and offers (key, time, value) meet by key, in any order. An offer counts
if start <= time < end and value >= threshold. An interval closes once the frontiers of both inputs have reached its
end; if it had an offer, (payload, highest value) is sent at the end's time. One token is held, at the least end of the
open intervals. Keys are unique among intervals. This is what NEXMark's Q4 asks of auctions and bids (the paper's 7.4,
Megaphone's meaning).
"""

from tokenring.engine import AnyStream, Exchange, Notify, Schema, SchemaError
from tokenring.operators.mechanisms import mechanism_of
from tokenring.operators.paper.compiled_offers import compiled_offers
from tokenring.operators.paper.moving_intervals import OPEN, WAITING
from tokenring.operators.state import require_rows


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
        name, edges, schema, None, Notify.ALWAYS,
        lambda: compiled_offers(key, positions, with_key), moves=(OPEN, WAITING),
    )  # fmt: skip
