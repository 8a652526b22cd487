"""A running operator: its ports, its logic, and whether it is due."""

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any

from tokenring.engine.data import NO_MESSAGES, InputPort, OutputPort, Runtime, in_words
from tokenring.engine.errors import GroupStopped, MemoryBudgetError, OperatorError, TokenRingError
from tokenring.engine.graph import Notify, identity_paths
from tokenring.engine.times import COMPLETE
from tokenring.shm.errors import BrokenInvariant

NOT_DUE, DUE, DUE_AND_KEPT = range(3)
"""Whether an operator waits to be run; the last: it does, and the messages that wait for it may outlive the step."""


class WhenStopped(Enum):
    """What becomes of an operator when the run is to stop: see `Worker.stopping`."""

    HALTS = "halts"
    """It runs no more, and what it holds stays at its time: whatever has no inputs, if nothing else is said."""
    FOLLOWS = "follows"
    """It runs until nothing is under way any more, and sees no time finish that is not: whatever has inputs."""
    ENDS = "ends"
    """It goes on beyond that, and sees its inputs end: what it was given is all that it will get. Sinks."""


class RunningOperator:
    """One worker's instance of an operator."""

    __slots__ = (
        "compiled",
        "counts_tokens",
        "declared_at",
        "due",
        "inputs",
        "is_indifferent",
        "is_next",
        "is_relay",
        "is_running",
        "is_told_of_end",
        "logic",
        "name",
        "number",
        "outlived_by",
        "outputs",
        "paths",
        "ports",
        "runtime",
        "state",
        "view",
        "when_stopped",
    )

    def __init__(self, runtime: Runtime, name: str, number: int, notify: Notify) -> None:
        self.runtime = runtime
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
        self.compiled = -1
        """Its row in the world's tables, if its logic is compiled."""
        self.declared_at = ""
        """Where the constructor of a compiled operator is, in words."""
        self.is_relay = False
        """Whether it is only an edge that changes times."""
        self.is_running = False
        self.is_told_of_end = False
        """Whether it was run because the run is to end in order, which it asked for."""
        self.logic: Callable[..., None] = _nothing
        self.state: Any = None
        """Of a compiled one what its logic works on, for whoever weighs it."""
        self.view: Callable[[], Any] | None = None
        """Shows its state to whoever inspects it."""
        self.when_stopped: WhenStopped | None = None
        """What was said of that; None: HALTS without inputs, FOLLOWS with some."""
        self.outlived_by: Callable[[], None] = _nothing
        """Called once the operator is released."""

    def set_logic(self, logic: Callable[..., None]) -> None:
        """Bind the logic to the ports."""
        self.logic = logic
        self.ports = (*self.inputs, *self.outputs)

    def run(self) -> None:
        """Run the logic once; whatever it raises is raised as OperatorError naming the operator and the worker."""
        self.is_running = True
        try:
            self.logic(*self.ports)
        except (GroupStopped, BrokenInvariant, KeyboardInterrupt):
            raise
        except OperatorError as error:  # it may be of a stateless operator, which it names
            error.of(self.number)
            raise
        except MemoryBudgetError as error:
            raise MemoryBudgetError(f"operator {self.name!r} on worker {self.runtime.index}: {error}") from error
        except TokenRingError as error:
            said = f"operator {self.name!r} on worker {self.runtime.index}: {in_words(error)}"
            raise OperatorError(said).of(self.number) from error
        except BaseException as error:  # SystemExit too: an operator does not end its worker without a word
            inputs = self.frontiers + self._at_hand()
            call = f"its logic is called with its {len(self.inputs)} input(s), then its {len(self.outputs)} output(s)"
            raise OperatorError(
                f"operator {self.name!r} raised on worker {self.runtime.index} ({inputs or 'a source'}): "
                f"{in_words(error, call)}"
            ).of(self.number) from error
        finally:
            self.is_running = False
        for port in self.inputs:
            if port.current is not None or port.inbox.queue:
                port.end_call()
            elif self.is_indifferent and port.inbox.queue.__class__ is deque:  # not one that checks
                port.inbox.queue = NO_MESSAGES  # it may be idle for long from now on
        if self.counts_tokens:
            self.runtime.tracker.set_holding(self.number, self.held)

    @property
    def frontiers(self) -> str:
        """`input 0 at 4, input 1 at its end`; "" of a source."""
        ats = ["its end" if port.frontier == COMPLETE else port.frontier for port in self.inputs]
        return ", ".join([f"input {number} at {at}" for number, at in enumerate(ats)])

    def _at_hand(self) -> str:
        """`; rows at time 4`, of the message that is being read; "" if there is none."""
        return "".join([f"; rows at time {port.current.time}" for port in self.inputs if port.current is not None])

    def release(self) -> None:
        """Let go of ports, state and all they hold, now and not when garbage is collected; it never runs again."""
        for port in self.outputs:
            port.channels = []
        for messages in self.inputs:
            messages.finish()
        self.inputs, self.outputs, self.ports = (), (), ()
        self.logic = _nothing
        self.view = self.state = None
        self.due = DUE  # so that no late activation makes it due
        outlived_by, self.outlived_by = self.outlived_by, _nothing
        outlived_by()

    def frontier_moved(self) -> None:
        """A frontier of the inputs moved, and the notify policy wants a run."""
        self.runtime.schedule.make_due(self)

    @property
    def halts(self) -> bool:
        """Whether it runs no more once the run is to stop."""
        return self.when_stopped is WhenStopped.HALTS or (self.when_stopped is None and not self.inputs)

    @property
    def is_due(self) -> bool:
        """Whether it waits to be run."""
        if self.compiled >= 0:
            return bool(self.runtime.world.operators["due"][self.compiled])
        return self.due != NOT_DUE

    @property
    def held(self) -> int:
        """Tokens held for all outputs."""
        if self.compiled >= 0:
            return int(self.runtime.world.operators["held"][self.compiled])
        return sum(port.held for port in self.outputs)


def _nothing() -> None:
    """The logic of an operator that is only a location (a manual input)."""
