"""running_average: for every row, the average so far of its key's values (integer division, rounded down)."""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, AnyStream, Batch, Exchange, Schema, SchemaError, boolean, kernel
from tokenring.operators.mechanisms import Answer, mechanism_of
from tokenring.operators.sinks import Latest
from tokenring.operators.state import HashIndex, require_rows, slot_of, updates_by
from tokenring.operators.time import require_total_order

_MOST, _LEAST = 2**63 - 1, -(2**63)


@kernel(boolean(TABLE, WORDS, TABLE, COLUMN, COLUMN, WORDS, WORDS))
def _accumulate(cells, size, totals, keys, values, averages, counts):  # type: ignore[no-untyped-def]
    """Add rows to `totals`, int64 (slots, 2) of (sum, count); False if a sum left the range of int64."""
    for i in range(len(keys)):
        slot = slot_of(cells, size, keys[i])
        before, value = totals[slot, 0], values[i]
        # Looked at beforehand: LLVM takes a sum never to overflow, and would optimise a look at it afterwards away.
        if (value > 0 and before > _MOST - value) or (value < 0 and before < _LEAST - value):
            return False
        total = before + value
        totals[slot, 0] = total
        totals[slot, 1] += 1
        averages[i] = total // totals[slot, 1]
        counts[i] = totals[slot, 1]
    return True


def running_average(
    stream: AnyStream,
    key: str,
    value: str,
    name: str = "running_average",
    final: Latest | None = None,
) -> AnyStream:
    """Rows (key, average, count), all int64, one for each input row, at the input's time, in the order of arrival.

    `average` is the sum of the key's values so far divided by their count, rounded down. Exchanged by `key`. Rows are
    not held back for order: where several times are under way at once, intermediate averages depend on arrival, the
    last one does not. `final`, a Latest of the output's columns, is kept as the sink `latest` behind this stream would
    keep it, without an operator of its own. In a loop averages are by epoch, in the order of rounds. Raises
    OverflowError (as OperatorError) if a sum leaves the range of int64.
    """
    if key == value:
        raise SchemaError(f"{name}: key and value are the same column {key!r}")
    require_rows(name, stream)
    if final is not None:
        require_total_order(f"{name}, final=", stream.scope)
    schema = Schema.of(dict.fromkeys((key, "average", "count"), "int64"))

    def make() -> Answer:
        index = HashIndex()
        totals = np.zeros((index.capacity, 2), np.int64)

        def answer(batch: Batch) -> Batch:
            nonlocal totals
            if index.reserve(batch.rows):
                totals = np.concatenate([totals, np.zeros((index.capacity - len(totals), 2), np.int64)])
            keys, values = batch.columns  # in the order in which they cross
            averages, counts = np.empty(batch.rows, np.int64), np.empty(batch.rows, np.int64)
            if not _accumulate(index.cells, index.size, totals, keys, values, averages, counts):
                raise OverflowError(f"a sum of {value!r} left the range of int64")
            columns = (keys, averages, counts)
            if final is not None:
                final.put(keys, columns)
            return Batch.wrap(schema, columns, batch.rows, of=batch)

        return answer

    edge = stream, Exchange(key, (key, value))
    return updates_by(mechanism_of(stream.scope).respond(name, edge, schema, make), name, (key,))
