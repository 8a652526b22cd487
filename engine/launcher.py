"""The launcher: makes the segment, forks one worker per core, waits, and turns any death into one clear error.

Order: compile kernels, reclaim leftovers, create the segment and unlink its name (mappings are inherited, so nothing
can be left behind), fork. Workers report over pipes, a JSON object a line. A worker that dies stops the group; a
launcher that dies takes its workers with it.
"""

import contextlib
import gc
import os
import selectors
import signal
import sys
import time
import traceback
from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import orjson

from engine import errors
from engine.agreement import first_difference
from engine.answer import answer_questions
from engine.config import Config, usable_cores
from engine.errors import (
    ConfigError,
    GraphMismatchError,
    GroupStopped,
    OperatorError,
    TokenRingError,
    UsageError,
    WorkerError,
)
from engine.process import allow_tracing, die_with_parent
from engine.text import Strings
from engine.warm_up import warm_up
from engine.worker import Worker
from shm.atomics import poke
from shm.cleanup import reclaim
from shm.parking import ParkingLot, wake_all
from shm.segment import Segment

Program = Callable[[Worker], Any]

_GRACE_S = 0.5  # how long workers get to notice that the group stops
_AGREEMENT_S = 5.0  # and to tell what they have declared, if that is not what others have: all of them notice at once


def execute(
    program: Program,
    workers: int = 0,
    config: Config | None = None,
    on_note: Callable[[int, Any], None] | None = None,
    on_start: Callable[[list[int]], None] | None = None,
) -> list[Any]:
    """Run `program(worker)` on every worker of a new group; returns what each returned, in order (JSON values and numpy
    arrays).

    workers: processes (default: one per usable core; or give a whole `config`). on_note(worker, value) sees what
    workers `report`; on_start(pids) the processes. Dataflows still running when the program returns are run to their
    end.

    Raises OperatorError, UsageError subclasses, GraphMismatchError, WorkerError (a worker died), OutOfSharedMemory.
    """
    if config is None:
        config = Config(workers=workers)
    elif workers not in (0, config.workers):
        raise ConfigError(f"workers={workers} contradicts config.workers={config.workers}; give one of them")
    warm_up()
    reclaim()
    segment = Segment.create(config.layout)
    segment.unlink()
    lot = ParkingLot(config.workers)
    group = _Group(segment, lot, config, on_note)
    try:
        group.fork(program)
        if on_start is not None:
            on_start(list(group.pids.values()))
        return group.wait()
    finally:
        group.end()
        lot.close()
        segment.close()


class _Group:
    """The launcher's view of its workers."""

    def __init__(
        self, segment: Segment, lot: ParkingLot, config: Config, on_note: Callable[[int, Any], None] | None
    ) -> None:
        self._segment = segment
        self._lot = lot
        self._config = config
        self._on_note = on_note
        self.pids: dict[int, int] = {}
        self._pipes: dict[int, int] = {}
        self._unread: dict[int, bytearray] = {}
        self._results: dict[int, Any] = {}
        self._failures: dict[int, dict[str, Any]] = {}

    def fork(self, program: Program) -> None:
        """Start the workers."""
        _flush_output()
        gc.freeze()  # what exists now is shared by all workers: keep the collector from touching it
        launcher = os.getpid()
        try:
            for index in range(self._config.workers):
                read_end, write_end = os.pipe()
                pid = os.fork()
                if pid == 0:
                    os.close(read_end)
                    for other in self._pipes.values():
                        os.close(other)
                    _child(program, self._segment, self._lot, index, self._config, write_end, launcher)
                os.close(write_end)
                os.set_blocking(read_end, False)
                self.pids[index] = pid
                self._pipes[index] = read_end
                self._unread[index] = bytearray()
        finally:
            gc.unfreeze()

    def wait(self) -> list[Any]:
        """Collect results until every worker has ended; raises for the first failure."""
        with selectors.DefaultSelector() as selector:
            for index, pipe in self._pipes.items():
                selector.register(pipe, selectors.EVENT_READ, index)
            while self._pipes:
                for key, _ in selector.select():
                    if not self._read(key.data):
                        selector.unregister(key.fd)
                        os.close(self._pipes.pop(key.data))
                        self._reap(key.data)
                if self._failures:
                    raise self._failure(selector)
        return [self._results[index] for index in range(self._config.workers)]

    def _read(self, index: int) -> bool:
        """Take in what a worker wrote; False at its end of file."""
        try:
            chunk = os.read(self._pipes[index], 1 << 20)
        except BlockingIOError:
            return True
        unread = self._unread[index]
        unread += chunk
        while (end := unread.find(b"\n")) >= 0:
            message = orjson.loads(unread[:end])
            del unread[: end + 1]
            if message["kind"] == "result":
                self._results[index] = message["value"]
            elif message["kind"] == "note":
                if self._on_note is not None:
                    self._on_note(index, message["value"])
            else:
                self._failures[index] = message
        return bool(chunk)

    def _reap(self, index: int) -> None:
        """A worker closed its pipe: see how it ended."""
        _, status = os.waitpid(self.pids.pop(index), 0)
        if index in self._results or index in self._failures:
            return
        code = os.waitstatus_to_exitcode(status)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with status {code}"
        self._failures[index] = {
            "kind": "death",
            "text": f"worker {index} {how} before its work was done; the run is void",
        }

    def _failure(self, selector: selectors.BaseSelector) -> Exception:
        """Stop the others, then make the exception for the most telling failure."""
        self._stop()
        disagree = any("declared" in failure for failure in self._failures.values())
        deadline = time.monotonic() + (_AGREEMENT_S if disagree else _GRACE_S)
        while self._pipes and time.monotonic() < deadline:
            for key, _ in selector.select(max(0.0, deadline - time.monotonic())):
                if not self._read(key.data):
                    selector.unregister(key.fd)
                    os.close(self._pipes.pop(key.data))
                    self._reap(key.data)
        order = {"error": 0, "death": 1, "stopped": 2}
        _, failure = min(self._failures.items(), key=lambda item: (order[item[1]["kind"]], item[0]))
        if failure["kind"] != "error":
            return WorkerError(failure["text"])
        kind = getattr(errors, failure["type"], None)
        if kind is None or not issubclass(kind, Exception):
            kind = OperatorError
        told = {at: found["declared"] for at, found in self._failures.items() if "declared" in found}
        difference = first_difference(told) if "declared" in failure else ""
        error: Exception = kind(f"{failure['text']}: {difference}" if difference else failure["text"])
        error.add_note(f"in worker process:\n{failure['traceback']}")
        return error

    def _stop(self) -> None:
        poke(self._segment.address(self._segment.layout.stop), 1)  # SYNC stop: release, pairs with Worker._check_stop
        wake_all(self._segment, self._lot)

    def end(self) -> None:
        """Leave no process behind."""
        if self.pids:
            self._stop()
            deadline = time.monotonic() + _GRACE_S
            while self.pids and time.monotonic() < deadline:
                for index, pid in list(self.pids.items()):
                    if os.waitpid(pid, os.WNOHANG)[0]:
                        del self.pids[index]
                time.sleep(0.005)
            for pid in self.pids.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            self.pids.clear()
        for pipe in self._pipes.values():
            os.close(pipe)
        self._pipes.clear()


def _child(
    program: Program, segment: Segment, lot: ParkingLot, index: int, config: Config, pipe: int, launcher: int
) -> None:
    """A worker process from its fork to its end; never returns."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the launcher acts on it
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        die_with_parent(launcher)
        allow_tracing()
        if config.pin:
            cores = usable_cores()
            os.sched_setaffinity(0, {cores[index % len(cores)]})
        gc.freeze()
        gc.disable()
        worker = Worker(segment, lot, index, config)
        answer_questions(worker, launcher)
        worker.report = lambda value: _write(pipe, {"kind": "note", "value": value})
        value = program(worker)
        worker.agreement.finish()
        worker.run()
        _write_result(pipe, index, value)
        status = 0
    except GroupStopped as error:
        _write(pipe, {"kind": "stopped", "text": str(error)})
    except BaseException as error:
        with contextlib.suppress(BaseException):
            _write(pipe, _told(error, index))
    finally:
        with contextlib.suppress(BaseException):
            _flush_output()
        os._exit(status)


def _told(error: BaseException, index: int) -> dict[str, Any]:
    """What the launcher is to know of an error; its text names the worker, whether the error did or not."""
    known, text = isinstance(error, TokenRingError | errors.SharedMemoryError), str(error)
    if not known:
        text = f"worker {index}: {type(error).__name__}: {text}"
    elif f"worker {index}" not in text:
        text = f"worker {index}: {text}"
    return {
        "kind": "error",
        "type": type(error).__name__,
        "text": text,
        "traceback": traceback.format_exc(),
    } | ({"declared": error.declared} if isinstance(error, GraphMismatchError) and error.declared else {})


def _flush_output() -> None:
    """What was printed must not be lost in a child's `_exit`, nor be printed once more by every child."""
    sys.stdout.flush()
    sys.stderr.flush()


def _write_result(pipe: int, index: int, value: Any) -> None:
    try:
        _write(pipe, {"kind": "result", "value": value})
    except TypeError as error:
        raise UsageError(
            f"worker {index}: what the program returned cannot go to the launcher as JSON ({error}); "
            "return numbers, strings, lists, dicts or numpy arrays"
        ) from error


def _in_json(value: Any) -> Any:
    """What JSON has for numpy's scalars and for columns, None where null. (Of times, orjson would write NaT as one.)"""
    if isinstance(value, np.ndarray) and value.dtype.kind == "M":
        return [None if text == "NaT" else text for text in np.datetime_as_string(value).tolist()]
    if isinstance(value, Strings | np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, datetime):  # pandas' kind of it, which Arrow gives for nanoseconds
        return value.isoformat()
    raise TypeError(f"Type is not JSON serializable: {type(value).__name__}")


def _write(pipe: int, message: dict[str, Any]) -> None:
    data = memoryview(orjson.dumps(message, _in_json, orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE))
    while data:
        data = data[os.write(pipe, data) :]
