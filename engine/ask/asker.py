"""The asker's side of `tokenring why`: finds running groups, asks every worker of one, puts the answers together.

Nothing is registered anywhere: a group's processes map its segment, whose name (removed long since) says who made it.
"""

import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tokenring.engine.ask.answer import question_folder
from tokenring.engine.ask.calling import call_workers, is_worker
from tokenring.engine.ask.places import own_number, private_folder, starts_again
from tokenring.engine.ask.questions import asking_in, question_in
from tokenring.engine.errors import DataflowFailedError, UsageError, WorkerError
from tokenring.engine.explain import Explanation, merge
from tokenring.shm.memory import NAME_PREFIX, SHM_FOLDER, process_start_ticks

_MAPPED = re.compile(rf" {re.escape(SHM_FOLDER + NAME_PREFIX)}(\d+)-(\d+)-[0-9a-f]+ \(deleted\)$", re.M)
_PAUSE_S = 0.01
_LOOKS = 3  # for a group's workers: /proc is not read in one piece, so a look at a busy process may miss what it maps


@dataclass(frozen=True)
class Group:
    """A running group of workers."""

    launcher: int
    """The process that called `execute`."""
    workers: tuple[int, ...]
    """The worker processes that answer questions."""
    command: str

    @property
    def folder(self) -> Path:
        """Where questions to it go: its own private folder, by whatever way that is reached from here."""
        return private_folder(self.workers[0])

    @property
    def lasts(self) -> bool:
        """Whether it is still there: under recovery, another one of the launcher's may have come instead."""
        return process_start_ticks(self.launcher) != 0 and any([process_start_ticks(each) for each in self.workers])


@dataclass(frozen=True)
class Weights:
    """What an operator weighs, over all workers that answered."""

    operator: str
    workers: Mapping[int, Mapping[str, int]]
    """By worker: state_bytes, and waiting_bytes of rows that wait at its inputs."""

    @property
    def bytes(self) -> int:
        """All of it."""
        return sum(sum(here.values()) for here in self.workers.values())


@dataclass(frozen=True)
class Answers:
    """What a group said."""

    group: Group
    at: Mapping[int, str]
    """Where each worker was, by its index: file:line (function)."""
    explanations: tuple[Explanation, ...]
    """One for each place, over all workers that answered."""
    problems: tuple[str, ...]
    """Workers that could not look, and why."""
    weights: tuple[Weights, ...] = ()
    """What operators keep, the heaviest first."""
    failed: tuple[str, ...] = ()
    """Installed dataflows that have failed: why, and what to do."""


def running_groups(among: Iterable[int] | None = None) -> list[Group]:
    """All groups of this user (or what of them is among these processes), by the number of the process that launched
    them."""
    found: dict[int, list[int]] = {}
    for process in _processes() if among is None else among:
        if not (launcher := _launcher_of(process)):
            continue
        workers = found.setdefault(launcher, [])
        if process != launcher and is_worker(process, launcher):
            workers.append(process)
    return [Group(launcher, tuple(sorted(found[launcher])), _command(launcher)) for launcher in sorted(found)]


def ask(
    process: int, operator: str | None = None, port: tuple[str, int] = ("", 0), at: Any = None, timeout_s: float = 5.0
) -> Answers:
    """Ask all workers of the group that `process` launched, or works in, what holds back `at` (None: the frontier) at a
    port of an operator ("input" or "output", number; "": its only one), or else at every probe that is not complete.

    Raises UsageError for a process without a group, DataflowFailedError for an operator of an installed dataflow that
    has failed, WorkerError if a worker does not answer in time.
    """
    group = group_of(process)
    folder, identity = question_folder(group.folder, own_number(group.launcher)), secrets.token_hex(8)
    question = {"id": identity, "operator": operator, "port": port, "time": at}
    question_in(folder)  # removes what an asker that was killed left
    with ExitStack() as stack:
        try:
            stack.enter_context(asking_in(folder, question))
        except FileExistsError:
            raise UsageError(f"somebody else is asking the group of process {process} just now; try again") from None
        answers: dict[int, dict[str, Any]] = {}
        for _ in range(_LOOKS):
            asked = {worker for worker in group.workers if worker not in answers}
            call_workers(asked, group.launcher)
            answers.update(_collect(folder, identity, group.launcher, asked, timeout_s))
            if answers and len(answers) >= max(answer["peers"] for answer in answers.values()):
                break
            group = _group_of(group.launcher) or group
        return _together(group, list(answers.values()))


def group_of(process: int) -> Group:
    """The group that a process launched, or works in; UsageError if there is none, or none that answers."""
    group = _group_of(process)
    if group is None and starts_again(process):
        raise UsageError(f"the group of process {process} is starting again, or ending; try again")
    if group is None:
        raise UsageError(f"process {process} runs no group of this user; `tokenring why` lists those that do")
    if not group.workers:
        others = (one for one in _processes() if one != group.launcher)
        if any(_launcher_of(one) == group.launcher for one in others):  # to be workers, or what they have started
            raise UsageError(f"the group of process {process} is only starting, or ending; try again")
        raise UsageError(f"the group of process {process} has ended, or has no worker yet: nothing can be asked of it")
    return group


def _group_of(process: int) -> Group | None:
    return next((one for one in running_groups() if process in (one.launcher, *one.workers)), None)


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdecimal()]


def _launcher_of(process: int) -> int:
    """Whose group's segment the process maps; 0 if none, or if it is another user's."""
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as file:
            match = _MAPPED.search(file.read())
    except OSError:
        return 0
    if match is None:
        return 0
    called, since = int(match[1]), int(match[2])
    if process_start_ticks(called) == since:
        return called
    if own_number(process) == process:
        return 0
    others = (one for one in _processes() if own_number(one) == called)  # it is in a PID namespace of its own
    return next((one for one in others if process_start_ticks(one) == since), 0)


def _command(process: int) -> str:
    with suppress(OSError), open(f"/proc/{process}/cmdline", encoding="utf-8", errors="replace") as file:
        return " ".join(file.read().split("\0")).strip()
    return ""


def _collect(
    folder: Path, identity: str, launcher: int, asked: Set[int], timeout_s: float
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The processes' answers as they come, until every one asked that lives has answered."""
    deadline = time.monotonic() + timeout_s
    waiting = set(asked)
    while waiting:
        for worker in sorted(waiting):
            lives = process_start_ticks(worker)
            path = folder / f"{identity}-{own_number(worker)}.json"
            if path.exists():
                yield worker, orjson.loads(path.read_bytes())
            if path.exists() or not lives:
                waiting.discard(worker)
        if waiting and time.monotonic() > deadline:
            raise WorkerError(
                f"process(es) {', '.join(map(str, sorted(waiting)))} of the group of process {launcher} did not "
                f"answer within {timeout_s:g} s: stopped, or inside one long call into native code; try again, or with "
                f"a longer timeout_s=, --timeout"
            )
        time.sleep(_PAUSE_S)


def _together(group: Group, answers: list[dict[str, Any]]) -> Answers:
    answers.sort(key=lambda answer: answer["worker"])
    for answer in answers:
        if answer.get("type") == DataflowFailedError.__name__:
            raise DataflowFailedError(answer["error"])
    by_place: dict[int, list[Explanation]] = {}
    for answer in answers:
        for value in answer["explanations"]:
            explanation = Explanation.from_json(value)
            by_place.setdefault(explanation.location, []).append(explanation)
    return Answers(
        group,
        {answer["worker"]: answer["at"] for answer in answers},
        tuple(merge(by_place[location]) for location in sorted(by_place)),
        tuple(f"worker {answer['worker']}: {answer['error']}" for answer in answers if "error" in answer),
        _weights(answers),
        tuple(sorted({text for answer in answers for text in answer["failed"]})),
    )


def _weights(answers: list[dict[str, Any]]) -> tuple[Weights, ...]:
    found: dict[str, dict[int, dict[str, int]]] = {}
    for answer in answers:
        for weight in answer["weights"]:
            operator = weight.pop("operator")
            found.setdefault(operator, {})[answer["worker"]] = weight
    return tuple(sorted((Weights(*one) for one in found.items()), key=lambda one: -one.bytes))
