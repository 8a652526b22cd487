"""Dataflows of so many operators that frontiers go along their edges: rows of paths would be too many."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.operators.helpers import bench
from tokenring.engine import Schema, Stream
from tokenring.operators import Count, aggregate, union

MANY = 400


def _branches(rows: Stream) -> Stream:
    counted = [aggregate(rows, "key", n=Count(), emit="final", name=f"count {number}") for number in range(MANY)]
    return union(*[aggregate(each, "n", keys=Count(), emit="final") for each in counted])


@pytest.mark.parametrize("workers", [1, 2])
def test_each_ends_when_what_is_before_it_has(workers: int) -> None:
    """Such a dataflow could not even be built."""
    with bench([Schema("key")], _branches, workers) as made:
        (graph,) = made.group.workers[0].tracker.tables.graphs_used.values()
        assert graph.edges is not None, "not so many that it makes a difference"
        for time in range(3):
            made.send({"key": np.arange(5)}, worker=time % workers, time=time)
            made.settle()
        assert not made.rows
        made.close()
    assert Counter(row[2:] for row in made.rows) == {(3, 5): MANY}
