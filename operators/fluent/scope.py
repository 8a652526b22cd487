"""Scopes with the library's sources as methods, whose streams have its operators as methods."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tokenring import engine
from tokenring.engine import Constructor, GraphError, InputHandle, Notify, Probe, Schema
from tokenring.engine.errors import NoSuchMethodError
from tokenring.faces import later
from tokenring.operators.fluent.stream import Stream

with later(__name__, keep=True):
    from tokenring.operators import collections, sources, staging
    from tokenring.operators.capture import replay as from_capture

if TYPE_CHECKING:
    from tokenring.operators.migrate import Placement

Feedback = engine.Feedback[Stream]
OperatorBuilder = engine.OperatorBuilder[Stream]


class Loop(engine.Loop):
    """An iterative scope: a time in it is the time outside with a round appended, 0 on entry."""

    variable = collections.variable

    def __init__(self, parent: engine.Scope, name: str) -> None:
        super().__init__(parent, name)
        self._entries: list[Probe] = []

    def enter(self, stream: engine.AnyStream) -> engine.AnyStream:
        """See engine.Loop. Under recovery a loop of streams is cut here: rows wait until their times are finished,
        by all streams that enter, and then go round until they have left. So it is empty whenever nothing is under way.
        """
        from tokenring.operators.collections.words import TIMES
        from tokenring.operators.migrate import goes_by_times
        from tokenring.operators.time import finished_first

        if TIMES[0] not in stream.schema.positions:  # updates of a collection have times of their own, and come again
            goes_by_times(stream)
            stream = finished_first(stream, f"enter {self.name}", self._entries)
        return super().enter(stream)

    if not TYPE_CHECKING:  # a checker of types knows better

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # tools ask any object for such names
                raise AttributeError(name)
            there = [each for each in dir(type(self)) if not each.startswith("_")]
            cure = engine.did_you_mean(name, there)
            if hasattr(Scope, name):
                cure = ": declare it in the root scope; loop.enter(stream) brings its stream in"
            raise NoSuchMethodError(f"a Loop has no {name!r}{cure}")

    if TYPE_CHECKING:  # what it makes is of these classes, since its streams are

        def source(
            self, name: str, schemas: Schema | tuple[Schema, ...], constructor: Constructor
        ) -> tuple[Stream, ...]: ...

        def operator(self, name: str, notify: Notify = Notify.ALWAYS) -> OperatorBuilder: ...

        def feedback(
            self, schema: Schema, increment: int | tuple[int, ...] = 1, name: str = "feedback"
        ) -> Feedback: ...

        @contextmanager
        def loop(self, name: str = "loop") -> Iterator["Loop"]: ...

        @contextmanager
        def region(self, name: str) -> Iterator["Loop"]: ...


class Scope(engine.Scope):
    """Builds one dataflow, with each source of the library as a method. All workers must declare the same one."""

    stream_class = Stream
    loop_class = Loop

    if TYPE_CHECKING:

        def new_input(
            self, schema: Schema, name: str = "input", handle: InputHandle | None = None
        ) -> tuple[InputHandle, Stream]: ...

        def source(
            self, name: str, schemas: Schema | tuple[Schema, ...], constructor: Constructor
        ) -> tuple[Stream, ...]: ...

        def operator(self, name: str, notify: Notify = Notify.ALWAYS) -> OperatorBuilder: ...

        def feedback(
            self, schema: Schema, increment: int | tuple[int, ...] = 1, name: str = "feedback"
        ) -> Feedback: ...

        @contextmanager
        def loop(self, name: str = "loop") -> Iterator[Loop]: ...

        @contextmanager
        def region(self, name: str) -> Iterator["Scope"]: ...

    @property
    def placement(self) -> "Placement":
        """Where the bins of keyed state are, and how they are moved. GraphError for a dataflow without bins."""
        from tokenring.operators.migrate import Placement

        if Placement not in self.root._kept:
            raise GraphError(f"dataflow {self.graph.name!r} has no bins: declare it with bins=256, say")
        return self.kept(Placement)

    read_csv = sources.read_csv
    read_parquet = sources.read_parquet
    read_json_lines = sources.read_json_lines
    read_arrow = sources.read_arrow
    read_columns = sources.read_columns
    read_staged = staging.read_staged
    from_generator = sources.from_generator
    from_callback = sources.from_callback
    engine_events = sources.engine_events
    new_collection = collections.new_collection
    replay = from_capture
    import_arrangement = collections.import_arrangement

    if not TYPE_CHECKING:  # a checker of types knows better

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # tools ask any object for such names
                raise AttributeError(name)
            from tokenring.operators.sources import meant_by

            there = [each for each in dir(type(self)) if not each.startswith("_")]
            cure = meant_by(name) or engine.did_you_mean(name, there)
            raise NoSuchMethodError(f"a Scope has no {name!r}{cure or '; for a source of your own say scope.source'}")
