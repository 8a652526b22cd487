"""What a benchmark leaves: one JSON object, and made from it a text, and beside its file a plot an experiment."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenring.how_to_install import how_to_install
from tokenring.nexmark.bench.parts.machine import machine
from tokenring.nexmark.bench.parts.plots import drawn
from tokenring.nexmark.bench.parts.sweep import Experiment, Row
from tokenring.nexmark.bench.parts.tables import machine_text
from tokenring.tools.system import is_special, replace


def record(benchmark: str, parameters: dict[str, Any], **figures: Any) -> dict[str, Any]:
    """The object that is written. figures: of sweeps, `rows` and whether they are `complete`."""
    return {"benchmark": benchmark, "machine": machine(), "parameters": parameters, **figures}


def render(data: dict[str, Any], tables: list[str]) -> str:
    """The object as Markdown, below what it was measured on."""
    incomplete = [] if data.get("complete", True) else ["**Incomplete: interrupted before all points were measured.**"]
    return "\n\n".join([machine_text(data["machine"]), *incomplete, *tables])


def write_beside(path: Path, data: dict[str, Any], text: str, experiments: Mapping[str, Experiment]) -> None:
    """Write what stands beside the JSON file at `path`, named alike. Each file is whole or not there; beside a FIFO
    stands nothing."""
    if is_special(path):
        return
    try:
        plots = write_plots(path, data, experiments)
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        plots = {}
        print(f"no plots are drawn: matplotlib is not installed: {how_to_install('bench')}", file=sys.stderr)
    shown = [f"![{name}]({file.name})" for name, file in plots.items()]
    replace(path.with_suffix(".md"), "\n\n".join([f"# {data['benchmark']}", text, *shown, ""]).encode())


def write_plots(path: Path, data: dict[str, Any], experiments: Mapping[str, Experiment]) -> dict[str, Path]:
    """Write a plot for each experiment in the figures that has one, named after `path`; returns them by experiment."""
    written = {}
    for name, rows in by_experiment(data).items():
        plot = drawn(experiments[name].panels, rows)
        if plot is not None:
            stem = path.stem if data["benchmark"] != "bench-all" else f"{path.stem}-{name}"
            written[name] = path.with_name(f"{stem}.svg")
            replace(written[name], plot)
    return written


def by_experiment(data: dict[str, Any]) -> dict[str, list[Row]]:
    """The rows of each experiment, in their order."""
    own = data["benchmark"].removeprefix("bench-")
    found: dict[str, list[Row]] = {}
    for row in data["rows"]:
        found.setdefault(row.get("experiment", own), []).append(row)
    return found
