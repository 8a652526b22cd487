"""What `benchmark collections` measured, as Markdown."""

from __future__ import annotations

from typing import Any

from scripts.benchmarks.collections_rust import RUST, Rust
from scripts.benchmarks.collections_tpch import render_tpch
from tokenring.nexmark.bench.collections import IMPORT
from tokenring.nexmark.bench.rendering import figure, table

_CHANGED = ["workload", "rows an epoch", "changes/s", "of Rust's", "p50 µs", "over Rust's", "p99 µs", "hiccup p99.9"]
_ASKED = ["what is asked", "p50 ms", "over Rust's", "p99 ms", "s to build it", "MB, all processes"]
_LOADED = ["workload", "s to load", "over Rust's", "MB, all processes", "MB of state", "DuckDB from scratch s"]


def render_collections(data: dict[str, Any]) -> list[str]:
    """Loads and changes, by the number of workers."""
    asked = data["parameters"]
    parts = [
        f"Closed loop, {asked['seconds']:g} s of each size of epochs, records times {asked['scale']:g}. “Rust” is "
        "differential dataflow, measured once on another machine of this kind: figures to aim at, not of this run. "
        "DuckDB has as many threads as there are workers, and makes the whole result anew."
    ]
    for workers in sorted({row["workers"] for row in data["rows"]}):
        own = [row for row in data["rows"] if row["workers"] == workers]
        found = [row for row in own if not row["error"]]
        whole = [row for row in found if not _is_import(row)]
        parts += [
            f"**{workers} worker{'s' if workers > 1 else ''}**, what is loaded at once:",
            table(_LOADED, _loaded(whole, data["from_scratch"][str(workers)], asked["scale"])),
            "Changes:",
            table(_CHANGED, [_changed(row, _rust(row, asked["scale"])) for row in whole if not row["is_load"]]),
        ]
        imports = [row for row in found if _is_import(row)]
        if imports:
            parts += [
                f"An arrangement of {imports[0]['loaded_rows']:,} rows, looked up by key, and imported by dataflows "
                "declared when it is there:",
                table(_ASKED, [_asked(row, _rust(row, asked["scale"])) for row in imports]),
            ]
        parts += [f"**Failed:** {row['workload']}: {row['error']}" for row in own if row["error"]]
    return [*parts, *render_tpch(data["tpch"], asked["tpch"])]


def _rust(row: dict[str, Any], scale: float) -> Rust:
    """What it gave for the same size; nothing for another."""
    found = RUST.get((row["workload"], row["workers"], row["epoch_rows"]))
    return found if found is not None and scale == 1 else Rust()


def _is_import(row: dict[str, Any]) -> bool:
    return str(row["workload"]).startswith(IMPORT)


def _ratio(own: float, other: float | None) -> str:
    return figure(None if other is None else own / other)


def _loaded(rows: list[dict[str, Any]], scratch: dict[str, float], scale: float) -> list[list[str]]:
    """A line for each workload that loads."""
    lines = {}
    for row in rows:
        rust = _rust(row, scale)
        load_s = rust.load_s
        if row["is_load"] and rust.changes_per_second:
            load_s = row["epoch_rows"] / rust.changes_per_second
        if row["loaded_rows"] and row["workload"] not in lines:
            ours = [row["workload"], figure(row["load_s"]), _ratio(row["load_s"], load_s)]
            memory = [figure(row["rss_mb"]), figure(row.get("state_mb"))]
            lines[row["workload"]] = [*ours, *memory, figure(scratch.get(row["workload"]))]
    return list(lines.values())


def _changed(row: dict[str, Any], rust: Rust) -> list[str]:
    return [
        row["workload"],
        f"{row['epoch_rows']:,}",
        f"{row['changes_per_second']:,.0f}",
        _ratio(row["changes_per_second"], rust.changes_per_second),
        figure(row["p50_ms"], 1e-3),
        _ratio(row["p50_ms"] * 1e3, rust.p50_us),
        figure(row["p99_ms"], 1e-3),
        figure(row.get("hiccup_p999_ms"), 1e-3),
    ]


def _asked(row: dict[str, Any], rust: Rust) -> list[str]:
    times = [figure(row["p50_ms"]), _ratio(row["p50_ms"] * 1e3, rust.p50_us), figure(row["p99_ms"])]
    return [row["workload"].removeprefix(f"{IMPORT}: "), *times, figure(row["load_s"]), figure(row["rss_mb"])]
