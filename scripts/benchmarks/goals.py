"""What the project asks of itself, and whether the figures at hand say that it is met."""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable, Iterator
from math import inf
from typing import Any

from tokenring.nexmark.measure.verdict import HELD
from tokenring.nexmark.queries import QUERIES

Figures = dict[str, dict[str, Any]]
"""The figures at hand, by benchmark."""


def goals(figures: Figures) -> Iterator[tuple[str, str, float | None, bool | None]]:
    """Each goal: what, its bar in words, what was measured, whether that meets it (None: not measured)."""
    for what, sign, bar, unit, benchmark, find in _GOALS:
        measured = find(figures[benchmark]) if benchmark in figures else None
        met = None if measured is None else (operator.ge if sign == "≥" else operator.le)(measured, bar)
        yield what, f"{sign} {bar:g} {unit}".rstrip(), measured, met


def _one(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any] | None:
    """The first row with these values."""
    return next((row for row in rows if all(row[name] == value for name, value in wanted.items())), None)


def _throughput(query: str) -> Callable[[dict[str, Any]], float | None]:
    def find(data: dict[str, Any]) -> float | None:
        row = _one(data["figures"], system="tokenring", query=query, workers=2)
        return row["events_per_second"]["median"] / 1e6 if row else None

    return find


def _ratio(query: str, over: str) -> Callable[[dict[str, Any]], float | None]:
    def find(data: dict[str, Any]) -> float | None:
        row = _one(data["ratios"], query=query, workers=2, over=over)
        return row["ratio"]["median"] if row else None

    return find


def _p50(system: str) -> Callable[[dict[str, Any]], float | None]:
    def find(data: dict[str, Any]) -> float | None:
        row = _one(data["figures"], system=system, workers=2, rate=4e6)
        if row is None:
            return None
        p50 = row["latency_ms"]["p50"]  # None: no run held its rate
        return inf if p50 is None else p50 * 1e3

    return find


def _p50_over_floor(system: str, workers: int = 2) -> Callable[[dict[str, Any]], float | None]:
    def find(data: dict[str, Any]) -> float | None:
        row = _one(data["figures"], system=system, workers=workers, rate=4e6)
        if row is None:
            return None
        return inf if row["p50_over_floor"] is None else float(row["p50_over_floor"])

    return find


def _over_one_worker(query: str) -> Callable[[dict[str, Any]], float | None]:
    def find(data: dict[str, Any]) -> float | None:
        one, two = (_one(data["figures"], system="tokenring", query=query, workers=count) for count in (1, 2))
        if one is None or two is None:
            return None
        return float(two["events_per_second"]["median"] / one["events_per_second"]["median"])

    return find


def _hop(operators: int) -> Callable[[dict[str, Any]], float | None]:
    def find(data: dict[str, Any]) -> float | None:
        found = [row["ns"]["median"] for row in data["rows"] if row["compiled"] and row["operators"] == operators]
        return max(found, default=None)

    return find


def _held(system: str, rate: float) -> Callable[[dict[str, Any]], float | None]:
    def find(data: dict[str, Any]) -> float | None:
        row = _one(data["held"], system=system, workers=2)
        if row is None or (not row["failed_above"] and max(data["parameters"]["rates"]) < rate):
            return None  # the goal's rate was not offered
        return (row["rate"] or 0.0) / 1e6

    return find


def _least_over(system: str) -> Callable[[dict[str, Any]], float | None]:
    """The least ratio of all queries."""

    def find(data: dict[str, Any]) -> float | None:
        return min((row[f"over_{system}"]["median"] for row in _with(data, f"over_{system}")), default=None)

    return find


def _median_over(system: str) -> Callable[[dict[str, Any]], float | None]:
    def find(data: dict[str, Any]) -> float | None:
        rows = _with(data, f"over_{system}")
        return statistics.median(row[f"over_{system}"]["median"] for row in rows) if rows else None

    return find


def _with(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The rows of two workers that have a ratio, if they are of all queries."""
    rows = [row for row in data["rows"] if row["workers"] == 2 and name in row]
    return rows if len(rows) == len(QUERIES) else []


def _of_all(query: str) -> Callable[[dict[str, Any]], float | None]:
    def find(data: dict[str, Any]) -> float | None:
        row = _one(data["rows"], query=query, workers=2)
        return row["events_per_second"]["median"] / 1e6 if row else None

    return find


def _held_by_all(data: dict[str, Any]) -> float | None:
    """How many of the queries held the rate in every run; None if it was another rate."""
    if data["parameters"]["rate"] != 4e6 or len(data["rows"]) < len(QUERIES):
        return None
    return float(sum(row["held"] == row["rounds"] for row in data["rows"]))


def _worst(name: str) -> Callable[[dict[str, Any]], float | None]:
    """The greatest of all queries' latencies, less the machine's own hiccups beside it (but for p50)."""

    def find(data: dict[str, Any]) -> float | None:
        if _held_by_all(data) is None:
            return None
        found = [(row["latency_ms"][name], row["hiccup_ms"]["p999"]) for row in data["rows"]]
        own = [inf if own is None else own - (0.0 if name == "p50" else hiccup) for own, hiccup in found]
        return max(own)

    return find


def _kernel(starts: str) -> Callable[[dict[str, Any]], float | None]:
    def find(data: dict[str, Any]) -> float | None:
        return next((row["us"] for row in data["kernels"] if row["what"].startswith(starts)), None)

    return find


def _crowded(data: dict[str, Any]) -> float | None:
    return max((row["ratio"]["median"] for row in data["oversubscribed"]), default=None)


def _idle(data: dict[str, Any]) -> float | None:
    return 100 * max(data["idle"]["core_share"])


def _shared(data: dict[str, Any]) -> float | None:
    return max((row["shared_mb"] for row in data["memory"] if row["workers"] == 2), default=None)


def _words_held(data: dict[str, Any]) -> float | None:
    """The greatest rate that tokens hold at the finest quantum with a message for each time, in M words/s."""
    rows = [
        row
        for row in data["rows"]
        if (row["mechanism"], row.get("source"), row["quantum_log2"]) == ("tokens", "each-time", 8)
        and not row["oversubscribed"]
    ]
    return max((row["rate"] / 1e6 for row in rows if row["verdict"] == HELD), default=0.0) if rows else None


def _idle_row(name: str) -> Callable[[dict[str, Any]], float | None]:
    def find(data: dict[str, Any]) -> float | None:
        wanted = ("real", 1000, 1000)
        found = [
            row[name]
            for row in data["rows"]
            if (row.get("operator_kind"), row["dataflows"], row["operators"]) == wanted and row[name] is not None
        ]
        return min(found, default=None)

    return find


_Goal = tuple[str, str, float, str, str, Callable[[dict[str, Any]], float | None]]
_GOALS: tuple[_Goal, ...] = (
    ("Q4, closed loop, 2 workers", "≥", 20, "M events/s", "nexmark", _throughput("q4")),
    ("Q7, closed loop, 2 workers", "≥", 120, "M events/s", "nexmark", _throughput("q7")),
    ("Q4, 2 workers over 1", "≥", 1.6, "", "nexmark", _over_one_worker("q4")),
    ("Q7, 2 workers over 1", "≥", 1.6, "", "nexmark", _over_one_worker("q7")),
    ("Q4 over DuckDB, 2 threads", "≥", 1.8, "", "nexmark", _ratio("q4", "duckdb")),
    ("Q7 over DuckDB, 2 threads", "≥", 1.8, "", "nexmark", _ratio("q7", "duckdb")),
    ("Q4 over the floor, 2 workers", "≥", 0.2, "", "nexmark", _ratio("q4", "floor")),
    ("Q4, p50 at 4 M/s, 2 workers", "≤", 100, "µs", "latency", _p50("q4")),
    ("Q7, p50 at 4 M/s, 2 workers", "≤", 60, "µs", "latency", _p50("q7")),
    ("Q4's p50 over the floor's, 4 M/s, 1 worker", "≤", 1, "", "latency", _p50_over_floor("q4", 1)),
    ("Q4's p50 over the floor's, 4 M/s, 2 workers", "≤", 2, "", "latency", _p50_over_floor("q4")),
    ("Q7's p50 over the floor's, 4 M/s, 2 workers", "≤", 1.3, "", "latency", _p50_over_floor("q7")),
    ("Q4, rate held, 2 workers", "≥", 48, "M events/s", "latency", _held("q4", 48e6)),
    ("Q7, rate held, 2 workers", "≥", 48, "M events/s", "latency", _held("q7", 48e6)),
    ("every query over DuckDB, 2 workers", "≥", 1, "", "queries", _least_over("duckdb")),
    ("every query over Polars, 2 workers", "≥", 1, "", "queries", _least_over("polars")),
    ("median of all queries over DuckDB", "≥", 2, "", "queries", _median_over("duckdb")),
    ("median of all queries over Polars", "≥", 2, "", "queries", _median_over("polars")),
    ("Q3, closed loop, 2 workers", "≥", 200, "M events/s", "queries", _of_all("q3")),
    ("Q8, closed loop, 2 workers", "≥", 200, "M events/s", "queries", _of_all("q8")),
    ("Q12, closed loop, 2 workers", "≥", 150, "M events/s", "queries", _of_all("q12")),
    ("Q15, closed loop, 2 workers", "≥", 25, "M events/s", "queries", _of_all("q15")),
    ("Q16, closed loop, 2 workers", "≥", 8, "M events/s", "queries", _of_all("q16")),
    ("Q20, closed loop, 2 workers", "≥", 35, "M events/s", "queries", _of_all("q20")),
    ("queries that hold 4 M/s, 2 workers", "≥", len(QUERIES), "", "open", _held_by_all),
    ("every query's p50 at 4 M/s, 2 workers", "≤", 1, "ms", "open", _worst("p50")),
    ("every query's p99 beyond hiccups, 4 M/s", "≤", 10, "ms", "open", _worst("p99")),
    ("a chain of 256 no-ops, an operator and message", "≤", 150, "ns", "hops", _hop(256)),
    ("20 small stateful operators, an operator and message", "≤", 150, "ns", "hops", _hop(20)),
    ("a step with nothing to do", "≤", 3, "µs", "step", _kernel("idle step")),
    ("100 bids through Q4, one worker", "≤", 30, "µs", "step", _kernel("100 bids through Q4, a group of 1")),
    ("twice as many workers as cores", "≤", 2, "times as long", "memory", _crowded),
    ("an idle worker that holds tokens", "≤", 2, "% of a core", "memory", _idle),
    ("shared memory, 2 workers", "≤", 256, "MB", "memory", _shared),
    ("word count, 2^8 ns, a message a time: rate held", "≥", 1, "M words/s", "bench-wordcount", _words_held),
    ("1,000 × 1,000 idle operators, real ones: a step", "≤", 2, "ms", "bench-idle", _idle_row("step_ms")),
    ("1,000 × 1,000 idle operators, real ones: memory", "≤", 1500, "MB", "bench-idle", _idle_row("group_mb")),
)
