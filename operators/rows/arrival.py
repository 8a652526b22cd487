"""with_arrival: rows with the instant at which their message came."""

import time
from collections.abc import Callable

import numpy as np

from tokenring.engine import AnyStream, Batch, Schema, SchemaError
from tokenring.engine.arguments import require_column, require_function
from tokenring.engine.compiled import (
    CompiledStage,
    StageBeginning,
    addresses_of,
    bare_message,
    entry,
    give_keys,
    keys_of,
    lease,
    record_at,
    rows_of,
    wall_now_ns,
    words_at,
    world_at,
)


class Arriving(StageBeginning):
    """How many columns come."""

    width: int


def with_arrival(
    stream: AnyStream,
    column: str = "arrived",
    clock: Callable[[], int] = time.time_ns,
    name: str = "with_arrival",
) -> AnyStream:
    """The rows with one column more, int64: what `clock` said when their message came through here, the same for all of
    its rows: `with_arrival(bids, "arrived")`. By default that is the time on the wall, in ns since 1970; no two runs
    say the same then, so results that depend on it cannot be repeated. A clock of your own, such as one that a test
    sets, is called in Python once a message.

    A stateless operator, at the place where it stands: behind an exchange it is the time of arrival at the owner.
    SchemaError for a column that is there already.
    """
    require_function(f"operator {name!r}", "clock", clock)
    require_column(f"operator {name!r}", column=column)
    if column in stream.schema.positions:
        raise SchemaError(f"operator {name!r}: column {column!r} is there already; call the arrival otherwise")
    schema = Schema.of(stream.schema.spec() | {column: "int64"})
    made = stream.apply(name, schema, _Arrival(schema, clock))
    if stream.updates is not None:
        made.updates = stream.updates.named({each: each for each in stream.schema.names})
    return made


class _Arrival:
    """A batch with the instant behind its columns."""

    def __init__(self, schema: Schema, clock: Callable[[], int]) -> None:
        self._schema, self._clock = schema, clock

    def __call__(self, batch: Batch) -> Batch:
        instants = np.full(batch.rows, self._clock())
        heaps = (*batch.heaps, None) if self._schema.has_text else ()
        return Batch.wrap(self._schema, (*batch.columns, instants), batch.rows, heaps, batch)

    def compiled_stage(self) -> CompiledStage | None:
        """The same in the worker's inner loop, by the clock that kernels know."""
        if self._clock is not time.time_ns:
            return None
        state = Arriving()
        state.width = len(self._schema) - 1
        return CompiledStage(_stamp, state.words)


@entry
def _stamp(world: int, state: int) -> int:
    """Pass columns on, and the instant behind them."""
    own, graph = record_at(state, Arriving), world_at(world)
    message, width = own.message, own.width
    rows = rows_of(message)
    result = bare_message(graph, width + 1, rows)
    target, source = addresses_of(result), addresses_of(message)
    for column in range(width):
        target[column] = source[column]
    target[width] = lease(graph, 8 * rows)
    words_at(target[width], rows)[:] = wall_now_ns()
    give_keys(result, keys_of(message))
    return result
