"""The launcher's side of recovery: it asks for snapshots while a group runs, lets their results appear, and starts the
group anew from the newest one after a death."""

import builtins
import os
import re
import signal
import sys
import threading
import time
from ast import literal_eval
from collections import Counter, deque
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from operator import ge
from pathlib import Path
from typing import Any, Protocol

import orjson

from tokenring.engine import Config, OperatorError, RecoveryError, Results, TokenRingError, UsageError, WorkerError
from tokenring.engine.ask import (
    STANDS,
    Board,
    Request,
    WorkerHealth,
    group_of,
    health_of,
    requested,
    running_groups,
    sound,
    starting_again,
    state_of,
    write_whole,
)
from tokenring.engine.worker import default_workers
from tokenring.operators.recovery.folder import LOCK, JobFolder, Snapshot, dead_letters_of, part_name
from tokenring.operators.recovery.installing import INSTALLED
from tokenring.operators.recovery.of_worker import WorkerSaving
from tokenring.operators.recovery.options import DEAD_LETTERS, Recovery
from tokenring.operators.recovery.refusals import in_one_line, refusal
from tokenring.operators.recovery.saved import SavedSink
from tokenring.operators.recovery.saving import CHANGED, LEAVE_OUT
from tokenring.operators.recovery.wanted import TOLD, WANTED, Wanted, answer_to
from tokenring.operators.recovery.words import (
    DECIDED,
    FREEZE,
    FROZEN,
    FROZEN_AT,
    READ,
    RESTS,
    STATUS,
    STOOD,
    STOOD_NS,
    TAKEN,
    WRITTEN,
    decision,
    unbuilt,
)

_STAND_S, _REST_S, _WRITE_S = 10.0, 60.0, 3600.0  # that workers may take for each part of a snapshot
_LEAST_PAUSE_S, _MOST_PAUSE_S = 0.1, 10.0  # before a group is started anew, or a snapshot is tried again for a wish
_WATCH_S = 1.0
_MOST_ATTEMPTS = 1000
_OF_WORKER = ("tables", "shares", "contents", "inputs", "since")  # what a manifest has of each
_LOOK_S = 0.01  # between two looks for what was asked for
_PARTS = "tokenring: the last results"
_UNDECLARED = "tokenring: the program failed before its dataflow was built"
_DELETED = " (deleted)"  # behind the name of an open file that has none any more
_FAULT = re.compile(
    r"operator (['\"].*?['\"])"
    r"(?:(?: raised)? on worker \d+(?: \([^\n]*?\))?(?: raised|:)|: table [^\n]*?:) (\w+)"
)
"""In what an OperatorError says, the operator and the kind of error."""
_WORKER = re.compile(r"worker \d+")  # whichever comes first to what fails on all
_OF_THE_SYSTEM = {
    *[name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, OSError)],
    "OperationalError",  # so databases say it, whoever connects to them
}


def execute_with_recovery(
    launch: Callable[..., Results],
    dead_letters: Callable[[WorkerSaving], "DeadLetters"],
    program: Callable[[Any], Any],
    recovery: Recovery,
    workers: int = 0,
    config: Config | None = None,
    on_note: Callable[[int, Any], None] | None = None,
    on_start: Callable[[list[int]], None] | None = None,
    **more: Any,
) -> Results:
    """`launch(program, workers, config, on_note, on_start, **more)` from the newest snapshot in `recovery.folder`, with
    snapshots on the way, and again after a worker's death. dead_letters: makes who takes them on a worker. Returns its
    results; of a job that was finished before, an empty list."""
    if not isinstance(recovery, Recovery):
        raise UsageError(f"recovery={recovery!r} is none: give Recovery(folder), such as recovery=tr.Recovery('job')")
    folder = JobFolder(recovery.folder)
    peers = workers or (default_workers() if config is None else config.workers)
    deaths: deque[float] = deque()
    failed: _Failure | None = None
    given_up: set[str] = set()
    with folder.locked(), starting_again():
        with in_one_line(folder.path):
            for left in (*folder.path.glob(f"{WANTED}*"), *folder.path.glob(f"{TOLD}*")):
                left.unlink(missing_ok=True)
        while True:
            with in_one_line(folder.path):
                folder.require_held()
                snapshot = folder.newest()
                if snapshot is not None:
                    folder.deliver(snapshot)
                keeper = Keeper(folder, recovery, snapshot, peers)
            if snapshot is not None:
                if snapshot.is_end:
                    _say(f"the job in {folder.path} was finished by its last run: nothing is left to do")
                    return Results()
                if recovery.on_error == DEAD_LETTERS:
                    given_up |= snapshot.given_up
            wrapped = saved(program, snapshot, keeper, given_up, dead_letters)
            try:
                results = launch(wrapped, workers, config, keeper.hearing(on_note), keeper.starting(on_start), **more)
            except (WorkerError, OperatorError) as error:
                keeper.stop()
                if keeper.failure is not None:
                    raise keeper.failure from None  # of which the death is what came
                if keeper.is_undeclared and not deaths:  # else it was declared before, and something else has changed
                    raise
                said = str(error)
                if isinstance(error, OperatorError):
                    before, failed = failed, _Failure(_fault_in(said), keeper.newest, keeper.board.all(READ))
                    if before is not None and before.fault == failed.fault and not before.is_behind(keeper.newest):
                        operator = _operator_in(said)
                        is_able = operator.split(" ... ")[0] in keeper.leave_out  # of several in one, the first
                        if recovery.on_error == DEAD_LETTERS and is_able and operator not in given_up:
                            given_up.add(operator)
                            _say(
                                f"{said.splitlines()[0]}; that was the second time: from now on, rows at which it "
                                f"fails go to {dead_letters_of(folder.path, operator)}"
                            )
                            continue
                        row = "the row" if recovery.on_error != DEAD_LETTERS else "the row, which it cannot leave out"
                        cure = f"mend the program, or {row}, and run it again. {_places_in(keeper.newest)}"
                        if _is_of_the_system(failed.fault):
                            cure = "mend that, and run it again"
                        error.add_note(f"it failed so twice, from snapshot {keeper.number} of {folder.path} on: {cure}")
                        raise
                now = time.monotonic()
                deaths.append(now)
                while deaths[0] < now - recovery.nanoseconds("within") / 1e9:
                    deaths.popleft()
                if len(deaths) > recovery.restarts:
                    error.add_note(
                        f"that was failure {len(deaths)} within {recovery.within}, and restarts={recovery.restarts}; "
                        f"the next run goes on from the newest snapshot in {folder.path}"
                    )
                    raise
                pause_s = min(_LEAST_PAUSE_S * 2 ** (len(deaths) - 1), _MOST_PAUSE_S)
                _say(f"{said.splitlines()[0]}; starting again from the newest snapshot in {pause_s:g} s")
                time.sleep(pause_s)
                continue
            except BaseException:
                keeper.stop()
                raise
            keeper.stop()
            if results.stopped is None:  # else it is to go on some time
                with in_one_line(folder.path):
                    keeper.finish()
            return results


@dataclass(frozen=True)
class _Failure:
    """An operator has failed. `fault`: see `_fault_in`. `snapshot`: the newest one then; None: there was none. `read`:
    how many rows the sources of each worker had sent, of which one was at fault."""

    fault: tuple[str, ...]
    snapshot: Snapshot | None
    read: list[int]

    def is_behind(self, newest: Snapshot | None) -> bool:
        """Whether a snapshot is further than it, so that the next failure is another one's: it has all rows that had
        been sent, and more. What programs feed by hand nobody counts: there it has something else than the one before.
        """
        if newest is None:
            return False
        read = newest.read(len(self.read))
        has_more = read != self.read and all(map(ge, read, self.read))
        return has_more or newest.fed != ([] if self.snapshot is None else self.snapshot.fed)


def _fault_in(said: str) -> tuple[str, ...]:
    """What is the same where the same row is at fault once more: whose code raised, and what kind of error. How far
    others had come then is told besides, and may be anything."""
    found = _FAULT.search(said)
    return found.groups() if found else (_WORKER.sub("", said),)


def _is_of_the_system(fault: tuple[str, ...]) -> bool:
    """Whether a fault is a file's, a disk's or a database's, of which no row is the reason."""
    return any([one in _OF_THE_SYSTEM for one in fault[1:]])


def _operator_in(said: str) -> str:
    """The operator at fault, as errors call it; "" where none is."""
    found = _FAULT.search(said)
    return "" if found is None else str(literal_eval(found[1]))


def _places_in(snapshot: Snapshot | None) -> str:
    """Behind which places of its sources a row is to be looked for, of which nothing is told but that it fails."""
    if snapshot is None:
        return "Its sources had read nothing before"
    places = [
        f"{share['source']!r}, share {share['state']['share']}, at {share['state']['position']}"
        for dataflow in snapshot.dataflows.values()
        for one in dataflow.manifest["workers"]
        for share in one["shares"]
        if share["state"]["time"] is not None
    ]
    return f"Its sources were, of those that had not ended: {'; '.join(sorted(places)) or 'none'}"


def _say(what: str) -> None:
    print(f"tokenring: {what}", file=sys.stderr)


class DeadLetters(Protocol):
    """Who takes the rows on a worker that operators fail at."""

    def close(self) -> None:
        """No more come."""


def saved(
    program: Callable[[Any], Any],
    snapshot: Snapshot | None,
    keeper: "Keeper",
    given_up: Set[str],
    dead_letters: Callable[[WorkerSaving], DeadLetters],
) -> Callable[[Any], Any]:
    def run(worker: Any) -> Any:
        saving = WorkerSaving(worker, snapshot, keeper.shares, keeper.job, keeper.folder, keeper.board, keeper.may_go)
        worker.saving, worker.resumed = saving, saving.program_was(worker.index, worker.peers)
        # The first signal is to end the run: what an end in order drops would be missing from a job that is finished.
        worker.ending.heeding = lambda: None
        if not given_up:
            return declared(worker)
        saving.given_up = given_up
        letters = saving.dead_letters = dead_letters(saving)
        result = declared(worker)
        worker.run()
        letters.close()
        return result

    def declared(worker: Any) -> Any:
        try:
            return program(worker)
        except Exception as error:
            if not isinstance(error, TokenRingError) and not worker.saving.dataflows:
                worker.report([_UNDECLARED])
            raise

    return run


def tell_last(saving: WorkerSaving, sink: SavedSink, made: Sequence[str]) -> None:
    """A sink has seen its input end: what of its results no snapshot is known to have, before its run is over."""
    saving.report([_PARTS, str(sink.folder), sink.suffix, list(made)])


class Keeper:
    """Takes the snapshots of one group, in a thread of the launcher's."""

    def __init__(self, folder: JobFolder, recovery: Recovery, snapshot: Snapshot | None, peers: int) -> None:
        self.folder, self._recovery = folder, recovery
        was = None if snapshot is None else snapshot.manifest
        self.job, self.shares = folder.begun(peers) if was is None else (str(was["job"]), int(was["shares"]))
        """By which the job is known outside of its folder."""
        self.newest = snapshot
        self.board = Board(peers)
        for worker, rows in enumerate([] if snapshot is None else snapshot.read(peers)):
            self.board.say(worker, READ, rows)  # there is no worker yet
        self._requests = 0
        self.number: int = max(snapshot.number if snapshot else 0, folder.last)
        """Of the newest snapshot."""
        self.may_go = {*recovery.drop, *map(os.path.abspath, recovery.drop)}
        """What may be lost, by name; sinks are called by their folders."""
        self._stopping = threading.Event()
        self._wishes: list[Path] = []
        """Where is to be said what came of the next snapshot: one for each dataflow that none has since it was
        installed."""
        self._threads: list[threading.Thread] = []
        self._last_parts: list[dict[str, Any]] = []
        self._sinks: dict[str, dict[str, str]] = {}
        self._delivered: set[str] = set()
        """Files of results that a snapshot has."""
        self._undelivered: Snapshot | None = None
        """The newest snapshot, where its results could not appear."""
        self._why_not = ""
        """Why the last one could not be taken, which has been said; "" if it was."""
        self.failure: BaseException | None = None
        self.leave_out: set[str] = set()
        """The operators, as errors call them, that can go on without rows that they fail at."""
        self.is_undeclared = False
        """Whether the program has failed before its dataflow was built."""

    def starting(self, on_start: Callable[[list[int]], None] | None) -> Callable[[list[int]], None]:
        """What the launcher calls when the workers' processes are there."""

        def started(processes: list[int]) -> None:
            for work in (self._keep, self._watch):
                self._threads.append(threading.Thread(target=work, args=(processes,), name="recovery", daemon=True))
                self._threads[-1].start()
            if on_start is not None:
                on_start(processes)

        return started

    def hearing(self, on_note: Callable[[int, Any], None] | None) -> Callable[[int, Any], None]:
        """What the launcher calls with what workers report."""

        def heard(worker: int, value: Any) -> None:
            if isinstance(value, list) and value[:1] == [_PARTS]:
                _, folder, suffix, made = value
                self._sinks[folder] = {"folder": folder, "suffix": suffix}
                self._last_parts += [
                    {"made": one, "folder": folder, "suffix": suffix, "worker": worker} for one in made
                ]
            elif isinstance(value, list) and value[:1] == [CHANGED]:
                _say(value[1])
            elif isinstance(value, list) and value[:1] == [LEAVE_OUT]:
                self.leave_out.update(value[1])
            elif value == [_UNDECLARED]:
                self.is_undeclared = True
            elif isinstance(value, list) and value[:1] == [INSTALLED]:
                self._wishes.append(Path(value[1]))
            elif on_note is not None:
                on_note(worker, value)

        return heard

    def stop(self) -> None:
        """Take no more."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def finish(self) -> None:
        """The run was right to its end: all results appear, and nothing is left to go on from."""
        if self.failure is not None:
            raise self.failure
        self.folder.require_held()
        number = self.number + 1
        parts = [part for part in self._last_parts if part["made"] not in self._delivered]
        manifest = {
            "number": number, "job": self.job, "finished": True, "made_at": _now(), "time": None, "shares": self.shares,
            "seconds": {}, "operators": {}, "workers": [], "sinks": list(self._sinks.values()),
            "parts": _named(number, parts), "more": {},
        }  # fmt: skip
        self._deliver()
        self.folder.deliver(self.folder.finish(self.folder.begin(number), manifest))
        self.folder.prune(self._recovery.keep)

    def _keep(self, processes: list[int]) -> None:
        try:
            every_s = self._recovery.nanoseconds("every") / 1e9
            next_s, wish_s, pause_s = time.monotonic() + every_s, 0.0, _LEAST_PAUSE_S
            while not self._stopping.wait(min(max(next_s - time.monotonic(), 0), 0.05)):
                wanted, wishes = list(self.folder.path.glob(f"{WANTED}*")), [*self._wishes]
                began_s = time.monotonic()
                if began_s < next_s and not wanted and not (wishes and began_s >= wish_s):
                    continue
                said = self._try_to_take(processes)
                now_s = time.monotonic()
                next_s = max(began_s + every_s, 2 * now_s - began_s)  # half of the time at most goes to snapshots
                for path in wanted if said is not None else ():
                    with suppress(OSError):  # who asked has gone, or the disk is full
                        path.unlink()
                        write_whole(answer_to(path), said)
                for path in wishes if said is not None else ():
                    with suppress(OSError):  # who asked has gone; the wish stays
                        write_whole(path, said)
                if said is not None and "number" in said:
                    del self._wishes[: len(wishes)]
                    pause_s = _LEAST_PAUSE_S
                else:
                    wish_s, pause_s = now_s + pause_s, min(2 * pause_s, _MOST_PAUSE_S)
        except BaseException as error:
            self.failure = error
            if not isinstance(error, RecoveryError):  # which ends the run, and says all
                _say(f"no more snapshots are taken: {type(error).__name__}: {error}")
            for process in processes:  # a sink may wait for the last one
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def _watch(self, processes: list[int]) -> None:
        """Kill workers that hang."""
        hang = self._recovery.hang
        while not self._stopping.wait(_WATCH_S):
            found: Sequence[WorkerHealth] = ()
            with suppress(TokenRingError, OSError):  # the group ends
                health = health_of(os.getpid(), processes, self._recovery.nanoseconds("hang") / 1e9, self._look)
                found = health.workers if health.ready else ()  # to put in what was saved may take long
            for one in found:
                if one.state == STANDS:
                    _say(
                        f"worker {one.worker} has been in one call for {hang} and is killed; if that is no fault, give "
                        f"a longer hang= of recovery"
                    )
                    with suppress(ProcessLookupError):
                        os.kill(one.process, signal.SIGKILL)

    def _try_to_take(self, processes: list[int]) -> dict[str, Any] | None:
        """What whoever asked is told; None where the group begins, or ends meanwhile."""
        self.folder.require_held()  # nothing of the run would count
        number = self.number + 1
        began_s = time.monotonic()
        try:
            self._deliver()
            taken = self._take(number, processes)
        except _NotYetError as error:
            return {"error": str(error)}
        except (OSError, TokenRingError) as error:
            if self._has_ended(processes):
                return None
            why = str(refusal(error, self.folder.path) if isinstance(error, OSError) else error)
            if why != self._why_not:
                _say(f"snapshot {number} could not be taken: {why}; it is tried again in time")
            self._why_not = why
            return {"error": why}
        if taken is None:
            return None
        self._why_not = ""
        return {
            "number": taken.number, "time": taken.manifest["time"], "rows": taken.rows, "bytes": taken.bytes,
            "seconds": round(time.monotonic() - began_s, 3),
        }  # fmt: skip

    def _deliver(self) -> None:
        """Let the results of the newest snapshot appear, if that failed before."""
        if self._undelivered is not None:
            self.folder.deliver(self._undelivered)
            self._undelivered = None

    def _has_ended(self, processes: list[int]) -> bool:
        """Whether there is nothing to take a snapshot of any more."""
        return self._stopping.is_set() or any([state_of(process) in ("", "Z") for process in processes])

    def _take(self, number: int, processes: list[int]) -> Snapshot | None:
        """Take a snapshot; None where the group ends meanwhile."""
        groups = [group for group in running_groups([os.getpid(), *processes]) if group.launcher == os.getpid()]
        if not groups or len(groups[0].workers) < len(processes):
            return None  # workers begin, or have ended
        into = self.folder.begin(number)
        clock = _Clock()
        self._requests += 1
        question = {"number": number, "into": str(into), "before": self.number, "request": self._requests}
        with requested(groups[0], "snapshot", question, partial(self._require_all, processes)) as request:
            asked = _Asked(request, self.board, self._requests)
            asked.stand()
            clock.begins(min(self.board.all(STOOD_NS)) / 1e9)
            clock.is_over("standing")
            asked.freeze()
            clock.is_over("coming to rest")
            asked.all(TAKEN, asked.attempt, _STAND_S)
            clock.is_over("copying")
            asked.all(WRITTEN, self._requests, _WRITE_S)
            if any(self.board.all(STATUS)):
                failed = [orjson.loads(path.read_bytes())["error"] for path in request.folder.glob("failed-*.json")]
                raise RecoveryError("; ".join(dict.fromkeys(failed)) or "a process that wrote it was killed")
            clock.is_over("writing")
        return self.seal(number, into, len(processes), clock.seconds)

    def seal(self, number: int, into: Path, peers: int, seconds: dict[str, float]) -> Snapshot:
        """All workers have written what they keep to the folder of a snapshot: it is one, and its results appear."""
        workers = [orjson.loads((into / f"worker{index}.json").read_bytes()) for index in range(peers)]
        main = _joined(workers)
        more = {}
        for name, told in workers[0]["more"].items():
            if all([name in one["more"] for one in workers]):  # else it fails, or is removed, just then
                more[name] = {**_joined([one["more"][name] for one in workers]), "code": told["code"]}
        sinks = [
            {**sink, "dataflow": name} for name, one in [("", main), *more.items()] for sink in one.pop("sinks")
        ]
        for one in more.values():
            times = [one["time"], main["time"]]
            one["time"] = min([time for time in times if time is not None], default=None)
        parts = [
            {**part, "worker": index}
            for index, one in enumerate(workers)
            for part in one["parts"]
            if part["dataflow"] in ("", *more)
        ]
        manifest = {
            "number": number, "job": self.job, "finished": False, "made_at": _now(), "shares": self.shares,
            "seconds": seconds, "sinks": sinks, "parts": _named(number, parts), **main, "more": more,
        }  # fmt: skip
        for one, told in zip(manifest["workers"], workers, strict=True):
            one["program"], one["read"] = told["program"], told["read"]
        self._undelivered = taken = self.folder.finish(into, manifest)
        self.newest, self.number = taken, number
        self._delivered |= {part["made"] for part in taken.manifest["parts"]}
        self._deliver()
        self.folder.prune(self._recovery.keep)
        return taken

    def _require_all(self, processes: list[int]) -> None:
        """A worker that has ended says no more, and keeps the others waiting."""
        if self._has_ended(processes):
            raise WorkerError("the group ends")

    def _look(self) -> None:
        if self._stopping.is_set():
            raise WorkerError("the group ends")


def _joined(workers: list[dict[str, Any]]) -> dict[str, Any]:
    """What all workers have written of a dataflow, as a manifest has it."""
    for source, names in workers[0]["names"].items():
        told = [each["state"]["share"] for one in workers for each in one["shares"] if each["source"] == source]
        if sorted(told) != sorted(names):
            raise RecoveryError(f"not all shares of source {source!r} are in it: {sorted(told)} of {len(names)}")
    times = [told["state"]["time"] for one in workers for told in one["shares"]]
    return {
        "time": min([time for time in times if time is not None], default=None),
        "operators": workers[0]["operators"], "sinks": workers[0]["sinks"],
        "finished_sinks": workers[0]["finished_sinks"],
        "workers": [{name: one[name] for name in _OF_WORKER} for one in workers],
    }  # fmt: skip


class _NotYetError(RecoveryError):
    """There is nothing yet to take a snapshot of."""


class _Clock:
    """How long the parts of a snapshot took: while sources stand (the first three), and beside them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.begins(time.monotonic())

    def begins(self, at: float) -> None:
        """Count from then on."""
        self._since = at

    def is_over(self, part: str) -> None:
        """It has lasted until now."""
        now = time.monotonic()
        self.seconds[part] = round(now - self._since, 6)
        self._since = now


class _Asked:
    """What workers are led through; see taking.py."""

    def __init__(self, request: Request, board: Board, number: int) -> None:
        self._request, self._board, self._number = request, board, number
        self.attempt = board.said(board.workers, FREEZE)

    def all(self, word: int, value: int, limit_s: float) -> None:
        """Wait until all workers say that."""
        self._request.wait(lambda: set(self._board.all(word)) == {value}, limit_s)

    def stand(self) -> None:
        """Wait until all sources stand. UsageError where a worker cannot, _NotYetError where one is not built yet."""
        here, not_yet = {self._number}, unbuilt(self._number)

        def have_answered() -> bool:
            said = {*self._board.all(STOOD)}
            return said == here or not_yet in said or bool(self._request.said)

        self._request.wait(have_answered, _STAND_S)
        sound(self._request.said)
        if not_yet in self._board.all(STOOD):
            raise _NotYetError("its workers have not built their dataflow yet")

    def freeze(self) -> None:
        """Let all workers be frozen at one position of the ring."""
        deadline = time.monotonic() + _REST_S
        asker = self._board.workers
        for _ in range(_MOST_ATTEMPTS):
            self._wait_for_rest(deadline)
            self.attempt += 1
            self._board.say(asker, FREEZE, self.attempt)
            self.all(FROZEN, self.attempt, _STAND_S)
            is_so = _is_one_place(self._board.all(FROZEN_AT))
            self._board.say(asker, DECIDED, decision(self.attempt, is_so))
            if is_so:
                return
        raise RecoveryError("the group does not come to rest: some operator always has something to do")

    def _wait_for_rest(self, deadline: float) -> None:
        try:
            limit_s = max(deadline - time.monotonic(), 0.001)
            self._request.wait(lambda: _is_one_place(self._board.all(RESTS)), limit_s)
        except WorkerError as error:
            if not self._request.lasts:
                raise
            busy = [worker for worker, place in enumerate(self._board.all(RESTS)) if not place]
            raise RecoveryError(
                f"the group did not come to rest within {_REST_S:g} s (workers "
                f"{', '.join(map(str, busy)) or 'none'} still had something to do)"
            ) from error


def _is_one_place(places: Sequence[int]) -> bool:
    """Whether all rest at one position of the ring, as RESTS and FROZEN_AT tell them."""
    return len({*places}) == 1 and places[0] > 0


def _named(number: int, parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts with the names that they are to get."""
    seen: Counter[tuple[str, int]] = Counter()
    named = []
    for part in parts:
        which = seen[part["folder"], part["worker"]]
        seen[part["folder"], part["worker"]] += 1
        name = part_name(number, part["worker"], which, part["suffix"])
        named.append({"made": part["made"], "folder": part["folder"], "name": name})
    return named


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def take_now(process: int, timeout_s: float) -> dict[str, Any]:
    """Have the run that a process launched, or works in, take a snapshot, and wait until it is on the disk: its number,
    time, rows and bytes, and how many seconds it took. UsageError for a process whose run keeps none; WorkerError where
    the snapshot could not be taken, the run ends, or the time."""
    folder = _folder_of(process)
    launcher, wanted = folder.holder, Wanted(folder.path)
    try:
        wanted.ask()
    except OSError as error:
        raise UsageError(f"nothing can be written to {folder.path}: {error.strerror}") from None
    try:
        deadline = time.monotonic() + timeout_s
        while (said := wanted.told()) is None:
            if state_of(launcher) in ("", "Z"):
                raise WorkerError(f"the run of process {process} has ended, or died, before a snapshot was taken")
            if time.monotonic() > deadline:
                raise WorkerError(
                    f"no snapshot was taken within {timeout_s:g} s: `tokenring why {launcher}` may say what lasts; try "
                    f"again, or with a longer timeout_s=, --timeout"
                )
            time.sleep(_LOOK_S)
    finally:
        wanted.forget()
    if "error" in said:
        raise WorkerError(f"the snapshot could not be taken: {said['error']}")
    return said


def _folder_of(process: int) -> JobFolder:
    """Where a run keeps its snapshots: each of its processes has the lock of the folder open."""
    gone: Path | None = None
    with suppress(OSError):
        for entry in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                path = Path(os.readlink(entry))
                name = path.name.removesuffix(_DELETED)
                if name == LOCK and "FLOCK" in Path(f"/proc/{process}/fdinfo/{entry.name}").read_text():
                    if name != path.name:
                        gone = path.parent
                    elif JobFolder(path.parent).holder:
                        return JobFolder(path.parent)
    group_of(process)  # raises for a process that has none
    if gone is not None:
        raise UsageError(
            f"the run of process {process} kept its snapshots in {gone}, whose files are gone: put them back, and run "
            f"it again"
        )
    raise UsageError(
        f"the run of process {process} keeps no snapshots: start it with recovery=, or `tokenring run --recovery DIR`"
    )
