"""`benchmark roundtrip`: a row to another worker and back its progress, by how long workers spin; and beside others."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any

import click
import numpy as np

import tokenring.operators as tr
from scripts.benchmarks.measure import ROUNDS, Found, Row, benchmark
from tokenring.engine import Config, Schema, Worker, execute
from tokenring.engine.worker import usable_cores
from tokenring.nexmark.bench.parts import figure, option, spread, table, take_turns
from tokenring.shm.queues import key_of_worker
from tokenring.tools.errors import CommandError, OptionError

Case = tuple[int, int, bool]  # spin_us, pause_us, whether others are busy on the same cores
_PAUSE_US = 500
_BUSY = """
import os, select, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
start, used = time.monotonic(), time.process_time()
while not select.select([sys.stdin], [], [], 0)[0]:
    for _ in range(1000): pass
print((time.process_time() - used) / (time.monotonic() - start))
"""


@benchmark(
    option(
        "--spin-us N...", click.IntRange(0, 10**6), "How long a worker with nothing to do spins before it parks.",
        (0, 20, 50, 200, 1000), "spins",
    ),
    option("--trips N", click.IntRange(10), "Of each run.", 2000),
    ROUNDS,
)  # fmt: skip
def command(spins: tuple[int, ...], trips: int, rounds: int) -> Found:
    """Round trips between two workers, each pinned to a core: one after the other, and with a pause before each; and
    with a pause while a busy process shares each core, as another group would: what is left to it."""
    cores = usable_cores()[:2]
    if len(cores) < 2:
        raise OptionError("two workers that spin need two cores, and one is usable")
    ways = ((0, False), (_PAUSE_US, False), (_PAUSE_US, True))
    cases = [(spin_us, pause_us, crowded) for spin_us, (pause_us, crowded) in product(spins, ways)]
    outcomes = take_turns("roundtrip", cases, rounds, lambda case: measure(case, trips, cores), warm_up=False)
    rows = [
        {"spin_us": spin_us, "pause_us": pause_us, "crowded": crowded}
        | {name: spread([one[name] for one in of_case]) for name in of_case[0]}
        for (spin_us, pause_us, crowded), of_case in outcomes.items()
    ]
    return {"trips": trips, "rounds": rounds}, {"rows": rows}


def measure(case: Case, trips: int, cores: list[int]) -> dict[str, float]:
    """One run: the trips' median and 99th percentile in µs, the share of its core that the other worker used, and, on
    crowded cores, the least share that a busy process got."""
    spin_us, pause_us, crowded = case
    trips = max(10, trips // 10) if crowded else trips  # each takes turns of the scheduler, milliseconds
    config = Config(workers=2, spin_us=spin_us)
    with _busy(cores if crowded else []) as shares:
        (trips_us, _, told_us), (_, share, _) = execute(partial(_work, trips=trips, pause_us=pause_us), config=config)
    if told_us != spin_us:
        raise CommandError("workers do not spin: another group has the cores, or a quota is too small; no figures")
    p50, p99 = np.percentile(trips_us[trips // 10 :], [50, 99]).tolist()
    return {"p50_us": p50, "p99_us": p99, "core_share": share} | ({"left_share": min(shares)} if crowded else {})


def _work(worker: Worker, trips: int, pause_us: int) -> tuple[np.ndarray, float, int]:
    """Worker 0 sends a row to worker 1, and waits until it is known to have been taken. Gives the trips' times, the
    share of its core that a worker used, and how long it was told to spin."""
    with worker.dataflow("round trips") as scope:
        handle, stream = scope.new_input(Schema("key"))
        probe = tr.exchange(stream, "key").probe()
    worker.barrier()
    taken_us = np.zeros(trips)
    start_ns, used_ns = time.monotonic_ns(), time.process_time_ns()
    if worker.index == 0:
        key = key_of_worker(1, 2)
        for trip in range(trips):
            until_ns = time.monotonic_ns() + pause_us * 1000
            while (left_ns := until_ns - time.monotonic_ns()) > 0:
                worker.step_or_park(left_ns / 1e9)
            sent_ns = time.monotonic_ns()
            handle.send({"key": [key]})
            handle.advance_to(trip + 1)
            worker.step_while(partial(probe.less_than, trip + 1))
            taken_us[trip] = (time.monotonic_ns() - sent_ns) / 1e3
    handle.close()
    worker.step_while(lambda: not probe.done())
    share = (time.process_time_ns() - used_ns) / (time.monotonic_ns() - start_ns)
    return taken_us, share, worker.config.spin_us


@contextmanager
def _busy(cores: list[int]) -> Iterator[list[float]]:
    """A process on each core that never rests; their shares of it are there after the block."""
    shares: list[float] = []
    started: list[subprocess.Popen[str]] = []
    try:
        for core in cores:
            line = [sys.executable, "-c", _BUSY, str(core)]
            started.append(subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        yield shares
    finally:
        shares += [float(one.communicate()[0] or 0) for one in started]


def tables(data: dict[str, Any]) -> list[str]:
    """A row for each way and length of spinning."""
    asked = data["parameters"]
    rows = sorted(data["rows"], key=lambda row: (row["pause_us"], row["crowded"], row["spin_us"]))
    return [
        f"A row from worker 0 to worker 1, and back the progress that says so; {asked['trips']:,} trips a run, "
        f"a tenth of them beside busy processes; medians of {asked['rounds']} rounds.",
        table(
            rows, ("round trips", _way), ("spin µs", "spin_us"), ("p50 µs", "p50_us.median"),
            ("p99 µs", "p99_us.median"), ("% of its core the other worker used", "core_share.median", 0.01),
            ("% left to the busy", lambda row: figure(row["left_share"]["median"], 0.01) if row["crowded"] else "–"),
        ),
    ]  # fmt: skip


def _way(row: Row) -> str:
    if not row["pause_us"]:
        return "one after the other"
    return f"every {row['pause_us']} µs{', beside busy processes' if row['crowded'] else ''}"
