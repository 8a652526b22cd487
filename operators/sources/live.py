"""from_callback: live data, from a function that is asked for what has arrived."""

import time as clocks
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Literal, overload

import numpy as np

from tokenring.engine import (
    MAX_TIME,
    AnyStream,
    Batch,
    OperatorContext,
    OutputPort,
    Schema,
    SchemaError,
    ScopeOf,
    Time,
    UsageError,
    columns_of,
)
from tokenring.engine.arguments import require_flags
from tokenring.engine.columns import require_schema
from tokenring.operators.durations import Span
from tokenring.operators.mechanisms import Outlet
from tokenring.operators.sources.arguments import asked_on
from tokenring.operators.sources.feeder import behind_source, declare
from tokenring.operators.sources.throttle import Throttle
from tokenring.operators.time import Timing, position_of, require_root


class _Arrival(Enum):  # one for each word: a checker takes a choice of one word and others for one of their class
    ARRIVAL = "ARRIVAL"


class _EndOfStream(Enum):
    END_OF_STREAM = "END_OF_STREAM"


ARRIVAL: Final = _Arrival.ARRIVAL
"""As `time` of from_callback: rows are of the time at which they arrived."""
END_OF_STREAM: Final = _EndOfStream.END_OF_STREAM
"""What a callback returns when this worker will get nothing more."""
Poll = Callable[[], Any] | Callable[[int, int], Any]
"""poll() is asked on one worker; poll(worker_index, peers) on each."""


@overload
def from_callback(
    scope: ScopeOf[AnyStream],
    schema: Schema, poll: Poll, *, per_worker: bool = ..., time: str | Time | _Arrival = ...,
    disorder: Span = ..., stamp: str | None = ..., idle_ns: int = ..., name: str = ..., late: Literal[False] = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def from_callback(
    scope: ScopeOf[AnyStream],
    schema: Schema, poll: Poll, *, per_worker: bool = ..., time: str | Time | _Arrival = ...,
    disorder: Span = ..., stamp: str | None = ..., idle_ns: int = ..., name: str = ..., late: Literal[True],
) -> tuple[AnyStream, AnyStream]: ...  # fmt: skip


def from_callback(
    scope: ScopeOf[AnyStream],
    schema: Schema,
    poll: Poll,
    *,
    per_worker: bool = False,
    time: str | Time | _Arrival = ARRIVAL,
    disorder: Span = 0,
    stamp: str | None = None,
    idle_ns: int = 1_000_000,
    late: bool = False,
    name: str = "from_callback",
) -> AnyStream | tuple[AnyStream, AnyStream]:
    """Rows (`schema`) that `poll()` returns: a batch or mapping that has arrived, None for nothing now, END_OF_STREAM.

    poll is called on worker 0 alone, and what follows spreads its rows: operators with a key do, or `exchange`. A
    `poll(worker_index, peers)` is called on every worker but those that begin idle (`Config.idle`), as is one that
    takes nothing if `per_worker`: where each worker has a connection of its own. One that has nothing to read returns
    END_OF_STREAM then, or it would hold the frontier where rows' own times are used. It is called once a step while it
    has rows, every `idle_ns` while it has none, and not while queues are full; it must not block.
    late: whether rows that are earlier than that go, at the time that was promised, to a second stream that is then
    returned besides, instead of ending the run.

    The first Ctrl-C closes the source, so that what is behind it finishes; the first SIGTERM ends it where it is, so
    that only what is finished comes out (Worker.stopping).

    time=ARRIVAL: messages are at the wall clock's ns since 1970, never going back, and the frontier follows the clock
    even while nothing arrives. time=column: rows' own times, in order up to `disorder`; the frontier waits for rows.
    stamp: a column of the schema (timestamp, int64 or uint64) that poll leaves out of its mappings and the source fills
    with the arrival time. Memory: none. Raises SchemaError for rows that do not fit or come too late.
    """
    require_schema(f"source {name!r}", schema)
    require_flags(f"source {name!r}", per_worker=per_worker, late=late)
    of_worker = asked_on(name, poll, "poll()", per_worker)
    require_root(scope, f"source {name!r}")
    timing = None if time is ARRIVAL else Timing(name, schema, time, disorder, late)
    if late and timing is None:
        raise UsageError(f"source {name!r}: at times of arrival no row is late; give time=column, or no late=")
    if not isinstance(idle_ns, int | np.integer) or not 0 < idle_ns <= MAX_TIME:
        raise UsageError(f"source {name!r}: idle_ns must be a whole number of ns, above 0, not {idle_ns!r}")
    if stamp is not None:
        position_of(f"source {name!r}", schema, stamp)
        if len(schema) == 1:
            raise SchemaError(f"source {name!r}: stamp {stamp!r} is the only column; add those that the callback gives")

    behind = behind_source(scope)

    def construct(context: OperatorContext, outlet: Outlet, *late_outlet: Outlet) -> Callable[..., None]:
        sent = Throttle().attach(behind, context.activate, context.activate_after)
        clock = None if timing is None else timing.clock(outlet, *late_outlet)
        asked = of_worker(context.worker_index, context.sharing) if context.worker_index < context.sharing else None
        arrived_ns = 0
        taken = 0
        if context.stopping:  # asked here, so that we are run when it changes
            context.activate()

        def close() -> None:
            if clock is None:
                outlet.close()
            else:
                clock.close()

        def place(row: int) -> str:
            return f"batch {taken} of worker {context.worker_index}'s callback, row {row}"

        def logic(output: OutputPort, late_output: OutputPort | None = None) -> None:
            nonlocal arrived_ns, taken
            if not outlet.live:
                return
            if context.stopping or asked is None:
                close()
                return
            if sent.must_wait(outlet.time):
                return
            if context.congested:
                context.activate()
                return
            rows = asked()
            if rows is END_OF_STREAM:
                close()
                return
            arrived_ns = max(arrived_ns, clocks.time_ns())
            if clock is None:
                outlet.advance(arrived_ns)
            if rows is None:
                context.activate_after(idle_ns)
                return
            context.activate()
            batch = _batch(name, schema, rows, stamp, arrived_ns)
            if clock is None:
                outlet.send(output, batch, arrived_ns)
            else:
                clock.send(output, batch, None, place, late_output)
            sent.add(batch.row_bytes, None)
            taken += 1

        return logic

    return declare(scope, name, schema, construct, timing)


def _batch(name: str, schema: Schema, rows: Any, stamp: str | None, arrived_ns: int) -> Batch:
    """What a callback returned, as a batch with its stamp."""
    if isinstance(rows, Batch) and stamp is None:
        return rows
    try:
        rows = columns_of(rows)
    except SchemaError as error:
        raise SchemaError(
            f"source {name!r}: the callback returned {type(rows).__name__}; it must return a mapping of columns, a "
            f"table{', a Batch' if stamp is None else ''}, None or END_OF_STREAM ({error})"
        ) from None
    if stamp is None:
        return Batch(schema, rows)
    given = Batch(schema.select([column for column in schema.names if column != stamp]), rows)
    at = schema.position(stamp)
    arrived = np.full(given.rows, arrived_ns, schema.dtypes[at])
    heaps = (*given.heaps[:at], None, *given.heaps[at:]) if schema.has_text else ()
    return Batch.wrap(schema, (*given.columns[:at], arrived, *given.columns[at:]), given.rows, heaps)
