"""Probes: handles to a stream's frontier, for whoever feeds the dataflow or waits for its results."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import ref

from tokenring.engine.arguments import require_flags, require_function
from tokenring.engine.data import in_words
from tokenring.engine.errors import BrokenInvariant, GraphError, GroupStopped, OperatorError, UsageError
from tokenring.engine.graph import Location
from tokenring.engine.native import World
from tokenring.engine.progress import GONE
from tokenring.engine.times import COMPLETE, Antichain, as_time, less_equal

if TYPE_CHECKING:
    from tokenring.engine.progress import Tracker
    from tokenring.engine.running.probe_group import ProbeGroup


class Probe:
    """Watches the frontier of a stream. Usable once the dataflow is built."""

    __slots__ = (
        "_depth",
        "_finished",
        "_groups",
        "_listeners",
        "_run",
        "_tracker",
        "_world",
        "declared_at",
        "is_quiet",
        "location",
        "number",
        "watched",
    )

    def __init__(self, watched: Location, depth: int = 1, is_quiet: bool = False, declared_at: str = "") -> None:
        self.watched = watched
        """The port, in the graph."""
        self.declared_at = declared_at
        """Where in the program: file:line (function)."""
        self.is_quiet = is_quiet
        """Whether its frontier is kept, and its moves are told, only while somebody listens (`listen`)."""
        self._tracker: Tracker | None = None
        self.location = -1
        self._depth = depth
        self._finished = False
        self.number = -1
        self._listeners: list[Callable[[], None]] = []
        self._groups: tuple[tuple[ref[ProbeGroup], int], ...] = ()
        self._world: World | None = None
        self._run: list[int] = []  # compiled operators that its moves run, by their rows there

    def attach(self, tracker: "Tracker", number: int, location: int) -> None:
        """Bind to a running dataflow, under the tracker's number for it (done by the engine)."""
        self._tracker = tracker
        self.number = number
        self.location = location

    def listen(self, is_so: bool) -> None:
        """Let listeners of a quiet probe be told of its moves from now on, or no more."""
        require_flags(f"a probe (declared at {self.declared_at})", is_so=is_so)
        if not self._finished:
            self._require_tracker().set_holding(self.number, is_so)

    def finish(self) -> None:
        """Its dataflow is finished: what the tracker knew of it is forgotten, but for COMPLETE (done by the engine)."""
        self._finished = True
        self.location = GONE
        for reference, slot in self._groups:
            group = reference()
            if group is not None:
                group.moved(slot)
        self._groups = ()
        if self._world is not None:
            self._world.name(self.number, -1)
            self._world = None

    @property
    def finished(self) -> bool:
        """Whether its dataflow is finished and forgotten."""
        return self._finished

    def place(self) -> tuple["Tracker", int]:
        """The tracker, and the word of its tables' `location_view` in which the frontier is (for groups of probes)."""
        tracker = self._require_tracker()
        if self._depth > 1:
            raise GraphError("a probe in a loop cannot join a group of probes: its times are tuples")
        return tracker, tracker.frontier_word(self.location)

    def joined(self, group: "ProbeGroup", slot: int) -> None:
        """The group is to be told when the word is another (done by the group)."""
        if not self._finished:
            self._groups = (*self._groups, (ref(group), slot))

    def _require_tracker(self) -> "Tracker":
        if self._tracker is None:
            raise GraphError(
                "a probe can be asked only after its dataflow is built (after the `with worker.dataflow()` block)"
            )
        return self._tracker

    @property
    def frontier(self) -> Any:
        """The least time that may still appear on the stream, COMPLETE if none; in a nested scope, the antichain of
        them.
        """
        tracker = self._require_tracker()
        if self._depth > 1:
            if self._finished:
                return Antichain((), less_equal)
            return Antichain.of_incomparable(tracker.nested_frontier(self.location), less_equal)
        return tracker.frontier(self.location)

    def less_than(self, time: Any) -> bool:
        """Whether a time before `time` may still appear. UsageError for what is no time of the stream's scope."""
        try:
            at = as_time(time, self._depth)
        except TypeError:
            raise self._no_time(time) from None
        return bool(self.frontier.less_than(at) if self._depth > 1 else self.frontier < at)

    def less_equal(self, time: Any) -> bool:
        """Whether `time`, or one before it, may still appear. UsageError for what is no time of the stream's scope."""
        try:
            at = as_time(time, self._depth)
        except TypeError:
            raise self._no_time(time) from None
        return bool(self.frontier.less_equal(at) if self._depth > 1 else self.frontier <= at)

    def _no_time(self, time: object) -> UsageError:
        a_time = "an integer" if self._depth == 1 else f"a tuple of {self._depth} integers"
        return UsageError(f"a probe (declared at {self.declared_at}): a time in its scope is {a_time}, not {time!r}")

    def done(self) -> bool:
        """Whether nothing can appear any more."""
        return self._require_tracker().frontier(self.location) == COMPLETE

    def on_advance(self, listener: Callable[[], None]) -> None:
        """Call `listener` (typically a context's `activate`) whenever the frontier moves on this worker."""
        require_function(f"a probe (declared at {self.declared_at})", "listener", listener)
        self._listeners.append(listener)
        self._name()

    def run_on_advance(self, world: World, operator: int) -> None:
        """Let a compiled operator of the same dataflow run whenever the frontier moves (done by the engine)."""
        self._world = world
        self._run.append(operator)
        self._name()

    def _name(self) -> None:
        """One compiled operator that nobody listens beside is run by the inner loop itself, without Python."""
        if self._world is not None:
            is_alone = len(self._run) == 1 and not self._listeners
            self._world.name(self.number, self._run[0] if is_alone else -1)

    def frontier_moved(self) -> None:
        """Run and tell who asked for it (done by the engine). OperatorError for whatever one of them raises."""
        if self._world is not None:
            for operator in self._run:
                self._world.make_due(operator)
        for listener in self._listeners:
            try:
                listener()
            except (GroupStopped, BrokenInvariant, KeyboardInterrupt):
                raise
            except BaseException as error:
                raise OperatorError(
                    f"a probe's listener raised {in_words(error, 'it is called without arguments')}"
                ) from error
