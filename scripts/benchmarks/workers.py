"""`benchmark workers`: what a step and memory cost by the number of workers, and a model of it for many more."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from scripts.benchmarks.measure import json_option, rounds_option, spread, take_turns, write_json
from scripts.benchmarks.render import render
from scripts.benchmarks.workers_kernels import kernel_costs
from tokenring.engine import Config, Schema, Worker, execute
from tokenring.engine.worker.config import usable_cores
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.tools.errors import OptionError
from tokenring.tools.system.files import require_writable

Row = dict[str, Any]
_ROUNDS = 300  # of a group of processes, in which everybody waits for everybody
_SEGMENTS = (2, 8, 16, 32, 64, 128, 256)


@click.command(cls=ListCommand)
@click.option(
    "--workers", "sizes", multiple=True, type=click.IntRange(1, 512), default=(1, 2, 4, 8), show_default=True,
    metavar="N...", help="What the model is made from.",
)  # fmt: skip
@click.option(
    "--at", type=click.IntRange(1, 512), default=64, show_default=True,
    help="What it is drawn out to; kernels are measured there, too.",
)  # fmt: skip
@rounds_option
@json_option
def command(sizes: tuple[int, ...], at: int, rounds: int, json_file: Path) -> None:
    """Kernels of groups of N workers that live in one process and take turns, so that they have the machine for
    themselves; groups of N processes in which all wait for all, N of more than the cores among them; what a group's
    segment takes."""
    require_writable(json_file)
    sizes = tuple(sorted(set(sizes)))
    if len([size for size in sizes if size > 1]) < 2:
        raise OptionError("--workers: a line takes two sizes beyond one worker")
    groups = take_turns("groups", sizes, rounds, _group, warm_up=False)  # first, while there is little to inherit
    queue_bytes = Config(workers=at).queue_bytes  # one for all, so that they differ in the number alone
    measured = take_turns(
        "kernels", (*sizes, at), rounds, lambda workers: kernel_costs(workers, queue_bytes), warm_up=False
    )
    kernels = [
        {"what": what, "workers": workers, "us": spread([costs[what] for costs in of_size])}
        for workers, of_size in zip((*sizes, at), measured, strict=True)
        for what in of_size[0]
    ]
    figures = {
        "kernels": kernels,
        "model": model(kernels, sizes, at),
        "groups": [_together(workers, of_size) for workers, of_size in zip(sizes, groups, strict=True)],
        "segments": [_segment(workers) for workers in _SEGMENTS],
    }
    parameters = {"workers": sizes, "at": at, "rounds": rounds, "queue_bytes": queue_bytes}
    click.echo(render(write_json(json_file, "workers", parameters, figures)))


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
    return {
        "wall_us": max(answer["wall_us"] for answer in answers),
        "cpu_us": float(np.mean([answer["cpu_us"] for answer in answers])),
        "own_mb": max(answer["own_mb"] for answer in answers),
        "mapped_mb": max(answer["mapped_mb"] for answer in answers),
    }


def _rounds(worker: Worker) -> dict[str, float]:
    """Move one's time on and wait until everybody has, again and again; what a round takes, and what memory."""
    with worker.dataflow("rounds") as scope:
        handle, stream = scope.new_input(Schema("value"))
        probe = stream.probe()
    worker.barrier()
    wall_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns()
    for number in range(1, _ROUNDS + 1):
        handle.advance_to(number)
        worker.step_while(lambda until=number: probe.less_than(until))
    wall_ns, cpu_ns = time.monotonic_ns() - wall_ns, time.process_time_ns() - cpu_ns
    handle.close()
    return {"wall_us": wall_ns / _ROUNDS / 1e3, "cpu_us": cpu_ns / _ROUNDS / 1e3} | _memory_mb()


def _memory_mb() -> dict[str, float]:
    """What this process has for itself, and what it has touched of shared memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kib = {name: int(rest.split()[0]) for name, _, rest in [line.partition(":") for line in lines] if "Rss" in name}
    return {"own_mb": kib["RssAnon"] * 1024 / 1e6, "mapped_mb": kib["RssShmem"] * 1024 / 1e6}


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
