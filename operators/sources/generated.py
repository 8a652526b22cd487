"""from_generator: rows that a Python generator yields."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import isfinite
from reprlib import repr as shortened
from typing import Any, Literal, overload

import numpy as np

from tokenring.engine import AnyStream, Batch, Schema, SchemaError, ScopeOf, Time, UsageError
from tokenring.engine.arguments import require_flags
from tokenring.engine.columns import require_schema
from tokenring.operators.durations import Span, span_of
from tokenring.operators.sources.arguments import asked_on, named_rows, takes
from tokenring.operators.sources.feeder import Piece, Position, feed
from tokenring.operators.sources.throttle import Throttle
from tokenring.operators.time import Timing

Rows = Batch | Mapping[str, Any]
Generator = Callable[..., Iterable[Rows | None]] | Callable[..., Iterable[tuple[Rows, Any] | None]]
"""function() is called on one worker; function(worker_index, peers) on each, for its share of the rows;
function(partition) for each partition; with positions, each takes `position=` besides, and yields pairs."""


@overload
def from_generator(
    scope: ScopeOf[AnyStream],
    schema: Schema, function: Generator, *, per_worker: bool = ..., time: str | Time = ...,
    disorder: Span = ..., throttle: Throttle | None = ..., live: bool = ..., positions: bool = ...,
    partitions: Sequence[str] | None = ..., idle: Span | None = ..., name: str = ..., late: Literal[False] = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def from_generator(
    scope: ScopeOf[AnyStream],
    schema: Schema, function: Generator, *, per_worker: bool = ..., time: str | Time = ...,
    disorder: Span = ..., throttle: Throttle | None = ..., live: bool = ..., positions: bool = ...,
    partitions: Sequence[str] | None = ..., idle: Span | None = ..., name: str = ..., late: Literal[True],
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
    partitions: Sequence[str] | None = None,
    idle: Span | None = None,
    late: bool = False,
    name: str = "from_generator",
) -> AnyStream | tuple[AnyStream, AnyStream]:
    """Rows (`schema`) of `function()`, an iterator of batches, mappings of columns, or tables (pandas, Polars, Arrow),
    one message each.

    It is called on worker 0 alone, and what follows spreads its rows: operators with a key do, or `exchange`. A
    `function(worker_index, peers)` is called on every worker and must share the rows out itself, as is one that takes
    nothing if `per_worker`, whose rows come as often as there are workers unless it knows which one it is on.

    time: a column of int64, uint64 or timestamp (ns) by which rows come in order, up to `disorder`; or one time for all
    rows. The iterator is asked for more only while queues have room and the throttle allows; None instead of rows says
    that nothing has come, and it is asked again a millisecond later: it must not block. Its end is the stream's.
    Memory: none.
    live: the first Ctrl-C or SIGTERM closes the iterator between two items, and what has come is finished as if it were
    all, or, by SIGTERM, as far as its times are (Worker.stopping tells); False if a part of the rows is worth nothing:
    the run then ends at once.
    positions: whether the function is given `position=`, where to go on, None at first, and yields pairs of rows and
    the position behind them, in numbers, texts, lists, and dicts by text: an offset, say. So a run that is resumed
    (`Recovery`) reads nothing twice. Without, the function is called again, and as many items are dropped as it had
    yielded, which must be the same ones, in the same order.
    late: whether rows that are earlier than that go, at the time that was promised, to a second stream that is then
    returned besides, instead of ending the run.

    Raises SchemaError for rows that do not fit the schema or come too late, naming worker or partition, and item.
    """
    require_schema(f"source {name!r}", schema)
    require_flags(f"source {name!r}", per_worker=per_worker, live=live, positions=positions)
    timing = Timing(name, schema, time, disorder, late)
    named = ["position"] * positions
    if partitions is not None:
        partitions = _distinct(name, partitions, per_worker)
        called_for: Callable[[Any, int], Any] = _of_partition(name, function, named)
    else:
        called_for = asked_on(name, function, "function(worker_index, peers)", per_worker, *named)
    if idle is not None and partitions is None:
        raise UsageError(f"source {name!r}: idle= is of partitions; give partitions=, the names of all")
    idle_ns = None if idle is None else span_of(idle, "timestamp", f"source {name!r}: idle")
    if idle_ns is not None and (idle_ns <= 0 or timing.column is None):
        raise UsageError(f"source {name!r}: idle= is above 0, and for rows that have times of their own: time=column")

    def pieces(share: int | str, shares: int, position: Position) -> Iterator[Piece | None]:
        whose = f"of worker {share}'s generator" if partitions is None else f"of partition {share!r}"
        called: Any = called_for(share, shares)
        found: Any = () if called is None else called(position=position) if positions else called()
        is_item = isinstance(found, Mapping | Batch) or hasattr(found, "__dataframe__")
        if is_item or not isinstance(found, Iterable):
            raise UsageError(
                f"source {name!r}: the function returned {type(found).__name__}; it must yield, or return an iterator "
                f"of, mappings of columns"
            )
        to_drop, next_item = 0 if positions else position or 0, 0
        for rows in found:
            if rows is None:
                yield None
                continue
            item, next_item = next_item, next_item + 1
            if next_item <= to_drop:
                continue
            where, behind = f"item {item} {whose}", next_item
            if positions:
                if not isinstance(rows, tuple) or len(rows) != 2:
                    count = f" of {len(rows)}" if isinstance(rows, tuple) else ""
                    raise UsageError(
                        f"source {name!r}: {where} is {type(rows).__name__}{count}; with positions=True it yields "
                        f"pairs: rows first, then the position behind them"
                    )
                rows, behind = rows[0], _position(name, where, rows[1])
            try:
                batch = rows if isinstance(rows, Batch) else named_rows(partial(Batch, schema, rows), where)
            except SchemaError as error:
                if not positions or isinstance(rows, Mapping):
                    raise
                raise SchemaError(f"{error}; a pair is rows first, then the position behind them") from None

            def place(row: int, where: str = where) -> str:
                return f"{where}, row {row}"

            yield Piece(batch, None, place, behind)
        if next_item < to_drop:
            raise UsageError(
                f"source {name!r}: {next_item} items {whose}, which had yielded {to_drop}; a run is resumed by one "
                f"that yields the same again"
            )

    facts = {"function": getattr(function, "__qualname__", type(function).__name__), "positions": positions}
    if partitions is not None:
        facts["partitions"] = partitions
    return feed(
        scope, schema, timing, pieces, throttle, live, contents=lambda: facts, partitions=partitions, idle_ns=idle_ns
    )


def _position(name: str, where: str, given: Any) -> Any:
    """A position as it will be given back: numpy's numbers as Python's. UsageError for what would not come back so."""
    with suppress(ValueError):
        if given is not None:
            return _as_saved(given)
    raise UsageError(
        f"source {name!r}: the position behind {where} is {given!r}, and is to be saved, as JSON: a number (whole "
        f"ones of 64 bits, or finite), a text, or a list or dict (by text) of such; None is where the first run begins"
    )


def _as_saved(given: Any) -> Any:
    """A part of a position as JSON will have it; ValueError where it would come back as something else, or not."""
    if isinstance(given, np.integer | np.floating | np.bool_):
        given = given.item()
    kind = type(given)
    if kind is list:
        return [_as_saved(each) for each in given]
    if kind is dict and all([type(key) is str for key in given]):
        return {_as_saved(key): _as_saved(value) for key, value in given.items()}
    is_whole = kind is int and -(2**63) <= given < 2**64
    is_real = kind is float and isfinite(given)
    if not (given is None or kind is bool or is_whole or is_real or kind is str):
        raise ValueError
    if kind is str:
        given.encode()  # half a surrogate pair is no text: UnicodeEncodeError is a ValueError
    return given


def _of_partition(name: str, function: Any, named: Sequence[str]) -> Callable[[Any, int], Callable[..., Any]]:
    """What is called for a partition. UsageError for what cannot be."""
    if callable(function) and takes(function, "", named=named):
        return lambda partition, count: partial(function, partition)
    told = f"takes {inspect.signature(function)}" if callable(function) else f"is {type(function).__name__}"
    raise UsageError(
        f"source {name!r}: with partitions= the function takes the name of one, function(partition"
        f"{''.join([f', {one}=' for one in named])}), and this {told}"
    )


def _distinct(name: str, partitions: Sequence[str], per_worker: bool) -> list[str]:
    """The names of partitions. UsageError for what cannot be told apart."""
    is_list = isinstance(partitions, Iterable) and not isinstance(partitions, str)
    names = list(partitions) if is_list else []
    if not names or not all([isinstance(one, str) and one for one in names]):
        raise UsageError(
            f"source {name!r}: partitions= is a list of at least one name, a text each, such as ['log-0', 'log-1'], "
            f"not {shortened(names or partitions)}"
        )
    if len(set(names)) < len(names):
        twice = next(one for one in names if names.count(one) > 1)
        raise UsageError(f"source {name!r}: partition {twice!r} is named twice, so its rows would come twice")
    if per_worker:
        raise UsageError(f"source {name!r}: each partition is read on one worker; leave per_worker= out")
    return names
