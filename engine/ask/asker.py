"""The asker's side of `tokenring why`: finds running groups, asks every worker of one, puts the answers together.

Nothing is registered anywhere: a group's processes map its segment, whose name (removed long since) says who made it.
"""

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tokenring.engine.ask.answer import SIGNAL, private_folder, question_folder, require_private, write_whole
from tokenring.engine.errors import UsageError, WorkerError
from tokenring.engine.explain import Explanation, merge
from tokenring.shm.memory import NAME_PREFIX, SHM_FOLDER, process_start_ticks

_MAPPED = re.compile(rf" {re.escape(SHM_FOLDER + NAME_PREFIX)}(\d+)-(\d+)-[0-9a-f]+ \(deleted\)$", re.M)
_PAUSE_S = 0.01
_REMOVALS = 100  # tried of a folder to which workers write at the same time
_LOOKS = 3  # for a group's workers: /proc is not read in one piece, so a look at a busy process may miss what it maps


@dataclass(frozen=True)
class Group:
    """A running group of workers."""

    launcher: int
    """The process that called `execute`."""
    workers: tuple[int, ...]
    """The worker processes that answer questions."""
    command: str


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


def running_groups(among: Iterable[int] | None = None) -> list[Group]:
    """All groups of this user (or what of them is among these processes), by the number of the process that launched
    them."""
    found: dict[int, list[int]] = {}
    for process in _processes() if among is None else among:
        if not (launcher := _launcher_of(process)):
            continue
        workers = found.setdefault(launcher, [])
        if process != launcher and _answers(process, launcher):
            workers.append(process)
    return [Group(launcher, tuple(sorted(found[launcher])), _command(launcher)) for launcher in sorted(found)]


def ask(
    process: int, operator: str | None = None, port: tuple[str, int] = ("", 0), at: Any = None, timeout_s: float = 5.0
) -> Answers:
    """Ask all workers of the group that `process` launched, or works in, what holds back `at` (None: the frontier) at a
    port of an operator ("input" or "output", number; "": its only one), or else at every probe that is not complete.

    Raises UsageError for a process without a group, WorkerError if a worker does not answer in time.
    """
    group = group_of(process)
    with _question(group.launcher) as folder:
        identity = secrets.token_hex(8)
        question = {"id": identity, "asker": os.getpid(), "operator": operator, "port": port, "time": at}
        write_whole(folder / "question.json", question)
        answers: dict[int, dict[str, Any]] = {}
        for _ in range(_LOOKS):
            asked = {worker for worker in group.workers if worker not in answers}
            for worker in asked:
                with suppress(ProcessLookupError):
                    os.kill(worker, SIGNAL)
            answers.update(_collect(folder, identity, group.launcher, asked, timeout_s))
            if answers and len(answers) >= max(answer["peers"] for answer in answers.values()):
                break
            group = _group_of(group.launcher) or group
        return _together(group, list(answers.values()))


def group_of(process: int) -> Group:
    """The group that a process launched, or works in; UsageError if there is none, or none that answers."""
    group = _group_of(process)
    if group is None:
        raise UsageError(f"process {process} runs no group of this user; `tokenring why` lists those that do")
    if not group.workers:
        raise UsageError(f"the group of process {process} is only starting, or ending; try again")
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
    if match is None or process_start_ticks(int(match[1])) != int(match[2]):
        return 0
    return int(match[1])


def _answers(process: int, launcher: int) -> bool:
    """Whether the process is a worker of the launcher, or of its fork server, and takes the signal (which would else
    end it)."""
    parent, takes = _status(process)
    if not takes or parent == launcher:
        return takes
    grandparent, parent_is_worker = _status(parent)
    return grandparent == launcher and not parent_is_worker


def _status(process: int) -> tuple[int, bool]:
    """A process's parent, and whether it takes the signal; 0 and False if there is no such process."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as file:
            status = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
    except OSError:
        return 0, False
    return int(status["PPid"]), bool(int(status["SigCgt"], 16) >> (SIGNAL - 1) & 1)


def _command(process: int) -> str:
    with suppress(OSError), open(f"/proc/{process}/cmdline", encoding="utf-8", errors="replace") as file:
        return " ".join(file.read().split("\0")).strip()
    return ""


@contextmanager
def _question(launcher: int) -> Iterator[Path]:
    """A fresh folder for one question, removed in the end."""
    folder = question_folder(launcher)
    _clear(folder)
    try:
        make_folder(folder)
    except FileExistsError:
        raise UsageError(f"somebody else is asking the group of process {launcher} just now; try again") from None
    try:
        yield folder
    finally:
        remove_folder(folder)


def make_folder(folder: Path) -> None:
    """Make a folder in the private one, which is made if it is not there. Raises FileExistsError if the folder is, and
    UsageError if the private one is not private."""
    while True:
        with suppress(FileExistsError):
            private_folder().mkdir(mode=0o700)
        with suppress(FileNotFoundError):  # another asker, who is done, has just removed the private one
            require_private(private_folder())
            folder.mkdir(mode=0o700)
            return


def remove_folder(folder: Path) -> None:
    """Remove what `make_folder` made, and the private one if nobody else asks."""
    for _ in range(_REMOVALS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():  # a worker may just have written to it
            break
    with suppress(OSError):
        private_folder().rmdir()


def _clear(folder: Path) -> None:
    """Remove what an asker that was killed left behind, and what is no question."""
    try:
        question = orjson.loads((folder / "question.json").read_bytes())
    except OSError:  # nobody asks, or a question is being made
        return
    except ValueError:
        question = None
    asker = question.get("asker") if isinstance(question, dict) else None
    if not isinstance(asker, int) or not process_start_ticks(asker):
        shutil.rmtree(folder, ignore_errors=True)


def _collect(
    folder: Path, identity: str, launcher: int, asked: Set[int], timeout_s: float
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The processes' answers as they come, until every one asked that lives has answered."""
    deadline = time.monotonic() + timeout_s
    waiting = set(asked)
    while waiting:
        for worker in sorted(waiting):
            lives = process_start_ticks(worker)
            path = folder / f"{identity}-{worker}.json"
            if path.exists():
                yield worker, orjson.loads(path.read_bytes())
            if path.exists() or not lives:
                waiting.discard(worker)
        if waiting and time.monotonic() > deadline:
            raise WorkerError(
                f"process(es) {', '.join(map(str, sorted(waiting)))} of the group of process {launcher} did not "
                f"answer within {timeout_s:g} s: stopped, or inside one long call into native code; try again, or with "
                f"a longer --timeout"
            )
        time.sleep(_PAUSE_S)


def _together(group: Group, answers: list[dict[str, Any]]) -> Answers:
    answers.sort(key=lambda answer: answer["worker"])
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
    )


def _weights(answers: list[dict[str, Any]]) -> tuple[Weights, ...]:
    found: dict[str, dict[int, dict[str, int]]] = {}
    for answer in answers:
        for weight in answer["weights"]:
            operator = weight.pop("operator")
            found.setdefault(operator, {})[answer["worker"]] = weight
    return tuple(sorted((Weights(*one) for one in found.items()), key=lambda one: -one.bytes))
