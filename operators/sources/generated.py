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
Generator = Callable[..., Iterable[Rows]] | Callable[..., Iterable[tuple[Rows, Any]]]
"""function() is called on one worker; function(worker_index, peers) on each, for its share of the rows; with positions,
each takes `position=` besides, and yields pairs."""


@overload
def from_generator(
    scope: ScopeOf[AnyStream],
    schema: Schema, function: Generator, *, per_worker: bool = ..., time: str | Time = ...,
    disorder: Span = ..., throttle: Throttle | None = ..., live: bool = ..., positions: bool = ..., name: str = ...,
    late: Literal[False] = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def from_generator(
    scope: ScopeOf[AnyStream],
    schema: Schema, function: Generator, *, per_worker: bool = ..., time: str | Time = ...,
    disorder: Span = ..., throttle: Throttle | None = ..., live: bool = ..., positions: bool = ..., name: str = ...,
    late: Literal[True],
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
    positions: bool = False,
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
    positions: whether the function is given `position=`, where to go on, None at first, and yields pairs of rows and
    the position behind them, in numbers, texts, lists and dicts: an offset, say. So a run that is resumed (`Recovery`)
    reads nothing twice. Without, the function is called again, and as many items are dropped as it had yielded, which
    must be the same ones, in the same order.
    late: whether rows that are earlier than that go, at the time that was promised, to a second stream that is then
    returned besides, instead of ending the run.

    Raises SchemaError for rows that do not fit the schema or come too late, naming worker and item.
    """
    require_schema(name, schema)
    of_worker = asked_on(name, function, "function(worker_index, peers)", per_worker, *["position"] * positions)

    def pieces(worker: int, peers: int, position: Position) -> Iterator[Piece]:
        called: Any = of_worker(worker, peers)
        found: Any = () if called is None else called(position=position) if positions else called()
        if not isinstance(found, Iterable):
            raise UsageError(
                f"source {name!r}: the function returned {type(found).__name__}; it must yield, or return an iterator "
                f"of, mappings of columns"
            )
        items = enumerate(found)
        if not positions:
            _drop(items, position or 0, name, worker)
        for item, rows in items:
            where = f"item {item} of worker {worker}'s generator"
            behind = item + 1
            if positions:
                if not isinstance(rows, tuple) or len(rows) != 2:
                    raise UsageError(
                        f"source {name!r}: {where} is {type(rows).__name__}; with positions=True it yields pairs of "
                        f"rows and the position behind them"
                    )
                rows, behind = rows
            batch = rows if isinstance(rows, Batch) else named_rows(partial(Batch, schema, rows), where)

            def place(row: int, item: int = item) -> str:
                return f"item {item} of worker {worker}'s generator, row {row}"

            yield Piece(batch, None, place, behind)

    function_name = getattr(function, "__qualname__", type(function).__name__)
    facts = {"function": function_name, "positions": positions}
    timing = Timing(name, schema, time, disorder, late)
    return feed(scope, schema, timing, pieces, throttle, live, contents=lambda: facts)


def _drop(items: Iterator[Any], count: int, name: str, worker: int) -> None:
    """Leave out the first so many items, which a run that is resumed had taken."""
    dropped = sum(1 for _ in islice(items, count))
    if dropped < count:
        raise UsageError(
            f"source {name!r}: worker {worker}'s generator yields {dropped} items where it had yielded {count}; a run "
            f"is resumed by one that yields the same again"
        )
