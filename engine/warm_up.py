"""Compiles (or loads from the cache) every kernel of the engine before the group forks, by running a small group in
this process.
"""

from functools import cache

from engine.batch import Schema
from engine.config import Config
from engine.pact import Broadcast, Exchange
from engine.simulation import SimulatedGroup
from shm.data_queue import partition_for, send_for

COLUMNS_COMPILED = 8  # exchanges of up to so many columns are compiled ahead; wider ones when they are built


@cache
def warm_up() -> None:
    """Run two simulated workers over an exchange and a broadcast, so that all kernels exist; once per process."""
    for columns in range(1, COLUMNS_COMPILED + 1):
        partition_for(columns)
        send_for(columns)
    group = SimulatedGroup(Config(workers=2, ring_records=64, queue_bytes=4096, pin=False))
    schema = Schema("key")

    def consume(context: object) -> object:
        def logic(messages: object) -> None:
            for _ in messages:  # type: ignore[attr-defined]
                pass

        return logic

    handles = []
    for worker in group.workers:
        with group.building(worker), worker.dataflow("warm-up") as scope:
            handle, stream = scope.new_input(schema)
            stream.sink("exchanged", consume, Exchange("key"))  # type: ignore[arg-type]
            stream.sink("broadcast", consume, Broadcast())  # type: ignore[arg-type]
            handles.append(handle)
    for time, handle in enumerate(handles):
        handle.send({"key": list(range(40))})
        handle.advance_to(time + 1)
        handle.close()
    group.run()
    group.close()
