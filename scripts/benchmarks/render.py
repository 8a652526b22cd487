"""The figures of each benchmark as Markdown: what docs/performance.md shows and what a benchmark prints."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from scripts.benchmarks.collections_tables import render_collections
from scripts.benchmarks.flow_tables import render_bench_flow
from scripts.benchmarks.goals import Figures, goals
from scripts.benchmarks.hops_tables import render_hops
from scripts.benchmarks.migration_tables import render_bench_migration, render_migration
from scripts.benchmarks.open_tables import render_open
from scripts.benchmarks.parts import LEFT_OUT
from scripts.benchmarks.queries_tables import ranged, render_queries
from scripts.benchmarks.road_tables import render_road
from scripts.benchmarks.roundtrip_tables import render_roundtrip
from scripts.benchmarks.scale_tables import render_scale
from scripts.benchmarks.starts_tables import render_starts
from scripts.benchmarks.state_tables import render_state
from scripts.benchmarks.workers_tables import render_workers
from tokenring.nexmark.bench.rendering import RENDERERS as EXPERIMENT_RENDERERS
from tokenring.nexmark.bench.rendering import figure, machine_text, rate_text, table
from tokenring.nexmark.bench.rendering import render as render_experiment

_NAMES = {
    "tokenring": "TokenRing",
    "duckdb": "DuckDB",
    "numpy": "numpy, 1 thread",
    "floor": "the floor",
    "q4": "Q4",
    "q7": "Q7",
}
_PARTS_SHOWN = 14
EXPERIMENTS = tuple(f"bench-{name}" for name in EXPERIMENT_RENDERERS)
"""What `tokenring bench` measures, and its tables and plots show."""


def render(data: dict[str, Any]) -> str:
    """One benchmark's figures as Markdown."""
    if data["benchmark"] in EXPERIMENTS:
        return f"{render_experiment(data)}\n\n![{data['benchmark']}](benchmarks/{data['benchmark']}.svg)"
    return "\n\n".join([machine_text(data["machine"]), *RENDERERS[data["benchmark"]](data)])


def render_goals(figures: Figures) -> str:
    verdicts = {True: "yes", False: "**no**", None: "not measured"}
    rows = [
        [what, bar, "DNF" if measured == inf else figure(measured), verdicts[met]]
        for what, bar, measured, met in goals(figures)
    ]
    return "\n\n".join([table(["goal", "bar", "measured", "met"], rows), _commits(figures)])


def _commits(figures: Figures) -> str:
    """Whether all figures of the documents are of one commit, and of which each is if not."""
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


def _nexmark(data: dict[str, Any]) -> list[str]:
    rows = [
        [
            _NAMES[row["query"]] if row["query"] != "floor" else "rows",
            _NAMES[row["system"]],
            str(row["workers"]),
            ranged(row["events_per_second"], 1e6),
            ranged({name: 1e3 * value for name, value in _spread(row["seconds"]).items()}),
        ]
        for row in data["figures"]
    ]
    ratios = [
        [_NAMES[row["query"]], str(row["workers"]), _NAMES[row["over"]], ranged(row["ratio"])] for row in data["ratios"]
    ]
    asked = data["parameters"]
    return [
        f"{asked['events']:,} events; median (least – greatest) of {asked['rounds']} rounds; all answers equal.",
        table(["query", "system", "workers or threads", "M events/s", "ms"], rows),
        "TokenRing's throughput over the others', paired round by round:",
        table(["query", "workers", "over", "ratio"], ratios),
    ]


def _spread(seconds: list[float]) -> dict[str, float]:
    ordered, half = sorted(seconds), len(seconds) // 2
    median = ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
    return {"median": median, "least": ordered[0], "greatest": ordered[-1]}


def _latency(data: dict[str, Any]) -> list[str]:
    asked = data["parameters"]
    parts = [
        f"Open loop, runs of {asked['duration_s']:g} s, medians of {asked['rounds']} rounds; latencies in µs. "
        "“Hiccup” is what a process that only reads the clock sees just before the run: the 99.9th percentile of "
        "milliseconds' greatest gaps, and the greatest.",
    ]
    for workers in sorted({row["workers"] for row in data["figures"]}):
        rows = [
            [
                rate_text(row["rate"]),
                _NAMES[row["system"]],
                f"{row['held']} of {row['rounds']}",
                *(figure(row["latency_ms"][name], 1e-3) for name in ("p50", "p99", "p999", "max")),
                *(figure(row["hiccup_ms"][name], 1e-3) for name in ("p999", "max")),
                figure(row["p50_over_floor"]),
            ]
            for row in data["figures"]
            if row["workers"] == workers
        ]
        parts.append(f"**{workers} worker{'s' if workers > 1 else ''}**")
        header = [
            "offered",
            "system",
            "runs held",
            "p50",
            "p99",
            "p99.9",
            "max",
            "hiccup p99.9",
            "hiccup max",
            "p50 over the floor's",
        ]
        parts.append(table(header, rows))
    parts.append(
        "The greatest rate offered up to which every run held: its backlog did not grow."
    )
    rows = [
        [
            _NAMES[row["system"]],
            str(row["workers"]),
            "none" if row["rate"] is None else rate_text(row["rate"]),
            "no" if row["failed_above"] else "yes, none greater was offered",
        ]
        for row in data["held"]
    ]
    parts.append(table(["system", "workers", "held", "may be more"], rows))
    return parts


def _step(data: dict[str, Any]) -> list[str]:
    parts = [
        "One process, nobody beside it (medians):",
        table(
            ["call", "µs"],
            [[row["what"].replace("  ", "&nbsp;&nbsp;", 1), figure(row["us"])] for row in data["kernels"]],
        ),
        "The floor, a turn that sent or received something and one that did not:",
        table(
            ["pace", "workers", "µs a busy turn", "µs an idle turn", "p50 µs"],
            [
                [
                    rate_text(row["rate"]),
                    str(row["workers"]),
                    figure(row["active_step_us"]),
                    figure(row["idle_step_us"]),
                    figure(row["latency_ms"] and row["latency_ms"]["p50"], 1e-3),
                ]
                for row in data["floors"]
            ],
        ),
    ]
    parts += ["A busy step of the engine against the floor's busy turn at the same rate:", _against_floor(data)]
    for query in data["queries"]:
        workers = f"{query['workers']} worker{'s' if query['workers'] > 1 else ''}"
        latency = query["latency_ms"] and query["latency_ms"]["p50"]
        how = f", p50 {figure(latency, 1e-3)} µs uncounted" if latency else ""
        parts.append(
            f"**{_NAMES[query['query']]}, {rate_text(query['rate'])}, {workers}** "
            f"({query['events']:,} events{how}; a counter costs {query['counter_ns']:.0f} ns, which is taken off):"
        )
        shown = query["parts"][:_PARTS_SHOWN]
        rows = [
            [row["part"], f"{row['calls']:,}", figure(row["own_us"]), figure(row["whole_us"]), f"{row['share']:.1%}"]
            for row in shown
        ]
        parts.append(table(["part", "calls", "own µs", "with what it calls µs", "share of time"], rows))
    return parts


def _against_floor(data: dict[str, Any]) -> str:
    turns = {(row["workers"], row["rate"]): row["active_step_us"] for row in data["floors"]}
    rows = []
    for query in data["queries"]:
        if query["rate"] is None:
            continue  # batches as large as may be: such a step's cost is its rows'
        turn_us = turns[query["workers"], query["rate"]]
        step = next((part for part in query["parts"] if part["part"] == "step"), None)
        if step is not None:
            whole = [figure(step["whole_us"]), figure(turn_us), figure(step["whole_us"] / turn_us)]
            rows.append([_NAMES[query["query"]], rate_text(query["rate"]), str(query["workers"]), *whole])
    return table(["query", "pace", "workers", "µs a busy step", "µs a busy turn of the floor", "ratio"], rows)


def _memory(data: dict[str, Any]) -> list[str]:
    own = [
        [
            _NAMES[row["query"]],
            rate_text(row["rate"]),
            f"{row['events']:,}",
            figure(row["seconds"]),
            *(figure(row["own_mb"][name]) for name in ("settled", "end", "mb_per_minute")),
            figure(row["shared_mb"]),
        ]
        for row in data["memory"]
    ]
    crowded = [
        [
            _NAMES[row["query"]],
            f"{row['workers'][0]} and {row['workers'][1]}",
            *(ranged(seconds) for seconds in row["seconds"]),
            ranged(row["ratio"]),
        ]
        for row in data["oversubscribed"]
    ]
    idle = data["idle"]
    shares = ", ".join(f"{share:.2%}" for share in idle["core_share"])
    return [
        "A worker's own memory (RssAnon, the largest worker) in MB:",
        table(["query", "pace", "events", "seconds", "settled", "at the end", "MB a minute", "shared MB"], own),
        "More workers than cores, closed loop, seconds:",
        table(["query", "workers", "as many as cores", "twice as many", "ratio"], crowded),
        f"Of a core, the workers of an idle group of {idle['workers']} that holds tokens use {shares} "
        f"(over {idle['seconds']:g} s).",
    ]


def _all(data: dict[str, Any]) -> list[str]:
    rows = [[f"`{name}.json`", figure(seconds)] for name, seconds in data["seconds"].items()]
    minutes = sum(data["seconds"].values()) / 60
    return [f"`./scripts/benchmark all` took {minutes:.0f} minutes:", table(["part", "seconds"], rows)]


_MEASURES = {"seconds": "s", "cpu_seconds": "CPU s", "p50_us": "µs, p50"}


def _earlier(data: dict[str, Any]) -> list[str]:
    asked = data["parameters"]
    rows = [
        [
            _NAMES.get(row["query"], row["query"].upper()),
            row["pace"],
            _MEASURES[name],
            *map(ranged, (of["before"], of["now"], of["ratio"])),
        ]
        for row in data["figures"]
        for name, of in row["measures"].items()
    ]
    return [
        f"Against commit {asked['commit']}, in turns, median (least – greatest) of {asked['rounds']} rounds; a ratio "
        f"is taken within each round, and less than 1 is better now. Open loop: {rate_text(asked['rate'])}.",
        *([table(["query", "pace", "in", "before", "now", "ratio"], rows)] if rows else []),
        *_earlier_kernels(data.get("kernels", [])),
    ]


def _earlier_kernels(kernels: list[dict[str, Any]]) -> list[str]:
    rows = [[row["what"], *map(ranged, (row["before"], row["now"], row["ratio"]))] for row in kernels]
    return ["A step's kernels, µs a call:", table(["what", "before", "now", "ratio"], rows)] if rows else []


RENDERERS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "all": _all,
    "nexmark": _nexmark,
    "queries": render_queries,
    "road": render_road,
    "open": render_open,
    "latency": _latency,
    "step": _step,
    "memory": _memory,
    "earlier": _earlier,
    "scale": render_scale,
    "workers": render_workers,
    "roundtrip": render_roundtrip,
    "starts": render_starts,
    "hops": render_hops,
    "state": render_state,
    "collections": render_collections,
    "migration": render_migration,
    "bench-migration": render_bench_migration,
    "bench-flow": render_bench_flow,
}
