"""`benchmark migration`: what it costs that state could move, of each query, where none does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scripts.benchmarks.measure import ASKED, COUNT, EVENTS, INPUT, ROUNDS, Found, benchmark
from tokenring.nexmark.bench.parts import option, paired, spread, table, take_turns
from tokenring.nexmark.run import Plan, run_query

BINS = 256


@benchmark(INPUT, ASKED, EVENTS, option("--workers N", COUNT, "Worker processes.", 2), ROUNDS)
def command(folder: Path, queries: tuple[str, ...], events: int | None, workers: int, rounds: int) -> Found:
    """All queries as fast as they go, with their keyed state in 256 bins that stay where they are, and without bins, by
    turns."""
    cases = [(query, bins) for query in queries for bins in (0, BINS)]

    def rate(case: tuple[str, int]) -> float:
        query, bins = case
        outcome = run_query(Plan(query, str(folder), workers, events=events, bins=bins))
        return float(outcome["events_per_second"])

    found = take_turns("migration", cases, rounds, rate)
    rows = [
        {"query": query, "without": spread(without), "bins": spread(within), "ratio": paired(within, without)}
        for query in queries
        for without, within in [(found[query, 0], found[query, BINS])]
    ]
    return {"events": events, "workers": workers, "rounds": rounds, "bins": BINS}, {"rows": rows}


def tables(data: dict[str, Any]) -> list[str]:
    """Throughput of each query with bins and without."""
    asked = data["parameters"]
    return [
        f"{asked['workers']} workers, {asked['rounds']} rounds by turns, {asked['bins']} bins, none of which moves.",
        table(
            data["rows"], ("query", "query"), ("M events/s without bins", "without", 1e6), ("with bins", "bins", 1e6),
            ("ratio", "ratio"),
        ),
    ]  # fmt: skip
