"""The asker's side of the end of a worker."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from tokenring.engine import UsageError, WorkerError
from tokenring.engine.arguments import whole_number
from tokenring.engine.ask import Group, requested, state_of
from tokenring.operators.leaving.answering import PROGRESS

_PART_S = 0.25  # that workers get of the time, beyond what nothing moves for


def end_worker(
    group: Group,
    worker: int,
    plan: str = "",
    timeout_s: float = 5.0,
    advance: Callable[[int, int], None] | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Let all bins of a worker of a running group go to the others, and then the worker end: the last one there is,
    whose program waits in `run` and which has no source open. What its program returned is a result as any.

    plan: in which steps bins move, see `Placement.move`; `advance(steps done, steps)` is told of them. Should this
    process end meanwhile, what has not begun is not done.

    Raises UsageError, and the group goes on with the worker, if it cannot be ended; WorkerError if the workers do not
    come to it in time, or no step is done for so long.
    """
    worker = whole_number("end_worker", "worker", worker, 0)
    question = {"worker": worker, "plan": plan, "timeout_s": timeout_s}
    with requested(group, "end", question | {"only_checks": True}, meanwhile) as request:  # before anything moves
        _sound(request.answers(timeout_s, unless_error=True))
    with requested(group, "end", question | {"only_checks": False}, meanwhile) as request:
        said, since, left = list[dict[str, Any]](), time.monotonic(), -1

        def is_over() -> bool:
            nonlocal said, since, left
            said = request.said
            progress = _progress(request.folder)
            if progress and progress["left"] != left:
                left, since = progress["left"], time.monotonic()
                if advance is not None and progress["steps"]:
                    advance(progress["steps"] - left, progress["steps"])
            if any(["error" in answer for answer in said]) or (said and len(said) >= said[0]["peers"]):
                return True
            if time.monotonic() - since > timeout_s * (1 + _PART_S) + 1:
                raise WorkerError(_late(worker, [answer["worker"] for answer in said], timeout_s))
            return False

        request.wait(is_over, float("inf"))
    _sound(said)
    (process,) = [answer["process"] for answer in said if answer["worker"] == worker]
    deadline = time.monotonic() + timeout_s
    while _lives(process) and time.monotonic() < deadline:  # its program may take a while to return
        meanwhile()
        time.sleep(0.002)


def _sound(said: list[dict[str, Any]]) -> None:
    errors = dict.fromkeys([answer["error"] for answer in said if "error" in answer])
    if errors:
        raise UsageError("; ".join(errors))


def _lives(process: int) -> bool:
    """Whether there is such a process that has not ended, whether its parent has seen that or not."""
    return state_of(process) not in ("", "Z", "X")


def _progress(folder: Path) -> dict[str, Any]:
    with suppress(FileNotFoundError):
        told: dict[str, Any] = orjson.loads((folder / PROGRESS).read_bytes())
        return told
    return {}


def _late(worker: int, answered: list[int], timeout_s: float) -> str:
    if not answered:
        return (
            f"worker {worker} has not been ended within {timeout_s:g} s: some worker takes no steps, or waits for its "
            f"peers; try again, or with a longer timeout_s=, --timeout"
        )
    return (
        f"worker {worker} is given nothing more, and has not ended within {timeout_s:g} s: it ends when it has done "
        f"what it still has to do"
    )
