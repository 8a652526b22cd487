"""arrange: keeps an index of what updates add up to, and sends the net updates of each time once it is finished."""

from collections.abc import Callable

import numpy as np
from sortedcontainers import SortedDict

from tokenring.engine import (
    COLUMN,
    TABLE,
    WORDS,
    AnyStream,
    Batch,
    Exchange,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Schema,
    SchemaError,
    Token,
    int64,
    kernel,
)
from tokenring.engine.compiled import Words
from tokenring.operators.migrate import Moves, Table, offer, state_moves
from tokenring.operators.rows import require_int64
from tokenring.operators.state import Keys, grown, require_rows
from tokenring.operators.state.moving import KeptWords, KeyedMoves, MovingKeys, word_tables
from tokenring.operators.time import go_by_message_times, require_total_order


@kernel(int64(TABLE, COLUMN, COLUMN, WORDS, WORDS))
def _add(table: Words, slots: Words, changes: Words, net_slots: Words, net_changes: Words) -> int:
    """Add changes to the totals; write each slot's net change, in order of first arrival; returns how many are not 0.

    table: int64 (slots, 2) of (total, 1 + row of net_*; 0 outside of calls); net_*: int64 (len(slots),).
    """
    distinct = 0
    for i in range(len(slots)):
        slot = slots[i]
        if table[slot, 1] == 0:
            net_slots[distinct], net_changes[distinct] = slot, 0
            distinct += 1
            table[slot, 1] = distinct
        table[slot, 0] += changes[i]
        net_changes[table[slot, 1] - 1] += changes[i]
    left = 0
    for i in range(distinct):
        table[net_slots[i], 1] = 0
        if net_changes[i] != 0:
            net_slots[left], net_changes[left] = net_slots[i], net_changes[i]
            left += 1
    return left


class Arrangement:
    """The index on this worker: what the changes of finished times add up to, by key."""

    def __init__(self, key: str, change: str) -> None:
        self._schema = Schema.of(dict.fromkeys((key, change), "int64"))
        self._keys = Keys(self._schema, (key,))
        self._table = np.zeros((0, 2), np.int64)

    def tables(self) -> list[Table]:
        """What the index is as it moves."""
        return word_tables(self._schema.select(self._schema.names[:1]), self._schema.names[:1], 2)

    def moves(self) -> Moves:
        """How it moves. Of keys that leave, none has changes that wait: those of earlier times are added up."""
        keys = MovingKeys(self._keys, self._schema.names[:1])
        return KeyedMoves(self.tables(), keys, KeptWords(self._grown))

    def _grown(self, limit: int) -> np.ndarray:
        self._table = grown(self._table, limit, axis=0)
        return self._table

    def add(self, keys: np.ndarray, changes: np.ndarray) -> Batch:
        """Take in the changes of a finished time; returns the net ones."""
        slots = self._keys.slots_of(keys)
        self._grown(self._keys.limit)
        net_slots, net_changes = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
        left: int = _add(self._table, slots, changes, net_slots, net_changes)
        return Batch.wrap(self._schema, (self._keys.words(0)[net_slots[:left]], net_changes[:left]), left)

    def columns(self) -> dict[str, np.ndarray]:
        """Every key whose total is not 0: name -> int64 array."""
        totals = self._table[: self._keys.limit, 0]
        chosen = totals != 0
        return dict(zip(self._schema.names, (self._keys.words(0)[chosen], totals[chosen]), strict=True))


def arrange(
    stream: AnyStream, key: str, change: str | None = None, name: str = "arrange"
) -> tuple[AnyStream, Arrangement]:
    """Rows (key, change), int64, at each time: its net changes by key, those that are 0 left out, once it is finished.

    Exchanged by `key`. While a time is open its rows are kept with a token; otherwise the operator holds none, and is
    not run when time advances. Memory: some 50 bytes for each key ever seen, and the rows of open
    times. After differential dataflow's operator, without its past versions. SchemaError without a column of
    changes: rows themselves are kept by `stream.collection().arrange(key)`; and for columns that are not int64, or may
    be null. GraphError in loops, whose times have no
    total order.
    """
    if change is None:
        raise SchemaError(
            f"operator {name!r}: say which column has the changes that are to be added up, change='...'; to keep rows "
            f"by key, in loops too, make a collection of them first: .collection().arrange({key!r})"
        )
    require_total_order(name, stream.scope)
    go_by_message_times(name, stream)
    require_rows(name, stream)
    require_int64(name, stream.schema, key, change)
    arrangement = Arrangement(key, change)

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()  # nothing to say unless rows arrive
        offer(arrangement.moves())
        open_times: SortedDict = SortedDict()  # time -> (token, batches)

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                if reference.time not in open_times:
                    open_times[reference.time] = (reference.retain(), [])
                open_times[reference.time][1].append(batch.copy())
            frontier = rows.frontier
            while open_times and open_times.peekitem(0)[0] < frontier:
                _, (held, batches) = open_times.popitem(0)
                keys = np.concatenate([batch.columns[0] for batch in batches])
                changes = np.concatenate([batch.columns[1] for batch in batches])
                output.give(held, arrangement.add(keys, changes))
                held.drop()

        return logic

    schema = Schema.of(dict.fromkeys((key, change), "int64"))
    builder = stream.operator(name, Notify.IF_TOKEN)
    builder.input(stream, Exchange(key, (key, change)))
    state_moves(builder, arrangement.tables())
    changes = builder.output(schema)
    builder.build(construct)
    return changes, arrangement
