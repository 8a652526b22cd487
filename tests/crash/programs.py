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
from collections.abc import Callable, Iterator
from typing import Any

from tokenring.engine import Config, Exchange, InputHandle, Probe, Schema, Token, TokenRingError, Worker, execute
from tokenring.operators import for_each, from_callback, from_generator

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


def live(worker: Worker) -> list[int]:
    """Three sources without an end, each into a count by windows of which the last is open; returns what was counted,
    once all is finished, and what was sent."""
    sent = 0
    opened: list[str] = []
    closed: list[str] = []

    def numbers(index: int, peers: int) -> Iterator[dict[str, list[int]]]:
        nonlocal sent
        opened.append("generator")
        try:
            while True:
                sent += 1
                yield {"key": [1], "value": [sent]}
        finally:
            closed.append("generator")

    def poll() -> dict[str, list[int]] | None:
        nonlocal sent
        sent += 1
        return {"key": [2], "value": [sent]}

    counted = []
    with worker.dataflow("live") as scope:
        handle, fed = scope.new_input(SCHEMA)
        generated = from_generator(scope, SCHEMA, numbers, time="value", disorder=1000)
        called = from_callback(scope, SCHEMA, poll, time="value", disorder=1000, per_worker=True)
        asleep = from_callback(scope, SCHEMA, lambda: None, idle_ns=3_600_000_000_000, per_worker=True)
        for stream in (fed, generated, called, asleep):
            for_each(stream, lambda time, batch: counted.append(batch.rows))
    told = False
    while not worker.stopping:
        sent += 1
        handle.send({"key": [3], "value": [sent]})
        handle.advance_to(sent)
        worker.step_or_park()
        if opened and not told:
            told = True
            worker.report("live")
    handle.close()
    worker.run()
    assert closed == opened, "a generator that was begun is closed"
    return [sum(counted), sent]


def deaf(worker: Worker) -> None:
    """Promise to stop, and go on for ever."""
    assert not worker.stopping
    running(worker)


PROGRAMS: dict[str, Callable[[Worker], Any]] = {
    program.__name__: program
    for program in (running, parked, starting, raising, leaving, stubborn, idle, printing, live, deaf)
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
