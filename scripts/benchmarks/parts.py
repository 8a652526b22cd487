"""What `benchmark all` measures: each part's options, in its full form and in one that only shows that all works."""

from dataclasses import dataclass
from typing import Final

EVENTS: Final = {False: 120_000_000, True: 600_000}
"""How many events are staged, with and without --quick: 48 M/s for 2.2 s need most."""


@dataclass(frozen=True)
class Part:
    """text: what it is, of a verb; of what `tokenring bench` measures, "". measured, quick: options. most_events: how
    many there are at most for a part that reads whole folders. when_named: it takes long, and is left out otherwise."""

    text: str
    measured: str
    quick: str
    reads_events: bool = True
    most_events: int = EVENTS[False]
    when_named: bool = False


# Rounds: ratios are medians of five. Rates: those of the goals, and one beyond.
PARTS: Final[dict[str, Part]] = {
    "nexmark": Part(
        "Q4 and Q7 as fast as they go, against DuckDB over the same columns.",
        "--events 10000000 --rounds 5", "--rounds 1 --events 200000",
    ),
    "queries": Part(
        "All queries as fast as they go, against DuckDB and Polars over the same columns.",
        "--events 10000000 --rounds 5 --workers 1 2", "--rounds 1 --workers 2 --events 200000 --query q1 q7",
    ),
    "open": Part(
        "All queries in an open loop at one rate.",
        "--rate 4e6 --duration 10 --rounds 3", "--rate 1e5 --duration 0.6 --rounds 1 --workers 2 --query q1 q20",
    ),
    "latency": Part(
        "Q4 and Q7 in an open loop at several rates, against the floor.",
        "--rates 4e6 16e6 48e6 --duration 2.2 --rounds 5", "--rates 1e5 --duration 1.5 --rounds 1",
    ),
    "step": Part(
        "The budget of a step: what each part of it costs.",
        "--events 10000000 --duration 2", "--workers 2 --rates 1e5 --duration 0.5",
    ),
    "memory": Part(
        "A worker's memory over a long run, more workers than cores, an idle group.",
        "--rate 5e5 --duration 40 --idle 10 --rounds 5", "--rate 1e5 --duration 3 --idle 0.5 --rounds 1",
    ),
    "state": Part(
        "Bytes of state an event for each query, a long run, keys that never come again.",
        "--rounds 3", "--events 20000 50000 --query q1 q18 --keys 0.5 --rounds 1",
    ),
    "workers": Part(
        "What a step and memory cost by the number of workers, and a model for many more.",
        "--rounds 5", "--workers 2 3 --at 4 --rounds 1", reads_events=False,
    ),
    "roundtrip": Part(
        "A row to another worker and its progress back, by how long workers spin.",
        "--rounds 5", "--spin-us 0 50 --trips 50 --rounds 1", reads_events=False,
    ),
    "starts": Part(
        "Whole processes that do next to nothing: README's first program, --help, a query.",
        "--rounds 11 --twice", "--rounds 1",
    ),
    "hops": Part(
        "What a message costs at each operator that it passes, in the inner loop and in Python.",
        "--rounds 5", "--messages 20 --rounds 1", reads_events=False,
    ),
    "collections": Part(
        "Views kept up to date: loads, and changes by the size of epochs, beside DuckDB from scratch.",
        "--seconds 3", "--workload count bfs --scale 0.001 --seconds 0.05 --tpch 0.001", reads_events=False,
    ),
    "worth": Part(
        "What staging did beforehand: each proved fact left out, and plain Parquet files.",
        "--rounds 5", "--rounds 1 --workers 2", most_events=10_000_000,
    ),
    "migration": Part(
        "What it costs that state could move: all queries with their state in bins, and without.",
        "--events 10000000 --rounds 5", "--rounds 1 --events 200000 --query q1 q7",
    ),
    "recovery": Part(
        "What snapshots cost: throughput, and latencies while one is taken, beside none.",
        "--rounds 5", "--rounds 1 --seconds 1 --every 300ms --workers 2 --rate 1e5", reads_events=False,
    ),
    "bench-migration": Part("", "", "--quick"),
    "bench-flow": Part("", "--rounds 5", "--quick"),
    "bench-wordcount": Part(
        "", "--quantum-log2 8 16 20 --rate 1e6 8e6 64e6 --duration 1.5",
        "--quantum-log2 8 --rate 1e5 --duration 0.6 --mechanism tokens notifications", reads_events=False,
    ),
    "bench-scaling": Part(
        "", "--quantum-log2 8 16 --duration 1.5",
        "--quantum-log2 8 --rate-per-worker 1e5 --duration 0.6 --mechanism tokens", reads_events=False,
    ),
    "bench-chain": Part(
        "", "--operators 8 16 32 64 128 256 --duration 0.6",
        "--operators 8 --duration 0.2 --mechanism tokens watermarks-X", reads_events=False,
    ),
    "bench-idle": Part(
        "", "--operator-kind real fused always --steps 200", "--dataflows 10 --operators 10 --steps 5",
        reads_events=False,
    ),
    "bench-nexmark": Part(
        "", "--rate 1e6 4e6 --duration 1.8", "--rate 1e5 --duration 0.6 --mechanism tokens --query q7"
    ),
    "road": Part(
        "All queries as users write them, from plain files, whole processes, against DuckDB and Polars.",
        "--rounds 5 --answers table parquet", "--rounds 1 --workers 2 --query q1 q7 --format parquet",
        most_events=10_000_000, when_named=True,
    ),
    "scale": Part("More and more events on TokenRing and on Spark: when to switch.", "", "", when_named=True),
}  # fmt: skip
LEFT_OUT: Final = tuple([name for name, part in PARTS.items() if part.when_named])
FIGURES: Final = ("all", *PARTS, "earlier")
"""What stands in docs/benchmarks/, a file each."""
