"""The asker's side of `tokenring migrate`: where a group's bins are, and letting them go elsewhere."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import orjson

from tokenring.engine import UsageError, WorkerError
from tokenring.engine.ask import Group, Request, requested
from tokenring.operators.migrate.answering import PROGRESS

_SUMS = ("rows", "bytes")
_SAID = ("dataflow", "bins", "staying", "steps", "steps_left", "waiting", "balance")  # by worker 0


def bins_of(
    group: Group,
    dataflow: str | None = None,
    target: Mapping[int, int] | int | str | None = None,
    plan: str = "",
    wait: bool = False,
    timeout_s: float = 5.0,
    advance: Callable[[int, int], None] | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Where the bins of a group's dataflow are, and if there is a target, let them go there.

    target: bin -> worker; or a worker, to whom none is to be left; or "even". wait: until all has arrived, which
    `advance(steps done, steps)` is told of; should this process end meanwhile, what has not begun stays where it is.
    Without it, what was asked for is done later.

    Returns dataflow, `bins` (the worker of each, as decided), `load` (rows of a sample, each worker's), `rows` and
    `bytes` of state that each worker has sent so far, the operators whose state is `staying`, by name, `steps` that
    this took, `steps_left`, what is waited for, and the `balance` of a dataflow that keeps it.

    Raises UsageError if there are no such bins, workers or plan, WorkerError if a worker takes no step in time; or if
    no step is done for so long, which says what is waited for.
    """
    told = [list(pair) for pair in target.items()] if isinstance(target, Mapping) else target
    question = {"dataflow": dataflow, "target": told, "plan": plan, "wait": wait}
    with requested(group, "migrate", question, meanwhile) as request:
        answers = request.answers(timeout_s)
        said = dict.fromkeys([answer["error"] for answer in answers if "error" in answer])
        if said:
            raise UsageError("; ".join(said))
        found = _together(answers)
        if wait and found["steps"]:
            _await(request, found, timeout_s, advance)
    if wait and found["steps"]:
        with suppress(UsageError):  # it has come to its end
            now = bins_of(group, found["dataflow"], timeout_s=timeout_s, meanwhile=meanwhile)
            return now | {"steps": found["steps"]}
    return found


def _together(answers: list[dict[str, Any]]) -> dict[str, Any]:
    first = answers[0]
    load = [0] * first["peers"]
    for answer in answers:
        for number, rows in enumerate(answer["loads"]):
            load[first["bins"][number]] += rows
    return {
        **{name: first[name] for name in _SAID},
        "load": load,
        **{name: [answer[name] for answer in answers] for name in _SUMS},
    }


def _await(
    request: Request, found: Mapping[str, Any], timeout_s: float, advance: Callable[[int, int], None] | None
) -> None:
    """Wait until all steps are done, as long as some are."""
    steps, left, since = found["steps"], found["steps"] + 1, time.monotonic()

    def is_done() -> bool:
        nonlocal left, since
        with suppress(FileNotFoundError):
            progress = orjson.loads((request.folder / PROGRESS).read_bytes())
            if progress["left"] < left:
                left, since = progress["left"], time.monotonic()
                if advance is not None:
                    advance(steps - left, steps)
            if left and progress["is_over"]:
                raise WorkerError(
                    f"dataflow {found['dataflow']!r}: all its rows have come, so nothing moves any more; "
                    f"{steps - left} of {steps} steps were done"
                )
            if left and time.monotonic() - since > timeout_s:
                raise WorkerError(
                    f"dataflow {found['dataflow']!r}: no step was done for {timeout_s:g} s"
                    f"{_what(progress['waiting'])}; {steps - left} of {steps} steps were done, and what has not begun "
                    f"stays where it is"
                )
        return not left

    request.wait(is_done, float("inf"))


def _what(waiting: dict[str, Any] | None) -> str:
    if waiting is None:
        return ": state is on its way; try a longer timeout_s=, --timeout"
    return (
        f": bins move at time {waiting['time']}, and the rows of {waiting['operator']!r} stand at "
        f"{waiting['frontier']}; let its inputs advance (`tokenring why` says what holds them), or try a longer "
        f"timeout_s=, --timeout"
    )
