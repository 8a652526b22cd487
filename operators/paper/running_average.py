"""running_average: for every row, the average so far of its key's values (integer division, rounded down)."""

from typing import Never

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, AnyStream, Exchange, Schema, SchemaError, int64, kernel
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
    record_of,
    rows_of,
    table_at,
)
from tokenring.operators.mechanisms import CompiledLogic, driven, mechanism_of, own_record
from tokenring.operators.migrate import Table, offer
from tokenring.operators.sinks import Latest
from tokenring.operators.state import (
    KeyCounts,
    Keys,
    WordKeys,
    cells_of,
    counts_of,
    grown,
    link_keys,
    overflows,
    require_rows,
    slot_of,
    tags_of,
    updates_by,
)
from tokenring.operators.state.moving import KeptWords, KeyedMoves, MovingKeys, live_slots, word_tables
from tokenring.operators.time import require_total_order


@kernel(int64(WORDS, WORDS, WORDS, TABLE, COLUMN, COLUMN, int64, WORDS, WORDS))
def _accumulate(
    cells: Words,
    tags: Words,
    meta: Words,
    totals: Words,
    keys: Words,
    values: Words,
    start: int,
    averages: Words,
    counts: Words,
) -> int:
    """Add rows from `start` on to `totals`, int64 (slots, 2) of (sum, count). Returns the row at which there was no
    room for its key, len(keys) if all are done; -1 if a sum left the range of int64."""
    for i in range(start, len(keys)):
        slot = slot_of(cells, tags, record_of(meta, KeyCounts), keys[i])
        if slot < 0:
            return i
        if overflows(totals[slot, 0], values[i]):
            return -1
        totals[slot, 0] += values[i]
        totals[slot, 1] += 1
        averages[i] = totals[slot, 0] // totals[slot, 1]
        counts[i] = totals[slot, 1]
    return len(keys)


class Averages(Record):
    """`totals`: the address of sums and counts by key; `start`, `filled`: the row to go on with, and the answer that is
    being filled, where there was no room."""

    keys: WordKeys
    totals: int
    start: int
    filled: int


@entry
def _answer(world: int, me: int) -> int:
    """Answer a message with as many rows."""
    state, own = driven(world, me), own_record(world, me, Averages)
    message = state.message
    rows = rows_of(message)
    reply = own.filled
    if own.start == 0:
        reply = new_message(world, me, 0, rows)
    totals = table_at(own.totals, own.keys.capacity, 2)
    keys = column_of(message, 0)
    done = _accumulate(
        cells_of(own.keys), tags_of(own.keys), counts_of(own.keys), totals, keys, column_of(message, 1), own.start,
        column_of(reply, 1), column_of(reply, 2),
    )  # fmt: skip
    if done < 0:
        fail(world, me, -1, 0, 0, 0)
        return FAILED
    if done < rows:
        own.start, own.filled = done, reply
        return NEEDS_ROOM
    own.start = 0
    column_of(reply, 0)[:] = keys
    state.reply = reply
    return DONE


class _Averages:
    """One worker's sums and counts by key."""

    def __init__(self, schema: Schema, key: str, value: str) -> None:
        self.known = Keys(schema, (key,))
        self.totals = np.zeros((self.known.capacity, 2), np.int64)
        self.own = Averages()
        self._value = value
        self._link()
        moving = MovingKeys(self.known, (key,), in_kernels=True)
        offer(KeyedMoves(_tables(schema, key), moving, KeptWords(self._table), self._link))

    def _table(self, limit: int) -> np.ndarray:
        self.totals = grown(self.totals, limit, axis=0)
        return self.totals

    def _link(self) -> None:
        self._table(self.known.capacity)
        link_keys(self.own.keys, self.known)
        self.own.totals = address_of(self.totals)

    def grow(self) -> None:
        """Make room for another key."""
        self.known.grow(behind=True)
        self._link()

    def overflow(self, _: int, __: tuple[int, int, int]) -> Exception:
        """The error for a sum that is too great."""
        return OverflowError(f"a sum of {self._value!r} left the range of int64")

    def columns(self) -> tuple[np.ndarray, ...]:
        """Keys, averages and counts so far, in the order in which keys first appeared."""
        known = live_slots(self.known)
        sums, counts = self.totals[known].T
        return self.known.words(0)[known], sums // counts, counts.copy()


def _tables(schema: Schema, key: str) -> list[Table]:
    return word_tables(schema.select((key,)), (key,), 2)


def running_average(
    stream: AnyStream,
    key: str,
    value: str,
    name: str = "running_average",
    latest: Latest | None = None,
    **former: Never,
) -> AnyStream:
    """Rows (key, average, count), all int64, one for each input row, as `aggregate` with emit="each" sends them: at the
    input's time, in the order of arrival.

    `average` is the sum of the key's values so far divided by their count, rounded down. Exchanged by `key`. Rows are
    not held back for order: where several times are under way at once, intermediate averages depend on arrival, the
    last one does not. `latest`, a Latest of the output's columns, is kept as the sink `latest` behind this stream would
    keep it, without an operator of its own. In a loop averages are by epoch, in the order of rounds. Raises
    OverflowError (as OperatorError) if a sum leaves the range of int64.
    """
    if former:
        raise TypeError(f"running_average() has no argument {next(iter(former))!r}; what was final= is latest= now")
    if key == value:
        raise SchemaError(f"{name}: key and value are the same column {key!r}")
    require_rows(name, stream)
    if key not in stream.schema.positions:
        raise SchemaError(f"operator {name!r}: {stream.schema.missing(key)}")
    if latest is not None:
        require_total_order(f"{name}, latest=", stream.scope)
    schema = Schema.of(dict.fromkeys((key, "average", "count"), "int64"))

    def compiled() -> CompiledLogic:
        state = _Averages(schema, key, value)
        if latest is not None:
            latest.follow(state.columns)
        return CompiledLogic(
            state.own.words, _answer, owners=(state,), make_room=state.grow, explain=state.overflow
        )

    edge = stream, Exchange(key, (key, value))
    way = mechanism_of(stream.scope)
    averages = way.respond(name, edge, schema, None, compiled=compiled, moves=_tables(schema, key))
    return updates_by(averages, name, (key,))
