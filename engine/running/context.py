"""What an operator's constructor gets: who and where it is, and how to ask for a later run."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tokenring.engine.arguments import as_integer
from tokenring.engine.errors import UsageError
from tokenring.engine.running.operator import RunningOperator, WhenStopped
from tokenring.engine.running.probe import Probe
from tokenring.engine.running.publishing import Publication

if TYPE_CHECKING:
    from tokenring.engine.running.events import EventLog

_MOST_NS = (1 << 63) - 1


class EndInOrder(Protocol):
    """How sources learn that the run is to end."""

    def heed(self) -> bool:
        """Whether somebody asked for an early end; who asks this promises to heed it."""

    def run_then(self, operator: RunningOperator) -> None:
        """Run a source when an end is asked for: it closes itself then."""


class Host(Protocol):
    """What a worker does for its operators beyond running them."""

    publish: Callable[[Publication], None]

    @property
    def sharing(self) -> int:
        """How many workers, the first ones, sources share out among."""

    @property
    def leader(self) -> int:
        """The process of the group's worker 0."""

    @property
    def ending(self) -> EndInOrder:
        """Who knows whether the run is to end."""

    def watch_events(self) -> "EventLog":
        """The log of what the engine does, turned on if it was not."""


class OperatorContext:
    """What an operator's constructor gets: who and where it is, and how to ask for a later run."""

    __slots__ = ("_heeds", "_host", "_operator", "_peers", "_runtime")

    def __init__(self, operator: RunningOperator, host: Host) -> None:
        self._operator = operator
        self._runtime = operator.runtime
        self._host = host
        self._peers = self._runtime.peers
        self._heeds = False

    @property
    def name(self) -> str:
        """The operator's name."""
        return self._operator.name

    @property
    def worker_index(self) -> int:
        """This worker's number, from 0."""
        return self._runtime.index

    @property
    def row(self) -> int:
        """What compiled operators know it by (`make_due`); -1: it is Python's."""
        return self._operator.compiled

    @property
    def peers(self) -> int:
        """The number of workers that the dataflow was built for."""
        return self._peers

    @property
    def sharing(self) -> int:
        """How many workers of the group, the first ones, sources share out among: all, but for `Config.idle`. A source
        on another worker drops its token."""
        return self._host.sharing

    @property
    def leader(self) -> int:
        """The process of the group's worker 0, by the number that it has for itself."""
        return self._host.leader

    @property
    def congested(self) -> bool:
        """Whether queues are so full that a source should send nothing now, and activate itself to look again."""
        return self._runtime.plane.congested

    def activate(self) -> None:
        """Run the operator again in the worker's next step."""
        self._runtime.schedule.activate(self._operator)

    def activate_after(self, delay_ns: int) -> None:
        """Run the operator again once `delay_ns` have passed (the worker may sleep until then). UsageError for what is
        no whole number of them."""
        if delay_ns.__class__ is not int or not 0 <= delay_ns <= _MOST_NS:
            delay_ns = self._whole(delay_ns)
        self._runtime.schedule.activate_after(self._operator, delay_ns)

    def _whole(self, delay_ns: Any) -> int:
        """A delay that is no int, or none that one can wait for: not a number among the timers would stop them all."""
        try:
            found = as_integer(delay_ns)
        except TypeError:
            found = -1
        if not 0 <= found <= _MOST_NS:
            raise UsageError(
                f"operator {self.name!r}: activate_after takes whole nanoseconds, from 0 to {_MOST_NS}, not "
                f"{delay_ns!r}; say int(seconds * 1e9)"
            )
        return found

    def run_on_advance(self, probe: Probe) -> None:
        """Run the operator whenever the frontier of a probe of its own dataflow moves on this worker: a compiled one
        in the same step, without Python."""
        if not isinstance(probe, Probe):
            raise UsageError(
                f"operator {self.name!r}: run_on_advance takes a probe, such as stream.probe() gives, not {probe!r}"
            )
        if self._operator.compiled >= 0:
            probe.run_on_advance(self._runtime.world, self._operator.compiled)
        else:
            probe.on_advance(self.activate)

    def publish(self, made: str | Path, target: str | Path) -> None:
        """Let a folder that was made, and is on the disk, be called `target` once the whole run was right: when every
        worker's program has returned and every dataflow has ended, the launcher renames it. Of a run that fails nothing
        is published.
        """
        self._host.publish(Publication(self._operator.name, str(made), str(target)))

    @property
    def stopping(self) -> bool:
        """Whether the run is to end in order, by a stop or a finish, which a live source does by dropping its token.
        Ask in the constructor too: the first time promises that, and has the operator run when the request comes. See
        `Worker.stopping`."""
        if not self._heeds:
            self._heeds = True
            self._host.ending.run_then(self._operator)
        return self._host.ending.heed()

    def engine_events(self) -> "EventLog":
        """The log of what this worker's engine does, turned on: for sources that send it (`engine_events`)."""
        events = self._host.watch_events()
        events.add_reader(self._operator)
        return events

    def when_stopped(self, what: WhenStopped) -> None:
        """Say what becomes of the operator when the run is to stop, where that is not what WhenStopped says of its
        kind. To be said in the constructor."""
        self._operator.when_stopped = what

    def inspectable(self, view: Callable[[], Any]) -> None:
        """Let `scope.running.inspect(name)` return `view()`: what an outsider may see of the operator's state."""
        self._operator.view = view

    def when_released(self, tell: Callable[[], None]) -> None:
        """Call `tell()` once the operator will never run again on this worker: its dataflow has ended everywhere, or
        was cancelled. For what it shares with operators of other dataflows.
        """
        self._operator.outlived_by = tell

    def __repr__(self) -> str:
        return f"OperatorContext({self.name!r}, worker {self.worker_index} of {self.peers})"
