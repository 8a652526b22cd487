"""What a sweep leaves: the JSON object, and beside it, named alike, a Markdown table and a plot an experiment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tokenring.how_to_install import how_to_install
from tokenring.nexmark.bench.rendering.tables import render
from tokenring.nexmark.bench.sweeps import Row
from tokenring.tools.system import is_special, replace, write_json


def publish(path: Path, data: dict[str, Any]) -> None:
    """Write `path` and what stands beside it. Each file is whole or not there; beside a FIFO stands nothing."""
    write_json(path, data)
    if is_special(path):
        return
    try:
        plots = write_plots(path, data)
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        plots = {}
        print(f"no plots are drawn: matplotlib is not installed: {how_to_install('bench')}", file=sys.stderr)
    shown = [f"![{name}]({file.name})" for name, file in plots.items()]
    replace(path.with_suffix(".md"), "\n\n".join([f"# {data['benchmark']}", render(data), *shown, ""]).encode())


def write_plots(path: Path, data: dict[str, Any]) -> dict[str, Path]:
    """Write a plot for each experiment in the figures, named after `path`; returns them by experiment."""
    from tokenring.nexmark.bench.rendering.plots import plot

    rows: dict[str, list[Row]] = {}
    for row in data["rows"]:
        rows.setdefault(row["experiment"], []).append(row)
    written = {}
    for name, of_one in rows.items():
        drawn = plot(name, of_one)
        if drawn is not None:
            stem = path.stem if data["benchmark"] != "bench-all" else f"{path.stem}-{name}"
            written[name] = path.with_name(f"{stem}.svg")
            replace(written[name], drawn)
    return written
