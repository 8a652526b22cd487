"""What a test may not leave behind: shared-memory segments, processes and file descriptors, as the kernel sees them."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import time
import uuid
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

import psutil

from tokenring.shm.memory import owner_of, process_start_ticks

SHM_DIRECTORY = Path("/dev/shm")
SEGMENT_PREFIXES = ("tokenring", "sem.tokenring")

# Every process that descends from this run inherits the mark and keeps it when its parent dies and init adopts it:
# the process tree alone would lose sight of a killed launcher's workers. A run inside a run carries both marks.
MARK_NAME = "TOKENRING_TEST_RUN"
MARK = ""


def mark() -> None:
    """Mark what this process starts from now on as its own."""
    global MARK
    MARK = uuid.uuid4().hex
    os.environ[MARK_NAME] = os.environ.get(MARK_NAME, "") + ":" + MARK


mark()

# How long a new process may take to become a program.
_BEGINS_S = 2.0

# What has just been told to stop may need a moment: a worker on its way out, a segment that a launcher unlinks.
GRACE_S = 10.0

# What a library may open at its first use and keep. Only regular files and these devices are ever tolerated:
# a socket, a pipe, shared memory or an anonymous descriptor that stays open is a leak.
TOLERATED_PREFIXES = ("/dev/null", "/dev/urandom", "/dev/random", sys.prefix + "/", sys.base_prefix + "/")

Process = tuple[int, float]  # pid, creation time: a pid alone may be used again

_STRANGERS: set[tuple[int, int]] = set()
"""Processes, with when they started, that were never forked from this one: those need not be looked at again."""

_LAST_LOOK: dict[frozenset[int], dict[int, Process]] = {}
"""The pids that there were at the last look, and which of them are this run's: while they stay, so do these."""

_KNOWN: dict[int, tuple[int, int, bool]] = {}
"""Of each process at the last look who started it, when, and whether it is the kernel's threads' father."""

KEPT: set[int] = set()
"""Processes that a fixture of the session keeps from test to test, with all that descends from them; it ends them."""


@dataclass(frozen=True)
class Snapshot:
    """What exists at one moment and could be left behind."""

    segments: frozenset[str]
    processes: frozenset[Process]
    descriptors: frozenset[tuple[int, str]]


def take() -> Snapshot:
    """Look at the machine now."""
    return Snapshot(_segments(), frozenset(_descendants().values()), _descriptors())


def left_behind(before: Snapshot, *, check_descriptors: bool = True) -> list[str]:
    """Say, one line each, what exists now and did not exist before; waits a moment for it to go away."""
    deadline = time.monotonic() + GRACE_S
    pause_s, generation = 0.002, 1
    while True:
        found = _differences(before, check_descriptors)
        if not found or time.monotonic() > deadline:
            return found
        # What sits in a reference cycle closes its descriptor only now. Young cycles go first: of all that a long run
        # has made, a look takes up to a second.
        gc.collect(generation)
        generation = 2
        multiprocessing.active_children()  # reaps those that have ended
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.1)


def kill_new_processes(before: Snapshot) -> None:
    """Kill what a test left running, so that it does not disturb the tests that follow."""
    for pid, created in set(_descendants().values()) - before.processes:
        try:
            process = psutil.Process(pid)
            if process.create_time() == created:
                process.kill()
                process.wait(timeout=5)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.TimeoutExpired):
            continue


def _differences(before: Snapshot, check_descriptors: bool) -> list[str]:
    family = _descendants()
    found = [f"process {_describe(pid)}" for pid, _ in sorted(set(family.values()) - before.processes)]
    found += [
        f"segment {SHM_DIRECTORY / name}"
        for name in sorted(_segments() - before.segments)
        if not belongs_to_others(SHM_DIRECTORY / name, family)
    ]
    if check_descriptors:
        found += [f"descriptor {fd} -> {target}" for fd, target in sorted(_descriptors() - before.descriptors)]
    return found


def _segments() -> frozenset[str]:
    return frozenset(name for name in os.listdir(SHM_DIRECTORY) if name.startswith(SEGMENT_PREFIXES))


def belongs_to_others(segment: Path, family: dict[int, Process]) -> bool:
    """Tell whether a process outside this run made the segment and lives, or maps it: another run on this machine is
    none of our business. Maps alone do not show a semaphore's name, since it is mapped before it has one.
    """
    try:
        if segment.stat().st_uid != os.geteuid():
            return True
    except FileNotFoundError:
        return True  # gone since we listed it
    if (owner := owner_of(segment.name)) and process_start_ticks(owner[0]) == owner[1]:
        return owner[0] != os.getpid() and owner[0] not in family
    for pid in psutil.pids():
        if pid != os.getpid() and pid not in family and str(segment).encode() in _read_proc(pid, "maps"):
            return True
    return False


def _descendants() -> dict[int, Process]:
    """Return every process of this run by pid, adopted ones included, but for multiprocessing's own two helpers."""
    me = os.getpid()
    there = frozenset(int(name) for name in os.listdir("/proc") if name.isdigit())
    if there in _LAST_LOOK:
        return _LAST_LOOK[there]
    _LAST_LOOK.clear()
    helpers = {
        _helper(resource_tracker, "_resource_tracker", "_pid"),
        _helper(forkserver, "_forkserver", "_forkserver_pid"),
    }
    parents, started = _parents(there)
    pids = _below({me}, parents)
    my_command = _read_proc(me, "cmdline")
    younger = [pid for pid in parents if pid != me and started[pid] >= started[me]]
    others = [pid for pid in younger if pid not in pids and (pid, started[pid]) not in _STRANGERS]
    pids.update(pid for pid in others if _is_adopted(pid, started[pid], my_command))
    family: dict[int, Process] = {}
    for pid in pids - helpers - KEPT - _below(KEPT, parents):
        try:
            family[pid] = (pid, psutil.Process(pid).create_time())
        except psutil.NoSuchProcess:
            continue
    if all(pid in family or (pid, started[pid]) in _STRANGERS for pid in others):
        _LAST_LOOK[there] = family
    return family


def _parents(there: frozenset[int]) -> tuple[dict[int, int], dict[int, int]]:
    """Who started whom, and when, but for the kernel's threads. This is asked twice a test: only those are read that
    were not there at the last look, or that somebody else has adopted since."""
    for pid in [pid for pid, (parent, *_) in _KNOWN.items() if pid not in there or (parent and parent not in there)]:
        del _KNOWN[pid]
    for pid in there - _KNOWN.keys():
        if stat := _read_proc(pid, "stat"):
            after = stat.rpartition(b")")[2].split()
            _KNOWN[pid] = (int(after[1]), int(after[19]), b"(kthreadd)" in stat and after[1] == b"0")
    kernel = {pid for pid, (*_, is_kernel) in _KNOWN.items() if is_kernel}
    known = [(pid, *of) for pid, of in _KNOWN.items() if pid not in kernel and of[0] not in kernel]
    return {pid: parent for pid, parent, *_ in known}, {pid: started for pid, _, started, _ in known}


def _below(roots: set[int], parents: dict[int, int]) -> set[int]:
    """All that descend from them."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    following = list(roots)
    while following:
        new = set(children.get(following.pop(), ())) - found
        found |= new
        following += new
    return found


def _is_adopted(pid: int, started: int, my_command: bytes) -> bool:
    """Tell whether a process outside our tree came from it: it has the mark, or is our orphaned, forked twin."""
    command = _read_proc(pid, "cmdline")  # before what it was given: a twin that becomes a program has the mark then
    environment = _environment(pid, started)
    if MARK.encode() in environment:
        return True
    if command != my_command:
        if command and environment:
            _STRANGERS.add((pid, started))
        return False
    try:
        if os.getsid(pid) != os.getsid(0):
            return False
        # Where files have processes of their own, our siblings and what they fork look like us, but are nobody's
        # orphans; nor are those of another run from the same terminal. Orphans go to init, or to another ancestor.
        while pid != os.getppid() and _read_proc(pid, "cmdline") == my_command:
            pid = psutil.Process(pid).ppid()
        return pid != os.getppid() and pid in {1, *(parent.pid for parent in psutil.Process().parents())}
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False


def _environment(pid: int, started: int) -> bytes:
    """What a process was given. One that becomes a program just now has nothing for a moment, although who started it
    has heard already that it has."""
    while True:
        found = _read_proc(pid, "environ")
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
        if found or age_s > _BEGINS_S:
            return found
        stat = _read_proc(pid, "stat")
        if not stat or b") Z " in stat:  # it has ended
            return found
        time.sleep(0.001)


def _descriptors() -> frozenset[tuple[int, str]]:
    helpers = {
        _helper(resource_tracker, "_resource_tracker", "_fd"),
        _helper(forkserver, "_forkserver", "_forkserver_alive_fd"),
    }
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the listing's own descriptor
        if int(name) not in helpers and not target.startswith(TOLERATED_PREFIXES):
            found.add((int(name), target))
    return frozenset(found)


def _helper(module: object, holder: str, attribute: str) -> int | None:
    """Read the pid or descriptor of a helper that multiprocessing starts once and keeps; there is no public way."""
    value = getattr(getattr(module, holder, None), attribute, None)
    return value if isinstance(value, int) else None


def _describe(pid: int) -> str:
    try:
        process = psutil.Process(pid)
        command = _read_proc(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
        return f"{pid} ({process.status()}): {command or process.name()}"
    except psutil.NoSuchProcess:
        return f"{pid} (just ended)"


def _read_proc(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""  # ended meanwhile, a kernel thread, or another user's
