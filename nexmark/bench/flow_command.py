"""`tokenring bench flow`: what a bound on a region's content saves, and what it costs."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokenring.nexmark.bench.sweeps import ExperimentCommand
from tokenring.nexmark.commands import MAX_WORKERS
from tokenring.tools.system import PathOption, at_work, json_option

if TYPE_CHECKING:
    from tokenring.nexmark.bench.sweeps import Row

_EVENTS = {False: 4e6, True: 5e4}


@click.command(cls=ExperimentCommand, short_help="Regions whose content is bounded: memory saved, time lost.")
@click.option("--rounds", type=click.IntRange(1), metavar="N", help="With the bound and without.  [default: 5]")
@click.option(
    "--workers", multiple=True, type=click.IntRange(1, MAX_WORKERS), metavar="N...",
    help="Where rows multiply; the most of them elsewhere.  [default: 1 2]",
)  # fmt: skip
@click.option("--input", "folder", type=PathOption(), metavar="DIR",
              help="Staged events for Q4 and Q7.  [default: some are staged now, and gone afterwards]")  # fmt: skip
@click.option("--quick", is_flag=True, help="Small: to see that all works; without --input, no queries.")
@json_option("the figures")
def flow(
    rounds: int | None, workers: tuple[int, ...], folder: Path | None, quick: bool, json_file: Path | None
) -> int:
    """A region that makes 10,000 rows of each, bounded and not; and dataflows in which nothing is to be held back.

    Rows: {case: multiplied, bound, workers, rows_made, seconds, rows_per_s, peak_mb}, one a run: peak_mb is the most
    anonymous memory above the start, of all workers; and {case, workers, rounds, without_s, with_s, ratio, ratios}.
    """
    from tokenring.nexmark.bench.experiments import staged_events
    from tokenring.nexmark.bench.flow import (
        BOUNDS,
        OVERHEADS,
        WORD_COUNT,
        measured_multiplied,
        measured_overhead,
        render,
    )
    from tokenring.nexmark.bench.rendering import say

    parameters: dict[str, Any] = {
        "rounds": rounds or (1 if quick else 5),
        "workers": workers or (1, 2),
        "rows": 100 if quick else 10_000,
        "words": 100_000 if quick else 40_000_000,
    }
    cases = (WORD_COUNT,) if quick and folder is None else OVERHEADS
    rows: list[Row] = []
    with at_work(), ExitStack() as stack:
        if folder is None and len(cases) > 1:
            folder = stack.enter_context(staged_events(None, (_EVENTS[quick],), 1.0))
        for count in parameters["workers"]:
            for bound in BOUNDS:
                click.echo(f"bench flow: multiplied, workers {count}, bound {bound}", err=True)
                rows.append(measured_multiplied(count, parameters["rows"], bound))
        most = max(parameters["workers"])
        for case in cases:
            click.echo(f"bench flow: {case}, workers {most}", err=True)
            rows.append(measured_overhead(case, most, parameters["rounds"], parameters["words"], str(folder)))
    say("bench-flow", rows, True, parameters, json_file, render)
    return 0
