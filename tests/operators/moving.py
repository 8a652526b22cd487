"""Operators whose keyed state moves between simulated workers while rows come, beside the same where it stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from hypothesis import strategies as st

from tests.operators.helpers import bench
from tokenring.engine import Schema, Stream
from tokenring.operators.migrate import Change, Placement
from tokenring.operators.migrate.builder import MigratingBuilder

BINS = 8
Declare = Callable[..., Stream]
Sent = Sequence[tuple[int, int, int, Sequence[tuple[Any, ...]]]]
"""Messages in order: their time, the worker and the input that they are given to, rows."""


def changes(workers: int, latest: int) -> st.SearchStrategy[list[Change]]:
    """Where all bins are from some times on."""
    placed = st.lists(st.integers(0, workers - 1), min_size=BINS, max_size=BINS)
    return st.lists(st.tuples(st.integers(1, latest), placed), min_size=2, max_size=4).map(
        lambda moves: [(time, number, worker) for time, where in moves for number, worker in enumerate(where)]
    )


def moving(declare: Declare, workers: int, moves: Sequence[Change]) -> Declare:
    """The same, where bins move."""
    numbers = count()

    def declared(*streams: Stream) -> Stream:
        scope: Any = streams[0].scope
        scope.kept(Placement).begin(scope, next(numbers), workers, BINS, moves)
        scope.builder_class = MigratingBuilder
        return declare(*streams)

    return declared


def rows_sent(
    schemas: Sequence[Schema], declare: Declare, sent: Sent, workers: int, queue: int = 1 << 16, **more: Any
) -> list[tuple[Any, ...]]:
    """All that an operator sends, sorted: (time, *row). queue: the bytes of each."""
    with bench(schemas, declare, workers, queue_bytes=queue, **more) as made:
        for time, worker, to, rows in sent:
            for handles in made.inputs:
                for handle in handles:
                    handle.advance_to(time)
            columns = {name: [row[at] for row in rows] for at, name in enumerate(schemas[to].names)}
            made.send(columns, worker=worker, to=to)
            if time % 3:
                made.settle()
        made.close()
        return sorted([row[1:] for row in made.rows], key=repr)
