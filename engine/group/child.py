"""A worker process from its beginning to its end: it runs the program and tells the launcher what came of it."""

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from tokenring.engine.ask import KeptHold, Requests, answer_questions
from tokenring.engine.data import text_of
from tokenring.engine.errors import BrokenInvariant, GraphMismatchError, GroupStopped, TokenRingError, UsageError
from tokenring.engine.group.frames import write_message
from tokenring.engine.group.interrupts import wait_for_own_children
from tokenring.engine.group.linux import allow_tracing, die_with_parent, keep_little
from tokenring.engine.group.processes import limit_met
from tokenring.engine.group.traces import trace_of
from tokenring.engine.group.values import CURE
from tokenring.engine.install import Failing, Installing, Removing
from tokenring.engine.running import refuse_step
from tokenring.engine.worker import Config, Worker
from tokenring.shm.kernels import forbid_compilation
from tokenring.shm.memory import Segment, text_space
from tokenring.shm.queues import ParkingLot

Program = Callable[[Any], Any]
"""Of a worker, of the class that the group was told."""

_REQUESTS: dict[str, Any] = {"fail": Failing, "hold": KeptHold, "install": Installing, "remove": Removing}
_IS_COPY = (
    "a process that its program forked cannot go on as the worker, which goes on itself; let such a process do its own "
    "work and end with os._exit(), or start it by multiprocessing or subprocess"
)
_LONGEST_TEXT = 20_000  # of an error; of more, the middle is left out


def live(
    program: Program,
    segment: Segment,
    lot: ParkingLot,
    index: int,
    config: Config,
    cores: Sequence[int],
    pipe: int,
    launcher: int,
    parent: int = 0,
    worker_class: type[Worker] = Worker,
) -> NoReturn:
    """The whole life of a worker process, whose signals are set up. cores: where each worker runs, none if they are
    not pinned; parent: its own, if that is not the launcher; worker_class: what the program is given."""
    status, process = 1, os.getpid()
    try:
        wait_for_own_children()
        forbid_compilation(index)
        die_with_parent(parent or launcher)
        allow_tracing()
        keep_little()
        if cores:
            os.sched_setaffinity(0, {cores[index]})
        segment.allocate_queues_to(index)
        space = text_space()
        if space is not None:
            space.seal()
        gc.freeze()
        gc.disable()
        worker = worker_class(segment, lot, index, config)
        worker.launcher = launcher
        answer_questions(worker.inspection, launcher, Requests(worker, _REQUESTS).noticed)
        worker.report = lambda value: _tell(pipe, index, "note", value)
        worker.publish = lambda one: write_message(pipe, {"kind": "publication", "value": list(one)})
        worker.ending.heeding = lambda: write_message(pipe, {"kind": "heeding"})
        worker.tell_dropped = lambda told: _tell(pipe, index, "dropped", told)
        os.register_at_fork(after_in_child=partial(_fail_copy, worker))
        value = program(worker)
        if worker.failure is not None:
            refuse_step(worker)
        worker.assent.finish()
        worker.run()
        _tell(pipe, index, "result", value)
        status = 0
    except BaseException as error:
        with contextlib.suppress(BaseException):
            if os.getpid() != process:  # the pipe is the worker's
                _say_of_copy(error, index)
            elif isinstance(error, GroupStopped):
                write_message(pipe, {"kind": "stopped", "text": str(error)})
            else:
                write_message(pipe, told(error, index))
    finally:
        with contextlib.suppress(BaseException):
            flush_output()
        os._exit(status)


def _fail_copy(worker: Worker) -> None:
    """In a process that a worker has just forked: it takes no step more, nor sends; that of a logic ends in it."""
    worker.fail(GroupStopped(f"worker {worker.index}: {_IS_COPY}"))
    vars(worker.compiled).update(before=partial(refuse_step, worker))


def _say_of_copy(error: BaseException, index: int) -> None:
    trace = "" if isinstance(error, GroupStopped) else trace_of(error)
    print(f"{trace}tokenring: worker {index}: {_IS_COPY}", file=sys.stderr)


def _tell(pipe: int, index: int, kind: str, value: Any) -> None:
    try:
        write_message(pipe, {"kind": kind, "value": value})
    except TypeError as error:
        what = "the program returned" if kind == "result" else "was reported"
        raise UsageError(f"worker {index}: what {what} cannot go to the launcher: {error}; {CURE}") from error


def told(error: BaseException, index: int) -> dict[str, Any]:
    """What the launcher is to know of an error; its text names the worker, whether the error did or not, and can be
    printed whatever it was."""
    known = isinstance(error, TokenRingError | BrokenInvariant)
    text = _printable(text_of(error))
    if not known:
        text = f"worker {index}: {type(error).__name__}: {text}"
    elif f"worker {index}" not in text:
        text = f"worker {index}: {text}"
    if limit := limit_met(error):
        text = f"{text} ({limit})"
    try:
        trace = _printable(trace_of(error))
    except Exception:
        trace = ""
    return {"kind": "error", "type": type(error).__name__, "text": text, "traceback": trace} | (
        {"declared": list(error.declared)} if isinstance(error, GraphMismatchError) and error.declared else {}
    )


def _printable(text: str) -> str:
    if len(text) > _LONGEST_TEXT:
        half = _LONGEST_TEXT // 2
        text = f"{text[:half]} … ({len(text) - 2 * half:,} characters) … {text[-half:]}"
    return text.encode(errors="backslashreplace").decode()


def flush_output() -> None:
    """What was printed must not be lost in a child's `_exit`, nor be printed once more by every child."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
