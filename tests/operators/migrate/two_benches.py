"""Two benches of one operator each, between which bins of keys move, against one that has all keys from the start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tests.operators.helpers import Bench, bench
from tokenring.engine import Batch, Schema, Stream
from tokenring.operators.migrate import Bins, Leaving, Moves, offers_to
from tokenring.operators.migrate.moves import Offered

Rows = list[tuple[Any, ...]]
BINS = Bins(8)


@contextmanager
def offering(schema: Schema, make: Callable[[Stream], Stream]) -> Iterator[tuple[Bench, Offered]]:
    """An operator on one worker, and how the state of it, and of others around it, moves."""
    offered = Offered()
    with offers_to(offered), bench([schema], make, checks="exhaustive") as made:
        yield made, offered


def batch_of(schema: Schema, rows: Rows) -> Batch:
    return Batch(schema, dict(zip(schema.names, map(list, zip(*rows, strict=True)), strict=True)))


def send(to: Bench, schema: Schema, rows: Rows, time: int) -> None:
    if rows:
        to.send(dict(zip(schema.names, map(list, zip(*rows, strict=True)), strict=True)), time=time)
    else:
        to.inputs[0][0].advance_to(time)
    to.settle()


def move(one: Moves, other: Moves, leave: np.ndarray) -> None:
    """The bins that leave, bool (BINS.count,), go from one to the other, as copies that own their bytes."""
    taken = one.take_out(Leaving(BINS, leave))
    other.put_in([table.copy() for table in taken])
    for again in one.take_out(Leaving(BINS, leave)):
        assert again.rows == 0


def with_moves(
    schema: Schema,
    make: Callable[[Stream], Stream],
    key: Sequence[str],
    messages: Sequence[Rows],
    owners: Sequence[Sequence[bool]],
) -> list[str]:
    """What two benches send; owners: for each message, of which bins the second one has the keys by then."""
    seen: list[str] = []
    with offering(schema, make) as (first, offered), offering(schema, make) as (second, others):
        assert len(offered) == len(others) > 0
        before = np.array(owners[0])
        for time, (rows, now) in enumerate(zip(messages, owners, strict=True)):
            after = np.array(now)
            for one, other in zip(offered, others, strict=True):
                move(one, other, after & ~before)
                move(other, one, before & ~after)
            before = after
            there = after[BINS.of(batch_of(schema, rows), key)] if rows else []
            send(first, schema, [row for row, is_there in zip(rows, there, strict=True) if not is_there], time)
            send(second, schema, [row for row, is_there in zip(rows, there, strict=True) if is_there], time)
        for each in first, second:
            each.close()
            seen += [repr(row[1:]) for row in each.rows]
    return sorted(seen)


def without_moves(schema: Schema, make: Callable[[Stream], Stream], messages: Sequence[Rows]) -> list[str]:
    """What one bench sends."""
    with bench([schema], make) as made:
        for time, rows in enumerate(messages):
            send(made, schema, rows, time)
        made.close()
        return sorted([repr(row[1:]) for row in made.rows])
