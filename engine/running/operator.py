"""A running operator: its ports, its logic, and the context through which the logic asks to be run again."""

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenring.engine.data import NO_MESSAGES, InputPort, OutputPort, raised_at
from tokenring.engine.errors import GroupStopped, OperatorError, TokenRingError
from tokenring.engine.graph import Notify, identity_paths
from tokenring.engine.running.publishing import Publication
from tokenring.shm.errors import BrokenInvariant

if TYPE_CHECKING:
    from tokenring.engine.running.events import EventLog
    from tokenring.engine.worker.worker import Worker

NOT_DUE, DUE, DUE_AND_KEPT = range(3)
"""Whether an operator waits to be run; the last: it does, and the messages that wait for it may outlive the step."""


class RunningOperator:
    """One worker's instance of an operator."""

    __slots__ = (
        "counts_tokens",
        "due",
        "in_loop",
        "inputs",
        "is_indifferent",
        "is_next",
        "is_relay",
        "is_running",
        "logic",
        "name",
        "number",
        "outputs",
        "paths",
        "ports",
        "view",
        "worker",
    )

    def __init__(self, worker: "Worker", name: str, number: int, notify: Notify) -> None:
        self.worker = worker
        self.name = name
        self.number = number  # the tracker's: topological, so pipelined operators run within one step
        self.inputs: tuple[InputPort, ...] = ()
        self.outputs: tuple[OutputPort, ...] = ()
        self.ports: tuple[Any, ...] = ()
        """What the logic is called with."""
        self.counts_tokens = notify == Notify.IF_TOKEN
        self.is_indifferent = notify == Notify.NEVER
        self.due = NOT_DUE
        self.paths = identity_paths(1)
        self.is_next = False
        """Whether it asked for a run in the next step."""
        self.in_loop = False
        """Whether it may be fed by what it sends: it runs in turn with others of its kind, after those that are not."""
        self.is_relay = False
        """Whether it is only an edge that changes times."""
        self.is_running = False
        self.logic: Callable[..., None] = _nothing
        self.view: Callable[[], Any] | None = None
        """Shows its state to whoever inspects it."""

    def set_logic(self, logic: Callable[..., None]) -> None:
        """Bind the logic to the ports."""
        self.logic = logic
        self.ports = (*self.inputs, *self.outputs)

    def run(self) -> None:
        """Run the logic once; whatever it raises is raised as OperatorError naming the operator and the worker."""
        self.is_running = True
        try:
            self.logic(*self.ports)
        except (GroupStopped, BrokenInvariant, OperatorError, KeyboardInterrupt):
            raise  # an OperatorError: of a stateless operator, which it names
        except TokenRingError as error:
            raise OperatorError(
                f"operator {self.name!r} on worker {self.worker.index}: "
                f"{type(error).__name__}: {error}{raised_at(error)}"
            ) from error
        except BaseException as error:  # SystemExit too: an operator does not end its worker without a word
            frontiers = ", ".join(f"input {port.index} at {port.frontier}" for port in self.inputs)
            call = f"its logic is called with its {len(self.inputs)} input(s), then its {len(self.outputs)} output(s)"
            raise OperatorError(
                f"operator {self.name!r} raised on worker {self.worker.index} ({frontiers or 'a source'}): "
                f"{type(error).__name__}: {error}{raised_at(error, call)}"
            ) from error
        finally:
            self.is_running = False
        for port in self.inputs:
            if port.current is not None or port.queue:
                port.end_call()
            elif self.is_indifferent and port.queue.__class__ is deque:  # not one that checks
                port.queue = NO_MESSAGES  # it may be idle for long from now on
        if self.counts_tokens:
            self.worker.tracker.set_holding(self.number, self.held)

    def release(self) -> None:
        """Let go of ports, state and all they hold, now and not when garbage is collected; it never runs again."""
        for port in self.outputs:
            port.channels = []
        for messages in self.inputs:
            messages.finish()
        self.inputs, self.outputs, self.ports = (), (), ()
        self.logic = _nothing
        self.view = None
        self.due = DUE  # so that no late activation makes it due

    def frontier_moved(self) -> None:
        """A frontier of the inputs moved, and the notify policy wants a run."""
        self.worker.schedule.make_due(self)

    @property
    def held(self) -> int:
        """Tokens held for all outputs."""
        return sum(port.held for port in self.outputs)


def _nothing() -> None:
    """The logic of an operator that is only a location (a manual input)."""


class OperatorContext:
    """What an operator's constructor gets: who and where it is, and how to ask for a later run."""

    __slots__ = ("_heeds", "_operator")

    def __init__(self, operator: RunningOperator) -> None:
        self._operator = operator
        self._heeds = False

    @property
    def name(self) -> str:
        """The operator's name."""
        return self._operator.name

    @property
    def worker_index(self) -> int:
        """This worker's number, from 0."""
        return self._operator.worker.index

    @property
    def peers(self) -> int:
        """The number of workers in the group."""
        return self._operator.worker.peers

    @property
    def congested(self) -> bool:
        """Whether queues are so full that a source should send nothing now, and activate itself to look again."""
        return self._operator.worker.plane.congested

    def activate(self) -> None:
        """Run the operator again in the worker's next step."""
        self._operator.worker.schedule.activate(self._operator)

    def activate_after(self, delay_ns: int) -> None:
        """Run the operator again once `delay_ns` have passed (the worker may sleep until then)."""
        self._operator.worker.schedule.activate_after(self._operator, delay_ns)

    def publish(self, made: str | Path, target: str | Path) -> None:
        """Let a folder that was made, and is on the disk, be called `target` once the whole run was right: when every
        worker's program has returned and every dataflow has ended, the launcher renames it. Of a run that fails nothing
        is published.
        """
        operator = self._operator
        operator.worker.publish(Publication(operator.name, str(made), str(target)))

    @property
    def stopping(self) -> bool:
        """Whether the run is to end in order, which a live source does by dropping its token. Ask in the constructor
        too: the first time promises that, and has the operator run when the request comes. See `Worker.stopping`."""
        if not self._heeds:
            self._heeds = True
            self._operator.worker.ending.run_then(self._operator)
        return self._operator.worker.stopping

    def engine_events(self) -> "EventLog":
        """The log of what this worker's engine does, turned on: for sources that send it (`engine_events`)."""
        from tokenring.engine.running.events import events_for

        return events_for(self._operator)

    def inspectable(self, view: Callable[[], Any]) -> None:
        """Let `scope.running.inspect(name)` return `view()`: what an outsider may see of the operator's state."""
        self._operator.view = view

    def __repr__(self) -> str:
        return f"OperatorContext({self.name!r}, worker {self.worker_index} of {self.peers})"
