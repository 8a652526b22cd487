"""The scope of a dataflow under construction: where inputs, sources, operators and probes are declared."""

from collections.abc import Iterator
from contextlib import contextmanager

from engine.batch import Schema
from engine.errors import GraphError, SchemaError
from engine.graph import Graph
from engine.input import InputHandle
from engine.location import Notify, Source, Target
from engine.operate import Constructor
from engine.probe import Probe
from engine.stream import OperatorBuilder, Stream


class Scope:
    """Builds one dataflow. Every worker of a group must declare the same one."""

    def __init__(self, name: str) -> None:
        self.graph = Graph(name)
        self.probes: list[Probe] = []
        self._open = True

    def require_open(self) -> None:
        """Raise GraphError once the dataflow is built."""
        if not self._open:
            raise GraphError(
                f"dataflow {self.graph.name!r} is already built; declare operators inside the `with "
                f"worker.dataflow()` block"
            )

    def close(self) -> None:
        """No more declarations (done by the engine)."""
        self._open = False

    @contextmanager
    def region(self, name: str) -> Iterator["Scope"]:
        """Group what is declared inside the block: its names begin with `name/` in messages, explanations and digests.

        A region is a name only. In Timely a region is an operator that hears of every change of a frontier and passes
        it on to its children; asking it first is what spares them (the article "Speeding up Timely Dataflow by 100x").
        Here frontiers go from the tokens straight to the inputs that asked, so there is nobody to ask on the way.
        """
        self.require_open()
        around = self.graph.region
        self.graph.region = f"{around}{name}/"
        try:
            yield self
        finally:
            self.graph.region = around

    def new_input(
        self, schema: Schema, name: str = "input", handle: InputHandle | None = None
    ) -> tuple[InputHandle, Stream]:
        """A manual input: a handle to feed it from outside the dataflow (or the `handle` given, of a class that does
        more when it is moved), and its stream.
        """
        if not isinstance(schema, Schema):
            raise SchemaError(f'input {name!r}: give a Schema, such as Schema("value"), not {schema!r}')
        builder = OperatorBuilder(self, name, Notify.NEVER)
        stream = builder.output(schema)
        handle = InputHandle(schema) if handle is None else handle
        self.graph.operators[-1].manual = handle
        return handle, stream

    def source(self, name: str, schemas: Schema | tuple[Schema, ...], constructor: Constructor) -> tuple[Stream, ...]:
        """An operator with no inputs and one output a schema: `constructor(context, *tokens)` returns
        `logic(*outputs)`.

        It runs once at the start and then whenever it was activated (`context.activate`, `context.activate_after`).
        """
        builder = OperatorBuilder(self, name, Notify.NEVER)
        schemas = (schemas,) if isinstance(schemas, Schema) else schemas
        streams = tuple(builder.output(schema) for schema in schemas)
        builder.build(constructor)
        return streams

    def operator(self, name: str, notify: Notify = Notify.ALWAYS) -> OperatorBuilder:
        """A builder for an operator with any number of inputs and outputs."""
        return OperatorBuilder(self, name, notify)

    def probe(self, stream: Stream) -> Probe:
        """A handle to watch the frontier of `stream`."""
        self.require_open()
        if stream.scope is not self:
            raise GraphError(f"{stream!r} belongs to another dataflow than {self.graph.name!r}")
        return self.watch(stream.source)

    def watch(self, location: Source | Target) -> Probe:
        """A handle to watch the frontier of a port: of an input, what has still to arrive or to be taken there."""
        probe = Probe()
        self.graph.taps.append(location)
        self.probes.append(probe)
        return probe
