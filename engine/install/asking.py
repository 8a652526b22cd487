"""The asker's side of what is installed and removed."""

from collections.abc import Callable

from tokenring.engine.ask import Group, requested, sound
from tokenring.engine.install.code import Code


def install(
    group: Group, code: Code, name: str, timeout_s: float = 5.0, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Have all workers of a running group build the dataflow that a function declares, which gets a scope.

    Raises UsageError, and the group goes on without it, if the function cannot be imported or raises, if a constructor
    of an operator does, or the name is taken (DataflowFailedError: by one that has failed, and is to be removed first);
    WorkerError if the workers do not come to it in time.
    """
    _ask(group, "install", {"code": list(code), "name": name}, timeout_s, meanwhile)


def remove(group: Group, name: str, timeout_s: float = 5.0, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Have all workers cancel a dataflow that was installed, or forget one that has failed. Raises UsageError if there
    is none of that name, or others import what it exports; WorkerError if the workers do not come to it in time.
    """
    _ask(group, "remove", {"name": name}, timeout_s, meanwhile)


def _ask(group: Group, kind: str, question: dict[str, object], timeout_s: float, meanwhile: Callable[[], None]) -> None:
    with requested(group, kind, question, meanwhile) as request:
        sound(request.answers(timeout_s, unless_error=True))
