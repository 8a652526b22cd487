"""`benchmark memory`: a worker's own memory over a long run, more workers than cores, an idle group's time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from scripts.benchmarks.measure import EVENTS, INPUT, RATE, ROUNDS, SECONDS, Found, Row, benchmark, opened
from scripts.benchmarks.nexmark import named
from scripts.benchmarks.references import Case, require_equal_results
from tokenring.engine import Config, Schema, Worker, execute
from tokenring.engine.worker.config import usable_cores
from tokenring.nexmark.bench.experiments import require_events
from tokenring.nexmark.bench.parts import option, paired, ranged, rate_text, spread, table, take_turns
from tokenring.nexmark.measure import anonymous_mb
from tokenring.nexmark.run.runner import Plan, run_query
from tokenring.operators import tumbling_average

_SETTLED = 0.25  # the first quarter of a run's samples: state is still filling


@benchmark(
    INPUT,
    option("--rate N", RATE, "Of the long open loop.", 1.5e6),
    option("--duration S", SECONDS, "Its seconds.", 60.0),
    option("--idle S", SECONDS, "Seconds for which the idle group is watched.", 10.0, "idle_s"), ROUNDS, EVENTS,
)  # fmt: skip
def command(folder: Path, rate: float, duration: float, idle_s: float, rounds: int, events: int | None) -> Found:
    """Memory, more workers than cores, idleness.

    A worker's own memory (RssAnon: neither mapped columns nor shared segments) is sampled a few times a second while
    all staged events pass in a closed loop, and during one long open loop. Then twice as many workers as cores take
    turns with as many.
    """
    _, events = opened(folder, events)
    require_events(folder, events, rate, duration)
    cores = len(usable_cores())
    runs = [
        sample_memory(Plan(query, str(folder), cores, rate=pace, duration_s=pace and duration, events=events))
        for pace in (None, rate)
        for query in ("q4", "q7")
    ]
    cases = [Case("tokenring", query, count) for query in ("q4", "q7") for count in (cores, 2 * cores)]
    outcomes = take_turns(
        "memory", cases, rounds, lambda case: run_query(Plan(case.query, str(folder), case.workers, events=events))
    )
    parameters = {"events": events, "rounds": rounds, "rate": rate, "duration_s": duration, "idle_s": idle_s}
    return parameters, {"memory": runs, "oversubscribed": compare(outcomes), "idle": idle_group(cores, idle_s)}


def sampled(plan: Plan) -> tuple[dict[str, Any], list[tuple[float, list[float]]]]:
    """Run the plan; its outcome, and several times a second (the second, each worker's own memory in MB)."""
    pids: list[int] = []
    samples: list[tuple[float, list[float]]] = []
    start_s = time.monotonic()

    def sample(_offered: int, _events: int) -> None:
        taken = [anonymous_mb(pid) for pid in pids]
        if all(taken):
            samples.append((time.monotonic() - start_s, taken))

    return run_query(plan, on_progress=sample, on_start=pids.extend), samples


def sample_memory(plan: Plan) -> Row:
    """Each worker's own memory over a run."""
    outcome, samples = sampled(plan)
    return {
        **{name: getattr(plan, name) for name in ("query", "workers", "rate")},
        **{name: outcome[name] for name in ("events", "seconds", "dnf", "shared_mb")},
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


def compare(outcomes: dict[Case, list[dict[str, Any]]]) -> list[Row]:
    """Seconds with as many workers as cores and with twice as many, and the ratio within each round."""
    require_equal_results(outcomes)
    compared = []
    for query in dict.fromkeys(case.query for case in outcomes):
        by_workers = {case.workers: runs for case, runs in outcomes.items() if case.query == query}
        quick, slow = ([run["seconds"] for run in runs] for runs in by_workers.values())
        seconds = [spread(quick), spread(slow)]
        compared.append({"query": query, "workers": [*by_workers], "seconds": seconds, "ratio": paired(slow, quick)})
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


def tables(data: dict[str, Any]) -> list[str]:
    """Memory of long runs, and of more workers than cores, seconds; what an idle group uses."""
    query = ("query", lambda row: named(row, "query"))
    idle = data["idle"]
    shares = ", ".join(f"{share:.2%}" for share in idle["core_share"])
    return [
        "A worker's own memory (RssAnon, the largest worker) in MB:",
        table(
            data["memory"], query, ("pace", lambda row: rate_text(row["rate"])), ("events", "{events:,}"),
            ("seconds", "seconds"), ("settled", "own_mb.settled"), ("at the end", "own_mb.end"),
            ("MB a minute", "own_mb.mb_per_minute"), ("shared MB", "shared_mb"),
        ),
        "More workers than cores, closed loop, seconds:",
        table(
            data["oversubscribed"], query, ("workers", "{workers[0]} and {workers[1]}"),
            ("as many as cores", lambda row: ranged(row["seconds"][0])),
            ("twice as many", lambda row: ranged(row["seconds"][1])), ("ratio", "ratio"),
        ),
        f"Of a core, the workers of an idle group of {idle['workers']} that holds tokens use {shares} "
        f"(over {idle['seconds']:g} s).",
    ]  # fmt: skip
