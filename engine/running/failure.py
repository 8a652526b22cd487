"""Why a worker does not step: it is in the middle of a step, or an error ended one and what was in hand is lost."""

from threading import current_thread, get_ident
from typing import TYPE_CHECKING, NoReturn

from tokenring.engine.errors import GroupStopped, TokenRingError, UsageError

if TYPE_CHECKING:
    from tokenring.engine.worker.worker import Worker


def refuse_step(worker: "Worker") -> NoReturn:
    """Raise UsageError: a step within a step would publish half of what a call does; a step after one that an error
    ended would publish that rows were consumed of which nothing came. GroupStopped again where that was the error.
    """
    failure = worker.failure
    if isinstance(failure, GroupStopped):
        raise failure
    if failure is not None:
        told = str(failure) if isinstance(failure, TokenRingError) else f"{type(failure).__name__}: {failure}"
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
                f"operator {operator.name!r} on worker {worker.index}: a logic cannot step its worker or wait for a "
                f"probe; return, and call context.activate() to be run again"
            )
    raise UsageError(
        f"worker {worker.index} cannot step within a step: a probe's listener is called in the middle of one and "
        f"cannot step, wait or build; return, and let it run an operator with context.activate()"
    )
