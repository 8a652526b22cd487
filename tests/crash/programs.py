"""Runs whole groups in a launcher process of their own: `python -m tests.crash.programs <program> [workers]`.

It prints `pids <pid>...` when the workers have started, what programs note, and `result <json>` at the end; an error
is one line
on stderr and exit status 1.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from engine import Config, Exchange, InputHandle, Probe, Schema, Token, TokenRingError, Worker, execute

SCHEMA = Schema("key value")


def exchanging(worker: Worker, poisoned: int = -1) -> tuple[InputHandle, Probe]:
    """An input, an exchange to an operator that passes rows on (and raises at the value `poisoned`), a probe."""

    def constructor(context: Any, token: Token) -> Callable[..., None]:
        token.drop()

        def logic(messages: Any, output: Any) -> None:
            for reference, batch in messages:
                if poisoned in batch["value"].tolist():
                    raise ZeroDivisionError(f"poisoned value {poisoned}")
                output.give(reference, batch)

        return logic

    with worker.dataflow("exchanging") as scope:
        handle, stream = scope.new_input(SCHEMA)
        probe = stream.unary("pass on", SCHEMA, constructor, Exchange("key")).probe()
    return handle, probe


def running(worker: Worker, poisoned: int = -1) -> None:
    """Send and wait, round after round, for ever."""
    handle, probe = exchanging(worker, poisoned)
    worker.report("running")
    round_number = 0
    while True:
        handle.send({"key": list(range(50)), "value": [round_number] * 50})
        round_number += 1
        handle.advance_to(round_number)
        worker.step_while(lambda: probe.less_than(round_number))  # noqa: B023 - it is called within the loop


def parked(worker: Worker) -> None:
    """Hold a token and wait for what never comes."""
    handle, probe = exchanging(worker)
    handle.send({"key": [1], "value": [1]})
    handle.advance_to(1)
    worker.step_while(lambda: probe.less_than(1))
    worker.report("parked")
    worker.step_while(lambda: probe.less_than(2))


def starting(worker: Worker) -> None:
    """Worker 0 waits for the others to declare their dataflow; they never do."""
    worker.report("starting")
    if worker.index > 0:
        time.sleep(600)
    exchanging(worker)


def raising(worker: Worker) -> None:
    """An operator raises after a while."""
    running(worker, poisoned=40)


def leaving(worker: Worker) -> None:
    """Worker 1 leaves by sys.exit, the others run."""
    if worker.index == 1:
        exchanging(worker)
        sys.exit(7)
    running(worker)


def stubborn(worker: Worker) -> None:
    """Worker 0 computes for ever and never looks whether it should stop; worker 1 raises."""
    exchanging(worker)
    if worker.index == 1:
        raise RuntimeError("enough")
    while True:
        time.sleep(0.01)


def idle(worker: Worker) -> float:
    """Hold tokens, send nothing for two seconds; returns the CPU time used per second of wall time."""
    handle, probe = exchanging(worker)
    handle.send({"key": list(range(50)), "value": [1] * 50})
    handle.advance_to(1)
    worker.step_while(lambda: probe.less_than(1))
    wall_s, cpu_s = time.monotonic(), _cpu_s()
    worker.step_while(lambda: time.monotonic() < wall_s + 2.0)
    share = (_cpu_s() - cpu_s) / (time.monotonic() - wall_s)
    assert not handle.closed
    return share


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def printing(worker: Worker) -> str:
    """What a program prints must arrive, once."""
    print(f"printed by worker {worker.index}")
    return f"value of {worker.index}"


PROGRAMS: dict[str, Callable[[Worker], Any]] = {
    program.__name__: program for program in (running, parked, starting, raising, leaving, stubborn, idle, printing)
}


def main() -> int:
    """Run one program; see the module's docstring."""
    program, workers = PROGRAMS[sys.argv[1]], int(sys.argv[2]) if len(sys.argv) > 2 else 2
    print("before the fork")
    try:
        result = execute(
            program,
            config=Config(workers=workers, pin=False),
            on_note=lambda index, value: print(f"note {index} {value}", flush=True),
            on_start=lambda pids: print("pids", *pids, flush=True),
        )
    except TokenRingError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print("result", json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
