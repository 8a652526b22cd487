"""`benchmark migration`: what it costs that state could move, of each query, where none does."""

from __future__ import annotations

from pathlib import Path

import click

from scripts.benchmarks.measure import (
    events_option,
    input_option,
    json_option,
    queries_option,
    rounds_option,
    spread,
    take_turns,
    write_json,
)
from scripts.benchmarks.render import render
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.run import Plan, run_query
from tokenring.tools.system.files import require_writable

BINS = 256


@click.command(cls=ListCommand)
@input_option
@queries_option
@events_option
@click.option("--workers", type=click.IntRange(2, 512), default=2, show_default=True, help="Worker processes.")
@rounds_option
@json_option
def command(
    input_folder: Path, queries: tuple[str, ...], events: int | None, workers: int, rounds: int, json_file: Path
) -> None:
    """All queries as fast as they go, with their keyed state in 256 bins that stay where they are, and without bins, by
    turns."""
    require_writable(json_file)
    cases = [(query, bins) for query in queries for bins in (0, BINS)]

    def rate(case: tuple[str, int]) -> float:
        query, bins = case
        outcome = run_query(Plan(query, str(input_folder), workers, events=events, bins=bins))
        return float(outcome["events_per_second"])

    outcomes = dict(zip(cases, take_turns("migration", cases, rounds, rate), strict=True))
    rows = []
    for query in queries:
        without, within = outcomes[query, 0], outcomes[query, BINS]
        ratios = [one / other for one, other in zip(within, without, strict=True)]
        rows.append({
            "query": query, "without": spread(without), "bins": spread(within), "ratio": spread(ratios),
        })  # fmt: skip
    parameters = {"events": events, "workers": workers, "rounds": rounds, "bins": BINS}
    click.echo(render(write_json(json_file, "migration", parameters, {"rows": rows})))
