"""Collections where keyed state moves: what is kept of them stays, and the placement says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tokenring.engine import Config, Schema, Stream
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.operators import Sum, collection
from tokenring.operators.fluent import Worker

MADE: dict[str, Callable[[Stream], Any]] = {
    "arranged": lambda rows: collection(rows).arrange("key"),
    "count": lambda rows: collection(rows).count("key"),
    "totals": lambda rows: collection(rows).aggregate("key", total=Sum("value")),
    "least": lambda rows: collection(rows).top("key", "value", 1),
    "joined": lambda rows: collection(rows).join(collection(rows), "key", suffix="_right"),
    "upserts": lambda rows: collection(rows, key="key"),
    "in a loop": lambda rows: collection(rows).iterate(lambda inner, loop: inner.distinct()),
}


@pytest.mark.parametrize("name", list(MADE))
def test_collections_stay(name: str) -> None:
    config = Config(workers=2, ring_records=64, queue_bytes=4096, pin=False)
    group = SimulatedGroup(config, Worker)
    try:
        worker = group.workers[0]
        assert isinstance(worker, Worker)
        with group.building(worker), worker.dataflow("test", bins=8) as scope:
            MADE[name](scope.new_input(Schema("key value"))[1])
            assert scope.placement.staying and not scope.placement.movers
    finally:
        for worker in group.workers:
            for handle in worker.inputs:
                handle.close()
        group.close()
