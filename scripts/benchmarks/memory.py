"""`benchmark memory`: a worker's own memory over a long run, more workers than cores, an idle group's time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from scripts.benchmarks.measure import (
    events_option,
    input_option,
    json_option,
    rounds_option,
    spread,
    take_turns,
    write_json,
)
from scripts.benchmarks.render import render
from tokenring.engine import Config, Schema, Worker, execute
from tokenring.engine.worker.config import usable_cores
from tokenring.nexmark.bench.experiments import require_events
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.run.runner import Plan, run_query
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.operators import tumbling_average
from tokenring.tools.errors import CommandError
from tokenring.tools.system.files import require_writable

_SETTLED = 0.25  # the first quarter of a run's samples: state is still filling


@click.command(cls=ListCommand)
@input_option
@click.option(
    "--rate",
    type=click.FloatRange(0, 1e12, min_open=True),
    default=1.5e6,
    show_default=True,
    help="Of the long open loop.",
)
@click.option(
    "--duration", type=click.FloatRange(0, 1e6, min_open=True), default=60.0, show_default=True, help="Its seconds."
)
@click.option(
    "--idle",
    "idle_s",
    type=click.FloatRange(0, 1e4, min_open=True),
    default=10.0,
    show_default=True,
    help="Seconds for which the idle group is watched.",
)
@rounds_option
@events_option
@json_option
def command(
    input_folder: Path, rate: float, duration: float, idle_s: float, rounds: int, events: int | None, json_file: Path
) -> None:
    """Memory, more workers than cores, idleness.

    A worker's own memory (RssAnon: neither mapped columns nor shared segments) is sampled a few times a second while
    all staged events pass in a closed loop, and during one long open loop. Then twice as many workers as cores take
    turns with as many.
    """
    require_writable(json_file)
    staged = StagedEvents.open(input_folder)
    events = staged.events if events is None else min(events, staged.events)
    require_events(input_folder, events, rate, duration)
    cores = len(usable_cores())
    runs = [
        sample_memory(
            Plan(
                query, str(input_folder), cores, rate=pace, duration_s=None if pace is None else duration, events=events
            )
        )
        for pace in (None, rate)
        for query in ("q4", "q7")
    ]
    cases = [(query, count) for query in ("q4", "q7") for count in (cores, 2 * cores)]
    outcomes = take_turns(
        "memory", cases, rounds, lambda case: run_query(Plan(case[0], str(input_folder), case[1], events=events))
    )
    oversubscribed = compare(cases, outcomes)
    idle = idle_group(cores, idle_s)
    parameters = {"events": events, "rounds": rounds, "rate": rate, "duration_s": duration, "idle_s": idle_s}
    figures = {"memory": runs, "oversubscribed": oversubscribed, "idle": idle}
    click.echo(render(write_json(json_file, "memory", parameters, figures)))


def sample_memory(plan: Plan) -> dict[str, Any]:
    """Run the plan; each worker's own memory over time."""
    pids: list[int] = []
    samples: list[tuple[float, list[float]]] = []
    start_s = time.monotonic()

    def sample(_offered: int, _events: int) -> None:
        taken = [anonymous_mb(pid) for pid in pids]
        if all(taken):
            samples.append((time.monotonic() - start_s, taken))

    outcome = run_query(plan, on_progress=sample, on_start=pids.extend)
    return {
        "query": plan.query,
        "workers": plan.workers,
        "rate": plan.rate,
        "events": outcome["events"],
        "seconds": outcome["seconds"],
        "dnf": outcome["dnf"],
        "shared_mb": outcome["shared_mb"],
        "own_mb": steadiness(samples),
        "samples": [{"second": second, "own_mb": own} for second, own in samples],
    }


def steadiness(samples: list[tuple[float, list[float]]]) -> dict[str, float | None]:
    """The largest worker's memory once state has settled, at the end, and its trend between (least squares)."""
    if len(samples) < 4:
        return {"settled": None, "end": samples[-1][1][0] if samples else None, "mb_per_minute": None}
    kept = samples[int(len(samples) * _SETTLED) :]
    seconds = np.array([second for second, _ in kept])
    largest = np.array([max(own) for _, own in kept])
    slope = float(np.polyfit(seconds, largest, 1)[0]) if np.ptp(seconds) > 0 else 0.0
    return {"settled": float(largest[0]), "end": float(largest[-1]), "mb_per_minute": slope * 60}


def anonymous_mb(pid: int) -> float:
    """A process's own resident memory in 10^6 bytes; 0 if it has just ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    return 0.0


def compare(cases: list[tuple[str, int]], outcomes: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Seconds with as many workers as cores and with twice as many, and the ratio within each round."""
    runs = dict(zip(cases, outcomes, strict=True))
    compared = []
    for query in ("q4", "q7"):
        (fewer, base), (more, crowded) = ((count, runs[name, count]) for name, count in cases if name == query)
        if any(run["result"] != base[0]["result"] for run in (*base, *crowded)):
            raise CommandError(
                f"{query} answers differently with {more} workers than with {fewer}; no figures were written"
            )
        times = [[run["seconds"] for run in of_count] for of_count in (base, crowded)]
        ratio = spread(slow / quick for quick, slow in zip(*times, strict=True))
        compared.append(
            {
                "query": query,
                "workers": [fewer, more],
                "seconds": [spread(of_count) for of_count in times],
                "ratio": ratio,
            }
        )
    return compared


def idle_group(workers: int, seconds: float) -> dict[str, Any]:
    """The share of a core that each worker uses while its operators and inputs hold tokens and nothing comes in."""

    def program(worker: Worker) -> float:
        with worker.dataflow("idle") as scope:
            handle, stream = scope.new_input(Schema("time price"))
            tumbling_average(stream, time="time", value="price", width=1_000_000).probe()
        handle.send({"time": [1, 2, 3], "price": [1, 2, 3]})  # an open window: the operator holds a token
        worker.barrier()
        deadline_ns = time.monotonic_ns() + int(0.2e9)
        while time.monotonic_ns() < deadline_ns:
            worker.step_or_park()
        start_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns()
        deadline_ns = start_ns + int(seconds * 1e9)
        while (left_ns := deadline_ns - time.monotonic_ns()) > 0:
            worker.step_or_park(left_ns / 1e9)
        share = (time.process_time_ns() - cpu_ns) / (time.monotonic_ns() - start_ns)
        handle.close()
        return share

    return {"workers": workers, "seconds": seconds, "core_share": execute(program, config=Config(workers=workers))}
