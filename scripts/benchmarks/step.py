"""`benchmark step`: the budget of a step: its kernels, an idle step, each operator in a real run, the floor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from scripts.benchmarks.measure import events_option, input_option, json_option, workers_option, write_json
from scripts.benchmarks.render import render
from scripts.benchmarks.step_kernels import kernel_costs
from scripts.benchmarks.step_profile import profile_query
from scripts.floor import measure_floor
from tokenring.nexmark.bench.experiments import require_events
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.run.runner import Plan
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.system.files import require_writable
from tokenring.tools.system.progress import progress_line

FLOOR_ROWS = 4_000_000


@click.command(cls=ListCommand)
@input_option
@click.option(
    "--rates",
    multiple=True,
    type=click.FloatRange(0, 1e12, min_open=True),
    default=(4e6,),
    show_default=True,
    metavar="EVENTS_PER_S...",
    help="Open loops to look into, besides the closed one.",
)
@click.option(
    "--duration",
    type=click.FloatRange(0, 1e6, min_open=True),
    default=2.0,
    show_default=True,
    help="Seconds of each run.",
)
@workers_option
@events_option
@json_option
def command(
    input_folder: Path,
    rates: tuple[float, ...],
    duration: float,
    workers: tuple[int, ...],
    events: int | None,
    json_file: Path,
) -> None:
    """The budget: what each part of a step costs.

    Kernels are timed in one process with nobody beside it. Queries run twice, plain and with a counter around each
    part; the floor at the same pace says what the planes alone would take.
    """
    require_writable(json_file)
    staged = StagedEvents.open(input_folder)
    events = staged.events if events is None else min(events, staged.events)
    require_events(input_folder, events, max(rates), duration)
    bids = staged.stream("bid")
    keys, values = (bids.column(name)[:FLOOR_ROWS] for name in ("auction", "price"))
    paces: list[float | None] = [*sorted(rates), None]
    plans = [
        Plan(query, str(input_folder), count, rate=rate, duration_s=None if rate is None else duration, events=events)
        for rate in paces
        for count in workers
        for query in ("q4", "q7", "floor")
    ]
    queries: list[dict[str, Any]] = []
    floors: list[dict[str, Any]] = []
    with progress_line("step") as progress:
        kernels = kernel_costs(staged)
        for done, plan in enumerate(plans):
            if progress is not None:
                progress(done, len(plans))
            if plan.query == "floor":
                floor = measure_floor(keys, values, plan.workers, plan, events)
                floors.append({"workers": plan.workers, "rate": plan.rate, **floor})
            else:
                queries.append(profile_query(plan))
    parameters = {"events": events, "duration_s": duration, "rates": sorted(rates)}
    data = write_json(json_file, "step", parameters, {"kernels": kernels, "queries": queries, "floors": floors})
    click.echo(render(data))
