"""What a benchmark of `tokenring bench` found: as JSON to standard output, or as tables there and JSON in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tokenring.nexmark.bench.rendering.machine import machine
from tokenring.nexmark.bench.sweeps import Row
from tokenring.tools.system import STANDARD_OUTPUT, replace, write_json


def say(
    name: str,
    rows: list[Row],
    complete: bool,
    parameters: dict[str, Any],
    json_file: Path | None,
    render: Callable[[dict[str, Any]], str],
    draw: Callable[[list[Row]], bytes | None] = lambda rows: None,
) -> None:
    """Print the rows, and write them where somebody asked for that. draw: an SVG of them, which is put beside the file;
    None if there is nothing to draw."""
    data = {"benchmark": name, "complete": complete, "machine": machine(), "parameters": parameters, "rows": rows}
    if json_file is not None:
        write_json(json_file, data)
    if json_file == STANDARD_OUTPUT:
        return
    click.echo(render(data))
    if json_file is not None:
        drawn = draw(rows)
        if drawn is not None:
            replace(json_file.with_suffix(".svg"), drawn)
