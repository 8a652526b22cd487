"""`benchmark scale`: the same queries over ever more events, on TokenRing and on Spark, and the memory they take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import psutil

from scripts.benchmarks.measure import INPUT, Found, Row, benchmark, opened
from scripts.benchmarks.memory import sampled
from scripts.benchmarks.queries import QUERY
from tokenring.nexmark.bench.parts import figure, option, points, rate_text, table
from tokenring.nexmark.events.schema import EVENT, FLOOR
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run.runner import Plan
from tokenring.nexmark.scale_out.engine import LOCAL, SparkPlan, run_on_spark
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.errors import CommandError, OptionError
from tokenring.tools.system.progress import progress_line


@benchmark(
    INPUT,
    option("--events N...", click.IntRange(1), "Use the first N staged events.", (1_000_000, 10_000_000), "sizes"),
    option(
        "--query QUERY...", click.Choice(tuple(QUERIES)), "What to answer.", ("q1", "q4", "q7", "q18", "q20"), "queries"
    ),
    option("--master URL", str, "Spark's.", LOCAL),
)
def command(folder: Path, sizes: tuple[int, ...], queries: tuple[str, ...], master: str) -> Found:
    """Where to switch to Spark: closed loops on all cores beside Spark batches on as many.

    Spark starts anew for each query and size, and is timed with its start and without. Memory is what the processes
    have for themselves: of TokenRing the greatest sum over its workers that was seen, several times a second, and
    shared segments; of Spark the JVM's greatest.
    """
    staged, most = opened(folder)
    sizes = tuple(sorted(sizes))
    if sizes[-1] > most:
        raise OptionError(f"--events {sizes[-1]}: {folder} has {most:,}; stage more")
    asked = points(query=queries, events=sizes)
    rows = []
    with progress_line("scale") as progress:
        for point in asked:
            rows.append(_measure(point["query"], point["events"], staged, str(folder), master))
            if progress is not None:
                progress(len(rows), len(asked))
    parameters = {"events": sizes[-1], "sizes": sizes, "master": master, "staged_rate": staged.manifest.get("rate")}
    memory_mb = psutil.virtual_memory().total / 1e6
    return parameters, {"rows": rows, "limits": limits(rows, memory_mb), "memory_mb": memory_mb}


def _measure(query: str, events: int, staged: StagedEvents, folder: str, master: str) -> Row:
    """One query over so many events on both."""
    own, samples = sampled(Plan(query, folder, events=events))
    with run_on_spark(SparkPlan((query,), folder, master, events=events)) as ((spark, _),):
        if spark["error"] is not None:
            raise CommandError(f"Spark failed in {query}: {spark['error']}; nothing was written")
    counts = own["result_rows"], spark["result_rows"]
    same = counts[0] is None or query == "q12" or counts[0] == counts[1]
    if not same or (QUERIES[query].is_small and own["result"] != spark["result"]):
        raise CommandError(f"Spark and TokenRing answer {query} differently; nothing was written")
    greatest_mb = max([own["anonymous_mb"] * own["workers"], *[sum(each) for _, each in samples]])
    return {
        "query": query,
        "events": events,
        "workers": own["workers"],
        "tokenring_seconds": own["seconds"],
        "tokenring_wall_seconds": own["wall_seconds"],
        "tokenring_mb": greatest_mb + own["shared_mb"],
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


def tables(data: dict[str, Any]) -> list[str]:
    """Times and memory by query and size; what follows for the size of one machine."""
    of_systems = [
        (f"{said}s" if of == "seconds" else said, f"{system}_{of}")
        for system, name in (("tokenring", "TokenRing "), ("spark", "Spark "))
        for said, of in ((name, "seconds"), ("with start", "wall_seconds"), ("MB", "mb"))
    ]
    return [
        f"{data['rows'][0]['workers']} workers, Spark {data['parameters']['master']}; seconds without and with the "
        "start of processes; MB that are the processes' own.",
        table(
            data["rows"], QUERY, ("events", "{events:,}"), *of_systems,
            ("Spark / TokenRing", lambda row: figure(row["spark_seconds"] / row["tokenring_seconds"])),
        ),
        f"What fills this machine's {data['memory_mb'] / 1e3:.0f} GB, drawn out from the growth between the least and "
        "the greatest size:",
        table(
            data["limits"], QUERY, ("bytes read an event", "read_bytes_per_event"),
            ("bytes of state an event", "state_bytes_per_event"),
            ("events, both", lambda row: events_text(row["events_of_both"])),
            ("events, state alone", lambda row: events_text(row["events_of_state"])),
        ),
    ]  # fmt: skip


def events_text(events: float | None) -> str:
    """A number of events to two digits, or that none is known to be too many."""
    return "any number" if events is None else rate_text(float(f"{events:.2g}")).removesuffix("/s")
