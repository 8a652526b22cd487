"""The asker's side of requests to a running group: a folder that is there for as long as the request lasts."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from tokenring.engine import errors
from tokenring.engine.ask.asker import Group
from tokenring.engine.ask.calling import call_workers
from tokenring.engine.ask.places import own_number, state_of
from tokenring.engine.ask.questions import asking_in
from tokenring.engine.ask.requests import requests_of
from tokenring.engine.errors import UsageError, WorkerError

_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _GROWTH = 0.000_05, 0.002, 1.25  # rows may stand while somebody waits


class Request:
    """Something that was asked of all workers of a group."""

    def __init__(self, group: Group, folder: Path, meanwhile: Callable[[], None]) -> None:
        self.group, self.folder = group, folder
        self._meanwhile = meanwhile

    def answers(self, timeout_s: float, unless_error: bool = False) -> list[dict[str, Any]]:
        """What the workers say, once all have; or, with `unless_error`, one cannot. Raises WorkerError if one takes no
        step in time."""

        def is_enough() -> bool:
            answers = self.said
            if unless_error and any(["error" in answer for answer in answers]):
                return True
            return bool(answers) and len(answers) >= answers[0]["peers"]

        self.wait(is_enough, timeout_s)
        return sorted(self.said, key=lambda answer: answer["worker"])

    def wait(self, condition: Callable[[], bool], timeout_s: float) -> None:
        """Wait until it is fulfilled. Raises WorkerError if the group ends, or the time."""
        deadline = time.monotonic() + timeout_s
        pause_s, look_s = _FIRST_PAUSE_S, 0.0
        while not condition():
            if time.monotonic() >= look_s:
                lasts = self.lasts
                self._meanwhile()  # a launcher that asks has its workers' own account, which says why one has ended
                if not lasts:
                    raise WorkerError(f"the group of process {self.group.launcher} has ended")
                look_s = time.monotonic() + _LONGEST_PAUSE_S
            if time.monotonic() > deadline:
                raise WorkerError(
                    f"{len(self.said)} of {len(self.group.workers)} workers of the group of process "
                    f"{self.group.launcher} answered within {timeout_s:g} s: {self._why_silent()}"
                )
            time.sleep(pause_s)
            pause_s = min(_GROWTH * pause_s, _LONGEST_PAUSE_S)

    def _why_silent(self) -> str:
        """Why some have not answered, and what to do."""
        stopped = [str(worker) for worker in self.group.workers if state_of(worker) in ("T", "t")]
        if stopped:
            return f"{' and '.join(stopped)} stand still: kill -CONT {' '.join(stopped)}"
        return "the others take no steps, or wait for their peers; try again, or with a longer timeout_s=, --timeout"

    def pause(self) -> None:
        """Wait for a moment."""
        self._meanwhile()
        time.sleep(_LONGEST_PAUSE_S)

    @property
    def lasts(self) -> bool:
        """Whether the group is still there."""
        return self.group.lasts

    @property
    def said(self) -> list[dict[str, Any]]:
        """The answers that have come."""
        return [orjson.loads(path.read_bytes()) for path in sorted(self.folder.glob("[0-9]*.json"))]


def sound(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers, if none is an error; else raises what was said: a UsageError, or that subclass of it."""
    texts = dict.fromkeys([answer["error"] for answer in answers if "error" in answer])
    if texts:
        kinds = {answer.get("type", "") for answer in answers if "error" in answer}
        raise said("; ".join(texts), kinds.pop() if len(kinds) == 1 else "")
    return answers


def said(text: str, kind: str) -> UsageError:
    """What another process raised, by the name of its class: a UsageError, or that subclass of it."""
    found = getattr(errors, kind, UsageError)
    return found(text) if isinstance(found, type) and issubclass(found, UsageError) else UsageError(text)


@contextmanager
def requested(
    group: Group, kind: str, question: Mapping[str, Any], meanwhile: Callable[[], None] = lambda: None
) -> Iterator[Request]:
    """Ask for something within the block. Should this process be killed, the workers notice it. meanwhile: called over
    and over while the workers are waited for."""
    private = group.folder
    requests_of("*", private)  # removes what is left of others
    folder = private / f"{kind}-{own_number(group.launcher)}-{secrets.token_hex(8)}"
    with asking_in(folder, {**question, "workers": [own_number(worker) for worker in group.workers]}):
        call_workers(group.workers, group.launcher)
        yield Request(group, folder, meanwhile)
