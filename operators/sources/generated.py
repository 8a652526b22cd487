"""from_generator: rows that a Python generator yields."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, Literal, overload

from tokenring.engine import AnyStream, Batch, Schema, ScopeOf, Time, UsageError
from tokenring.operators.durations import Span
from tokenring.operators.sources.arguments import asked_on, named_rows, require_schema
from tokenring.operators.sources.feeder import Piece, Position, feed
from tokenring.operators.sources.throttle import Throttle
from tokenring.operators.time import Timing

Rows = Batch | Mapping[str, Any]
Generator = Callable[[], Iterable[Rows]] | Callable[[int, int], Iterable[Rows]]
"""function() is called on one worker; function(worker_index, peers) on each, for its share of the rows."""


@overload
def from_generator(
    scope: ScopeOf[AnyStream],
    schema: Schema, function: Generator, *, per_worker: bool = ..., time: str | Time = ...,
    disorder: Span = ..., throttle: Throttle | None = ..., live: bool = ..., name: str = ...,
    late: Literal[False] = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def from_generator(
    scope: ScopeOf[AnyStream],
    schema: Schema, function: Generator, *, per_worker: bool = ..., time: str | Time = ...,
    disorder: Span = ..., throttle: Throttle | None = ..., live: bool = ..., name: str = ..., late: Literal[True],
) -> tuple[AnyStream, AnyStream]: ...  # fmt: skip


def from_generator(
    scope: ScopeOf[AnyStream],
    schema: Schema,
    function: Generator,
    *,
    per_worker: bool = False,
    time: str | Time = 0,
    disorder: Span = 0,
    throttle: Throttle | None = None,
    live: bool = True,
    late: bool = False,
    name: str = "from_generator",
) -> AnyStream | tuple[AnyStream, AnyStream]:
    """Rows (`schema`) of `function()`, an iterator of batches, mappings of columns, or tables (pandas, Polars, Arrow),
    one message each.

    It is called on worker 0 alone, and what follows spreads its rows: operators with a key do, or `exchange`. A
    `function(worker_index, peers)` is called on every worker and must share the rows out itself, as is one that takes
    nothing if `per_worker`, whose rows come as often as there are workers unless it knows which one it is on.

    time: a column of int64, uint64 or timestamp (ns) by which rows come in order, up to `disorder`; or one time for all
    rows. The iterator is asked for more only while queues have room and the throttle allows; its end is the stream's.
    Memory: none.
    live: the first Ctrl-C or SIGTERM closes the iterator between two items, and what has come is finished as if it were
    all, or, by SIGTERM, as far as its times are (Worker.stopping tells); False if a part of the rows is worth nothing:
    the run then ends at once.
    A run that is resumed calls the function again and drops as many items as it had taken, so it must yield the same
    ones again, in the same order.
    late: whether rows that are earlier than that go, at the time that was promised, to a second stream that is then
    returned besides, instead of ending the run.

    Raises SchemaError for rows that do not fit the schema or come too late, naming worker and item.
    """
    require_schema(name, schema)
    of_worker = asked_on(name, function, "function(worker_index, peers)", per_worker)

    def pieces(worker: int, peers: int, position: Position) -> Iterator[Piece]:
        called = of_worker(worker, peers)
        found = () if called is None else called()
        if not isinstance(found, Iterable):
            raise UsageError(
                f"source {name!r}: the function returned {type(found).__name__}; it must yield, or return an iterator "
                f"of, mappings of columns"
            )
        items = enumerate(found)
        dropped = sum(1 for _ in islice(items, position or 0))
        if dropped < (position or 0):
            raise UsageError(
                f"source {name!r}: worker {worker}'s generator yields {dropped} items where it had yielded {position}; "
                f"a run is resumed by one that yields the same again"
            )
        for item, rows in items:
            where = f"item {item} of worker {worker}'s generator"
            batch = rows if isinstance(rows, Batch) else named_rows(partial(Batch, schema, rows), where)

            def place(row: int, item: int = item) -> str:
                return f"item {item} of worker {worker}'s generator, row {row}"

            yield Piece(batch, None, place, item + 1)

    facts = {"function": getattr(function, "__qualname__", type(function).__name__)}
    timing = Timing(name, schema, time, disorder, late)
    return feed(scope, schema, timing, pieces, throttle, live, contents=lambda: facts)
