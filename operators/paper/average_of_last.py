"""average_of_last: the average of each key's last so many values, in an order of their own (integers, rounded down)."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import (
    COLUMN,
    COMPLETE,
    TABLE,
    WORDS,
    AnyStream,
    Batch,
    Exchange,
    Notify,
    Schema,
    SchemaError,
    Time,
    int64,
    kernel,
)
from tokenring.engine.arguments import is_whole
from tokenring.engine.columns import names_of
from tokenring.engine.compiled import Record, Words, record_of
from tokenring.operators.mechanisms import Give, distinct, mechanism_of
from tokenring.operators.migrate import Leaving, Table, of_version, offer
from tokenring.operators.rows import require_int64, require_other_columns
from tokenring.operators.state import LEAST, KeyCounts, Keys, grown, overflows, require_rows, slot_of
from tokenring.operators.state.moving import KeptWords, KeyedMoves, MovingKeys, RowsThatWait, WaitingMoves, word_tables


class Ring(Record):
    """What a slot's words begin with: how many values it has seen, and the sum of the last ones, which stand behind."""

    count: int
    total: int


_VALUES = Ring.size


@kernel(int64(WORDS, WORDS, WORDS, TABLE, COLUMN, COLUMN, int64, WORDS, WORDS))
def _roll(
    cells: Words, tags: Words, meta: Words, rings: Words, keys: Words, values: Words, start: int, averages: Words,
    counts: Words,
) -> int:  # fmt: skip
    """Put values from `start` on into the rings of their keys, int64 (slots, 2 + length). Returns the row at which
    there was no room for its key, len(keys) if all are done; -1 if a sum left the range of int64."""
    length = rings.shape[1] - _VALUES
    for i in range(start, len(keys)):
        slot = slot_of(cells, tags, record_of(meta, KeyCounts), keys[i])
        if slot < 0:
            return i
        ring = record_of(rings[slot], Ring)
        at = _VALUES + ring.count % length
        total, oldest, value = ring.total, rings[slot, at], values[i]  # an empty place holds a zero
        if oldest == LEAST or overflows(total, -oldest) or overflows(total - oldest, value):
            return -1
        rings[slot, at] = value
        ring.total = total - oldest + value
        ring.count += 1
        counts[i] = min(ring.count, length)
        averages[i] = ring.total // counts[i]
    return len(keys)


def average_of_last(
    stream: AnyStream,
    key: str,
    value: str,
    *,
    rows: int,
    order: str | Sequence[str],
    name: str = "average_of_last",
) -> AnyStream:
    """Rows (key, average, count), int64, one for each input row: of the key's last `rows` values up to this one.

    `order` names the column of the rows' own times, and columns that order rows of one time; all columns are int64.
    Rows may come in any order: they wait until their time is finished, and are sent at their time or before it, at the
    least time of those that finish together. `average` is rounded down, `count` is at most `rows`. Exchanged by `key`.
    Memory: `rows` words a key, and the rows that wait. Raises OverflowError (as OperatorError) if a sum leaves the
    range of int64; SchemaError for columns that are not there or do not fit. NEXMark's Q6 is made of it.
    """
    require_rows(name, stream)
    ordered = names_of(order, f"operator {name!r}: order=")
    needed = tuple(dict.fromkeys((key, value, *ordered)))
    if key == value:
        raise SchemaError(f"operator {name!r}: key and value are the same column {key!r}")
    results = key, "average", "count"
    require_other_columns(name, results)
    if not ordered or not is_whole(rows) or rows < 1:
        raise SchemaError(f"operator {name!r}: order names at least the time column, and rows is at least 1")
    require_int64(name, stream.schema, *needed)
    schema = Schema.of(dict.fromkeys(results, "int64"))
    edge = stream, Exchange(key, needed)
    way = mechanism_of(stream.scope)
    tables = [*word_tables(schema.select((key,)), (key,), _VALUES + rows), _waiting_table(needed, key)]
    moves = of_version(tables, f"by {key}", f"the last {rows} of {value} by {', '.join(ordered)}")
    return way.timed(
        name, [edge], schema, lambda: _Rings(schema, key, value, rows, ordered, moves), Notify.IF_TOKEN, moves=moves
    )


def _waiting_table(columns: Sequence[str], key: str) -> Table:
    return Table(Schema.of(dict.fromkeys(columns, "int64")), (key,))


class _Rings:
    """One worker's part. Output is pending at the times of rows that wait."""

    late = 1

    def __init__(
        self, schema: Schema, key: str, value: str, rows: int, order: tuple[str, ...], moves: Sequence[Table]
    ) -> None:
        self._schema, self._key, self._value, self._order = schema, key, value, order
        self._keys = Keys(schema, (key,))
        self._rings = np.zeros((self._keys.capacity, _VALUES + rows), np.int64)
        self._waiting = RowsThatWait()
        self._least: Time = COMPLETE
        self.takes = (self._take,)
        self._none = Batch(moves[-1].schema, dict.fromkeys(moves[-1].schema.names, ()))
        keyed = KeyedMoves(moves[:-1], MovingKeys(self._keys, (key,), in_kernels=True), KeptWords(self._grown))
        offer(WaitingMoves(keyed, self))

    def _grown(self, limit: int) -> np.ndarray:
        self._rings = grown(self._rings, max(limit, self._keys.capacity), axis=0)
        return self._rings

    def leave(self, leaving: Leaving) -> Batch:
        """See Waiting."""
        rows = self._waiting.take_out(leaving, self._key)
        self._least = min([int(batch.words(self._order[0]).min()) for batch in self._waiting], default=COMPLETE)
        return self._none if rows is None else rows

    def arrive(self, rows: Batch) -> Time:
        """See Waiting."""
        return self._take(rows)

    def _take(self, batch: Batch) -> Time:
        self._waiting.append(batch.copy())
        least = int(batch.words(self._order[0]).min()) if batch.rows else COMPLETE
        self._least = min(self._least, least)
        return least

    def advance(self, frontier: Time) -> None:
        """Nothing waits for anything but its own time."""

    def least(self) -> Time:
        """The least time of the rows that wait."""
        return self._least

    def emit(self, upto: Time, give: Give) -> Time:
        """Put the rows whose time is finished into their rings, in order."""
        if self._least > upto:
            return self._least
        batch = Batch.concatenate(self._waiting)
        times = batch.words(self._order[0])
        is_finished = times <= upto
        finished = batch.filter(is_finished)
        give(self._least, self._averages(finished.take(np.lexsort([finished[name] for name in reversed(self._order)]))))
        left = batch.filter(~is_finished)
        self._waiting[:] = [left] if left.rows else []
        self._least = int(left[self._order[0]].min()) if left.rows else COMPLETE
        return self._least

    def _averages(self, batch: Batch) -> Batch:
        keys, values = batch.words(self._key), batch.words(self._value)
        averages, counts = np.empty(batch.rows, np.int64), np.empty(batch.rows, np.int64)
        done = _roll(*self._keys.table, self._rings, keys, values, 0, averages, counts)
        while 0 <= done < batch.rows:
            self._keys.grow(behind=True)
            self._grown(0)
            done = _roll(*self._keys.table, self._rings, keys, values, done, averages, counts)
        if done < 0:
            raise OverflowError(f"a sum of {self._value!r} left the range of int64")
        return Batch.wrap(self._schema, (keys, averages, counts), batch.rows, of=batch)

    def times(self, port: int, batch: Batch) -> list[Time]:
        """The rows' own times."""
        return distinct(batch.words(self._order[0]))
