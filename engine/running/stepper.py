"""What steps a worker, as those see it who feed its dataflows from outside of steps; and why it may refuse to."""

from collections.abc import Mapping
from threading import current_thread, get_ident
from typing import NoReturn, Protocol

from tokenring.engine.data import DataPlane, in_words, text_of
from tokenring.engine.errors import GroupStopped, TokenRingError, UsageError
from tokenring.engine.progress import ChangeLog
from tokenring.engine.running.operator import RunningOperator


class Operators(Protocol):
    """Where the operators of a worker are found."""

    @property
    def operators(self) -> Mapping[int, RunningOperator]:
        """All that run, by number."""


class Stepper(Protocol):
    """A worker's loop."""

    index: int
    thread: int
    """To which it belongs."""
    log: ChangeLog
    plane: DataPlane
    steps: int
    """How many were made."""
    is_stepping: bool
    """Stays True after a failure."""
    failure: BaseException | None
    """What ended a step in the middle."""

    @property
    def dataflows(self) -> Operators:
        """What runs."""

    def step(self) -> bool:
        """Do what there is to do now; False if there was nothing."""

    def step_or_park(self) -> bool:
        """Step; sleep if there was nothing to do."""

    def flush(self) -> None:
        """Publish logged changes at once, unless a step is under way and will."""

    def fail(self, error: BaseException) -> None:
        """Go on no more."""


def refuse_step(worker: Stepper) -> NoReturn:
    """Raise UsageError: a step within a step would publish half of what a call does; a step after one that an error
    ended would publish that rows were consumed of which nothing came. GroupStopped again where that was the error.
    """
    failure = worker.failure
    if isinstance(failure, GroupStopped):
        raise failure
    if failure is not None:
        told = text_of(failure) if isinstance(failure, TokenRingError) else in_words(failure)
        raise UsageError(
            f"worker {worker.index} cannot go on after: {told}. What was in hand then is lost; let the error end the "
            f"run, or catch it where it is raised, within the operator or listener"
        ) from failure
    if get_ident() != worker.thread:
        raise UsageError(
            f"worker {worker.index} cannot step, wait or build in thread {current_thread().name!r}: it belongs to the "
            f"thread that its program runs in"
        )
    for operator in worker.dataflows.operators.values():
        if operator.is_running:
            raise UsageError(
                f"operator {operator.name!r} on worker {worker.index}: a logic cannot step its worker, wait for a "
                f"probe or for other workers, declare a dataflow or cancel one; return, and call context.activate() to "
                f"be run again, or let the program do it"
            )
    raise UsageError(
        f"worker {worker.index} cannot step within a step: a probe's listener is called in the middle of one and "
        f"cannot step, wait or build; return, and let it run an operator with context.activate()"
    )
