"""Feeds operators by hand on simulated workers and takes what they send, with its times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from tests.engine.helpers import build, settle, simulated
from tokenring.engine import InputHandle, InputPort, OperatorContext, Schema, Scope, Stream, Worker
from tokenring.operators.mechanisms import use
from tokenring.operators.mechanisms.interface import Progress


@contextmanager
def no_text_space(is_so: bool = True) -> Iterator[None]:
    """Within the block, if `is_so`, the process has no text space: operators with text are Python's."""
    if not is_so:
        yield  # a space that is made meanwhile stays: interned texts lie in it
        return
    spaces = import_module("tokenring.shm.memory.text_space")._space  # the function of that name hides the module
    before = list(spaces)
    spaces[:] = [None]
    try:
        yield
    finally:
        spaces[:] = before


Rows = Mapping[str, Sequence[Any]]


@dataclass
class Bench:
    """An operator on every worker of a simulated group; inputs[worker][input] are its hand-held inputs."""

    group: Any
    inputs: list[list[InputHandle]] = field(default_factory=list)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    """Everything sent so far: (worker, time, *row)."""
    probes: list[Progress] = field(default_factory=list)
    """One a worker, where the bench was asked for a mechanism."""

    def send(self, rows: Rows, *, worker: int = 0, to: int = 0, time: int | None = None) -> None:
        """Give rows to one input of one worker, at the input's time or after moving it to `time`."""
        handle = self.inputs[worker][to]
        if time is not None:
            handle.advance_to(time)
        handle.send(rows)

    def advance(self, time: int) -> None:
        """Move every input of every worker on, and let all that follows happen."""
        for handles in self.inputs:
            for handle in handles:
                handle.advance_to(time)
        self.settle()

    def close(self) -> None:
        """End every input and run to the end."""
        for handles in self.inputs:
            for handle in handles:
                handle.close()
        self.settle()
        assert all(worker.complete for worker in self.group.workers)

    def settle(self) -> None:
        settle(self.group, rounds=5000)

    def sent(self) -> list[tuple[Any, ...]]:
        """What was sent since the last call, without workers, sorted: (time, *row)."""
        rows, self.rows = self.rows, []
        return sorted(row[1:] for row in rows)


@contextmanager
def bench(
    schemas: Sequence[Schema],
    declare: Callable[..., Stream],
    workers: int = 1,
    way: str = "",
    times: Sequence[str] = (),
    is_probed: bool = True,
    **settings: Any,
) -> Iterator[Bench]:
    """declare(*streams) makes the operator under test; its rows are recorded as they come.

    With the name of a mechanism, the dataflow coordinates by it, makes its inputs by it (times: each one's column of
    rows' own times), and the operator's output is probed, unless `is_probed` says that it is not.
    """
    with simulated(workers, **settings) as group:
        made = Bench(group)

        def on_worker(worker: Worker, scope: Scope) -> None:
            chosen = use(scope, way) if way else None
            if chosen is None:
                made_inputs = [scope.new_input(schema) for schema in schemas]
            else:
                made_inputs = [chosen.new_input(scope, *each) for each in zip(schemas, times, strict=True)]
            handles, streams = zip(*made_inputs, strict=True)

            def construct(context: OperatorContext) -> Callable[[InputPort], None]:
                def logic(port: InputPort) -> None:
                    for reference, batch in port:
                        columns = [batch[name].tolist() for name in batch.schema.names]
                        made.rows += [(worker.index, reference.time, *row) for row in zip(*columns, strict=True)]

                return logic

            output = declare(*streams)
            output.sink("recorder", construct)
            if chosen is not None and is_probed:
                made.probes.append(chosen.probe(output))
            made.inputs.append(list(handles))

        build(group, on_worker)
        yield made
