"""`benchmark scale`: the same queries over ever more events, on TokenRing and on Spark, and the memory they take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import psutil

from scripts.benchmarks.measure import input_option, json_option, write_json
from scripts.benchmarks.memory import anonymous_mb
from scripts.benchmarks.render import render
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.events.schema import EVENT, FLOOR
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run.runner import Plan, run_query
from tokenring.nexmark.scale_out.engine import LOCAL, SparkPlan, run_on_spark
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.errors import CommandError, OptionError
from tokenring.tools.system.files import require_writable
from tokenring.tools.system.progress import progress_line

Row = dict[str, Any]


@click.command(cls=ListCommand)
@input_option
@json_option
@click.option(
    "--events", "sizes", multiple=True, type=click.IntRange(1), default=(1_000_000, 10_000_000), show_default=True,
    metavar="N...", help="Use the first N staged events.",
)  # fmt: skip
@click.option(
    "--query", "queries", multiple=True, type=click.Choice(tuple(QUERIES)), default=("q1", "q4", "q7", "q18", "q20"),
    show_default=True, metavar="QUERY...", help="What to answer.",
)  # fmt: skip
@click.option("--master", default=LOCAL, show_default=True, metavar="URL", help="Spark's.")
def command(
    input_folder: Path, json_file: Path, sizes: tuple[int, ...], queries: tuple[str, ...], master: str
) -> None:
    """Where to switch to Spark: closed loops on all cores beside Spark batches on as many.

    Spark starts anew for each query and size, and is timed with its start and without. Memory is what the processes
    have for themselves: of TokenRing the greatest sum over its workers that was seen, several times a second, and
    shared segments; of Spark the JVM's greatest.
    """
    require_writable(json_file)
    staged = StagedEvents.open(input_folder)
    sizes = tuple(sorted(sizes))
    if sizes[-1] > staged.events:
        raise OptionError(f"--events {sizes[-1]}: {input_folder} has {staged.events:,}; stage more")
    rows = []
    with progress_line("scale") as progress:
        for query in queries:
            for events in sizes:
                rows.append(_measure(query, events, staged, str(input_folder), master))
                if progress is not None:
                    progress(len(rows), len(queries) * len(sizes))
    parameters = {"events": sizes[-1], "sizes": sizes, "master": master, "staged_rate": staged.manifest.get("rate")}
    memory_mb = psutil.virtual_memory().total / 1e6
    figures = {"rows": rows, "limits": limits(rows, memory_mb), "memory_mb": memory_mb}
    click.echo(render(write_json(json_file, "scale", parameters, figures)))


def _measure(query: str, events: int, staged: StagedEvents, folder: str, master: str) -> Row:
    """One query over so many events on both."""
    pids: list[int] = []
    sampled_mb = [0.0]

    def sample(_offered: int, _events: int) -> None:
        sampled_mb.append(sum([anonymous_mb(pid) for pid in pids]))

    own = run_query(Plan(query, folder, events=events), on_progress=sample, on_start=pids.extend)
    with run_on_spark(SparkPlan((query,), folder, master, events=events)) as ((spark, _),):
        if spark["error"] is not None:
            raise CommandError(f"Spark failed in {query}: {spark['error']}; nothing was written")
    counts = own["result_rows"], spark["result_rows"]
    same = counts[0] is None or query == "q12" or counts[0] == counts[1]
    if not same or (QUERIES[query].is_small and own["result"] != spark["result"]):
        raise CommandError(f"Spark and TokenRing answer {query} differently; nothing was written")
    return {
        "query": query,
        "events": events,
        "workers": own["workers"],
        "tokenring_seconds": own["seconds"],
        "tokenring_wall_seconds": own["wall_seconds"],
        "tokenring_mb": max(*sampled_mb, own["anonymous_mb"] * own["workers"]) + own["shared_mb"],
        "read_bytes_per_event": _read_bytes(query, staged) / staged.events,
        "spark_seconds": spark["seconds"],
        "spark_wall_seconds": spark["wall_seconds"],
        "spark_mb": spark["peak_rss_mb"],
    }


def _read_bytes(query: str, staged: StagedEvents) -> int:
    """The size of the staged columns that a query reads: what the page cache should hold."""
    total = 0
    for stream, columns in QUERIES[query].reads.items():
        of_stream = staged.stream(stream)
        for name in {*columns, "date_time", EVENT, FLOOR}:
            if of_stream.has(name):
                entry = staged.manifest["streams"][stream]["columns"][name]
                total += entry["bytes"] + entry.get("heap", {"bytes": 0})["bytes"]
    return total


def limits(rows: Sequence[Row], memory_mb: float) -> list[Row]:
    """For each query, how the memory of TokenRing's workers grows with events between the least and the greatest size,
    and how many events fill the machine with state, and with state and the columns read together."""
    found = []
    for query in dict.fromkeys(row["query"] for row in rows):
        of_query = [row for row in rows if row["query"] == query]
        least, most = of_query[0], of_query[-1]
        read = most["read_bytes_per_event"]
        grown_mb = most["tokenring_mb"] - least["tokenring_mb"]
        more = most["events"] - least["events"]
        state = max(0.0, grown_mb * 1e6 / more) if more else None
        found.append(
            {
                "query": query,
                "state_bytes_per_event": state,
                "read_bytes_per_event": read,
                "events_of_state": memory_mb * 1e6 / state if state else None,
                "events_of_both": memory_mb * 1e6 / (state + read) if state is not None else None,
            }
        )
    return found
