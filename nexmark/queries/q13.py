"""Q13: bids joined with a bounded table, which every worker has (nexmark-flink's meaning)."""

from tokenring.engine import Batch, Schema, Stream, Strings
from tokenring.nexmark.queries.query import Query
from tokenring.operators import map_batches

KEYS = 10_000
RESULT = Schema("auction bidder price date_time", value="string")


def build(bids: Stream) -> Stream:
    """Each bid with the table's value."""
    values = Strings.of([f"value-{key}" for key in range(KEYS)])

    def with_value(bid: Batch) -> dict[str, object]:
        return {name: bid[name] for name in bid.schema.names} | {"value": values[bid["auction"] % KEYS]}

    return map_batches(bids, RESULT, with_value, name="side_input")


Q13 = Query(name="q13", reads={"bid": ("auction", "bidder", "price", "date_time")}, build=build, result=RESULT)
