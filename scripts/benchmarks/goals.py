"""What the project asks of itself, and whether the figures at hand say that it is met."""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from math import inf
from typing import Any

from scripts.benchmarks.measure import Row
from scripts.benchmarks.parts import LEFT_OUT
from tokenring.nexmark.bench.parts import figure, table
from tokenring.nexmark.measure.verdict import HELD
from tokenring.nexmark.queries import QUERIES

Figures = dict[str, dict[str, Any]]
"""The figures at hand, by benchmark."""

Find = Callable[[dict[str, Any]], float | None]
"""What was measured, in one benchmark's figures."""


def render_goals(figures: Figures) -> str:
    """The goals, and whether all figures of the documents are of one commit."""
    verdicts = {True: "yes", False: "**no**", None: "not measured"}
    shown = table(
        goals(figures), ("goal", lambda goal: goal[0]), ("bar", lambda goal: goal[1]),
        ("measured", lambda goal: "DNF" if goal[2] == inf else figure(goal[2])),
        ("met", lambda goal: verdicts[goal[3]]),
    )  # fmt: skip
    return "\n\n".join([shown, _commits(figures)])


def _commits(figures: Figures) -> str:
    """Of which commits the figures are."""
    apart = (*LEFT_OUT, "earlier")  # measured when named only: their tables say when
    found: dict[str, list[str]] = {}
    for name, data in figures.items():
        if name not in apart:
            found.setdefault(str(data["machine"]["commit"]), []).append(name)
    if len(found) == 1:
        own = " and ".join(f"`{name}`" for name in apart)
        return f"All figures were measured together, at commit {next(iter(found))} ({own} say theirs)."
    each = "; ".join(f"{commit}: {', '.join(names)}" for commit, names in found.items())
    return f"**Not measured together.** Commit {each}."


def goals(figures: Figures) -> Iterator[tuple[str, str, float | None, bool | None]]:
    """Each goal: what, its bar in words, what was measured, whether that meets it (None: not measured)."""
    for what, sign, bar, unit, benchmark, find in _GOALS:
        measured = find(figures[benchmark]) if benchmark in figures else None
        met = None if measured is None else (operator.ge if sign == "≥" else operator.le)(measured, bar)
        yield what, f"{sign} {bar:g} {unit}".rstrip(), measured, met


def _rows(data: dict[str, Any], rows: str, path: str, **wanted: Any) -> list[Any]:
    """What the rows with these values have at a path."""
    found = [row for row in data[rows] if all(row.get(name) == value for name, value in wanted.items())]
    return [reduce(lambda value, name: value[name], path.split("."), row) for row in found]


def _value(rows: str, path: str, unit: float = 1.0, **wanted: Any) -> Find:
    """Of the first row with these values, of two workers unless they say otherwise; what no run held is infinite."""

    def find(data: dict[str, Any]) -> float | None:
        found = _rows(data, rows, path, **{"workers": 2} | wanted)
        return None if not found else inf if found[0] is None else found[0] / unit

    return find


def _of_rows(rows: str, path: str, of: Callable[..., float | None], **wanted: Any) -> Find:
    """The least or greatest of all rows with these values."""
    return lambda data: of((value for value in _rows(data, rows, path, **wanted) if value is not None), default=None)


def _over_one(query: str) -> Find:
    """How many times as fast two workers are as one."""
    two, one = (
        _value("figures", "events_per_second.median", system="tokenring", query=query, workers=n) for n in (2, 1)
    )

    def find(data: dict[str, Any]) -> float | None:
        both = two(data), one(data)
        return None if both[0] is None or both[1] is None else both[0] / both[1]

    return find


def _held(system: str, rate: float) -> Find:
    def find(data: dict[str, Any]) -> float | None:
        row = next((row for row in data["held"] if (row["system"], row["workers"]) == (system, 2)), None)
        if row is None or (not row["failed_above"] and max(data["parameters"]["rates"]) < rate):
            return None  # the goal's rate was not offered
        return (row["rate"] or 0.0) / 1e6

    return find


def _over(system: str, of: Callable[[Iterable[float]], float]) -> Find:
    """Of all queries' ratios with two workers, if all were measured."""

    def find(data: dict[str, Any]) -> float | None:
        rows = [row for row in data["rows"] if row["workers"] == 2 and f"over_{system}" in row]
        ratios = [row[f"over_{system}"]["median"] for row in rows]
        return of(ratios) if len(ratios) == len(QUERIES) else None

    return find


def _of_all_queries(data: dict[str, Any], workers: int) -> list[Row]:
    """The rows of all queries in an open loop of that rate; none if it was another one."""
    rows = [row for row in data["rows"] if row["workers"] == workers]
    return rows if data["parameters"]["rate"] == 4e6 and len(rows) == len(QUERIES) else []


def _held_by_all(data: dict[str, Any]) -> float | None:
    """How many of the queries held the rate in every run, with two workers."""
    rows = _of_all_queries(data, 2)
    return float(sum(row["held"] == row["rounds"] for row in rows)) if rows else None


def _worst(name: str, workers: int) -> Find:
    """The greatest of all queries' latencies, less the machine's own hiccups beside it (but for p50)."""

    def find(data: dict[str, Any]) -> float | None:
        rows = _of_all_queries(data, workers)
        if not rows:
            return None
        found = [(row["latency_ms"][name], row["hiccup_ms"]["p999"]) for row in rows]
        own = [inf if own is None else own - (0.0 if name == "p50" else hiccup) for own, hiccup in found]
        return max(own)

    return find


def _kernel(starts: str) -> Find:
    return lambda data: next((row["us"] for row in data["kernels"] if row["what"].startswith(starts)), None)


def _idle(data: dict[str, Any]) -> float | None:
    return 100 * max(data["idle"]["core_share"])


def _words_held(data: dict[str, Any]) -> float | None:
    """The greatest rate that tokens hold at the finest quantum with a message for each time, in M words/s."""
    rows = [
        row
        for row in data["rows"]
        if (row["mechanism"], row.get("source"), row["quantum_log2"]) == ("tokens", "each-time", 8)
        and not row["oversubscribed"]
    ]
    return max((row["rate"] / 1e6 for row in rows if row["verdict"] == HELD), default=0.0) if rows else None


_pace = partial(_value, "figures", "events_per_second.median", 1e6, system="tokenring")
_ratio = partial(_value, "ratios", "ratio.median")
_p50 = partial(_value, "figures", "latency_ms.p50", 1e-3, rate=4e6)
_over_floor = partial(_value, "figures", "p50_over_floor", rate=4e6)
_of_all = partial(_value, "rows", "events_per_second.median", 1e6)
_hop = partial(_of_rows, "rows", "ns.median", max, form="compiled")
_crowded = _of_rows("oversubscribed", "ratio.median", max)


def _idle_million(name: str) -> Find:
    return _of_rows("rows", name, min, operator_kind="real", dataflows=1000, operators=1000)


_Goal = tuple[str, str, float, str, str, Find]
_GOALS: tuple[_Goal, ...] = (
    ("Q4, closed loop, 2 workers", "≥", 20, "M events/s", "nexmark", _pace(query="q4")),
    ("Q7, closed loop, 2 workers", "≥", 120, "M events/s", "nexmark", _pace(query="q7")),
    ("Q4, 2 workers over 1", "≥", 1.6, "", "nexmark", _over_one("q4")),
    ("Q7, 2 workers over 1", "≥", 1.6, "", "nexmark", _over_one("q7")),
    ("Q4 over DuckDB, 2 threads", "≥", 1.8, "", "nexmark", _ratio(query="q4", over="duckdb")),
    ("Q7 over DuckDB, 2 threads", "≥", 1.8, "", "nexmark", _ratio(query="q7", over="duckdb")),
    ("Q4 over the floor, 2 workers", "≥", 0.2, "", "nexmark", _ratio(query="q4", over="floor")),
    ("Q4, p50 at 4 M/s, 2 workers", "≤", 100, "µs", "latency", _p50(system="q4")),
    ("Q7, p50 at 4 M/s, 2 workers", "≤", 60, "µs", "latency", _p50(system="q7")),
    ("Q4's p50 over the floor's, 4 M/s, 1 worker", "≤", 1, "", "latency", _over_floor(system="q4", workers=1)),
    ("Q4's p50 over the floor's, 4 M/s, 2 workers", "≤", 2, "", "latency", _over_floor(system="q4")),
    ("Q7's p50 over the floor's, 4 M/s, 2 workers", "≤", 1.3, "", "latency", _over_floor(system="q7")),
    ("Q4, rate held, 2 workers", "≥", 48, "M events/s", "latency", _held("q4", 48e6)),
    ("Q7, rate held, 2 workers", "≥", 48, "M events/s", "latency", _held("q7", 48e6)),
    ("every query over DuckDB, 2 workers", "≥", 1, "", "queries", _over("duckdb", min)),
    ("every query over Polars, 2 workers", "≥", 1, "", "queries", _over("polars", min)),
    ("median of all queries over DuckDB", "≥", 2, "", "queries", _over("duckdb", statistics.median)),
    ("median of all queries over Polars", "≥", 2, "", "queries", _over("polars", statistics.median)),
    ("Q3, closed loop, 2 workers", "≥", 200, "M events/s", "queries", _of_all(query="q3")),
    ("Q8, closed loop, 2 workers", "≥", 200, "M events/s", "queries", _of_all(query="q8")),
    ("Q12, closed loop, 2 workers", "≥", 150, "M events/s", "queries", _of_all(query="q12")),
    ("Q15, closed loop, 2 workers", "≥", 25, "M events/s", "queries", _of_all(query="q15")),
    ("Q16, closed loop, 2 workers", "≥", 8, "M events/s", "queries", _of_all(query="q16")),
    ("Q20, closed loop, 2 workers", "≥", 35, "M events/s", "queries", _of_all(query="q20")),
    ("queries that hold 4 M/s, 2 workers", "≥", len(QUERIES), "", "open", _held_by_all),
    ("every query's p50 at 4 M/s, 2 workers", "≤", 1, "ms", "open", _worst("p50", 2)),
    ("every query's p99 beyond hiccups, 4 M/s, 1 worker", "≤", 5, "ms", "open", _worst("p99", 1)),
    ("every query's p99 beyond hiccups, 4 M/s, 2 workers", "≤", 5, "ms", "open", _worst("p99", 2)),
    ("a chain of 256 no-ops, an operator and message", "≤", 150, "ns", "hops", _hop(operators=256)),
    ("20 small stateful operators, an operator and message", "≤", 150, "ns", "hops", _hop(operators=20)),
    ("a step with nothing to do", "≤", 3, "µs", "step", _kernel("idle step")),
    ("100 bids through Q4, one worker", "≤", 30, "µs", "step", _kernel("100 bids through Q4, a group of 1")),
    ("twice as many workers as cores", "≤", 2, "times as long", "memory", _crowded),
    ("an idle worker that holds tokens", "≤", 2, "% of a core", "memory", _idle),
    ("shared memory, 2 workers", "≤", 256, "MB", "memory", _of_rows("memory", "shared_mb", max, workers=2)),
    ("word count, 2^8 ns, a message a time: rate held", "≥", 1, "M words/s", "bench-wordcount", _words_held),
    ("1,000 × 1,000 idle operators, real ones: a step", "≤", 2, "ms", "bench-idle", _idle_million("step_ms")),
    ("1,000 × 1,000 idle operators, real ones: memory", "≤", 1500, "MB", "bench-idle", _idle_million("group_mb")),
)
