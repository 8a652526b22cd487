"""`benchmark workers`: what a step and memory cost by the number of workers, and a model of it for many more."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from scripts.benchmarks.measure import COUNT, ROUNDS, Found, Row, benchmark
from scripts.benchmarks.step_kernels import kernel_costs_of
from tokenring.engine import Config, Schema, Worker, execute
from tokenring.engine.worker.config import usable_cores
from tokenring.nexmark.bench.parts import figure, option, spread, table, take_turns
from tokenring.nexmark.measure.memory import anonymous_mb, touched_mb
from tokenring.tools.errors import OptionError

_ROUNDS = 300  # of a group of processes, in which everybody waits for everybody
_SEGMENTS = (2, 8, 16, 32, 64, 128, 256)


@benchmark(
    option("--workers N...", COUNT, "What the model is made from.", (1, 2, 4, 8), "sizes"),
    option("--at N", COUNT, "What it is drawn out to; kernels are measured there, too.", 64),
    ROUNDS,
)
def command(sizes: tuple[int, ...], at: int, rounds: int) -> Found:
    """Kernels of groups of N workers that live in one process and take turns, so that they have the machine for
    themselves; groups of N processes in which all wait for all, N of more than the cores among them; what a group's
    segment takes."""
    sizes = tuple(sorted(set(sizes)))
    if len([size for size in sizes if size > 1]) < 2:
        raise OptionError("--workers: a line takes two sizes beyond one worker")
    groups = take_turns("groups", sizes, rounds, _group, warm_up=False)  # first, while there is little to inherit
    queue_bytes = Config(workers=at).queue_bytes  # one for all, so that they differ in the number alone
    measured = take_turns(
        "kernels", (*sizes, at), rounds, lambda workers: kernel_costs_of(workers, queue_bytes), warm_up=False
    )
    kernels = [
        {"what": what, "workers": workers, "us": spread([costs[what] for costs in of_size])}
        for workers, of_size in measured.items()
        for what in of_size[0]
    ]
    figures = {
        "kernels": kernels,
        "model": model(kernels, sizes, at),
        "groups": [_together(workers, of_size) for workers, of_size in groups.items()],
        "segments": [_segment(workers) for workers in _SEGMENTS],
    }
    return {"workers": sizes, "at": at, "rounds": rounds, "queue_bytes": queue_bytes}, figures


def model(kernels: list[Row], sizes: tuple[int, ...], at: int) -> list[Row]:
    """For each kernel a line through the least it cost at those sizes, by least squares of the relative error, and what
    it gives at another; no line falls. Of a group of one, which has nobody to exchange with, it says nothing."""
    found = []
    sizes = tuple([size for size in sizes if size > 1])
    for what in dict.fromkeys(row["what"] for row in kernels):
        us = {row["workers"]: row["us"]["least"] for row in kernels if row["what"] == what}
        cost = np.array([us[size] for size in sizes])
        terms = np.array([[1.0, size] for size in sizes]) / cost[:, None]
        fixed, each = np.linalg.lstsq(terms, np.ones(len(sizes)), rcond=None)[0].tolist()
        if each < 0:
            fixed, each = float(np.sum(1 / cost) / np.sum(1 / cost**2)), 0.0
        found.append({"what": what, "fixed_us": fixed, "each_us": each, "at_us": fixed + at * each, "seen_us": us[at]})
    return found


def _group(workers: int) -> Row:
    """One group of processes."""
    answers = execute(_rounds, config=Config(workers=workers))
    greatest = {name: max(answer[name] for answer in answers) for name in answers[0]}
    return greatest | {"cpu_us": float(np.mean([answer["cpu_us"] for answer in answers]))}


def _rounds(worker: Worker) -> dict[str, float]:
    """Move one's time on and wait until everybody has, again and again; what a round takes, and what memory."""
    with worker.dataflow("rounds") as scope:
        handle, stream = scope.new_input(Schema("value"))
        probe = stream.probe()
    worker.barrier()
    wall_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns()
    for number in range(1, _ROUNDS + 1):
        handle.advance_to(number)
        worker.step_while(partial(probe.less_than, number))
    wall_ns, cpu_ns = time.monotonic_ns() - wall_ns, time.process_time_ns() - cpu_ns
    handle.close()
    memory_mb = {"own_mb": anonymous_mb(), "mapped_mb": touched_mb()}
    return {"wall_us": wall_ns / _ROUNDS / 1e3, "cpu_us": cpu_ns / _ROUNDS / 1e3, **memory_mb}


def _together(workers: int, runs: list[Row]) -> Row:
    return {
        "workers": workers,
        "oversubscribed": workers > len(usable_cores()),
        **{name: spread([run[name] for run in runs]) for name in runs[0]},
    }


def _segment(workers: int) -> Row:
    """What a group's segment takes by default; all of it is allocated at the start."""
    config = Config(workers=workers)
    return {
        "workers": workers,
        "queue_bytes": config.queue_bytes,
        "segment_mb": config.layout.total_bytes / 1e6,
        "own_queues_mb": 2 * (workers - 1) * config.queue_bytes / 1e6,
    }


def tables(data: dict[str, Any]) -> list[str]:
    """Three tables: kernels and the model made from them; groups of processes; segments."""
    asked = data["parameters"]
    us = {(row["what"], row["workers"]): row["us"]["least"] for row in data["kernels"]}
    by_size = [(str(size), lambda row, size=size: figure(us[row["what"], size])) for size in asked["workers"]]
    return [
        f"Groups of n workers in one process, who take turns, all with queues of {asked['queue_bytes'] // 1024} KiB; "
        f"medians of many calls, of which the least of {asked['rounds']} rounds, since a line through three points "
        "follows whatever disturbs one. The model is a line through the columns from 2 workers on, drawn out; the last "
        "column shows what it is worth:",
        table(
            data["model"], ("µs a call, of n workers", "what"), *by_size, ("model", _line),
            (f"model at {asked['at']}", "at_us"), (f"measured at {asked['at']}", "seen_us"),
        ),
        "Groups of n processes, in each round of which everybody moves its time on and waits until all have, medians:",
        table(
            data["groups"],
            ("workers", lambda row: f"{row['workers']}{', more than cores' if row['oversubscribed'] else ''}"),
            ("µs a round", "wall_us.median"), ("CPU µs of a worker", "cpu_us.median"), ("own MB", "own_mb.median"),
            ("shared MB it touched", "mapped_mb.median"),
        ),
        "A group's segment, all of it allocated at the start, and the queues in it that one worker writes or reads:",
        table(
            data["segments"], ("workers", "workers"), ("KiB a queue", lambda row: f"{row['queue_bytes'] // 1024:,}"),
            ("segment MB", "segment_mb"), ("a worker's queues MB", "own_queues_mb"),
        ),
    ]  # fmt: skip


def _line(row: Row) -> str:
    fixed = figure(row["fixed_us"])
    return f"{fixed} + {row['each_us']:.3f} n" if row["each_us"] else fixed
