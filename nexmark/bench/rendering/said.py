"""What a benchmark of `tokenring bench` found: as JSON to standard output, or as tables there and JSON in a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import orjson

from tokenring.nexmark.bench.rendering.machine import machine
from tokenring.nexmark.bench.sweeps import Row
from tokenring.tools.system import STANDARD_OUTPUT, replace


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
    written = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if json_file == STANDARD_OUTPUT:
        sys.stdout.buffer.write(written)
        sys.stdout.flush()
        return
    click.echo(render(data))
    if json_file is not None:
        replace(json_file, written)
        drawn = draw(rows)
        if drawn is not None:
            replace(json_file.with_suffix(".svg"), drawn)
