"""What differential dataflow in Rust gave on another machine of this kind, to stand beside our figures."""

from __future__ import annotations

from typing import Final, NamedTuple


class Rust(NamedTuple):
    """changes_per_second and p50_us, where they were told; load_s: until what was loaded was done."""

    changes_per_second: float | None = None
    p50_us: float | None = None
    load_s: float | None = None


# (workload, workers, rows an epoch): from the master branch of differential-dataflow, u64 keys and values, uniform at
# random; measured once, elsewhere. Counts and minima by its general reduce.
RUST: Final[dict[tuple[str, int, int], Rust]] = {
    ("arrange, one epoch", 2, 10_000_000): Rust(5.9e6),
    ("arrange, one epoch", 1, 10_000_000): Rust(2.35e6),
    ("arrange", 2, 1_000): Rust(2.1e6),
    ("arrange", 1, 1_000): Rust(1.8e6),
    ("count", 2, 1): Rust(26e3, 37, 0.23),
    ("count", 2, 10): Rust(85e3, 112, 0.23),
    ("count", 2, 100): Rust(210e3, 462, 0.23),
    ("count", 2, 1_000): Rust(321e3, 3_130, 0.23),
    ("min", 2, 1): Rust(34e3, 28),
    ("min", 2, 10): Rust(109e3, 88),
    ("min", 2, 100): Rust(233e3, 416),
    ("min", 2, 1_000): Rust(321e3, 3_110),
    ("join", 2, 1): Rust(47e3, 20, 2 / 8.1),
    ("join", 2, 10): Rust(255e3, 37, 2 / 8.1),
    ("join", 2, 100): Rust(638e3, 148, 2 / 8.1),
    ("join", 2, 1_000): Rust(809e3, 1_144, 2 / 8.1),
    ("bfs", 2, 2): Rust(None, 164, 2.5),
    ("bfs", 1, 2): Rust(None, None, 5.0),
    ("components", 2, 2): Rust(None, 240, 4.5),
    ("components", 1, 2): Rust(None, None, 9.3),
    ("strong", 2, 2): Rust(None, 2_200, 0.87),
    ("strong", 1, 2): Rust(None, None, 1.8),
    ("import: first look-up", 2, 10_000_000): Rust(None, 140),
    ("import: look-up", 2, 10_000_000): Rust(None, 160),
    ("import: count by value % 100", 2, 10_000_000): Rust(None, 470_000),
    ("import: min per key", 2, 10_000_000): Rust(None, 1_050_000),
    ("interactive: shared", 2, 2): Rust(None, 780, 1.9),
    ("interactive: own indexes", 2, 2): Rust(None, 780, 8.9),
    ("page rank", 2, 2): Rust(None, 320_000, 0.30),
    ("page rank", 1, 2): Rust(None, 440_000, 0.45),
}


def rust_of(workload: str, workers: int, epoch_rows: int) -> Rust:
    """What it gave; nothing where it was not measured."""
    return RUST.get((workload, workers, epoch_rows), Rust())
