"""An input that is fed time by time, and an arrangement of it under a name."""

from __future__ import annotations

from typing import Any

import numpy as np

import tokenring as tr
from tests.operators.collections.harness import UPDATE, Rows

Update = tuple[int, int, int, int]


class Feed:
    """An input of a worker, which gets its share of updates, time by time."""

    def __init__(self, worker: tr.Worker, scope: tr.Scope, updates: list[Update], name: str = "input") -> None:
        self.handle, stream = scope.new_input(UPDATE, name)
        self.collection = stream.collection("time", "times")
        self._due = [update for number, update in enumerate(updates) if number % worker.peers == worker.index]

    def go_to(self, time: int) -> None:
        """Send what is due before `time`."""
        now = [update for update in self._due if update[2] < time]
        self._due = [update for update in self._due if update[2] >= time]
        if now:
            self.handle.send(dict(zip(UPDATE.names, np.array(now).T, strict=True)))
        self.handle.advance_to(time)


def rows_of(collected: Any) -> list[tuple[int, ...]]:
    return list(zip(*[column.tolist() for column in collected.columns().values()], strict=True))


def as_rows(table: Any) -> Rows:
    """A table of what is there, as `at` has it."""
    return Rows({tuple(row.values())[:-1]: row["times"] for row in table.to_pylist()})


def one_view(worker: tr.Worker, history: int = 0) -> tuple[Feed, tr.View]:
    with worker.dataflow("base") as scope:
        feed = Feed(worker, scope, [(1, 5, 0, 1), (2, 6, 3, 1), (1, 5, 4, -1)])
        view = feed.collection.arrange("k").export("rows", history)
    return feed, view
