"""The scope of a dataflow under construction: where inputs, sources, operators, loops and probes are declared."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from tokenring.engine.arguments import require_name
from tokenring.engine.columns import Schema, require_schema
from tokenring.engine.declare.builder import OperatorBuilder
from tokenring.engine.declare.feedback import Feedback, relay
from tokenring.engine.declare.part import Part
from tokenring.engine.declare.stream import AnyStream, Stream, require_streams
from tokenring.engine.errors import GraphError
from tokenring.engine.explain import Dataflow
from tokenring.engine.graph import Constructor, Graph, Location, Notify, Pipeline, Source, Target
from tokenring.engine.running import InputHandle, Probe, UnderWay
from tokenring.engine.times import MOST_COORDINATES, enter_summary, leave_summary

T = TypeVar("T")
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep


class Scope:
    """Builds one dataflow. Every worker of a group must declare the same one."""

    stream_class: type[Any] = Stream
    """Of which class its streams are: a library may give them methods."""
    loop_class: "type[Loop]"
    """Of which class its loops are."""
    builder_class: type[Any] = OperatorBuilder
    """Of which class the builders of its operators are."""

    def __init__(self, name: str, coordinates: Sequence[str] = ()) -> None:
        """coordinates: names of those of its times, which are tuples then, ordered coordinate by coordinate; none:
        times are integers. GraphError for too many, and for names that are not, or are alike."""
        self.coordinates = _checked(name, coordinates)
        """The names of the coordinates of its times, if these are tuples."""
        self.graph = Graph(name)
        self.probes: list[Probe] = []
        self.watched: list[UnderWay] = []
        self.depth = max(1, len(self.coordinates))
        """The number of coordinates of the scope's times."""
        self._open = True
        self._running: Dataflow | None = None
        self._kept: dict[Any, Any] = {}
        self.worker_kept: dict[Any, Any] = {}
        """What `kept_by_worker` finds (set by the worker)."""
        self.when_failed: Callable[[str], None] | None = None
        """Told what an operator raised, where that is to end this dataflow alone (set by who installs it)."""

    @property
    def root(self) -> "Scope":
        """The scope that all others of the dataflow are in."""
        return self

    def kept(self, kind: type[T]) -> T:
        """The one object of that class that belongs to this dataflow, made by `kind()` when it is first asked for:
        where a library keeps what it has to know of a dataflow under construction.
        """
        return one_of(self.root._kept, kind)

    def kept_by_worker(self, kind: type[T]) -> T:
        """The one object of that class that belongs to this worker, as `kept`: what its dataflows know of each other.
        """
        return one_of(self.root.worker_kept, kind)

    @property
    def running(self) -> Dataflow:
        """The dataflow as it runs on this worker: whether it is done, why its time stands still, how to end it. Raises
        GraphError before the end of the `with worker.dataflow()` block.
        """
        running = self.root._running
        if running is None:
            raise GraphError(
                f"dataflow {self.graph.name!r} is not built yet; ask after the `with worker.dataflow()` block"
            )
        return running

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

    def begin(self, running: Dataflow) -> None:
        """What was declared runs from now on (said by the engine)."""
        self._running = running

    def require_own(self, stream: Stream, who: str) -> None:
        """Raise GraphError, on behalf of `who`, if the stream belongs to another dataflow or another scope of this one.
        """
        require_streams(who, stream)
        if stream.scope.graph is not self.graph:
            raise GraphError(
                f"{who}: {stream!r} belongs to another dataflow; streams connect within one dataflow"
            )
        if stream.scope is not self:
            raise GraphError(
                f"{who}: {stream!r} belongs to {stream.scope.describe()}, not to {self.describe()}; bring it over with "
                f"loop.enter(stream) or loop.leave(stream)"
            )

    def describe(self) -> str:
        """The scope in words."""
        times = f" (times: {', '.join(self.coordinates)})" if self.coordinates else ""
        return f"the root scope of dataflow {self.graph.name!r}{times}"

    @property
    def way_out(self) -> str:
        """What to do with a stream of a scope whose times are tuples, for what needs integers."""
        return "do that in a dataflow whose times are integers"

    @contextmanager
    def region(self, name: str) -> Iterator["Scope"]:
        """Group what is declared inside the block: its names begin with `name/` in messages, explanations and digests.

        A region is a name only. In Timely a region is an operator that hears of every change of a frontier and passes
        it on to its children; asking it first is what spares them (the article "Speeding up Timely Dataflow by 100x").
        Here frontiers go from the tokens straight to the inputs that asked, so there is nobody to ask on the way.
        """
        self.require_open()
        require_name("a region", name)
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
        more when it is moved), and its stream. Each worker has a handle, which sends rows of its own: what every
        worker sends comes as often as there are workers. GraphError for a handle that feeds an input already.
        """
        require_schema(f"input {name!r}", schema)
        if handle is not None:
            handle.require_new(schema, name)
        builder = self.operator(name, Notify.NEVER)
        stream = builder.output(schema)
        handle = InputHandle(schema) if handle is None else handle
        frame = sys._getframe(1)
        handle.declared = frame.f_code, frame.f_lineno
        handle.name = name
        self.graph.operators[-1].manual = handle
        return handle, stream

    def source(self, name: str, schemas: Schema | tuple[Schema, ...], constructor: Constructor) -> tuple[Stream, ...]:
        """An operator with no inputs and one output a schema: `constructor(context, *tokens)` returns
        `logic(*outputs)`.

        It runs once at the start and then whenever it was activated (`context.activate`, `context.activate_after`).
        """
        builder = self.operator(name, Notify.NEVER)
        schemas = (schemas,) if isinstance(schemas, Schema) else schemas
        streams = tuple(builder.output(schema) for schema in schemas)
        builder.build(constructor)
        return streams

    def operator(self, name: str, notify: Notify = Notify.ALWAYS) -> OperatorBuilder[Stream]:
        """A builder for an operator with any number of inputs and outputs."""
        builder: OperatorBuilder[Stream] = self.builder_class(self, name, notify)
        return builder

    @contextmanager
    def loop(self, name: str = "loop") -> Iterator["Loop"]:
        """An iterative scope within this one: its times have a counter more. `with scope.loop("name") as loop:`."""
        self.require_open()
        require_name("a loop", name)
        if self.depth == MOST_COORDINATES:
            raise GraphError(
                f"loop {name!r}: its times would have {self.depth + 1} coordinates; they carry {MOST_COORDINATES}, "
                f"those of the root scope and a counter a loop: {_MORE_COORDINATES}"
            )
        yield self.loop_class(self, name)

    def feedback(
        self, schema: Schema, increment: int | tuple[int, ...] = 1, name: str = "feedback"
    ) -> Feedback[Stream]:
        """The way around a loop: rows given to `connect` come back as `stream`, `increment` later: in the scope's
        innermost coordinate (in the root scope: the time itself); or, a tuple, so much in each. GraphError for one of
        another length. What would come back later than `MAX_TIME` is a TimeRegressionError: results of emit="final" in
        the root scope, say, which are of the last time.
        """
        self.require_open()
        require_name("feedback", name)
        return Feedback(self, schema, increment, name)

    def probe(self, stream: Stream) -> Probe:
        """A handle to watch the frontier of `stream`."""
        self.require_open()
        require_streams("a probe", stream)
        if stream.scope.graph is not self.graph:
            raise GraphError(f"{stream!r} belongs to another dataflow than {self.graph.name!r}")
        return self.watch(stream.source)

    def watch(self, location: Source | Target, is_quiet: bool = False) -> Probe:
        """A handle to watch the frontier of a port: of an input, what has still to arrive or to be taken there. A quiet
        one costs nothing while nobody listens (`Probe.listen`)."""
        operator = self.graph.operators[location.operator]
        depth = operator.depth if isinstance(location, Source) else operator.input_depth
        probe = Probe(location, depth, is_quiet, _place_in_program())
        self.graph.taps.append(location)
        self.probes.append(probe)
        return probe


    def watch_messages(self, find: Callable[[Graph], Sequence[Location]]) -> UnderWay:
        """A handle to what is under way to the inputs that `find(graph)` names when the graph is whole."""
        self.require_open()
        found = UnderWay(find)
        self.watched.append(found)
        return found

    @contextmanager
    def part(self) -> Iterator[Part]:
        """What is declared inside the block, as a part of the dataflow. Parts may be within others."""
        self.require_open()
        part = Part(self)
        try:
            yield part
        finally:
            part.close()


def frame_in_program() -> FrameType:
    """Where the program declares something, called while it does."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


def _place_in_program() -> str:
    """The same as file:line (function)."""
    frame = frame_in_program()
    return f"{frame.f_code.co_filename}:{frame.f_lineno} ({frame.f_code.co_name})"


class Loop(Scope):
    """An iterative scope: a time in it is the time outside with a round appended, 0 on entry. Streams enter and leave.

    Naiad's ingress, egress and feedback (section 2.1); here they are edges that change the time, and cost no operator.
    """

    def __init__(self, parent: Scope, name: str) -> None:
        self.stream_class, self.loop_class = parent.stream_class, parent.loop_class
        self.builder_class = parent.builder_class
        self.graph = parent.graph
        self.probes = parent.probes
        self.watched = parent.watched
        self.coordinates = parent.coordinates
        self.depth = parent.depth + 1
        self.name = name
        self._parent = parent

    @property
    def root(self) -> Scope:
        """The scope that all others of the dataflow are in."""
        return self._parent.root

    def require_open(self) -> None:
        """Raise GraphError once the dataflow is built."""
        self._parent.require_open()

    def describe(self) -> str:
        """The scope in words."""
        return f"loop {self.name!r}"

    @property
    def way_out(self) -> str:
        """See Scope."""
        return "let the stream leave it first"

    def new_input(
        self, schema: Schema, name: str = "input", handle: InputHandle | None = None
    ) -> tuple[InputHandle, Stream]:
        """Not here: raises GraphError."""
        raise GraphError(
            f"input {name!r} cannot be declared in {self.describe()}: declare it in the root scope and enter its stream"
        )

    def enter(self, stream: AnyStream) -> AnyStream:
        """A stream of the surrounding scope in this one: its rows at round 0."""
        self._parent.require_own(stream, f"{self.describe()}, enter")
        summary = enter_summary(self._parent.depth)
        entered: AnyStream
        number, entered = relay(self, stream.schema, f"enter {self.name}", summary, self._parent.depth)
        self._connect(number, stream)
        entered.updates = stream.updates
        return entered

    def leave(self, stream: AnyStream) -> AnyStream:
        """A stream of this scope in the surrounding one: the round is forgotten."""
        self.require_own(stream, f"{self.describe()}, leave")
        summary = leave_summary(self.depth)
        left: AnyStream
        number, left = relay(self._parent, stream.schema, f"leave {self.name}", summary, self.depth)
        self._connect(number, stream)
        left.updates = stream.updates
        return left

    def _connect(self, number: int, stream: Stream) -> None:
        self.graph.operators[number].inputs.append(stream.read(Pipeline(), stream.schema))


Scope.loop_class = Loop

_MORE_COORDINATES = (
    "start Python with TOKENRING_COORDINATES=8, say, in the environment; kernels are compiled anew for it, once"
)


def _checked(dataflow: str, coordinates: Sequence[str]) -> tuple[str, ...]:
    """The names of coordinates; none where there is one, which times are then."""
    require_name("a dataflow", dataflow)
    if isinstance(coordinates, str) or not all([isinstance(name, str) and name for name in coordinates]):
        raise GraphError(f"dataflow {dataflow!r}: coordinates={coordinates!r} are not names: say ('day', 'version')")
    if len({*coordinates}) < len(coordinates) or len(coordinates) == 1:
        raise GraphError(f"dataflow {dataflow!r}: coordinates={coordinates!r}: give several, each a name of its own")
    if len(coordinates) > MOST_COORDINATES:
        raise GraphError(
            f"dataflow {dataflow!r}: times carry {MOST_COORDINATES} coordinates, not {len(coordinates)}: "
            f"{_MORE_COORDINATES}"
        )
    return tuple(coordinates)


def one_of(kept: dict[Any, Any], kind: type[T]) -> T:
    """The one object of a class among what is kept, made when it is first asked for."""
    if kind not in kept:
        kept[kind] = kind()
    found: T = kept[kind]
    return found
