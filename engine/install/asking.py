"""The asker's side of what is installed and removed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from tokenring.engine.arguments import is_text
from tokenring.engine.ask import Group, Request, requested, sound
from tokenring.engine.errors import UsageError, WorkerError
from tokenring.engine.install.code import Code

SAVED = "saved.json"
"""What came of the first snapshot that was to have an installed dataflow, in the folder of the request: `number` and so
on, or `error`. It comes where a worker's answer says `is_saved`, which it is not yet."""


def install(
    group: Group, code: Code, name: str, timeout_s: float = 5.0, meanwhile: Callable[[], None] = lambda: None
) -> str:
    """Have all workers of a running group build the dataflow that a function declares, which gets a scope; where the
    group keeps snapshots, wait until one has it. Returns "", or why none has it yet, so that a death may lose it.

    Raises UsageError, and the group goes on without it, if the function cannot be imported or raises, if a constructor
    of an operator does, or the name is taken (DataflowFailedError: by one that has failed, and is to be removed first);
    WorkerError if the workers do not come to it in time.
    """
    with _asked(group, "install", {"code": list(code), "name": name}, timeout_s, meanwhile) as (request, answers):
        return _why_unsaved(request, timeout_s) if any(["is_saved" in answer for answer in answers]) else ""


def remove(group: Group, name: str, timeout_s: float = 5.0, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Have all workers cancel a dataflow that was installed, or forget one that has failed. Raises UsageError if there
    is none of that name, or others import what it exports; WorkerError if the workers do not come to it in time.
    """
    with _asked(group, "remove", {"name": name}, timeout_s, meanwhile):
        pass


@contextmanager
def _asked(
    group: Group, kind: str, question: dict[str, object], timeout_s: float, meanwhile: Callable[[], None]
) -> Iterator[tuple[Request, list[dict[str, Any]]]]:
    if not (is_text(question["name"]) and question["name"]):
        raise UsageError(
            f"a dataflow is installed under a name, which is text and not empty; {question['name']!r} is none"
        )
    with requested(group, kind, question, meanwhile) as request:
        yield request, sound(request.answers(timeout_s, unless_error=True))


def _why_unsaved(request: Request, timeout_s: float) -> str:
    said = request.folder / SAVED
    try:
        request.wait(said.exists, timeout_s)
    except WorkerError:
        if not request.lasts:
            raise
        return f"no snapshot was taken within {timeout_s:g} s"
    return str(orjson.loads(said.read_bytes()).get("error", ""))
