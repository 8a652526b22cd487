"""running_average: for every row, the average so far of its key's values (integer division, rounded down)."""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, AnyStream, Batch, Exchange, Schema, SchemaError, int64, kernel
from tokenring.operators.mechanisms import Answer, mechanism_of
from tokenring.operators.sinks import Latest
from tokenring.operators.state import Keys, grown, overflows, require_rows, slot_of, updates_by
from tokenring.operators.time import require_total_order


@kernel(int64(TABLE, WORDS, WORDS, TABLE, COLUMN, COLUMN, int64, WORDS, WORDS))
def _accumulate(cells, tags, meta, totals, keys, values, start, averages, counts):  # type: ignore[no-untyped-def]
    """Add rows from `start` on to `totals`, int64 (slots, 2) of (sum, count). Returns the row at which there was no
    room for its key, len(keys) if all are done; -1 if a sum left the range of int64."""
    for i in range(start, len(keys)):
        slot = slot_of(cells, tags, meta, keys[i])
        if slot < 0:
            return i
        if overflows(totals[slot, 0], values[i]):
            return -1
        totals[slot, 0] += values[i]
        totals[slot, 1] += 1
        averages[i] = totals[slot, 0] // totals[slot, 1]
        counts[i] = totals[slot, 1]
    return len(keys)


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
        known = Keys(schema, (key,))
        totals = np.zeros((known.capacity, 2), np.int64)

        def answer(batch: Batch) -> Batch:
            nonlocal totals
            keys, values = batch.columns  # in the order in which they cross
            averages, counts = np.empty(batch.rows, np.int64), np.empty(batch.rows, np.int64)
            done = _accumulate(*known.table, totals, keys, values, 0, averages, counts)
            while 0 <= done < batch.rows:
                known.grow()
                totals = grown(totals, known.capacity, axis=0)
                done = _accumulate(*known.table, totals, keys, values, done, averages, counts)
            if done < 0:
                raise OverflowError(f"a sum of {value!r} left the range of int64")
            columns = (keys, averages, counts)
            if final is not None:
                final.put(keys, columns)
            return Batch.wrap(schema, columns, batch.rows, of=batch)

        return answer

    edge = stream, Exchange(key, (key, value))
    return updates_by(mechanism_of(stream.scope).respond(name, edge, schema, make), name, (key,))
