"""Compiles (or loads from the cache) every kernel of the engine before the group forks, by running a small group in
this process.
"""

from collections.abc import Callable
from functools import cache

from engine.config import Config
from engine.input_port import InputPort
from engine.location import Notify
from engine.operator import OperatorContext
from engine.output_port import OutputPort
from engine.pact import Broadcast, Exchange
from engine.schema import Schema
from engine.simulation import SimulatedGroup
from engine.tokens import Token
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

    def consume(context: OperatorContext) -> Callable[..., None]:
        def logic(messages: InputPort) -> None:
            for _ in messages:
                pass

        return logic

    def hold(context: OperatorContext, token: Token) -> Callable[..., None]:
        held = [token]

        def logic(messages: InputPort, output: OutputPort) -> None:
            for reference, _ in messages:
                held.append(reference.retain())
            for token in [token for token in held if messages.finished(token.time)]:
                held.remove(token)
                token.drop()

        return logic

    handles = []
    for worker in group.workers:
        with group.building(worker), worker.dataflow("warm-up") as scope:
            handle, stream = scope.new_input(schema)
            handles.append(handle)
            stream.sink("exchanged", consume, Exchange("key"))
            stream.sink("broadcast", consume, Broadcast())
            stream.unary("holder", schema, hold, notify=Notify.IF_TOKEN)
        with group.building(worker), worker.dataflow("nested warm-up") as scope:
            handle, stream = scope.new_input(schema)
            handles.append(handle)
            with scope.loop() as loop:
                around = loop.feedback(schema)
                entered = loop.enter(stream)
                entered.sink("exchanged", consume, Exchange("key"))
                around.connect(entered.unary("holder", schema, hold, notify=Notify.IF_TOKEN))
    for time, handle in enumerate(handles):
        handle.send({"key": list(range(40))})
        handle.advance_to(time + 1)
        handle.close()
    group.run()
    group.close()
