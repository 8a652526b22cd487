"""What `benchmark all` measures: each part's options, in its full form and in one that only shows that all works."""

from typing import Final

EVENTS: Final = {False: 120_000_000, True: 600_000}
"""How many events are staged, with and without --quick: 48 M/s for 2.2 s need most."""
FEWER: Final = {"road": 10_000_000}
"""How many there are at most for parts that read whole folders."""

# Rounds: ratios are medians of five. Rates: those of the goals, and one beyond.
MEASURED: Final[dict[str, str]] = {
    "nexmark": "--events 10000000 --rounds 5",
    "queries": "--events 10000000 --rounds 5 --workers 1 2",
    "latency": "--rates 4e6 16e6 48e6 --duration 2.2 --rounds 5",
    "open": "--rate 4e6 --duration 2.5 --rounds 5",
    "step": "--events 10000000 --duration 2",
    "memory": "--rate 5e5 --duration 40 --idle 10 --rounds 5",
    "state": "--rounds 3",
    "workers": "--rounds 5",
    "roundtrip": "--rounds 5",
    "starts": "--rounds 11 --twice",
    "hops": "--rounds 5",
    "collections": "--seconds 3",
    "migration": "--events 10000000 --rounds 5",
    "bench-migration": "",
    "bench-flow": "--rounds 5",
    "bench-wordcount": "--quantum-log2 8 16 20 --rate 1e6 8e6 64e6 --duration 1.5",
    "bench-scaling": "--quantum-log2 8 16 --duration 1.5",
    "bench-chain": "--operators 8 16 32 64 128 256 --duration 0.6",
    "bench-idle": "--operator-kind real fused always --steps 200",
    "bench-nexmark": "--rate 1e6 4e6 --duration 1.8",
}
LEFT_OUT: Final[dict[str, str]] = {
    "road": "--rounds 5",
    "scale": "",
}
"""Measured when named only: it takes long."""

QUICK: Final[dict[str, str]] = {
    "nexmark": "--rounds 1 --events 200000",
    "queries": "--rounds 1 --workers 2 --events 200000 --query q1 q7",
    "latency": "--rates 1e5 --duration 1.5 --rounds 1",
    "open": "--rate 1e5 --duration 0.6 --rounds 1 --query q1 q20",
    "step": "--workers 2 --rates 1e5 --duration 0.5",
    "memory": "--rate 1e5 --duration 3 --idle 0.5 --rounds 1",
    "state": "--events 20000 50000 --query q1 q18 --keys 0.5 --rounds 1",
    "workers": "--workers 2 3 --at 4 --rounds 1",
    "roundtrip": "--spin-us 0 50 --trips 50 --rounds 1",
    "starts": "--rounds 1",
    "hops": "--messages 20 --rounds 1",
    "collections": "--workload count bfs --scale 0.001 --seconds 0.05 --tpch 0.001",
    "migration": "--rounds 1 --events 200000 --query q1 q7",
    "bench-migration": "--quick",
    "bench-flow": "--quick",
    "bench-wordcount": "--quantum-log2 8 --rate 1e5 --duration 0.6 --mechanism tokens notifications",
    "bench-scaling": "--quantum-log2 8 --rate-per-worker 1e5 --duration 0.6 --mechanism tokens",
    "bench-chain": "--operators 8 --duration 0.2 --mechanism tokens watermarks-X",
    "bench-idle": "--dataflows 10 --operators 10 --steps 5",
    "bench-nexmark": "--rate 1e5 --duration 0.6 --mechanism tokens --query q7",
    "road": "--rounds 1 --workers 2 --query q1 q7",
    "scale": "",
}
READ_NO_EVENTS: Final = {
    *("workers", "roundtrip", "hops", "collections"),
    *("bench-wordcount", "bench-scaling", "bench-chain", "bench-idle"),
}
NAMES: Final = (*MEASURED, *LEFT_OUT)
