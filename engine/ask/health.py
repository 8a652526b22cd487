"""Whether a running group is ready, and whether it lives, as seen from outside: nobody is asked, nor notices.

What workers say of themselves in the group's segment is read in the memory of one of them. So a worker that is stopped,
or in one long call, hinders nobody from seeing just that.
"""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from tokenring.engine.arguments import require_seconds
from tokenring.engine.ask.asker import group_of
from tokenring.engine.ask.places import has_failed, is_stopped, own_number, state_of
from tokenring.engine.ask.running_now import segments_of
from tokenring.shm.memory import (
    FINISH,
    STOP,
    WORKER_BUILT,
    WORKER_GRAPHS,
    WORKER_LOOKS,
    WORKER_PROCESS,
    Lines,
    lines_in,
)

_PAUSE_S = 0.02
_ENDINGS: Final = {FINISH: "finish", STOP: "stop"}
WITHIN_S = 10.0
"""How long a worker has to move, if nothing else is said."""
MOVES, PARKED, STANDS, STOPPED, ENDED, DIED, STARTS = (
    "moves", "parked", "stands still", "stopped", "ended", "died", "starts",
)  # fmt: skip


@dataclass(frozen=True)
class WorkerHealth:
    """One worker, as it was seen."""

    worker: int
    process: int
    """Its number as this process sees it; 0: there is none, yet or any more."""
    state: str
    """moves: it came round between two steps while it was looked at; parked: it sleeps, for want of work; stands still:
    neither, so it is in one long call, or waits for something else than work; stopped: by a signal or a debugger;
    starts, ended: there is no such process; died: its process ended by a signal or in an error, and its launcher has
    not seen to that yet."""
    declared: int
    """How many dataflows its program has declared,"""
    built: int
    """and how many of them all workers have built."""


@dataclass(frozen=True)
class Health:
    """How a group is."""

    launcher: int
    ready: bool
    """Whether every worker has built a dataflow, and all that it has declared."""
    live: bool
    """Whether every worker moves, or is parked, and none has died, nor is it, or the launcher, stopped."""
    ending: str
    """"finish" or "stop", where the run was asked to end so; else ""."""
    workers: tuple[WorkerHealth, ...]
    launcher_is_stopped: bool
    """By a signal or a debugger. Workers go on; nobody starts them again, or takes snapshots."""


def health(process: int, within_s: float = WITHIN_S) -> Health:
    """How the group is that a process launched, or works in: at once where all its workers move, or within so many
    seconds. Raises UsageError for a process without a group, and a limit that is no number."""
    group = group_of(process)
    return health_of(group.launcher, group.workers, within_s)


def health_of(
    launcher: int, workers: Iterable[int], within_s: float = WITHIN_S, meanwhile: Callable[[], None] = lambda: None
) -> Health:
    """The same of a group whose worker processes are known. meanwhile: called while they are looked at. UsageError
    for a limit that is no number."""
    require_seconds(within_s=within_s)
    pids = {own_number(pid): pid for pid in workers}
    deadline = time.monotonic() + within_s
    first = _lines(pids.values())
    while True:
        last = _lines(pids.values())
        if first is None:
            first = last
        found = _seen(launcher, pids, first, last)
        if found.live or time.monotonic() > deadline:
            return found
        meanwhile()
        time.sleep(_PAUSE_S)


def _lines(pids: Iterable[int]) -> Lines | None:
    """What the segment says, in the memory of whichever of these processes may be looked at."""
    for pid in pids:
        with suppress(OSError, ValueError):
            memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
            try:
                for base in segments_of(pid):
                    lines = lines_in(lambda address, count: os.pread(memory, count, address), base)  # noqa: B023
                    if lines is not None:
                        return lines
            finally:
                os.close(memory)
    return None


def _seen(launcher: int, pids: dict[int, int], first: Lines | None, last: Lines | None) -> Health:
    launcher_is_stopped = is_stopped(launcher)
    if first is None or last is None:
        return Health(launcher, ready=False, live=False, ending="", workers=(), launcher_is_stopped=launcher_is_stopped)
    flags = last.group.reshape(-1)[last.layout.parked :]
    found = []
    for worker, (before, after) in enumerate(zip(first.workers.tolist(), last.workers.tolist(), strict=True)):
        process = pids.get(after[WORKER_PROCESS], 0)
        is_parked = bool(int(flags[worker >> 6]) >> (worker & 63) & 1)
        has_moved = before[WORKER_LOOKS] != after[WORKER_LOOKS]
        state = _state(launcher, process, after[WORKER_PROCESS], has_moved, is_parked)
        found.append(WorkerHealth(worker, process, state, after[WORKER_GRAPHS], after[WORKER_BUILT]))
    return Health(
        launcher,
        ready=all(0 < one.declared == one.built for one in found),
        live=all(one.state in (MOVES, PARKED, ENDED) for one in found)
        and any(one.state != ENDED for one in found)
        and not launcher_is_stopped,
        ending=_ENDINGS.get(int(last.group.reshape(-1)[last.layout.ending]), ""),
        workers=tuple(found),
        launcher_is_stopped=launcher_is_stopped,
    )


def _state(launcher: int, process: int, said: int, moves: bool, is_parked: bool) -> str:
    """said: the process by its own account, 0 if it has given none."""
    if said == 0:
        return STARTS
    if process == 0 or state_of(process) in ("", "Z"):
        return DIED if has_failed(process or said, launcher) else ENDED  # the dead are not among those of a group
    if is_stopped(process):
        return STOPPED
    return MOVES if moves else PARKED if is_parked else STANDS
